// SPDX-License-Identifier: Apache-2.0
// `List`, `MutableSet` and `Map` as properties: one instance for each accessor of the owner, the same before and
// after it is added to a Realm.

internal import RegnumEngine

/// A collection that an object owns, as a property.
public protocol _OwnedCollection: _ManagedCollection, _Persistable where _Stored == Self?, PersistedType == Self {
    init()
    /// Makes it the view of a column of a managed object.
    func _becomeManaged(_ object: ObjectBase, _ column: Int)
    /// Makes its elements those of another one. The same one: nothing.
    func _assign(_ other: Self)
    /// Replaces its elements by those of a value of type Any. False where it is no collection.
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

    /// Assigning to the property of an unmanaged object copies the elements, also before the first read: the instance
    /// given may be that of another object, and an instance is the view of one object only.
    public static func _replace(_ stored: inout Self?, _ value: Self) {
        _filled(&stored)._assign(value)
    }

    /// The collection of a managed object: one instance for each accessor.
    @inlinable @inline(__always)
    public static func _load(_ column: UnsafeRawPointer, _ row: Int, _ object: ObjectBase, _ offset: Int)
        -> Self
    {
        // One that the class's initialiser has made, as for an accessor of a class with fields of its own, is none.
        if object.isOfThisThread, let collection = storedPointer(object, offset, Self.self).pointee,
            collection.isManaged
        {
            return collection
        }
        return _loadSlowly(column, object, offset)
    }

    /// As `_load`, also of a frozen object, which many threads may ask at once.
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
    /// The same collection in another Realm of the file; nil where that does not show it, unless it `mayBeMissing`.
    func movedCopy(to home: _RealmHome, mayBeMissing: Bool) -> Self? {
        guard let place = place?.moved(to: home.core, mayBeMissing: mayBeMissing) else { return nil }
        // One in a mixed value may have made way for another value, or be the running write's.
        if !mayBeMissing, !place.isThere(Self.words) { return nil }
        let copy = Self()
        copy.becomeManaged(place)
        return copy
    }

    /// The shape of a collection with elements of a type.
    static func shape<Element: _HasPersistedType>(
        of type: Element.Type, _ kind: _PropertyShape.Collection
    ) -> _PropertyShape {
        var shape = Element._shape
        shape.collection = kind
        shape.code = .collection
        return shape
    }
}
