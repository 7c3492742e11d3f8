// SPDX-License-Identifier: Apache-2.0
// Groups objects by a value, and computes aggregates for each group.

package import RegnumEngine

/// Objects with the same value.
package struct ObjectGroup: Sendable {
    package let key: Value
    package var count = 0
    /// In the order of the requested columns.
    package var totals: [ValueAggregate]
}

package enum Grouping {
    /// The groups of the objects, in the order of their first objects. Skips keys of deleted objects; the value after a
    /// null link is null. O(objects · columns).
    package static func groups(
        of keys: [ObjectKey], by key: SortKey, over columns: [SortKey], in tableKey: TableKey, _ session: Session
    ) throws(EngineError) -> [ObjectGroup] {
        guard let table = session.table(tableKey) else { return [] }
        let extractor = SortExtractor(session)
        let empty = columns.map { ValueAggregate(isDecimal: $0.type == .decimal128 || $0.type == .mixed) }
        var groups: [ObjectGroup] = []
        var index = GroupIndex()
        // Works in batches, to bound the memory for row locations.
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
    /// The grouping value of each object, in order; null after a null link. Skips deleted objects.
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

/// Maps grouping values to group numbers.
private struct GroupIndex {
    private var words: [Int64: Int] = [:]
    private var others: [GroupKey: Int] = [:]
    /// The value of the group created last.
    private(set) var lastKey = Value.null

    /// The number of the group; `next` if the value is new.
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
