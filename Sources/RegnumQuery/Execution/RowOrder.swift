// SPDX-License-Identifier: Apache-2.0
// Compares two objects in the order of a query's sorts, for callers that maintain an order and insert a few objects
// into it. The order is the same as that of `SortExtractor`, which extracts the values of many objects first.

package import RegnumEngine

/// An object in one version.
package struct OrderedRow {
    let session: Session
    let table: Table
    let location: RowLocation

    /// Nil if the version does not contain the object.
    package init?(_ key: ObjectKey, _ tableKey: TableKey, in session: Session) throws(EngineError) {
        guard let table = session.table(tableKey), let location = try table.locate(key) else { return nil }
        self.session = session
        self.table = table
        self.location = location
    }
}

/// A prefix of an object's sort values, to be cached by callers that compare the same objects repeatedly: the object
/// with the lesser mark comes first; if marks are equal, the values decide.
package struct OrderMark: Comparable {
    var words: (UInt64, UInt64) = (0, 0)

    package static func < (a: Self, b: Self) -> Bool { a.words < b.words }
    package static func == (a: Self, b: Self) -> Bool { a.words == b.words }
}

package struct RowOrder {
    /// A sort by a column of the objects themselves, of a type that is ordered by words or bytes.
    private struct PlainKey {
        let column: Int
        let type: ColumnType
        let isAscending: Bool
        /// For numbers one word is the whole value; for other types two words are its prefix.
        var isOneWord: Bool { type == .int || type == .bool || type == .float || type == .double }
        var isBytes: Bool { type == .string || type == .data }

        init?(_ key: SortKey) {
            guard key.type != .decimal128, key.type != .mixed, key.links.isEmpty, key.entry == nil, !key.isFolded else {
                return nil
            }
            column = key.column
            type = key.type
            isAscending = key.isAscending
        }
    }

    /// The sort with the highest precedence comes first: those of `plain`, then `rest`.
    private let plain: [PlainKey]
    private let rest: [SortKey]
    /// True if marks distinguish objects.
    package var hasMarks: Bool { !plain.isEmpty }

    /// The order that results from all steps; steps other than sorts do not change it. Nil if there is no sort.
    package init?(_ orderings: [Ordering]) {
        var keys: [SortKey] = []
        for ordering in orderings {
            if case .sort(let next) = ordering { keys = next + keys }
        }
        if keys.isEmpty { return nil }
        var plain: [PlainKey] = []
        while plain.count < keys.count, let key = PlainKey(keys[plain.count]) { plain.append(key) }
        self.plain = plain
        rest = Array(keys[plain.count...])
    }

    /// The mark of an object. O(1).
    package func mark(of row: OrderedRow) throws(EngineError) -> OrderMark {
        guard let key = plain.first else { return OrderMark() }
        let words = try Self.words(key, row)
        if !key.isOneWord { return OrderMark(words: words) }
        // The next sort applies to equal values only. With nulls, equal first words do not imply equal values.
        guard plain.count > 1, !row.table.definition.columns[key.column].isNullable else {
            return OrderMark(words: (words.0, 0))
        }
        return OrderMark(words: (words.0, try Self.words(plain[1], row).0))
    }

    /// The words are 0 for null, and so is the second word of a number.
    private static func words(_ key: PlainKey, _ row: OrderedRow) throws(EngineError) -> (UInt64, UInt64) {
        let place = row.location
        let column = place.group.columns[key.column]
        let turn: UInt64 = key.isAscending ? 0 : .max
        if column.isNull(place.row) { return (turn, turn) }
        if !key.isBytes {
            let first = SortExtractor.word(column, place.row, key.type, 0) ^ turn
            return key.isOneWord ? (first, 0) : (first, SortExtractor.word(column, place.row, key.type, 1) ^ turn)
        }
        if column.isBlob(place.row) {
            return try row.table.withBytes(key.column, at: place) { beginning($0, turn) }
        }
        return beginning(column.bytes(place.row), turn)
    }

    private static func beginning(_ bytes: UnsafeRawBufferPointer, _ turn: UInt64) -> (UInt64, UInt64) {
        guard let address = bytes.baseAddress else { return (turn, turn) }
        let text = TextRef(address: address, count: bytes.count)
        return (RowSorter.word(text, 0) ^ turn, RowSorter.word(text, 8) ^ turn)
    }

    /// Returns a negative number, 0 or a positive number if `a` comes before, equals or comes after `b`. The caller
    /// orders equal objects by key. O(sort keys x (1 + links)).
    package func compare(_ a: OrderedRow, _ b: OrderedRow) throws(EngineError) -> Int {
        for key in plain {
            let order = try compare(a, b, key)
            if order != 0 { return key.isAscending ? order : -order }
        }
        for key in rest {
            let order = try compare(a, b, key)
            if order != 0 { return key.isAscending ? order : -order }
        }
        return 0
    }

    private func compare(_ a: OrderedRow, _ b: OrderedRow, _ key: PlainKey) throws(EngineError) -> Int {
        try compare(a.table, a.location, b.table, b.location, key.column, key.type)
    }

    /// Compares values of types that are ordered by words or bytes.
    @inline(__always)
    private func compare(
        _ table: Table, _ place: RowLocation, _ otherTable: Table, _ otherPlace: RowLocation, _ number: Int,
        _ type: ColumnType
    ) throws(EngineError) -> Int {
        let column = place.group.columns[number]
        let other = otherPlace.group.columns[number]
        switch (column.isNull(place.row), other.isNull(otherPlace.row)) {
        case (true, true): return 0
        case (true, false): return -1
        case (false, true): return 1
        case (false, false): break
        }
        if type == .string || type == .data {
            if column.isBlob(place.row) || other.isBlob(otherPlace.row) {
                let text = try table.withBytes(number, at: place) { [UInt8]($0) }
                let otherText = try otherTable.withBytes(number, at: otherPlace) { [UInt8]($0) }
                return Self.compare(text, otherText)
            }
            return BytesMatch.compare(column.bytes(place.row), other.bytes(otherPlace.row))
        }
        for part in 0..<2 {
            let word = SortExtractor.word(column, place.row, type, part)
            let otherWord = SortExtractor.word(other, otherPlace.row, type, part)
            if word != otherWord { return word < otherWord ? -1 : 1 }
            guard type == .date || type == .objectID || type == .uuid else { return 0 }
        }
        return 0
    }

    private func compare(_ a: OrderedRow, _ b: OrderedRow, _ key: SortKey) throws(EngineError) -> Int {
        guard let (table, place) = try end(of: key, a) else { return try end(of: key, b) == nil ? 0 : 1 }
        guard let (otherTable, otherPlace) = try end(of: key, b) else { return -1 }
        if let entry = key.entry {
            // Null also comes first here.
            return MixedOrder.compare(
                try table.dictionaryValue(of: entry, key.column, at: place),
                try otherTable.dictionaryValue(of: entry, key.column, at: otherPlace))
        }
        let isNull = place.group.columns[key.column].isNull(place.row)
        if isNull || otherPlace.group.columns[key.column].isNull(otherPlace.row) {
            return try compare(table, place, otherTable, otherPlace, key.column, key.type)
        }
        switch key.type {
        case .string where key.isFolded:
            let text = try table.withBytes(key.column, at: place) { [UInt8]($0) }
            let otherText = try otherTable.withBytes(key.column, at: otherPlace) { [UInt8]($0) }
            return Self.compareFolded(text, otherText)
        case .decimal128, .mixed:
            return MixedOrder.compare(
                try table.value(key.column, at: place), try otherTable.value(key.column, at: otherPlace))
        default: return try compare(table, place, otherTable, otherPlace, key.column, key.type)
        }
    }

    /// The table and the row of the value; nil after a null link.
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

    /// Compares UTF-8 in natural order: returns a negative number, 0 or a positive number if `a` comes before, equals
    /// or comes after `b`.
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
