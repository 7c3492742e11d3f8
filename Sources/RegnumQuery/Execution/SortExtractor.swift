// SPDX-License-Identifier: Apache-2.0
// Extracts the sort values of rows from their columns once: as words whose unsigned order is the requested order, or as
// strings by address.
//
// The order of nulls is decided here, in `levels(of:)`: in ascending order, null values come first and null links last;
// descending is the reverse. `RowOrder`, which compares one object with another, has the same rule.

import RegnumEngine

/// The bytes of a string that does not move while the query runs.
struct TextRef {
    var address: UnsafeRawPointer
    var count: Int
}

/// One value for each input row.
enum SortLevel {
    case words([UInt64])
    /// Ordered as unsigned bytes; in reverse if `isDescending`.
    case texts([TextRef], isDescending: Bool)
}

/// Extracts the levels of a sort key. Owns copies of strings that are stored in separate blocks.
final class SortExtractor {
    private let session: Session
    private var copies: [UnsafeMutableRawPointer] = []

    init(_ session: Session) { self.session = session }

    /// Sorts the rows stably by the keys.
    static func sort(
        _ rows: [RowLocation], _ keys: [SortKey], _ table: Table, _ session: Session
    ) throws(EngineError) -> [RowLocation] {
        if let sorted = try PackedSort.sort(rows, keys, table, session) { return sorted }
        return try sortByLevels(rows, keys, table, session)
    }

    /// Like `sort`, one key after the other: for keys that cannot be packed, and for rows whose packed words are equal.
    static func sortByLevels(
        _ rows: [RowLocation], _ keys: [SortKey], _ table: Table, _ session: Session
    ) throws(EngineError) -> [RowLocation] {
        let extractor = SortExtractor(session)
        var levels: [SortLevel] = []
        for key in keys {
            try session.checkStop()
            levels += try extractor.levels(of: key, table, rows)
        }
        let sorted = RowSorter.order(levels, rows.count).map { rows[$0] }
        withExtendedLifetime(extractor) {}
        return sorted
    }

    /// Removes rows that equal an earlier row in all keys, and rows with a null link on a key's path.
    static func distinct(
        _ rows: [RowLocation], _ keys: [SortKey], _ table: Table, _ session: Session
    ) throws(EngineError) -> [RowLocation] {
        let extractor = SortExtractor(session)
        var levels: [SortLevel] = []
        var isDropped = [Bool](repeating: false, count: rows.count)
        for key in keys {
            levels += try extractor.levels(of: key, table, rows)
            if key.links.isEmpty { continue }
            for (index, place) in try extractor.follow(key, table, rows).1.enumerated() where place == nil {
                isDropped[index] = true
            }
        }
        let kept = DistinctRows.firsts(levels, among: rows.indices.filter { !isDropped[$0] }).map { rows[$0] }
        withExtendedLifetime(extractor) {}
        return kept
    }
    deinit { for copy in copies { copy.deallocate() } }

    /// In ascending order, null values come before all values and null links after them; descending is the reverse.
    func levels(of key: SortKey, _ table: Table, _ rows: [RowLocation]) throws(EngineError) -> [SortLevel] {
        let (end, places) = try follow(key, table, rows)
        if let entry = key.entry { return try entryLevels(key, entry, end, places) }
        var ranks = [UInt64](repeating: 1, count: rows.count)
        var isRanked = false
        for (index, place) in places.enumerated() {
            if let place {
                guard place.group.columns[key.column].isNull(place.row) else { continue }
                ranks[index] = 0
            } else {
                ranks[index] = 2
            }
            isRanked = true
        }
        let turn: UInt64 = key.isAscending ? 0 : .max
        var levels: [SortLevel] = isRanked ? [.words(ranks.map { $0 ^ turn })] : []
        if key.isFolded, key.type == .string {
            for fold in TextOrder.levels {
                levels.append(
                    .texts(
                        try texts(key, end, places, ranks, fold: fold), isDescending: !key.isAscending))
            }
            return levels
        }
        if key.type == .string || key.type == .data {
            levels.append(.texts(try texts(key, end, places, ranks), isDescending: !key.isAscending))
            return levels
        }
        if key.type == .decimal128 || key.type == .mixed {
            levels.append(.words(try rankWords(key, end, places, ranks, turn)))
            return levels
        }
        for part in 0..<(key.type == .date || key.type == .objectID || key.type == .uuid ? 2 : 1) {
            levels.append(.words(words(key, part, places, ranks, turn)))
        }
        return levels
    }

    /// The levels of the value that each row's map has under a key; null if there is none.
    private func entryLevels(
        _ key: SortKey, _ entry: String, _ table: Table, _ places: [RowLocation?]
    ) throws(EngineError) -> [SortLevel] {
        let turn: UInt64 = key.isAscending ? 0 : .max
        var ranks = [UInt64](repeating: 2, count: places.count)
        var values: [(value: Value, index: Int)] = []
        for (index, place) in places.enumerated() {
            guard let place else { continue }
            ranks[index] = 0
            let value = try table.dictionaryValue(of: entry, key.column, at: place)
            if value == .null { continue }
            ranks[index] = 1
            values.append((value, index))
        }
        return [.words(ranks.map { $0 ^ turn }), .words(Self.rankWords(&values, places.count, turn))]
    }

