// SPDX-License-Identifier: Apache-2.0
// Properties by name: of one object, of all elements of a collection, and along key paths; and the collection operators
// of key-value coding.

internal import Foundation
internal import RegnumEngine
internal import RegnumQuery

// MARK: Objects

extension ObjectBase {
    /// The value of a property by its name. Null is nil, enums are raw values, and custom types have their stored form
    /// (see `CustomPersistable`). An unknown name or a value that does not fit is a programmer error.
    ///
    /// `Int`, `Double` and `Bool` are returned as these types. Numbers of other types, and all numbers of a
    /// `DynamicObject`, are returned as `NSNumber`, which casts to every number type that can represent the value: for
    /// an `Int8` property, `dog["age"]` casts to `Int8` and to `Int`. A number of any type can be set.
    public final subscript(key: String) -> Any? {
        get {
            if let found = plainEntry(key) {
                requireValid()
                return byName(plainColumn(found.pointee.form, Int(found.pointee.column)), true)
            }
            let schema = classSchema
            guard let place = schema.place(named: key) else {
                if rowContext != nil { requireValid() }
                refuseName(key, isCoding: rowContext == nil)
            }
            return value(schema, place)
        }
        set { set(newValue, key, isCoding: rowContext == nil) }
    }

    /// Returns the plain property of a dynamic object if its name can be found without comparing text.
    @inline(__always)
    private final func plainEntry(_ name: String) -> UnsafePointer<InlineNameTable.Entry>? {
        guard let names = rowContext?.pointee.names else { return nil }
        return names.pointee.find(name)
    }

    /// Returns the value of a property by its name, as `self[key]` does.
    public final func value(forKey key: String) -> Any? {
        let schema = classSchema
        guard let place = schema.place(named: key) else {
            switch key {
            case "self": return self
            case "@invalidated", "invalidated": return isInvalidated
            default: refuseName(key, isCoding: true)
            }
        }
        return value(schema, place)
    }

    private final func value(_ schema: ClassSchema, _ place: Int) -> Any? {
        if !schema.plainForms.isEmpty, schema.plainForms[place] != .other {
            return byName(plainValue(schema.plainForms[place], place), true)
        }
        return schema.properties[place].named(of: self)
    }

    /// Sets a property by its name, as `self[key] = value` does.
    public final func setValue(_ value: Any?, forKey key: String) { set(value, key, isCoding: true) }

    /// Returns the value at a key path; nil if a link on the path is nil. Names after a collection apply to its
    /// elements: `dogs.name` returns an array, `dogs.@max.age` one value.
    public final func value(forKeyPath keyPath: String) -> Any? {
        var (owner, names) = (self as ObjectBase, keyPath[...])
        while let dot = names.firstIndex(of: ".") {
            guard let next = owner.value(forKey: String(names[..<dot])) else { return nil }
            names = names[names.index(after: dot)...]
            guard let object = unwrapped(next).flatMap(objectBase) else {
                return KeyPathParts.value(of: next, at: String(names))
            }
            owner = object
        }
        return owner.value(forKey: String(names))
    }

    /// Sets the property at a key path. After a list or set it is set for all elements; after a map the next name is a
    /// key, and it is set for that value. If a link on the path is nil, nothing is set.
    public final func setValue(_ value: Any?, forKeyPath keyPath: String) {
        var (owner, names) = (self as ObjectBase, keyPath[...])
        while let dot = names.firstIndex(of: ".") {
            guard let next = owner.value(forKey: String(names[..<dot])) else { return }
            names = names[names.index(after: dot)...]
            guard let object = unwrapped(next).flatMap(objectBase) else {
                return KeyPathParts.setValue(value, of: next, at: String(names))
            }
            owner = object
        }
        owner.setValue(value, forKey: String(names))
    }

    /// Returns the values of the named properties, `NSNull` for nil. An unknown name is a programmer error.
    public final func dictionaryWithValues(forKeys keys: [String]) -> [String: Any] {
        Dictionary(keys.map { ($0, value(forKey: $0) ?? NSNull()) }, uniquingKeysWith: { first, _ in first })
    }

    /// Sets a property for each name, to null for `NSNull`; see `setValue(_:forKey:)`.
    public final func setValuesForKeys(_ keyedValues: [String: Any]) {
        for (key, value) in keyedValues { setValue(unwrapped(value), forKey: key) }
    }

    private final func set(_ value: Any?, _ key: String, isCoding: Bool) {
        if let value, let found = plainEntry(key), !found.pointee.isPrimaryKey {
            requireValid()
            requireModifiable(self)
            if setPlain(value, found.pointee.form, Int(found.pointee.column)) { return }
        }
        let schema = classSchema
        guard let place = schema.place(named: key) else { refuseName(key, isCoding: isCoding) }
        if rowContext != nil {
            requireValid()
            requireModifiable(self)
        }
        // A primary key must go through its property.
        if let value, !schema.plainForms.isEmpty, schema.primaryKey != place,
            setPlain(value, schema.plainForms[place], binding.columns[place])
        {
            return
        }
        let property = schema.properties[place]
        if property.isComputed { misuse("Cannot modify read-only property '\(schema.name).\(key)'.") }
        if property.setUnknownRawValue(value, of: self) { return }
        ObjectFilling.set(value as Any, property, self)
    }

