// SPDX-License-Identifier: Apache-2.0
// Objects put together by a value, with figures over each group.

package import RegnumEngine

/// Objects with one value in common.
package struct ObjectGroup: Sendable {
    package let key: Value
    package var count = 0
    /// In the order in which the columns were asked for.
    package var totals: [ValueAggregate]
}

package enum Grouping {
    /// The groups of the objects, in the order of their first objects. Keys of objects that are gone are passed over;
    /// behind a null link there is null. O(objects · columns).
    package static func groups(
        of keys: [ObjectKey], by key: SortKey, over columns: [SortKey], in tableKey: TableKey, _ session: Session
    ) throws(EngineError) -> [ObjectGroup] {
        guard let table = session.table(tableKey) else { return [] }
        let extractor = SortExtractor(session)
        let empty = columns.map { ValueAggregate(isDecimal: $0.type == .decimal128 || $0.type == .mixed) }
        var groups: [ObjectGroup] = []
        var index = GroupIndex()
        // A part at a time: places take memory.
        var start = 0
        while start < keys.count {
            let part = keys[start..<Swift.min(start + 4096, keys.count)]
            start += part.count
            var rows: [RowLocation] = []
            rows.reserveCapacity(part.count)
            for key in part { if let row = try table.locate(key) { rows.append(row) } }
            let (keyTable, keyPlaces) = try extractor.follow(key, table, rows)
            var places: [Int] = []
            places.reserveCapacity(rows.count)
            for place in keyPlaces {
                let number = try index.number(place, key, keyTable, next: groups.count)
                if number == groups.count { groups.append(ObjectGroup(key: index.lastKey, totals: empty)) }
                groups[number].count += 1
                places.append(number)
            }
            for (position, column) in columns.enumerated() {
                let (end, values) = try extractor.follow(column, table, rows)
                for (number, place) in zip(places, values) {
                    guard let place else { continue }
                    groups[number].totals[position].add(try end.value(column.column, at: place))
                }
            }
        }
        return groups
    }
}

extension Grouping {
    /// What the objects are grouped by, in their order; null behind a null link. Objects that are gone are passed over.
    package static func values(
        of keys: [ObjectKey], by key: SortKey, in tableKey: TableKey, _ session: Session
    ) throws(EngineError) -> [Value] {
        guard let table = session.table(tableKey) else { return [] }
        var rows: [RowLocation] = []
        for key in keys { if let row = try table.locate(key) { rows.append(row) } }
        let (end, places) = try SortExtractor(session).follow(key, table, rows)
        var values: [Value] = []
        values.reserveCapacity(places.count)
        for place in places {
            if let place { values.append(try end.value(key.column, at: place)) } else { values.append(.null) }
        }
        return values
    }
}

/// Numbers of groups by what they have in common.
private struct GroupIndex {
    private var words: [Int64: Int] = [:]
    private var others: [GroupKey: Int] = [:]
    /// The key of the group that was new last.
    private(set) var lastKey = Value.null

    /// `next` for a key that was not there before.
    mutating func number(
        _ place: RowLocation?, _ key: SortKey, _ table: Table, next: Int
    ) throws(EngineError) -> Int {
        if let place, key.type == .int, !place.group.columns[key.column].isNull(place.row) {
            let word = place.group.columns[key.column].integer(place.row)
            if let known = words[word] { return known }
            words[word] = next
            lastKey = .int(word)
            return next
        }
        var value = Value.null
        if let place { value = try table.value(key.column, at: place) }
        let wanted = GroupKey(value)
        if let known = others[wanted] { return known }
        others[wanted] = next
        lastKey = value
        return next
    }
}
