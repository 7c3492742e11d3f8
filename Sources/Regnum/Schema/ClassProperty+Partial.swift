// SPDX-License-Identifier: Apache-2.0
// What a file may hold and the type of a property has no form for: raw values that no case of an enum has (newer
// programs may have stored them), integers of more bits, values that a type of the user's own refuses. The property's
// getter ends the program for such or gives nil; by name they are shown, stored and copied from one Realm to another.

internal import Foundation
internal import RegnumEngine

extension ClassProperty {
    /// What the file has for a property whose type is partial, whether it has a form for it or not. Nil for null, for
    /// unmanaged objects, for collections and boxes, and for all other properties.
    func storedValue(of object: ObjectBase) -> Any? {
        guard isPartial, storage == .wrapper, !isOwnedCollection, let context = object.rowContext,
            context.pointee.kind == .managed
        else { return nil }
        object.requireValid()
        let column = Int(context.pointee.columnNumbers[offset])
        if context.pointee.isTracked { trackRead(of: object, column) }
        if storedForm != .other { return object.plainColumn(storedForm, column) }
        // Of a read-only file of an older version.
        guard column >= 0, let type else { return nil }
        let binding = object.binding
        let value = engine { () throws(EngineError) in try binding.table.value(column, of: object.rowKey) }
        if case .null = value { return nil }
        func open<V: _Persistable>(_ type: V.Type) -> Any? { V._shown(_RawValue(value)) }
        return open(type)
    }

    /// A value of type Any for the engine, also one that the type has no form for. Nil where the type is not partial,
    /// where it cannot be stored, and for collections. `isKnown`: it comes from a file, or whoever gives it means it:
    /// then integers of all widths are stored.
    func storable(_ value: Any, isKnown: Bool = true) -> Value? {
        guard isPartial, !isOwnedCollection else { return nil }
        func open<V: _HasPersistedType>(_ type: V.Type) -> Value? { stored(value, as: type, isKnown: isKnown) }
        if let type { return open(type) }
        return (fieldType as? any AnyRealmProperty.Type).flatMap { open($0.valueType) }
    }

    /// A value that the type has no form for, for the engine; nil for all other values and properties, and for primary
    /// keys.
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

    /// True where `create` and `dynamicCreate` take a value, or an element of a collection: a text from outside is asked
    /// before.
    package func accepts(_ value: Any) -> Bool {
        if let text = value as? String, text.utf8.count > ByteLimits.string { return false }
        if let data = value as? Data, data.count > ByteLimits.data { return false }
        if !isOwnedCollection { return coercedRaw(value) != nil || storable(value, isKnown: false) != nil }
        func open<C: AnyOwnedCollection>(_ type: C.Type) -> Bool { C.accepts(value) }
        return (type as? any AnyOwnedCollection.Type).map { open($0) } ?? true
    }

    /// True where the type has a form for what a file has: else a read ends the program, or gives nil.
    func hasForm(for stored: Value) -> Bool {
        func open<V: _HasPersistedType>(_ type: V.Type) -> Bool {
            V._shown(_RawValue(stored)).flatMap { V._coerced($0) } != nil
        }
        func openElement<C: AnyOwnedCollection>(_ type: C.Type) -> Bool { C.hasForm(for: stored) }
        if let type = type as? any AnyOwnedCollection.Type { return openElement(type) }
        if let type { return open(type) }
        return (fieldType as? any AnyRealmProperty.Type).map { open($0.valueType) } ?? true
    }

    /// Stores a value that the type has no form for. False where the usual way is right.
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

/// An element of a partial type as such; as it is stored where the type has no form for it.
func formed<Element: _HasPersistedType>(_ value: Value, as type: Element.Type) -> Any {
    let shown = Element._shown(_RawValue(value))
    if let shown, let element = Element._coerced(shown) { return element }
    return shown as Any
}

/// What a collection in memory can have of an element: nil in place of what the type has no form for; no element where
/// elements are not optional.
func held<Element: _HasPersistedType>(_ value: Any, as type: Element.Type) -> Any? {
    if Element._coerced(value) != nil { return value }
    return Element._shape.isOptional ? .some(Any?.none as Any) : nil
}

/// A value of type Any as another type; also of an enum or a type of the user's own what is stored of it.
func coerced<V: _HasPersistedType>(_ value: Any, as type: V.Type) -> V? {
    if let own = V._coerced(value) { return own }
    return storedForm(of: value).flatMap { V._coerced($0) }
}

/// What is stored of a value of type Any, whether the type has a form for it or not; nil where it cannot be stored.
private func stored<V: _HasPersistedType>(_ value: Any, as type: V.Type, isKnown: Bool) -> Value? {
    if let raw = V._storable(value) ?? storedForm(of: value).flatMap({ V._storable($0) }) { return raw.value }
    return isKnown && V._shape.type == .int ? Coercion.integer(value).map { Value.int($0) } : nil
}

/// True where an element of type Any can be stored.
func accepts<Element: _HasPersistedType>(_ value: Any, as type: Element.Type) -> Bool {
    coerced(value, as: type) != nil || stored(value, as: type, isKnown: false) != nil
        || unwrapped(value) == nil && Element._shape.hasEmbeddedForm
}

/// What is stored of an element of type Any; misuse for one that cannot be stored.
func storedElement<Element: _HasPersistedType>(
    _ value: Any, as type: Element.Type, _ words: CollectionWords, isKnown: Bool
) -> Value {
    stored(value, as: type, isKnown: isKnown) ?? Element._toRaw(coercedElement(value, type, words)).value
}

extension AnyOwnedCollection {
    /// What this one, in memory, can have of the elements of another, for its `replaceElements`.
    func heldElements(of other: any AnyOwnedCollection) -> Any {
        guard let map = other as? any AnyMap else { return other.anyElements.compactMap { Self.held($0) } }
        var entries: [String: Any] = [:]
        for (key, value) in map.anyEntries { entries[key] = Self.held(value as Any) }
        return entries
    }

    /// As `replaceElements`, of a managed collection with elements of a partial type: they go from file to file without
    /// becoming values of the type.
    func replaceStored(with value: Any, _ place: ManagedPlace) -> Bool {
        guard let new = storableElements(of: value) else { return false }
        place.core.replace(new, place.binding, place.column, place.key, .all)
        return true
    }
}

extension _StoredCollection {
    /// For `anyElements`.
    final func typedElements(_ all: some Sequence<Element>) -> [Any] {
        guard Element._shape.isPartial, let place = checkedPlace() else { return all.map { $0 as Any } }
        return place.values().map { formed($0, as: Element.self) }
    }

    /// The element as subscripts show it.
    final func shownElement(at position: Int) -> Any? {
        let shape = Element._shape
        guard shape.isPartial || shape.hasEmbeddedForm, let place = checkedPlace() else {
            return Element._dynamic(element(at: position))
        }
        return place.shown(place.elementValue(at: position), as: Element.self)
    }

    /// For `storableElements`.
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
    static func hasForm(for stored: Value) -> Bool { formed(stored, as: Element.self) is Element }
}
