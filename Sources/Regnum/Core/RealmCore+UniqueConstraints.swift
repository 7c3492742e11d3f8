// SPDX-License-Identifier: Apache-2.0
// Finds the object with the values of a unique constraint, and adds or updates by it. The engine refuses duplicates at
// the commit.

internal import RegnumEngine

extension RealmCore {
    /// Returns the number of the constraint on these properties, in any order. If there is none, that is a programmer
    /// error.
    func uniqueNumber(_ binding: ClassBinding, _ names: [String]) -> Int {
        let schema = binding.schema
        let wanted = Set(names)
        let found = schema.uniques.firstIndex { places in
            places.count == names.count && Set(places.map { schema.properties[$0].name }) == wanted
        }
        if let found { return found }
        misuse(
            "'\(schema.name)' has no unique constraint on (\(names.joined(separator: ", "))). Declare it in "
                + "`uniqueConstraints`, or pass the properties of a declared constraint.")
    }

    /// Returns the object with these values, in the order of the constraint; nil if there is none.
    func key(_ binding: ClassBinding, withUnique number: Int, _ values: [Value]) -> ObjectKey? {
        let columns = binding.schema.uniqueColumns[number]
        let definition = binding.table.definition
        let place = definition.uniques.firstIndex { unique in
            unique.columns.map { key in definition.columns.first { $0.key == key }?.name } == columns
        }
        guard let place else { return nil }
        return engine { () throws(EngineError) in try binding.table.key(inUnique: place, equalTo: values) }
    }

    /// Adds the object, or writes its values to the object with the same values for the constraint.
    func upsert(_ object: ObjectBase, on names: [String], _ update: Realm.UpdatePolicy) {
        requireWrite()
        if object.rowContext != nil { return addManaged(object) }
        let binding = binding(for: type(of: object))
        let number = uniqueNumber(binding, names)
        add(object, binding, to: existing(object, binding, number), update)
    }

    private func existing(_ object: ObjectBase, _ binding: ClassBinding, _ number: Int) -> ObjectKey? {
        var values: [Value] = []
        for place in binding.schema.uniques[number] {
            let raw = binding.schema.properties[place].raw(object)
            guard let target = raw.object else {
                values.append(raw.value)
                continue
            }
            guard target.rowContext != nil, target.core === self else { return nil }
            values.append(.link(target.rowKey))
        }
        return key(binding, withUnique: number, values)
    }
}
