// SPDX-License-Identifier: Apache-2.0
// `List`, `MutableSet` and `Map` as properties. Each accessor of the owner has one instance of the collection, which
// stays the same when the owner is added to a Realm.

internal import RegnumEngine

/// The requirements on a collection type that is a property of an object.
public protocol _OwnedCollection: _ManagedCollection, _Persistable where _Stored == Self?, PersistedType == Self {
    init()
    /// Makes the collection a view of a column of a managed object.
    func _becomeManaged(_ object: ObjectBase, _ column: Int)
    /// Replaces the elements with those of another collection. Assigning a collection to itself does nothing.
    func _assign(_ other: Self)
    /// Replaces the elements with those of a value of type Any. Returns false if the value is not a collection.
    func _replaceElements(with value: Any) -> Bool
    func _trace(_ recorder: _KeyPathRecorder)
}

extension _OwnedCollection {
    public static var _unset: Self? { nil }
    public static func _wrapped(_ value: Self) -> Self? { value }
    public static func _peek(_ stored: Self?) -> Self? { stored }
    public static func _filled(_ stored: inout Self?) -> Self {
        if let stored { return stored }
        let collection = Self()
        stored = collection
        return collection
    }

    /// Copies the elements of the value assigned to the property of an unmanaged object, even before the first read:
    /// the assigned instance may belong to another object, and an instance is a view of one object only.
    public static func _replace(_ stored: inout Self?, _ value: Self) {
        _filled(&stored)._assign(value)
    }

    /// Returns the collection of a managed object: one instance per accessor.
    @inlinable @inline(__always)
    public static func _load(_ column: UnsafeRawPointer, _ row: Int, _ object: ObjectBase, _ offset: Int)
        -> Self
    {
        // Ignore an unmanaged instance: the class's initialiser created it, for an accessor of a class that has fields
        // of its own.
        if object.isOfThisThread, let collection = storedPointer(object, offset, Self.self).pointee,
            collection.isManaged
        {
            return collection
        }
        return _loadSlowly(column, object, offset)
    }

    /// Like `_load`, but also safe for a frozen object that several threads read at once.
    @usableFromInline @inline(never)
    static func _loadSlowly(_ column: UnsafeRawPointer, _ object: ObjectBase, _ offset: Int) -> Self {
        object.core.alone {
            let stored = storedPointer(object, offset, Self.self)
            if let collection = stored.pointee, collection.isManaged { return collection }
            let collection = Self()
            let number =
                (column - UnsafeRawPointer(object.rowColumns.unsafelyUnwrapped)) / MemoryLayout<ColumnView>.stride
            collection._becomeManaged(object, number)
            stored.pointee = collection
            return collection
        }
    }

    public static var _hasFixedSize: Bool { false }
    public static func _store(
        _ value: Self, _ column: UnsafeMutableRawPointer, _ row: Int, _ object: ObjectBase
    ) {
        fatalError("a collection is stored through its table")
    }

    public static func _assign(_ value: Self, _ object: ObjectBase, _ column: Int) {
        let collection = Self()
        collection._becomeManaged(object, column)
        collection._assign(value)
    }

    public static func _fromRaw(_ raw: _RawValue) -> Self { Self() }
    public static func _toRaw(_ value: Self) -> _RawValue { _RawValue(.null) }
    public static func _coerced(_ value: Any) -> Self? {
        if let collection = value as? Self { return collection }
        let collection = Self()
        return collection._replaceElements(with: value) ? collection : nil
    }
    public static func _dynamic(_ value: Self) -> Any? { value }
    public static func _traced(_ recorder: _KeyPathRecorder) -> Self {
        let collection = Self()
        collection._trace(recorder)
        return collection
    }
}

extension _OwnedCollection where Self: AnyOwnedCollection {
    /// Returns the same collection in another Realm of the file; nil if it does not exist there, unless `mayBeMissing`
    /// is true.
    func movedCopy(to home: _RealmHome, mayBeMissing: Bool) -> Self? {
        guard let place = place?.moved(to: home.core, mayBeMissing: mayBeMissing) else { return nil }
        // A nested collection may have been replaced by another value, or may exist only in the current write
        // transaction.
        if !mayBeMissing, !place.isThere(Self.words) { return nil }
        let copy = Self()
        copy.becomeManaged(place)
        return copy
    }

    /// Returns the shape of a collection with elements of the given type.
    static func shape<Element: _HasPersistedType>(
        of type: Element.Type, _ kind: _PropertyShape.Collection
    ) -> _PropertyShape {
        var shape = Element._shape
        shape.collection = kind
        shape.code = .collection
        return shape
    }
}
