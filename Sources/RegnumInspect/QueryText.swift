// SPDX-License-Identifier: Apache-2.0
// Splits the text of a query into its predicate and the clauses SORT, DISTINCT and LIMIT after it.

/// A clause after the predicate. Clauses apply in their order.
package enum QueryClause: Equatable {
    /// Key paths with their directions.
    case sort([SortPath])
    case distinct([String])
    case limit(Int)

    package struct SortPath: Equatable {
        package var path: String
        package var isAscending: Bool
    }
}

/// A predicate and clauses, as in `age > 30 SORT(name ASC, age DESC) DISTINCT(city) LIMIT(10)`. The predicate may be
/// left out. A property whose name has spaces, hyphens or the like is in quotation marks: `SORT("first name")`.
package struct QueryText: Equatable {
    package struct Problem: Error, Equatable {
        package var message: String
        /// The UTF-8 offset in the text.
        package var position: Int
    }

    package var predicate: String
    package var clauses: [QueryClause] = []
    /// For each clause: the UTF-8 offsets of its paths in the text.
    package private(set) var positions: [[Int]] = []

    private static let keywords = ["SORT", "DISTINCT", "LIMIT"]

    init(predicate: String, clauses: [QueryClause]) {
        self.predicate = predicate
        self.clauses = clauses
    }

    /// O(length of the text).
    package init(_ text: String) throws(Problem) {
        let bytes = Array(text.utf8)
        var position = 0
        guard let first = Self.firstClause(bytes) else {
            predicate = Self.predicate(bytes[...])
            return
        }
        predicate = Self.predicate(bytes[..<first])
        position = first
        while true {
            position = Self.skippingBlanks(bytes, position)
            if position == bytes.count { return }
            guard let (keyword, open) = Self.keyword(bytes, position) else {
                throw Problem(
                    message: "After SORT, DISTINCT or LIMIT only another one of them may follow, not "
                        + "'\(String(decoding: bytes[position...].prefix(20), as: UTF8.self))'.", position: position)
            }
            guard let close = Self.closing(bytes, open) else {
                throw Problem(message: "\(keyword) lacks its closing parenthesis.", position: position)
            }
            let (clause, positions) = try Self.clause(keyword, bytes, (open + 1)..<close)
            clauses.append(clause)
            self.positions.append(positions)
            position = close + 1
        }
    }

    private static func predicate(_ bytes: ArraySlice<UInt8>) -> String {
        bytes.allSatisfy { isBlank($0) } ? "TRUEPREDICATE" : String(decoding: bytes, as: UTF8.self)
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0d).contains(byte) }

    private static func isWord(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "."), UInt8(ascii: "$"),
            UInt8(ascii: "#"), UInt8(ascii: "@"), UInt8(ascii: "%"), 0x80...:
            true
        default: false
        }
    }

    private static func skippingBlanks(_ bytes: [UInt8], _ start: Int) -> Int {
        var position = start
        while position < bytes.count, isBlank(bytes[position]) { position += 1 }
        return position
    }

    /// The position after a quoted text that begins at `start`.
    private static func skippingText(_ bytes: [UInt8], _ start: Int) -> Int {
        var position = start + 1
        while position < bytes.count, bytes[position] != bytes[start] {
            position += bytes[position] == UInt8(ascii: "\\") ? 2 : 1
        }
        return min(position + 1, bytes.count)
    }

    /// The position of the first keyword outside of texts and parentheses that has a parenthesis after it.
    private static func firstClause(_ bytes: [UInt8]) -> Int? {
        var position = 0
        var depth = 0
        while position < bytes.count {
            let byte = bytes[position]
            switch byte {
            case UInt8(ascii: "'"), UInt8(ascii: "\""): position = skippingText(bytes, position)
            case UInt8(ascii: "("), UInt8(ascii: "{"), UInt8(ascii: "["):
                depth += 1
                position += 1
            case UInt8(ascii: ")"), UInt8(ascii: "}"), UInt8(ascii: "]"):
                depth -= 1
                position += 1
            case _ where isWord(byte):
                if depth == 0, keyword(bytes, position) != nil { return position }
                while position < bytes.count, isWord(bytes[position]) { position += 1 }
            default: position += 1
            }
        }
        return nil
    }

    /// The keyword of a clause at a position, and the position of the parenthesis after it.
    private static func keyword(_ bytes: [UInt8], _ start: Int) -> (keyword: String, open: Int)? {
        var end = start
        while end < bytes.count, isWord(bytes[end]) { end += 1 }
        let word = String(decoding: bytes[start..<end], as: UTF8.self).uppercased()
        guard let keyword = keywords.first(where: { $0 == word }) else { return nil }
        let open = skippingBlanks(bytes, end)
        return open < bytes.count && bytes[open] == UInt8(ascii: "(") ? (keyword, open) : nil
    }

    private static func closing(_ bytes: [UInt8], _ open: Int) -> Int? {
        var position = open + 1
        while position < bytes.count {
            switch bytes[position] {
            case UInt8(ascii: "'"), UInt8(ascii: "\""): position = skippingText(bytes, position)
            case UInt8(ascii: ")"): return position
            default: position += 1
            }
        }
        return nil
    }

    private struct Word {
        var text: String
        var position: Int
    }

    /// The words of each part between commas. A word in quotation marks may have blanks and commas.
    private static func parts(_ bytes: [UInt8], _ range: Range<Int>) -> [[Word]] {
        var parts: [[Word]] = [[]]
        var position = range.lowerBound
        while position < range.upperBound {
            let byte = bytes[position]
            if byte == UInt8(ascii: ",") { parts.append([]) }
            if byte == UInt8(ascii: ",") || isBlank(byte) {
                position += 1
                continue
            }
            let start = position
            var word: [UInt8] = []
            while position < range.upperBound, bytes[position] != UInt8(ascii: ","), !isBlank(bytes[position]) {
                let end = isQuote(bytes[position]) ? skippingText(bytes, position) : position + 1
                word += isQuote(bytes[position]) ? unquoted(bytes[position..<end]) : [bytes[position]]
                position = end
            }
            parts[parts.count - 1].append(Word(text: String(decoding: word, as: UTF8.self), position: start))
        }
        return parts
    }

    private static func isQuote(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "'") || byte == UInt8(ascii: "\"") }

    /// A text without its quotation marks and the backslashes before characters.
    private static func unquoted(_ text: ArraySlice<UInt8>) -> [UInt8] {
        var bytes: [UInt8] = []
        var isEscaped = false
        for byte in text.dropFirst().dropLast() {
            isEscaped = byte == UInt8(ascii: "\\") && !isEscaped
            if !isEscaped { bytes.append(byte) }
        }
        return bytes
    }

    /// A name as a part of a path in a clause.
    package static func quoted(_ name: String) -> String {
        "\"" + name.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
    }

    private static func clause(
        _ keyword: String, _ bytes: [UInt8], _ range: Range<Int>
    ) throws(Problem) -> (clause: QueryClause, positions: [Int]) {
        let text = String(decoding: bytes[range], as: UTF8.self)
        let parts = parts(bytes, range)
        if keyword == "LIMIT" {
            guard parts.count == 1, parts[0].count == 1, let limit = Int(parts[0][0].text), limit >= 0 else {
                throw Problem(
                    message: "LIMIT(\(text)) needs a number of objects, 0 or more, as in LIMIT(10).",
                    position: range.lowerBound)
            }
            return (.limit(limit), [])
        }
        var paths: [QueryClause.SortPath] = []
        for words in parts {
            let direction = words.count == 2 ? words[1].text.uppercased() : "ASC"
            let isAscending = direction == "ASC" || direction == "ASCENDING"
            guard (1...2).contains(words.count), isAscending || direction == "DESC" || direction == "DESCENDING",
                words.count == 1 || keyword == "SORT"
            else {
                let example = keyword == "SORT" ? "SORT(name ASC, age DESC)" : "DISTINCT(name, age)"
                throw Problem(
                    message: "\(keyword)(\(text)) is not a list of properties, as in \(example).",
                    position: words.dropFirst().first?.position ?? words.first?.position ?? range.lowerBound)
            }
            paths.append(QueryClause.SortPath(path: words[0].text, isAscending: isAscending))
        }
        return (keyword == "SORT" ? .sort(paths) : .distinct(paths.map(\.path)), parts.map { $0[0].position })
    }
}
