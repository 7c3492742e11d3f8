// SPDX-License-Identifier: Apache-2.0
// The iterator of all Realm collections. It keeps the order that the collection had when iteration began.

internal import RegnumEngine

/// Iterates over a Realm collection in the order it had when the loop began. The objects themselves are live.
public struct RLMIterator<Element: RealmCollectionValue>: IteratorProtocol {
    /// For managed objects: the cursor, and its step state, on which advancing does no reference counting.
    @usableFromInline let cursor: ObjectCursor?
    @usableFromInline let step: UnsafeMutablePointer<ObjectCursor.Step>?
    /// For all other elements.
    @usableFromInline let values: [Element]
    @usableFromInline var index = 0

    /// Creates an iterator over objects. `Element` must be the object class of the cursor's binding.
    package init(_ cursor: ObjectCursor) {
        self.cursor = cursor
        step = cursor.step
        values = []
    }

    /// Creates an iterator whose elements are created from the cursor's objects: projections or custom types.
    package init(projecting cursor: ObjectCursor) {
        self.cursor = cursor
        step = nil
        values = []
    }

    package init(_ values: [Element]) {
        cursor = nil
        step = nil
        self.values = values
    }

    /// The next element, or nil at the end.
    @inlinable
    public mutating func next() -> Element? {
        if let step {
            // The cursor owns the memory that `step` points to.
            defer { withExtendedLifetime(cursor) {} }
            guard let object = step.nextObject() else { return nil }
            return unsafeBitCast(object, to: Element.self)
        }
        guard index < values.count else { return nextProjection() }
        defer { index &+= 1 }
        return values[index]
    }

    @usableFromInline @inline(never)
    func nextProjection() -> Element? {
        guard let cursor, let object = cursor.step.nextObject() else { return nil }
        var raw = _RawValue(.null)
        raw.object = object
        return Element._fromRaw(raw)
    }
}
