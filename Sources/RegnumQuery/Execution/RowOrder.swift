// SPDX-License-Identifier: Apache-2.0
// The order of a query's sorts, one object against another: for who keeps an order and puts a few objects into it.
// It is the order of `SortExtractor`, which takes the values of many objects out first.

package import RegnumEngine

/// An object in one version.
package struct OrderedRow {
    let session: Session
    let table: Table
    let location: RowLocation

    /// Nil where the version has no such object.
    package init?(_ key: ObjectKey, _ tableKey: TableKey, in session: Session) throws(EngineError) {
        guard let table = session.table(tableKey), let location = try table.locate(key) else { return nil }
        self.session = session
        self.table = table
        self.location = location
    }
}

/// The beginning of what an order goes by, for who looks at the same objects again and again: of two objects whose marks
/// differ the lesser one's comes first, of others only their values tell.
package struct OrderMark: Comparable {
    var words: (UInt64, UInt64) = (0, 0)

    package static func < (a: Self, b: Self) -> Bool { a.words < b.words }
    package static func == (a: Self, b: Self) -> Bool { a.words == b.words }
}

package struct RowOrder {
    /// The sort that decides comes first.
    private let keys: [SortKey]
    /// True where marks tell objects apart.
    package let hasMarks: Bool

    /// The order that all steps lead to: what is not a sort leaves the order as it is. Nil where nothing sorts.
    package init?(_ orderings: [Ordering]) {
        var keys: [SortKey] = []
        for ordering in orderings {
            if case .sort(let next) = ordering { keys = next + keys }
        }
        if keys.isEmpty { return nil }
        self.keys = keys
        hasMarks = Self.isInMark(keys[0])
    }

    /// Of an object. O(1).
    package func mark(of row: OrderedRow) throws(EngineError) -> OrderMark {
        var words: [UInt64] = []
        for key in keys where words.count < 2 {
            guard Self.isInMark(key) else { break }
            words += try Self.words(key, row).map { key.isAscending ? $0 : ~$0 }
            // The next sort decides between equals only, which those of one word may not be where there are nulls.
            if words.count == 1, row.table.definition.columns[key.column].isNullable { break }
        }
        return OrderMark(words: (words.first ?? 0, words.count > 1 ? words[1] : 0))
    }

    private static func isInMark(_ key: SortKey) -> Bool {
        switch key.type {
        case .decimal128, .mixed: false
        default: key.links.isEmpty && key.entry == nil && !key.isFolded
        }
    }

    /// Of numbers one word, of others the first two; 0 for null.
    private static func words(_ key: SortKey, _ row: OrderedRow) throws(EngineError) -> [UInt64] {
        let place = row.location
        let column = place.group.columns[key.column]
        let isOneWord = key.type == .int || key.type == .bool || key.type == .float || key.type == .double
        if column.isNull(place.row) { return isOneWord ? [0] : [0, 0] }
        if key.type == .string || key.type == .data {
            return try row.table.withBytes(key.column, at: place) { bytes in
                [0, 8].map { start in
                    (start..<start + 8).reduce(0) { $0 &<< 8 | ($1 < bytes.count ? UInt64(bytes[$1]) : 0) }
                }
            }
        }
        return (0..<(isOneWord ? 1 : 2)).map { SortExtractor.word(column, place.row, key.type, $0) }
    }

    /// Negative, 0 or positive, as `a` comes before, is equal to or comes behind `b`. Equal objects are ordered by
    /// their keys. O(sort keys x (1 + links)).
    package func compare(_ a: OrderedRow, _ b: OrderedRow) throws(EngineError) -> Int {
        for key in keys {
            let order = try compare(a, b, key)
            if order != 0 { return key.isAscending ? order : -order }
        }
        return 0
    }

    private func compare(_ a: OrderedRow, _ b: OrderedRow, _ key: SortKey) throws(EngineError) -> Int {
        guard let (table, place) = try end(of: key, a) else { return try end(of: key, b) == nil ? 0 : 1 }
        guard let (otherTable, otherPlace) = try end(of: key, b) else { return -1 }
        if let entry = key.entry {
            // Null comes first here too.
            return MixedOrder.compare(
                try table.dictionaryValue(of: entry, key.column, at: place),
                try otherTable.dictionaryValue(of: entry, key.column, at: otherPlace))
        }
        let column = place.group.columns[key.column]
        let other = otherPlace.group.columns[key.column]
        switch (column.isNull(place.row), other.isNull(otherPlace.row)) {
        case (true, true): return 0
        case (true, false): return -1
        case (false, true): return 1
        case (false, false): break
        }
        switch key.type {
        case .string where key.isFolded:
            let text = try table.withBytes(key.column, at: place) { [UInt8]($0) }
            let otherText = try otherTable.withBytes(key.column, at: otherPlace) { [UInt8]($0) }
            return Self.compareFolded(text, otherText)
        case .string, .data:
            if column.isBlob(place.row) || other.isBlob(otherPlace.row) {
                let text = try table.withBytes(key.column, at: place) { [UInt8]($0) }
                let otherText = try otherTable.withBytes(key.column, at: otherPlace) { [UInt8]($0) }
                return Self.compare(text, otherText)
            }
            return BytesMatch.compare(column.bytes(place.row), other.bytes(otherPlace.row))
        case .decimal128, .mixed:
            return MixedOrder.compare(
                try table.value(key.column, at: place), try otherTable.value(key.column, at: otherPlace))
        default:
            for part in 0..<2 {
                let word = SortExtractor.word(column, place.row, key.type, part)
                let otherWord = SortExtractor.word(other, otherPlace.row, key.type, part)
                if word != otherWord { return word < otherWord ? -1 : 1 }
                guard key.type == .date || key.type == .objectID || key.type == .uuid else { return 0 }
            }
            return 0
        }
    }

    /// Where the value lies; nil behind a null link.
    private func end(of key: SortKey, _ row: OrderedRow) throws(EngineError) -> (Table, RowLocation)? {
        var table = row.table
        var place = row.location
        for step in key.links {
            guard case .link(let column, let target) = step, let next = row.session.table(target) else { continue }
            let found = UInt64(bitPattern: place.group.columns[column].integer(place.row))
            guard found != 0, let there = try next.locate(ObjectKey(found)) else { return nil }
            table = next
            place = there
        }
        return (table, place)
    }

    /// UTF-8 in the order of people: below, at or above 0 where `a` comes before, with or behind `b`.
    private static func compareFolded(_ a: [UInt8], _ b: [UInt8]) -> Int {
        for level in TextOrder.levels {
            let order = compare(a.withUnsafeBytes { level($0) }, b.withUnsafeBytes { level($0) })
            if order != 0 { return order }
        }
        return 0
    }

    private static func compare(_ a: [UInt8], _ b: [UInt8]) -> Int {
        a.withUnsafeBytes { a in b.withUnsafeBytes { b in BytesMatch.compare(a, b) } }
    }
}
