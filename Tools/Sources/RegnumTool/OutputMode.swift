// SPDX-License-Identifier: Apache-2.0
// The modes in which objects are shown: as a table, JSON, CSV, one line for each value, or one line for each object.

import ArgumentParser
import Foundation
import RegnumInspect

enum OutputMode: String, ExpressibleByArgument, CaseIterable {
    /// One line for each object.
    case text
    case table, json, csv
    /// One line for each value.
    case line
}

/// Writes the objects of one class in a mode. Uses memory for at most `TableWriter.sampleCount` objects.
final class ObjectsWriter {
    private let mode: OutputMode
    private let names: [String]
    private let output = Output()
    private var table: TableWriter?
    private var count = 0

    init(_ mode: OutputMode, _ description: ClassDescription) {
        self.mode = mode
        names = description.properties.map(\.name)
        switch mode {
        case .csv: output.write(CSVText.record(names))
        case .table: table = TableWriter(names)
        default: break
        }
    }

    func write(_ object: InspectedObject) throws {
        switch mode {
        case .text: output.line(try object.line())
        case .json: output.write((count == 0 ? "[\n" : ",\n") + (try object.json()))
        case .csv: output.write(CSVText.record(try object.cells()))
        case .table: table?.add(try object.cells().map { $0 ?? "null" })
        case .line:
            if count > 0 { output.write("\n") }
            let width = names.map { TerminalText.width($0) }.max() ?? 0
            for (name, cell) in zip(names, try object.cells()) {
                output.line(
                    TerminalText.padding(name, to: width, isLeft: true) + " = " + TerminalText.shown(cell ?? "null"))
            }
        }
        count += 1
    }

    /// Writes the end of the output. `all` is the number of matches, of which fewer may have been shown.
    func end(all: Int) {
        table?.end()
        switch mode {
        case .json: output.write(count == 0 ? "[]\n" : "\n]\n")
        case .text, .table:
            let objects = all == 1 ? "1 object" : "\(all) objects"
            output.line(count < all ? "\(count) of \(objects)" : objects)
        case .csv, .line: break
        }
    }
}

/// Aligns the rows of a table. The widths are those of the first rows and of the header; long cells are truncated.
struct TableWriter {
    static let sampleCount = 500
    private static let longestCell = 48

    private let names: [String]
    private var sample: [[String]] = []
    private var widths: [Int]?
    private let output = Output()

    init(_ names: [String]) { self.names = names.map { TerminalText.shown($0) } }

    mutating func add(_ cells: [String]) {
        let row = cells.map { TerminalText.cut(TerminalText.shown($0), to: Self.longestCell) }
        guard let widths else {
            sample.append(row)
            if sample.count == Self.sampleCount { writeSample() }
            return
        }
        write(row, widths)
    }

    mutating func end() { if widths == nil { writeSample() } }

    private mutating func writeSample() {
        let widths = names.indices.map { column in
            sample.reduce(TerminalText.width(names[column])) { max($0, TerminalText.width($1[column])) }
        }
        self.widths = widths
        write(names, widths)
        output.line(widths.map { String(repeating: "-", count: $0) }.joined(separator: "  "))
        for row in sample { write(row, widths) }
        sample = []
    }

    private func write(_ row: [String], _ widths: [Int]) {
        var line = zip(row, widths).map { TerminalText.padding($0, to: $1) }.joined(separator: "  ")
        while line.hasSuffix(" ") { line.removeLast() }
        output.line(line)
    }
}

/// Text for a terminal: without control characters, and measured in columns.
enum TerminalText {
    /// Escapes control characters, so that a value can neither break lines nor control the terminal.
    static func shown(_ text: String) -> String { EscapedText.printable(text) }

    /// The same for a text of several lines.
    static func shownLines(_ text: String) -> String {
        // A carriage return before a line feed is one character with it.
        text.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false)
            .map { shown(String($0)) }.joined(separator: "\n")
    }

    /// The number of columns that a terminal uses.
    static func width(_ text: String) -> Int {
        if text.utf8.allSatisfy({ $0 < 0x80 }) { return text.utf8.count }
        return text.reduce(0) { $0 + width($1) }
    }

    static func width(_ character: Character) -> Int {
        guard let scalar = character.unicodeScalars.first else { return 0 }
        switch scalar.value {
        case 0x1100...0x115f, 0x2e80...0xa4cf, 0xac00...0xd7a3, 0xf900...0xfaff, 0xfe30...0xfe6f, 0xff00...0xff60,
            0xffe0...0xffe6, 0x1f300...0x1f64f, 0x1f680...0x1f6ff, 0x1f900...0x1faff, 0x20000...0x3fffd:
            return 2
        default:
            switch scalar.properties.generalCategory {
            case .nonspacingMark, .enclosingMark, .format: return 0
            default: return 1
            }
        }
    }

    static func padding(_ text: String, to width: Int, isLeft: Bool = false) -> String {
        let blanks = String(repeating: " ", count: max(0, width - Self.width(text)))
        return isLeft ? blanks + text : text + blanks
    }

    static func cut(_ text: String, to columns: Int) -> String {
        if width(text) <= columns { return text }
        var cut = ""
        var used = 0
        for character in text {
            used += width(character)
            if used > columns - 1 { break }
            cut.append(character)
        }
        return cut + "…"
    }
}
