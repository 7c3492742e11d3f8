// SPDX-License-Identifier: Apache-2.0
// Queries on the objects of a managed list.

internal import RegnumEngine

extension List: _QueryableCollection {
    /// The objects of the list as a query sees them; nil while it is unmanaged.
    public var _handle: _ResultsHandle {
        guard let place = checkedPlace() else { return _ResultsHandle(state: nil) }
        guard let target = Element._shape.target else {
            misuse("Querying is currently only implemented for arrays of Realm Objects")
        }
        let owner = RowReference(binding: place.binding, key: place.key, rollbacks: Int(place.rollbacks))
        return _ResultsHandle(
            state: ResultsState(
                realm: place.core, elementType: target, binding: place.fetchableTarget(target),
                source: .list(owner: owner, column: place.column)))
    }
}
