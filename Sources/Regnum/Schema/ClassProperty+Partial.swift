// SPDX-License-Identifier: Apache-2.0
// Stored values that the type of a property cannot represent: raw values without a case of the enum (newer programs may
// have stored them), integers out of range, values that a user-defined type rejects. For such a value the property's
// getter ends the program or returns nil; access by name shows and stores it, and it can be copied from one Realm to
// another.

internal import Foundation
internal import RegnumEngine

extension ClassProperty {
    /// The stored value of a property whose type is partial, whether or not the type can represent it. Nil for null,
    /// for unmanaged objects, for collections and boxes, and for all other properties.
    func storedValue(of object: ObjectBase) -> Any? {
        guard isPartial, storage == .wrapper, !isOwnedCollection, let context = object.rowContext,
            context.pointee.kind == .managed
        else { return nil }
        object.requireValid()
        let column = Int(context.pointee.columnNumbers[offset])
        if context.pointee.isTracked { trackRead(of: object, column) }
        if storedForm != .other { return object.plainColumn(storedForm, column) }
        // The column is missing in a read-only file of an older version.
        guard column >= 0, let type else { return nil }
        let binding = object.binding
        let value = engine { () throws(EngineError) in try binding.table.value(column, of: object.rowKey) }
        if case .null = value { return nil }
        func open<V: _Persistable>(_ type: V.Type) -> Any? { V._shown(_RawValue(value)) }
        return open(type)
    }

    /// Converts a value of type Any for the engine, even if the property's type cannot represent it. Nil if the type is
    /// not partial, if the value cannot be stored, and for collections. With `isKnown` the value comes from a file or
    /// is given deliberately, and integers of all widths are stored.
    func storable(_ value: Any, isKnown: Bool = true) -> Value? {
        guard isPartial, !isOwnedCollection else { return nil }
        func open<V: _HasPersistedType>(_ type: V.Type) -> Value? { stored(value, as: type, isKnown: isKnown) }
        if let type { return open(type) }
        return (fieldType as? any AnyRealmProperty.Type).flatMap { open($0.valueType) }
    }

    /// Converts a value that the type cannot represent for the engine; nil for all other values and properties, and for
    /// primary keys.
    func unknownRaw(_ value: Any, isKnown: Bool = true) -> Value? {
        guard isPartial, !isOwnedCollection, !isPrimaryKey, let present = unwrapped(value), !hasForm(for: present)
        else { return nil }
        return storable(present, isKnown: isKnown)
    }

    private func hasForm(for value: Any) -> Bool {
        func open<V: _HasPersistedType>(_ type: V.Type) -> Bool { coerced(value, as: V.self) != nil }
        if let type { return open(type) }
        return (fieldType as? any AnyRealmProperty.Type).map { open($0.valueType) } ?? true
    }

    /// True if `create` and `dynamicCreate` accept a value, or an element of a collection. Used to check text from
    /// outside in advance.
    package func accepts(_ value: Any) -> Bool {
        if let text = value as? String, text.utf8.count > ByteLimits.string { return false }
        if let data = value as? Data, data.count > ByteLimits.data { return false }
        if !isOwnedCollection { return coercedRaw(value) != nil || storable(value, isKnown: false) != nil }
        func open<C: AnyOwnedCollection>(_ type: C.Type) -> Bool { C.accepts(value) }
        return (type as? any AnyOwnedCollection.Type).map { open($0) } ?? true
    }

    /// Like `accepts`, but false for a value that could be stored and that the type cannot represent.
    package func represents(_ value: Any) -> Bool {
        guard isPartial, accepts(value) else { return accepts(value) }
        if !isOwnedCollection { return coercedRaw(value) != nil }
        func open<C: AnyOwnedCollection>(_ type: C.Type) -> Bool { C.represents(value) }
        return (type as? any AnyOwnedCollection.Type).map { open($0) } ?? true
    }

    /// True if the type can represent a stored value; if it cannot, a read ends the program or returns nil.
    func hasForm(for stored: Value) -> Bool {
        func open<V: _HasPersistedType>(_ type: V.Type) -> Bool {
            V._shown(_RawValue(stored)).flatMap { V._coerced($0) } != nil
        }
        func openElement<C: AnyOwnedCollection>(_ type: C.Type) -> Bool { C.hasForm(for: stored) }
        if let type = type as? any AnyOwnedCollection.Type { return openElement(type) }
        if let type { return open(type) }
        return (fieldType as? any AnyRealmProperty.Type).map { open($0.valueType) } ?? true
    }

