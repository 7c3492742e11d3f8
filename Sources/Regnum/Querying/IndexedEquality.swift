// SPDX-License-Identifier: Apache-2.0
// What programs ask most: a number or a text property with an index equals a constant. The index is asked at once. The
// predicate and the query that all else becomes are only made where something else is asked of the same results.

internal import RegnumEngine

package struct IndexedEquality {
    let column: Int
    /// An `.int` or a `.string`.
    let value: Value
    /// As it was written.
    let condition: QueryNode
}

extension IndexedEquality {
    /// Up to so many objects are taken from the index without asking what else would find them.
    private static let few = 256

    /// Nil where it is another condition, or not one of an indexed property of the class.
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

    /// How many objects; nil where the index is gone. O(log n).
    func count(_ binding: ClassBinding) -> Int? {
        binding.withTable { table throws(EngineError) in
            table.hasIndex(column) ? try table.count(inIndexOf: column, equalTo: value) : nil
        }
    }

    /// The first objects, ascending; nil where the index is gone. `limit`: as many are enough, there may be more.
    /// O(log n + limit).
    func keys(_ binding: ClassBinding, limit: Int) -> [ObjectKey]? {
        binding.withTable { table throws(EngineError) in
            table.hasIndex(column) ? try table.keys(inIndexOf: column, equalTo: value, limit: limit) : nil
        }
    }

    /// All objects, ascending; nil where they are many, or the index is gone.
    func fewKeys(_ binding: ClassBinding) -> [ObjectKey]? {
        guard let keys = keys(binding, limit: Self.few + 1), keys.count <= Self.few else { return nil }
        return keys
    }
}

extension ClassBinding {
    /// The column of a plain property where its index can be asked for a value; nil where it cannot.
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
    /// The same objects with a condition that an index answers alone; nil where it is another one. Objects of frozen
    /// Realms, which several threads ask, are found as by all other conditions.
    func asking(_ condition: QueryNode) -> ResultsState? {
        check()
        guard isWholeTable, !realm.isFrozen, let binding, let equality = IndexedEquality(condition, binding) else {
            return nil
        }
        return ResultsState(
            realm: realm, elementType: elementType, binding: binding, source: source, equality: equality)
    }
}
