// SPDX-License-Identifier: Apache-2.0
// `Object`: the base class of users' models. Access to properties by name is in `KeyValueCoding.swift`.

internal import RegnumEngine

/// RealmSwift's other name for `Object`.
public typealias RealmSwiftObject = Object

/// The base class of objects that a Realm stores.
///
/// ```swift
/// class Dog: Object {
///     @Persisted(primaryKey: true) var id: UUID
///     @Persisted var name = ""
///     @Persisted var owner: Person?
/// }
/// ```
///
/// An object created by its initialiser is unmanaged: it lives in memory and can be used on any thread. `Realm.add`
/// makes it managed: its properties are then read from the file, and can be changed only in a write transaction on its
/// Realm's thread.
open class Object: ObjectBase {
    /// Creates an unmanaged object with the default values of its class.
    public required init() {}

    /// Creates an unmanaged object from a dictionary, an array in the order of the properties, or another object.
    /// Missing values keep the defaults of the class. A value that does not fit is a programmer error.
    public convenience init(value: Any) {
        self.init()
        ObjectFilling.fill(self, from: value)
    }
}

extension ObjectBase: ThreadConfined {
    /// The Realm of a managed object; nil if the object is unmanaged.
    public final var realm: Realm? {
        guard let context = rowContext, context.pointee.kind != .traced else { return nil }
        return Realm(core: core)
    }

    /// True for an object of a frozen Realm.
    public final var isFrozen: Bool {
        guard let context = rowContext, context.pointee.kind != .traced else { return false }
        return core.isFrozen
    }

    public final func _moved(to home: _RealmHome, mayBeMissing: Bool) -> Self? {
        let binding = binding
        let type = Swift.type(of: self)
        let target =
            type == DynamicObject.self
            ? home.core.session.table(binding.tableKey).map { home.core.dynamicBinding($0) }
            : home.core.bindingIfAny(for: type)
        guard let target else { return nil }
        if !mayBeMissing, target.locate(rowKey, rollbacks: target.rollbackFloors.count) == nil { return nil }
        return unsafeDowncast(target.makeAccessor(rowKey), to: Self.self)
    }

    public static var _confinedName: String { "objects" }
}