    /// Stores a value that the type cannot represent. False if the value must be stored the usual way.
    func setUnknownRawValue(_ value: Any?, of object: ObjectBase) -> Bool {
        guard isPartial, object.rowContext?.pointee.kind == .managed, let value, let raw = unknownRaw(value),
            let place = object.binding.schema.place(named: name)
        else { return false }
        let binding = object.binding
        let column = binding.columns[place]
        if column < 0 { return false }
        engine { () throws(EngineError) in try binding.table.set(raw, column, of: object.rowKey) }
        return true
    }
}

// MARK: Collections

/// An element as its partial type, or as it is stored if the type cannot represent it.
func formed<Element: _HasPersistedType>(_ value: Value, as type: Element.Type) -> Any {
    let shown = Element._shown(_RawValue(value))
    if let shown, let element = Element._coerced(shown) { return element }
    return shown as Any
}

/// An element as a collection in memory can hold it. If the type cannot represent it: nil as an element, or no element
/// if elements are not optional.
func held<Element: _HasPersistedType>(_ value: Any, as type: Element.Type) -> Any? {
    if Element._coerced(value) != nil { return value }
    return Element._shape.isOptional ? .some(Any?.none as Any) : nil
}

/// A value of type Any as another type. For an enum or a user-defined type, tries its stored form too.
func coerced<V: _HasPersistedType>(_ value: Any, as type: V.Type) -> V? {
    if let own = V._coerced(value) { return own }
    return storedForm(of: value).flatMap { V._coerced($0) }
}

/// The stored form of a value of type Any, whether or not the type can represent it; nil if it cannot be stored.
private func stored<V: _HasPersistedType>(_ value: Any, as type: V.Type, isKnown: Bool) -> Value? {
    if let raw = V._storable(value) ?? storedForm(of: value).flatMap({ V._storable($0) }) { return raw.value }
    return isKnown && V._shape.type == .int ? Coercion.integer(value).map { Value.int($0) } : nil
}

/// True if an element of type Any can be stored.
func accepts<Element: _HasPersistedType>(_ value: Any, as type: Element.Type) -> Bool {
    coerced(value, as: type) != nil || stored(value, as: type, isKnown: false) != nil
        || unwrapped(value) == nil && Element._shape.hasEmbeddedForm
}

/// The stored form of an element of type Any. It is a programmer error if the element cannot be stored.
func storedElement<Element: _HasPersistedType>(
    _ value: Any, as type: Element.Type, _ words: CollectionNames, isKnown: Bool
) -> Value {
    stored(value, as: type, isKnown: isKnown) ?? Element._toRaw(coercedElement(value, type, words)).value
}

extension AnyOwnedCollection {
    /// The elements of another collection that this one, in memory, can hold; for its `replaceElements`.
    func heldElements(of other: any AnyOwnedCollection) -> Any {
        guard let map = other as? any AnyMap else { return other.anyElements.compactMap { Self.held($0) } }
        var entries = MapEntries()
        for (key, value) in map.anyEntries {
            if let held = Self.held(value as Any) { entries.list.append((key, held)) }
        }
        return entries
    }

    /// Like `replaceElements`, but for a managed collection whose elements have a partial type: they are copied from
    /// file to file without becoming values of the type.
    func replaceStored(with value: Any, _ place: PropertyLocation) -> Bool {
        guard let new = storableElements(of: value) else { return false }
        place.core.replace(new, place.binding, place.column, place.key, .all)
        return true
    }
}

extension _StoredCollection {
    /// Implements `anyElements`.
    final func typedElements(_ all: some Sequence<Element>) -> [Any] {
        guard Element._shape.isPartial, let place = checkedPlace() else { return all.map { $0 as Any } }
        return place.values().map { formed($0, as: Element.self) }
    }

    /// The element as subscripts return it.
    final func shownElement(at position: Int) -> Any? {
        let shape = Element._shape
        guard shape.isPartial || shape.hasEmbeddedForm, let place = checkedPlace() else {
            return Element._dynamic(element(at: position))
        }
        return place.shown(place.elementValue(at: position), as: Element.self)
    }

    /// Implements `storableElements`.
    final func storable(_ value: Any, _ kind: CollectionKind) -> OwnedElements? {
        if let other = value as? _StoredCollection<Element> {
            return OwnedElements(kind: kind, values: other.engineValues)
        }
        guard let elements = Coercion.elements(value) else { return nil }
        let isKnown = value is any AnyOwnedCollection
        return OwnedElements(
            kind: kind,
            values: elements.map { storedElement($0, as: Element.self, Self.words, isKnown: isKnown) })
    }

    static func held(_ value: Any) -> Any? { Regnum.held(value, as: Element.self) }
    static func accepts(_ value: Any) -> Bool { Regnum.accepts(value, as: Element.self) }
    static func represents(_ value: Any) -> Bool { Regnum.coerced(value, as: Element.self) != nil }
    static func hasForm(for stored: Value) -> Bool { formed(stored, as: Element.self) is Element }
}
