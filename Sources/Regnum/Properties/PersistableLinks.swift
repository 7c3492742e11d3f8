// SPDX-License-Identifier: Apache-2.0
// Objects as stored types: links. They are optional as properties, but not as elements of lists.

internal import RegnumEngine

/// The members that every model class gets through its conformances instead of from `ObjectBase`.
public protocol _ObjectValue: ObjectBase, _PersistableInsideOptional, _RealmCollectionValueInsideOptional {}

extension _ObjectValue {
    public static var _shape: _PropertyShape { _PropertyShape(.object, code: .link, target: Self.self) }

    public static var _hasFixedSizeInside: Bool { false }

    public static func _loadOptional(_ column: UnsafeRawPointer, _ row: Int, _ object: ObjectBase) -> Self? {
        let key = column.assumingMemoryBound(to: ColumnView.self).pointee.integer(row)
        if key == 0 { return nil }
        let target = object.core.binding(for: Self.self)
        return unsafeDowncast(
            target.makeAccessor(ObjectKey(rawValue: UInt64(bitPattern: key))), to: Self.self)
    }

    /// Never called: link columns maintain backlinks.
    public static func _storeOptional(
        _ value: Self?, _ column: UnsafeMutableRawPointer, _ row: Int, _ object: ObjectBase
    ) {
        fatalError("a link is stored through its table")
    }

    public static func _fromRaw(_ raw: _RawValue) -> Self {
        guard case .link(let key) = raw.value, let binding = raw.binding else {
            if let object = raw.object { return unsafeDowncast(object, to: Self.self) }
            misuse("A non-optional link is nil.")
        }
        return unsafeDowncast(binding.makeAccessor(key), to: Self.self)
    }

    public static func _element(_ place: _RowPlace) -> Self {
        if let object = place.object { return unsafeDowncast(object.takeUnretainedValue(), to: Self.self) }
        let object =
            place.location.map { place.binding.makeAccessor(place.key, at: $0) }
            ?? place.binding.makeAccessor(place.key)
        return unsafeDowncast(object, to: Self.self)
    }

    public static func _assignOptional(_ value: Self?, _ object: ObjectBase, _ column: Int) {
        if let value, Swift.type(of: value) == Self.self, value.isOfRealm(of: object) {
            let isStored = object.binding.withTable { table throws(EngineError) in
                guard table.isLinkAlone(column) else { return false }
                try table.setLink(value.rowKey, column, of: object.rowKey)
                return true
            }
            if isStored { return }
        }
        assignRaw(value.map { _toRaw($0) } ?? _RawValue(.null), _optionalShape.target, object, column)
    }

    public static func _toRaw(_ value: Self) -> _RawValue {
        var raw = _RawValue(.null)
        raw.object = value
        return raw
    }

    public static func _coerced(_ value: Any) -> Self? {
        guard let value = unwrapped(value) else { return nil }
        if let object = objectBase(value) {
            if let own = object as? Self { return own }
            return object.accessor(as: Self.self).map { unsafeDowncast($0, to: Self.self) }
        }
        guard Coercion.entries(value) != nil || Coercion.elements(value) != nil else { return nil }
        let object = Self()
        ObjectFilling.fill(object, from: value)
        return object
    }

    public static func _dynamic(_ value: Self) -> Any? { value }
    public static func _makeUnset() -> Self { Self() }

    public static func _traced(_ recorder: _KeyPathRecorder) -> Self {
        unsafeDowncast(recorder.makeTraced(Self.self), to: Self.self)
    }
}

extension ObjectBase: _ObjectValue {
    public typealias PersistedType = ObjectBase
}
