// SPDX-License-Identifier: Apache-2.0
// Finds stored values that a property's type cannot represent: raw values without a case of an enum, integers out of
// range, values that a user-defined type rejects. If the property is not optional, reading one ends the program.

internal import RegnumEngine

/// Counts objects of one table, with the values they would have if no migration block changed them. Passes over the
/// table once for each such property.
struct UnrepresentableValues {
    let schema: ClassSchema
    let table: Table

    /// For each property that has any: the number of objects with such a value or element.
    func counts() throws(EngineError) -> [(property: ClassProperty, count: Int)] {
        var found: [(property: ClassProperty, count: Int)] = []
        if table.count == 0 { return found }
        for property in schema.properties where property.isPartial && !property.shape.isOptional && !property.isComputed
        {
            let count = try count(property)
            if count > 0 { found.append((property, count)) }
        }
        return found
    }

    private func count(_ property: ClassProperty) throws(EngineError) -> Int {
        let wanted = property.newColumn
        var known: [Value: Bool] = [:]
        func isUnformed(_ value: Value) -> Bool {
            let stored = value == .null ? Value.zero(wanted.type) : value
            if let isFormed = known[stored] { return !isFormed }
            let isFormed = property.hasForm(for: stored)
            known[stored] = isFormed
            return !isFormed
        }
        let place = table.definition.columns.firstIndex { column in
            column.name == wanted.name && !column.isHidden && column.type == wanted.type
                && column.collection == wanted.collection
        }
        // A property that starts without values has zero or empty in each object; a collection has no elements.
        guard let place else { return property.isOwnedCollection || !isUnformed(.null) ? 0 : table.count }
        var count = 0
        try table.forEachGroup { group throws(EngineError) in
            for row in 0..<group.pointee.count {
                for value in try values(place, RowLocation(group: group, row: row)) where isUnformed(value) {
                    count += 1
                    break
                }
            }
            return true
        }
        return count
    }

    private func values(_ column: Int, _ location: RowLocation) throws(EngineError) -> [Value] {
        switch table.definition.columns[column].collection {
        case .none: [try table.value(column, at: location)]
        case .list, .set: try table.listValues(column, of: location.key)
        case .dictionary: try table.dictionaryEntries(column, of: location.key).map(\.value)
        }
    }
}

extension ClassProperty {
    /// The type of the values, for messages.
    var formName: String {
        if let type { return "\(type)" }
        return (fieldType as? any AnyRealmProperty.Type).map { "\($0.valueType)" } ?? "\(fieldType)"
    }
}
