// SPDX-License-Identifier: Apache-2.0
// The iterator of all Realm collections: over the order at its start.

internal import RegnumEngine

/// Iterates over a Realm collection as it was ordered when the loop began. The objects themselves are live.
public struct RLMIterator<Element: RealmCollectionValue>: IteratorProtocol {
    /// For objects that are managed: the cursor, and its inside, on which a step costs no reference counting.
    @usableFromInline let cursor: ObjectCursor?
    @usableFromInline let step: UnsafeMutablePointer<ObjectCursor.Step>?
    /// For everything else.
    @usableFromInline let values: [Element]
    @usableFromInline var index = 0

    /// `Element` must be a class of objects, that of the cursor's binding.
    package init(_ cursor: ObjectCursor) {
        self.cursor = cursor
        step = cursor.step
        values = []
    }

    /// `Element` is made of the objects that the cursor gives: a projection, or a custom type.
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
            // The cursor owns what `step` points at.
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
