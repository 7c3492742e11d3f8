// SPDX-License-Identifier: Apache-2.0
// The line that is being edited: its characters, the cursor, and the history. Independent of the terminal.

struct LineBuffer: Equatable {
    private(set) var characters: [Character] = []
    /// The number of characters before the cursor.
    private(set) var cursor = 0

    init(_ text: String = "") {
        characters = Array(text)
        cursor = characters.count
    }

    var text: String { String(characters) }
    var textBeforeCursor: String { String(characters[..<cursor]) }

    mutating func insert(_ text: String) {
        // A combining mark forms one character with the character before it.
        let before = String(characters[..<cursor]) + text
        let joined = Array(before)
        characters = joined + characters[cursor...]
        cursor = joined.count
    }

    mutating func moveLeft() { cursor = max(0, cursor - 1) }
    mutating func moveRight() { cursor = min(characters.count, cursor + 1) }
    mutating func moveToStart() { cursor = 0 }
    mutating func moveToEnd() { cursor = characters.count }

    mutating func deleteBefore() {
        guard cursor > 0 else { return }
        cursor -= 1
        characters.remove(at: cursor)
    }

    mutating func deleteAfter() { if cursor < characters.count { characters.remove(at: cursor) } }
    mutating func deleteToEnd() { characters.removeSubrange(cursor...) }

    mutating func deleteToStart() {
        characters.removeSubrange(..<cursor)
        cursor = 0
    }

    mutating func deleteWordBefore() {
        let end = cursor
        moveToPreviousWord()
        characters.removeSubrange(cursor..<end)
    }

    mutating func moveToPreviousWord() {
        while cursor > 0, characters[cursor - 1].isWhitespace { cursor -= 1 }
        while cursor > 0, !characters[cursor - 1].isWhitespace { cursor -= 1 }
    }

    mutating func moveToNextWord() {
        while cursor < characters.count, characters[cursor].isWhitespace { cursor += 1 }
        while cursor < characters.count, !characters[cursor].isWhitespace { cursor += 1 }
    }

    /// Replaces the last `count` characters before the cursor.
    mutating func replaceBefore(_ count: Int, by text: String) {
        characters.removeSubrange((cursor - count)..<cursor)
        cursor -= count
        insert(text)
    }
}

/// Earlier lines, oldest first. The line that is being edited is kept while older ones are shown.
struct LineHistory {
    static let limit = 1000

    private(set) var lines: [String]
    private var position: Int
    private var draft = ""

    init(_ lines: [String] = []) {
        self.lines = lines.suffix(Self.limit)
        position = self.lines.count
    }

    mutating func add(_ line: String) {
        if !line.isEmpty, lines.last != line { lines.append(line) }
        if lines.count > Self.limit { lines.removeFirst() }
        position = lines.count
        draft = ""
    }

    /// The line before the shown one; nil if there is none.
    mutating func previous(_ shown: String) -> String? {
        guard position > 0 else { return nil }
        if position == lines.count { draft = shown }
        position -= 1
        return lines[position]
    }

    /// The line after the shown one; nil if there is none.
    mutating func next() -> String? {
        guard position < lines.count else { return nil }
        position += 1
        return position == lines.count ? draft : lines[position]
    }
}