    private final func refuseName(_ key: String, isCoding: Bool) -> Never {
        let words = "Invalid property name '\(key)' for class '\(classSchema.name)'."
        let names = classSchema.properties.map(\.name).joined(separator: ", ")
        let code =
            isCoding
            ? "NSUnknownKeyException: this class is not key value coding-compliant for the key "
                + "\(key). " : ""
        misuse("\(code)\(words) Its properties are: \(names).")
    }
}

/// Evaluation of key paths, one name at a time.
enum KeyPathParts {
    static func split(_ keyPath: String) -> (head: String, rest: String?) {
        guard let dot = keyPath.firstIndex(of: ".") else { return (keyPath, nil) }
        return (String(keyPath[..<dot]), String(keyPath[keyPath.index(after: dot)...]))
    }

    /// Returns the value for an object or a collection; nil for a value without properties.
    static func value(of owner: Any, at keyPath: String) -> Any? {
        switch owner {
        case let object as ObjectBase: object.value(forKeyPath: keyPath)
        case let collection as any RealmCollection: collection.value(forKeyPath: keyPath)
        case let map as any RealmKeyedCollection: map.value(forKeyPath: keyPath)
        default: nil
        }
    }

    static func setValue(_ value: Any?, of owner: Any, at keyPath: String) {
        switch owner {
        case let object as ObjectBase: object.setValue(value, forKeyPath: keyPath)
        case let collection as any RealmCollection: collection.setValue(value, forKeyPath: keyPath)
        case let map as any RealmKeyedCollection:
            let (key, rest) = split(keyPath)
            guard let rest else { return map.setValue(value, forKey: key) }
            if let next = map.value(forKey: key) { setValue(value, of: next, at: rest) }
        default: break
        }
    }
}

// MARK: Collections

extension RealmCollection {
    /// Returns an array of the values of a property of all elements, in the form that subscripts return. "self" returns
    /// the elements and "@count" their number. A `MutableSet` returns each value once. O(elements).
    ///
    /// Nulls are nil: the array casts to `[String?]`, and a cast to `[AnyObject]` turns nulls into `NSNull`.
    public func value(forKey key: String) -> Any? {
        switch key {
        case "self": Element._shape.target == nil ? valueElements() : Array(self)
        case "@count": count
        case "@invalidated", "invalidated": isInvalidated
        default: elementValues(key)
        }
    }

    /// Like `value(forKey:)`, but follows links. Returns an aggregate for `@sum.age`, `@min.`, `@max.` and `@avg.`, or
    /// the values for `@unionOfObjects.`, `@distinctUnionOfObjects.`, `@unionOfArrays.` and `@distinctUnionOfArrays.`.
    public func value(forKeyPath keyPath: String) -> Any? {
        guard keyPath.hasPrefix("@") else {
            return keyPath.contains(".") ? elementValues(keyPath) : value(forKey: keyPath)
        }
        if keyPath == "@count" || keyPath.hasPrefix("@count.") { return count }
        if keyPath == "@invalidated" { return isInvalidated }
        let (name, rest) = KeyPathParts.split(keyPath)
        guard KeyValueOperator.names.contains(name) else {
            misuse("Unsupported KVC collection operator found in key path '\(keyPath)'")
        }
        guard let rest, !rest.isEmpty else {
            misuse("Missing key path for KVC collection operator \(name) in key path '\(keyPath)'")
        }
        if rest.contains(".") {
            misuse("Nested key paths are not supported yet for KVC collection operators.")
        }
        return applied(name, rest)
    }

    /// Sets a property of all elements. Calling it outside a write transaction is a programmer error. O(elements).
    public func setValue(_ value: Any?, forKey key: String) {
        requireSettable()
        guard let objects = elementObjects() else {
            guard key == "self", let list = self as? any AnyList else { KeyValueOperator.refuse(key, Element.self) }
            let copies = [Any](repeating: value as Any, count: count)
            _ = list.replaceElements(with: copies)
            return
        }
        for object in objects { object.setValue(value, forKey: key) }
    }

    /// Sets the property at the key path of all elements.
    public func setValue(_ value: Any?, forKeyPath keyPath: String) {
        guard keyPath.contains(".") else { return setValue(value, forKey: keyPath) }
        requireSettable()
        guard let objects = elementObjects() else { KeyValueOperator.refuse(keyPath, Element.self) }
        for object in objects { object.setValue(value, forKeyPath: keyPath) }
    }

    private func requireSettable() {
        guard let realm else { return }
        realm.core.requireWrite("Cannot modify managed objects outside of a write transaction.")
    }

    /// Returns the current elements: a change to one may remove others from the collection. Returns nil if the elements
    /// are not objects.
    private func elementObjects() -> [ObjectBase]? {
        if let objects = embeddedObjects() { return objects }
        // An object that a custom type converts to is not in the collection: changing it would have no effect.
        guard Element._shape.target != nil, !Element._shape.isCustom else { return nil }
        return compactMap { Element._toRaw($0).object }
    }

