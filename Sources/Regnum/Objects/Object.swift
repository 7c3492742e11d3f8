// SPDX-License-Identifier: Apache-2.0
// `Object`: the class that users' models derive from, and the access to properties by name.

/// RealmSwift's name of the same class.
public typealias RealmSwiftObject = Object

/// A class of objects that a Realm stores.
///
/// ```swift
/// class Dog: Object {
///     @Persisted(primaryKey: true) var id: UUID
///     @Persisted var name = ""
///     @Persisted var owner: Person?
/// }
/// ```
///
/// An object made by its initialiser is unmanaged: it lives in memory, on any thread. `Realm.add` makes it
/// managed: then its properties are read from the file and may only be changed in a write transaction, on its
/// Realm's thread.
open class Object: ObjectBase {
    /// An unmanaged object with the values its class declares.
    public required init() {}

    /// An unmanaged object from a dictionary, an array in the order of the properties, or another object.
    /// What is not given keeps the value its class declares. Misuse for a value that does not fit.
    public convenience init(value: Any) {
        self.init()
        ObjectFilling.fill(self, from: value)
    }
}

extension ObjectBase: ThreadConfined {
    /// The Realm of a managed object; nil where it is unmanaged.
    public final var realm: Realm? {
        guard let context = rowContext, context.pointee.kind != .traced else { return nil }
        return Realm(core: core)
    }

    /// True for an object of a frozen Realm.
    public final var isFrozen: Bool { realm?.isFrozen ?? false }
}

// MARK: Properties by name

extension ObjectBase {
    /// The value of a property by its name: nil for null, enums as raw values. Misuse for a name that is not
    /// there and for a value that does not fit.
    public final subscript(key: String) -> Any? {
        get {
            let property = property(key)
            return property.get(self) ?? property.unknownRawValue(of: self)
        }
        set {
            let property = property(key)
            if rowContext != nil {
                requireValid()
                requireModifiable(self)
            }
            if property.isComputed {
                misuse("Cannot modify read-only property '\(ClassSchema.of(type(of: self)).name).\(key)'.")
            }
            if property.setUnknownRawValue(newValue, of: self) { return }
            ObjectFilling.set(newValue as Any, property, self)
        }
    }

    /// The value of a property by its name.
    public final func value(forKey key: String) -> Any? { self[key] }

    /// Sets a property by its name.
    public final func setValue(_ value: Any?, forKey key: String) { self[key] = value }

    /// The value at the end of names joined by dots; nil where a link on the way is nil.
    public final func value(forKeyPath keyPath: String) -> Any? {
        var value: Any? = self
        for name in keyPath.split(separator: ".") {
            guard let object = value as? ObjectBase else { return nil }
            value = object[String(name)]
        }
        return value
    }

    /// Sets the property at the end of names joined by dots; nothing where a link on the way is nil.
    public final func setValue(_ value: Any?, forKeyPath keyPath: String) {
        guard let dot = keyPath.lastIndex(of: ".") else {
            self[keyPath] = value
            return
        }
        let owner = self.value(forKeyPath: String(keyPath[..<dot])) as? ObjectBase
        owner?[String(keyPath[keyPath.index(after: dot)...])] = value
    }

    private final func property(_ name: String) -> ClassProperty {
        let schema = ClassSchema.of(type(of: self))
        guard let property = schema.property(named: name) else {
            misuse("Invalid property name '\(name)' for class '\(schema.name)'.")
        }
        return property
    }
}
