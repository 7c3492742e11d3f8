// SPDX-License-Identifier: Apache-2.0
// Queries on the objects of a managed list or set.

internal import RegnumEngine

extension _StoredCollection {
    /// The objects of the collection as a query sees them; nil while it is unmanaged.
    public final var _handle: _ResultsHandle {
        guard let place = checkedPlace() else { return _ResultsHandle(state: nil) }
        guard let target = Element._shape.target else {
            misuse("Querying is currently only implemented for \(Self.words.kind)s of Realm Objects")
        }
        return _ResultsHandle(
            state: ResultsState(
                realm: place.core, elementType: target, binding: place.fetchableTarget(target),
                source: .list(owner: place.owner, column: place.column)))
    }
}

extension List: _QueryableCollection {}
extension MutableSet: _QueryableCollection {}