    /// Returns the stored objects of the elements, if the collection is managed and its element type is a custom type
    /// stored as an embedded object; otherwise nil.
    private func embeddedObjects() -> [ObjectBase]? {
        guard Element._shape.hasEmbeddedForm, let state = _handle.state, let binding = state.binding else { return nil }
        return state.allKeys().map { binding.makeAccessor($0) }
    }

    private func elementValues(_ keyPath: String) -> [Any] {
        guard Element._shape.target != nil else { KeyValueOperator.refuse(keyPath, Element.self) }
        var values: [Any] = []
        values.reserveCapacity(count)
        if let objects = embeddedObjects() {
            for object in objects { values.append(elementByName(object.value(forKeyPath: keyPath))) }
        } else {
            for element in self {
                guard let object = Element._toRaw(element).object else { continue }
                values.append(elementByName(object.value(forKeyPath: keyPath)))
            }
        }
        return isSet ? KeyValueOperator.distinct(values) : values
    }

    private var isSet: Bool { Self.self == MutableSet<Element>.self }

    /// Returns the elements of a collection of values, in the form that subscripts return.
    private func valueElements() -> [Any] {
        let isBridged = Element._isBridgedByName
        if let stored = self as? _StoredCollection<Element> {
            return (0..<stored.count).map { elementByName(byName(stored.shownElement(at: $0), isBridged)) }
        }
        return (0..<count).map { elementByName(byName(Element._dynamic(self[$0]), isBridged)) }
    }

    private func applied(_ name: String, _ property: String) -> Any? {
        switch name {
        case "@min": return ValueAggregates.shown(figure(.min, property, "min"))
        case "@max": return ValueAggregates.shown(figure(.max, property, "max"))
        case "@sum": return ValueAggregates.shown(figure(.sum, property, "sum"))
        case "@avg": return ValueAggregates.shown(figure(.avg, property, "average"))
        default:
            var values = value(forKey: property) as? [Any] ?? []
            if name.hasSuffix("OfArrays") {
                if property == "self" {
                    misuse(
                        "self is not a valid key-path for a KVC array collection operator as "
                            + "'\(name.dropFirst())'.")
                }
                values = values.flatMap { Coercion.elements($0) ?? [] }
            }
            return name.hasPrefix("@distinct") ? KeyValueOperator.distinct(values) : values
        }
    }

    private func figure(_ kind: AggregateKind, _ property: String, _ operation: String) -> Value {
        if Element._shape.target == nil, property != "self" { KeyValueOperator.refuse(property, Element.self) }
        if let state = _handle.state {
            return state.figure(kind, of: property, operation)
        }
        if let list = self as? any AnyOwnedCollection {
            return ValueAggregates.figure(kind, of: property, operation, in: list)
        }
        let elements: [Any] = compactMap { Element._toRaw($0).object }
        return ValueAggregates.figure(kind, of: property, operation, in: elements, Element._shape.target ?? Object.self)
    }
}

extension _StoredCollection {
    /// Like the `value(forKey:)` of all collections, but for code that needs Objective-C-style objects: strings and
    /// numbers are Foundation's, and nulls are `NSNull`. A key with a single value, such as "@count", is a programmer
    /// error.
    @_disfavoredOverload
    public final func value(forKey key: String) -> [AnyObject] {
        foundationObjects((self as? any RealmCollection)?.value(forKey: key), key)
    }

    /// Like the `value(forKeyPath:)` of all collections, but for code that needs Objective-C-style objects: strings and
    /// numbers are Foundation's, and nulls are `NSNull`. A key path to a single value, such as "@count", is a
    /// programmer error.
    @_disfavoredOverload
    public final func value(forKeyPath keyPath: String) -> [AnyObject] {
        foundationObjects((self as? any RealmCollection)?.value(forKeyPath: keyPath), keyPath)
    }

    private final func foundationObjects(_ values: Any?, _ key: String) -> [AnyObject] {
        guard let values = values as? [Any] else {
            misuse("value(forKey: \"\(key)\") of a collection is a single value, not an array of the elements' values.")
        }
        return values.map { $0 as AnyObject }
    }
}

private enum KeyValueOperator {
    static let names: Set<String> = [
        "@min", "@max", "@sum", "@avg", "@unionOfObjects", "@distinctUnionOfObjects", "@unionOfArrays",
        "@distinctUnionOfArrays",
    ]

    /// Returns the values without those that equal an earlier one.
    static func distinct(_ values: [Any]) -> [Any] {
        var seen: Set<AnyHashable> = []
        var hasNull = false
        return values.filter { value in
            guard let value = unwrapped(value) else {
                defer { hasNull = true }
                return !hasNull
            }
            guard let value = value as? AnyHashable else { return true }
            return seen.insert(value).inserted
        }
    }

    /// Reports a programmer error: elements that are values support only "self".
    static func refuse(_ key: String, _ type: Any.Type) -> Never {
        misuse(
            "NSUnknownKeyException: this class is not key value coding-compliant for the key \(key). The elements "
                + "are values of type \(type): they support only the key \"self\".")
    }
}
