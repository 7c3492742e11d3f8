// SPDX-License-Identifier: Apache-2.0
// Comparing and combining sets. As in RealmSwift, the other operand of a managed set must be managed by the same Realm.

internal import RegnumEngine

extension MutableSet {
    /// Returns whether every element is in the other set.
    public func isSubset(of possibleSuperset: MutableSet<Element>) -> Bool {
        guard let place = checkedPlace() else { return items.allSatisfy { possibleSuperset.contains($0) } }
        let other = otherPlace(possibleSuperset, place)
        return place.values().allSatisfy { other.contains($0) }
    }

    /// Returns whether any element is in the other set.
    public func intersects(_ otherSet: MutableSet<Element>) -> Bool {
        guard let place = checkedPlace() else { return items.contains { otherSet.contains($0) } }
        let other = otherPlace(otherSet, place)
        return place.values().contains { other.contains($0) }
    }

    /// Removes the elements that are not in the other set.
    public func formIntersection(_ other: MutableSet<Element>) {
        guard let place = placeToCombine("formIntersection") else {
            keepItems { other.contains($0) }
            return
        }
        let otherPlace = otherPlace(other, place)
        remove(place.values().filter { !otherPlace.contains($0) }, place)
    }

    /// Removes the elements that are in the other set.
    public func subtract(_ other: MutableSet<Element>) {
        guard let place = placeToCombine("subtract") else {
            keepItems { !other.contains($0) }
            return
        }
        remove(otherPlace(other, place).values(), place)
    }

    /// Inserts the elements of the other set.
    public func formUnion(_ other: MutableSet<Element>) {
        guard let place = placeToCombine("formUnion") else {
            insert(objectsIn: Array(other))
            return
        }
        insert(otherPlace(other, place).values(), place)
    }

    private func placeToCombine(_ operation: String) -> PropertyLocation? {
        guard let place = checkedPlace() else { return nil }
        place.core.requireWrite(
            "Can only perform \(operation) in a Realm in a write transaction - call beginWrite() first.")
        return place
    }

    private func otherPlace(_ other: MutableSet, _ place: PropertyLocation) -> PropertyLocation {
        guard let otherPlace = other.checkedPlace() else {
            misuse("Right hand side value must be a managed Set.")
        }
        if otherPlace.core !== place.core { misuse("Cannot insersect sets managed by different Realms.") }
        if Element._shape.target == DynamicObject.self {
            // Objects of two classes may have equal keys.
            let (own, others) = (place.target(DynamicObject.self), otherPlace.target(DynamicObject.self))
            if own.tableKey != others.tableKey {
                misuse("Cannot intersect sets of type '\(own.schema.name)' and '\(others.schema.name)'.")
            }
        }
        return otherPlace
    }
}

extension PropertyLocation {
    /// Returns whether the set contains a value.
    fileprivate func contains(_ value: Value) -> Bool {
        engine { () throws(EngineError) in
            try binding.table.setIndex(of: value, column, of: key) != nil
        }
    }
}
