// SPDX-License-Identifier: Apache-2.0
// Reads lines from a terminal with editing, history and completion. The terminal is in raw mode only while a line is
// read.

import Foundation

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

final class LineEditor {
    enum Line: Equatable {
        case text(String)
        /// Control-C: the line was abandoned.
        case cancelled
        case end
    }

    /// Returns the texts that can replace the last `count` characters before the cursor.
    typealias Complete = (_ before: String) -> (count: Int, candidates: [String])

    private let prompt: String
    private let complete: Complete
    private var history: LineHistory
    private let historyPath: String?

    init(prompt: String, historyPath: String?, complete: @escaping Complete) {
        self.prompt = prompt
        self.historyPath = historyPath
        self.complete = complete
        let old = historyPath.flatMap { try? String(contentsOfFile: $0, encoding: .utf8) } ?? ""
        history = LineHistory(old.split(separator: "\n").map(String.init))
    }

    /// True if lines can be edited: input and output are a terminal that supports escape sequences.
    static var isPossible: Bool {
        isatty(STDIN_FILENO) != 0 && isatty(STDOUT_FILENO) != 0 && ProcessInfo.processInfo.environment["TERM"] != "dumb"
    }

    func read() -> Line {
        Output.flush()
        var before = termios()
        guard tcgetattr(STDIN_FILENO, &before) == 0 else { return plainLine() }
        var raw = before
        cfmakeraw(&raw)
        guard tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) == 0 else { return plainLine() }
        defer { tcsetattr(STDIN_FILENO, TCSADRAIN, &before) }
        let line = edit()
        Self.send("\r\n")
        if case .text(let text) = line { remember(text) }
        return line
    }

    private func plainLine() -> Line { readLine().map { .text($0) } ?? .end }

    private func remember(_ text: String) {
        history.add(text)
        guard let historyPath else { return }
        let data = Data((history.lines.joined(separator: "\n") + "\n").utf8)
        // Queries may contain names of people, so only the user may read the file.
        if !FileManager.default.fileExists(atPath: historyPath) {
            _ = FileManager.default.createFile(
                atPath: historyPath, contents: nil, attributes: [.posixPermissions: 0o600])
        }
        try? data.write(to: URL(fileURLWithPath: historyPath))
    }

    private static func send(_ text: String) { FileHandle.standardOutput.write(Data(text.utf8)) }

    private func edit() -> Line {
        let keys = KeyReader {
            var byte: UInt8 = 0
            while true {
                let count = Self.readByte(&byte)
                if count == 1 { return byte }
                if count == 0 || errno != EINTR { return nil }
            }
        }
        var buffer = LineBuffer()
        show(buffer)
        while true {
            switch keys.read() {
            case .enter: return .text(buffer.text)
            case .closed: return buffer.text.isEmpty ? .end : .text(buffer.text)
            case .cancel: return .cancelled
            case .deleteOrEnd:
                if buffer.text.isEmpty { return .end }
                buffer.deleteAfter()
            case .up: if let line = history.previous(buffer.text) { buffer = LineBuffer(line) }
            case .down: if let line = history.next() { buffer = LineBuffer(line) }
            case .tab: completed(&buffer)
            case .clearScreen: Self.send("\u{1B}[H\u{1B}[2J")
            case let key: Self.apply(key, to: &buffer)
            }
            show(buffer)
        }
    }

    static func apply(_ key: Key, to buffer: inout LineBuffer) {
        switch key {
        case .text(let text): buffer.insert(text)
        case .backspace: buffer.deleteBefore()
        case .delete: buffer.deleteAfter()
        case .left: buffer.moveLeft()
        case .right: buffer.moveRight()
        case .home: buffer.moveToStart()
        case .end: buffer.moveToEnd()
        case .previousWord: buffer.moveToPreviousWord()
        case .nextWord: buffer.moveToNextWord()
        case .deleteToEnd: buffer.deleteToEnd()
        case .deleteToStart: buffer.deleteToStart()
        case .deleteWord: buffer.deleteWordBefore()
        default: break
        }
    }

    /// Inserts the common prefix of the candidates. Shows the candidates if that inserts nothing new.
    private func completed(_ buffer: inout LineBuffer) {
        let (count, candidates) = complete(buffer.textBeforeCursor)
        guard let first = candidates.first else { return Self.send("\u{07}") }
        let common = candidates.dropFirst().reduce(first) { $0.commonPrefix(with: $1) }
        if candidates.count == 1 {
            buffer.replaceBefore(count, by: first + " ")
        } else if common.count > count {
            buffer.replaceBefore(count, by: common)
        } else {
            let shown = candidates.prefix(100).map { TerminalText.shown($0) }.joined(separator: "  ")
            Self.send("\r\n" + shown + (candidates.count > 100 ? "  …" : "") + "\r\n")
        }
    }

    /// Draws the part of the line around the cursor that fits into one row.
    private func show(_ buffer: LineBuffer) {
        var size = winsize()
        let isKnown = ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 0
        let columns = max(20, isKnown ? Int(size.ws_col) : 80) - TerminalText.width(prompt) - 1
        let (text, column) = Self.visible(buffer, columns)
        let start = TerminalText.width(prompt) + column
        Self.send("\r\u{1B}[K\(prompt)\(text)\r" + (start > 0 ? "\u{1B}[\(start)C" : ""))
    }

    /// The characters that fit, and the column of the cursor among them.
    static func visible(_ buffer: LineBuffer, _ columns: Int) -> (text: String, column: Int) {
        let shown = buffer.characters.map { TerminalText.shown(String($0)) }
        let widths = shown.map { TerminalText.width($0) }
        var start = 0
        var column = widths[..<buffer.cursor].reduce(0, +)
        while column >= columns, start < buffer.cursor {
            column -= widths[start]
            start += 1
        }
        var text = ""
        var used = 0
        for place in start..<shown.count {
            used += widths[place]
            if used > columns { break }
            text += shown[place]
        }
        return (text, column)
    }

    private static func readByte(_ byte: inout UInt8) -> Int {
        #if canImport(Glibc)
            Glibc.read(STDIN_FILENO, &byte, 1)
        #elseif canImport(Musl)
            Musl.read(STDIN_FILENO, &byte, 1)
        #else
            Darwin.read(STDIN_FILENO, &byte, 1)
        #endif
    }
}