    /// The location of each row's value; nil after a null link.
    func follow(
        _ key: SortKey, _ table: Table, _ rows: [RowLocation]
    ) throws(EngineError) -> (Table, [RowLocation?]) {
        var current = table
        var places: [RowLocation?] = rows
        for step in key.links {
            guard case .link(let column, let target) = step, let next = session.table(target) else {
                continue
            }
            for index in places.indices {
                guard let place = places[index] else { continue }
                let found = UInt64(bitPattern: place.group.columns[column].integer(place.row))
                places[index] = found == 0 ? nil : try next.locate(ObjectKey(found))
            }
            current = next
        }
        return (current, places)
    }

    private func words(
        _ key: SortKey, _ part: Int, _ places: [RowLocation?], _ ranks: [UInt64], _ turn: UInt64
    ) -> [UInt64] {
        var words = [UInt64](repeating: 0, count: places.count)
        for index in places.indices where ranks[index] == 1 {
            guard let place = places[index] else { continue }
            words[index] =
                Self.word(place.group.columns[key.column], place.row, key.type, part) ^ turn
        }
        return words
    }

    /// The rank of each value in the order of `MixedOrder`; equal values have the same rank.
    private func rankWords(
        _ key: SortKey, _ table: Table, _ places: [RowLocation?], _ ranks: [UInt64], _ turn: UInt64
    ) throws(EngineError) -> [UInt64] {
        var values: [(value: Value, index: Int)] = []
        for index in places.indices where ranks[index] == 1 {
            guard let place = places[index] else { continue }
            values.append((try table.value(key.column, at: place), index))
        }
        return Self.rankWords(&values, places.count, turn)
    }

    private static func rankWords(
        _ values: inout [(value: Value, index: Int)], _ count: Int, _ turn: UInt64
    ) -> [UInt64] {
        values.sort { MixedOrder.compare($0.value, $1.value) < 0 }
        var words = [UInt64](repeating: 0, count: count)
        var rank: UInt64 = 0
        for (position, entry) in values.enumerated() {
            if position > 0, !MixedOrder.areEqual(values[position - 1].value, entry.value) { rank += 1 }
            words[entry.index] = rank ^ turn
        }
        return words
    }

    /// A word whose unsigned order is the order of the values.
    @inline(__always)
    static func word(_ column: ColumnView, _ row: Int, _ type: ColumnType, _ part: Int) -> UInt64 {
        switch type {
        case .bool: return column.bit(row) ? 1 : 0
        case .float: return ordered(Double(column.float(row)))
        case .double: return ordered(column.double(row))
        case .date:
            let value = part == 0 ? column.integer(row) : Int64(column.nanoseconds(row))
            return UInt64(bitPattern: value) ^ 1 &<< 63
        case .objectID:
            let (low, high) = column.bytes12(row)
            return part == 0 ? low.byteSwapped : UInt64(high.byteSwapped)
        case .uuid:
            let (low, high) = column.bytes16(row)
            return (part == 0 ? low : high).byteSwapped
        default: return UInt64(bitPattern: column.integer(row)) ^ 1 &<< 63
        }
    }

    /// NaN comes first; -0 equals 0.
    @inline(__always)
    static func ordered(_ value: Double) -> UInt64 {
        if value.isNaN { return 0 }
        let bits = (value + 0).bitPattern
        return bits &>> 63 == 0 ? bits | 1 &<< 63 : ~bits
    }

    private func texts(
        _ key: SortKey, _ table: Table, _ places: [RowLocation?], _ ranks: [UInt64],
        fold: ((UnsafeRawBufferPointer) -> [UInt8])? = nil
    ) throws(EngineError) -> [TextRef] {
        let nowhere = TextRef(address: UnsafeRawPointer(session.state), count: 0)
        var texts = [TextRef](repeating: nowhere, count: places.count)
        for index in places.indices where ranks[index] == 1 {
            guard let place = places[index] else { continue }
            let column = place.group.columns[key.column]
            if let fold {
                texts[index] = try table.withBytes(key.column, at: place) { bytes in
                    fold(bytes).withUnsafeBytes { copy($0) }
                }
                continue
            }
            if column.isBlob(place.row) {
                texts[index] = try table.withBytes(key.column, at: place) { copy($0) }
                continue
            }
            let bytes = column.bytes(place.row)
            if let address = bytes.baseAddress {
                texts[index] = TextRef(address: address, count: bytes.count)
            }
        }
        return texts
    }

    private func copy(_ bytes: UnsafeRawBufferPointer) -> TextRef {
        let copy = UnsafeMutableRawPointer.allocate(byteCount: max(1, bytes.count), alignment: 8)
        if let source = bytes.baseAddress { copy.copyMemory(from: source, byteCount: bytes.count) }
        copies.append(copy)
        return TextRef(address: copy, count: bytes.count)
    }
}

extension Table {
    /// The value that a row's map has under a key; null if there is none.
    func dictionaryValue(of entry: String, _ column: Int, at place: RowLocation) throws(EngineError) -> Value {
        guard let found = try dictionaryIndex(of: entry, column, of: place.key) else { return .null }
        return try dictionaryValue(column, of: place.key, at: found)
    }
}
