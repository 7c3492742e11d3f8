// SPDX-License-Identifier: Apache-2.0
// The most common query: an indexed number or string property equals a constant. The index is searched directly. The
// predicate and the query that other conditions need are created only if the results are used in another way.

internal import RegnumEngine
internal import RegnumQuery

package struct IndexedEquality {
    let column: Int
    /// An `.int` or a `.string`.
    let value: Value
    /// The condition as written.
    let condition: QueryNode
}

extension IndexedEquality {
    /// The largest number of objects taken from the index without considering another plan.
    private static let few = 256

    /// Creates the equality; nil if the condition is of another form, or its property is not an indexed one of the
    /// class.
    init?(_ condition: QueryNode, _ binding: ClassBinding) {
        guard case .comparison(.equal, .property(let member), .constant(let written), let options) = condition,
            options.rawValue == 0
        else { return nil }
        let type: ColumnType
        switch written {
        case .text(let text):
            value = .string(text)
            type = .string
        case .number(let number):
            value = .int(Int64(number))
            type = .int
        case .other: return nil
        }
        guard let column = binding.indexedColumn(of: member, type) else { return nil }
        self.column = column
        self.condition = condition
    }

    /// Returns the number of objects; nil if the index no longer exists. O(log n) for numbers and for strings of at
    /// most `IndexKey.exactByteCount` bytes, otherwise O(objects).
    func count(_ binding: ClassBinding) -> Int? {
        let begin = ObservedQueryRun(binding)
        let count = binding.withTable { table throws(EngineError) in
            table.hasIndex(column) ? try table.count(inIndexOf: column, equalTo: value) : nil
        }
        if let count { note(begin, binding, found: count, examined: 0) }
        return count
    }

    /// Returns the keys of the first objects in ascending order; nil if the index no longer exists. `limit` keys are
    /// enough, but more may be returned. O(log n + limit).
    func keys(_ binding: ClassBinding, limit: Int) -> [ObjectKey]? {
        let begin = ObservedQueryRun(binding)
        guard let keys = search(binding, limit: limit) else { return nil }
        note(begin, binding, found: keys.count, examined: keys.count)
        return keys
    }

    private func search(_ binding: ClassBinding, limit: Int) -> [ObjectKey]? {
        binding.withTable { table throws(EngineError) in
            table.hasIndex(column) ? try table.keys(inIndexOf: column, equalTo: value, limit: limit) : nil
        }
    }

    /// Returns the keys of all objects in ascending order; nil if there are many, or if the index no longer exists.
    func fewKeys(_ binding: ClassBinding) -> [ObjectKey]? {
        let begin = ObservedQueryRun(binding)
        guard let keys = search(binding, limit: Self.few + 1), keys.count <= Self.few else { return nil }
        note(begin, binding, found: keys.count, examined: keys.count)
        return keys
    }

    /// Counts the query, and reports it if queries are observed.
    private func note(_ begin: ObservedQueryRun, _ binding: ClassBinding, found: Int, examined: Int) {
        let counters = binding.core.session.database.counters
        counters.noteQuery()
        if examined > 0 { counters.noteExamined(examined) }
        begin.end {
            QueryReport(
                className: binding.schema.name, conditions: condition.lowered(for: binding.core).description,
                indexes: binding.propertyName(ofColumn: column).map { [$0] } ?? [], isAnsweredByIndex: true,
                estimatedRows: found, foundRows: found)
        }
    }
}

extension ClassBinding {
    /// Returns the column of a plain property if its index can be searched; otherwise nil.
    fileprivate func indexedColumn(of member: QueryMember, _ type: ColumnType) -> Int? {
        if lastAsked?.member !== member { lastAsked = (member, column(of: member)) }
        guard let place = lastAsked?.place, place.type == type else { return nil }
        return withTable { table in table.hasIndex(place.column) ? place.column : nil }
    }

    private func column(of member: QueryMember) -> (column: Int, type: ColumnType)? {
        guard member.names.count == 1, !member.isCollection,
            let place = schema.properties.firstIndex(where: { $0.name == member.names[0] }), columns[place] >= 0
        else { return nil }
        let definition = table.definition.columns[columns[place]]
        return definition.collection == .none ? (columns[place], definition.type) : nil
    }
}

extension ResultsState {
    /// Returns the same objects with a condition that an index can answer alone; nil if the condition is of another
    /// form. In a frozen Realm, which several threads use, objects are found as for any other condition.
    func asking(_ condition: QueryNode) -> ResultsState? {
        check()
        guard isWholeTable, !realm.isFrozen, let binding, let equality = IndexedEquality(condition, binding) else {
            return nil
        }
        return ResultsState(
            realm: realm, elementType: elementType, binding: binding, source: source, equality: equality)
    }
}
