// SPDX-License-Identifier: Apache-2.0
// Assigns the next number to objects whose class has an auto-increment property, when they are added.

internal import RegnumEngine

extension RealmCore {
    /// Returns whether the object has no number yet.
    func isUnnumbered(_ object: ObjectBase, _ property: ClassProperty) -> Bool {
        switch property.raw(object).value {
        case .null, .int(0): true
        default: false
        }
    }

    /// Assigns a number to an unmanaged object that has none.
    func number(_ object: ObjectBase, _ binding: ClassBinding, _ place: (property: Int, column: Int)) {
        let property = binding.schema.properties[place.property]
        guard isUnnumbered(object, property) else { return }
        let number = nextNumber(binding, place.column)
        if !property.set(object, Int(number)) || property.raw(object).value != .int(number) {
            refuseNumber(binding, property.name)
        }
    }

    func nextNumber(_ binding: ClassBinding, _ column: Int) -> Int64 {
        let next = engine { () throws(EngineError) in try binding.table.nextNumber(column) }
        guard let next else { refuseNumber(binding, binding.table.definition.columns[column].name) }
        return next
    }

    private func refuseNumber(_ binding: ClassBinding, _ name: String) -> Never {
        misuse(
            "No numbers are left for '\(binding.schema.name).\(name)': the highest value of its type is in use.")
    }
}
