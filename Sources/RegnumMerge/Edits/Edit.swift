// SPDX-License-Identifier: Apache-2.0
// An edit of one object. A client applies it to its own copy and uploads it.

/// A change of one object with the stamp of its write. Edits of one write transaction have increasing stamps, except
/// that a create and the initial values share one, and so do an embedded object and its values.
public struct Edit: Hashable, Sendable {
    public enum Change: Hashable, Sendable {
        case create
        case delete
        /// Sets a property. `.object` replaces the embedded object at the path by a new one, whose values follow with
        /// the same stamp.
        case set(PropertyPath, MergeValue, isDefault: Bool)
        /// Adds or replaces the element of a set or a map, or removes it if the value is nil.
        case setEntry(PropertyPath, key: MergeValue, value: MergeValue?)
        case insert(PropertyPath, ElementID, Position, MergeValue)
        case move(PropertyPath, ElementID, Position)
        case replace(PropertyPath, ElementID, MergeValue)
        case remove(PropertyPath, ElementID)
        case increment(PropertyPath, Int64)
        case assignCounter(PropertyPath, Int64)
    }

    public var stamp: Stamp
    public var change: Change

    public init(_ stamp: Stamp, _ change: Change) {
        self.stamp = stamp
        self.change = change
    }

    /// The property that is changed; nil for creates and deletes.
    public var path: PropertyPath? {
        switch change {
        case .create, .delete: nil
        case .set(let path, _, isDefault: _), .setEntry(let path, key: _, value: _), .insert(let path, _, _, _),
            .move(let path, _, _), .replace(let path, _, _), .remove(let path, _), .increment(let path, _),
            .assignCounter(let path, _):
            path
        }
    }

    /// The same edit under another replica number. A client that takes a new identity so gives its pending edits stamps
    /// of the new number, while the ids of elements stay. A client that receives its first number replaces both.
    public func replacing(_ old: Replica, by new: Replica, withIDs: Bool) -> Edit {
        func rename(_ id: ElementID) -> ElementID {
            id.replica == old && withIDs ? ElementID(new, id.counter) : id
        }
        var result = self
        if stamp.replica == old { result.stamp.replica = new }
        switch change {
        case .insert(let path, let id, let position, let value):
            result.change = .insert(path, rename(id), position.renaming(rename), value)
        case .move(let path, let id, let position):
            result.change = .move(path, rename(id), position.renaming(rename))
        case .replace(let path, let id, let value): result.change = .replace(path, rename(id), value)
        case .remove(let path, let id): result.change = .remove(path, rename(id))
        case .create, .delete, .set, .setEntry, .increment, .assignCounter: break
        }
        return result
    }
}
