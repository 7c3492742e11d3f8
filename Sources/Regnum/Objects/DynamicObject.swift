// SPDX-License-Identifier: Apache-2.0
// Access to objects by the name of their class, including tables in the file that have no class in the program.
// `DynamicProperty.swift` reads and stores the properties, `RealmCore+Dynamic.swift` finds the tables.

internal import RegnumEngine

/// An object whose properties are accessed by name.
///
/// ```swift
/// for dog in realm.dynamicObjects("Dog") { record(dog.name as? String, dog["age"] as? Int) }
/// try realm.write { dog.name = "Rex" }
/// ```
///
/// Numbers are returned as `NSNumber`, which casts to every number type that can represent the value; enums as their
/// raw values, links as `DynamicObject`, collections as `List<DynamicObject>`, `List<Int>` and so on, and null as nil.
/// Property names are those of the Swift class if the schema contains it, otherwise those in the file. A dynamic object
/// is confined to the thread of its Realm.
@dynamicMemberLookup
public final class DynamicObject: Object {
    /// The value of the property with this name.
    public subscript(dynamicMember member: String) -> Any? {
        get { self[member] }
        set { self[member] = newValue }
    }

    /// Returns the value of a property by its name. An unknown name is a programmer error.
    public func value(forUndefinedKey key: String) -> Any? { self[key] }

    /// Sets a property by its name. An unknown name is a programmer error.
    public func setValue(_ value: Any?, forUndefinedKey key: String) { self[key] = value }

    /// Returns false: the class represents other classes.
    public override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

extension Realm {
    /// Returns all objects of the class with this name, as live results. It is a programmer error if the Realm has no
    /// such class and the file has no such table.
    public func dynamicObjects(_ typeName: String) -> Results<DynamicObject> {
        core.check()
        let binding = core.dynamicFetchable(typeName)
        return Results(
            state: ResultsState(realm: core, elementType: DynamicObject.self, binding: binding, source: .table))
    }

    /// Returns the object with this primary key, or nil if there is none. O(log n).
    public func dynamicObject(ofType typeName: String, forPrimaryKey key: Any) -> DynamicObject? {
        core.check()
        guard let binding = core.dynamicFetchable(typeName) else { return nil }
        return core.key(of: binding, forPrimaryKey: key)
            .map { unsafeDowncast(binding.makeAccessor($0), to: DynamicObject.self) }
    }

    /// Creates an object of the class with this name from a dictionary, an array in the order of the properties, or
    /// another object. In a table without a class, missing values are zero, empty or null.
    @discardableResult
    public func dynamicCreate(
        _ typeName: String, value: Any = [:] as [String: Any], update: UpdatePolicy = .error
    ) -> DynamicObject {
        core.requireWrite()
        guard let binding = core.dynamicFetchable(typeName) else { core.refuseClass(typeName) }
        if binding.schema.isEmbedded { core.refuseEmbedded() }
        let key = core.dynamicCreate(binding, value, update)
        return unsafeDowncast(binding.makeAccessor(key), to: DynamicObject.self)
    }
}

extension ObjectBase {
    /// Returns a managed object as another class of the same table: dynamic as typed, or typed as dynamic. Returns nil
    /// if the class belongs to another table.
    final func accessor(as type: ObjectBase.Type) -> ObjectBase? {
        guard let context = rowContext, context.pointee.kind == .managed else { return nil }
        requireValid()
        let other = type == DynamicObject.self ? core.dynamicBinding(binding.table) : core.bindingIfAny(for: type)
        guard let other, other.tableKey == binding.tableKey else { return nil }
        return other.makeAccessor(rowKey)
    }

    /// Returns a list of links with dynamic objects as its elements. Any other property is a programmer error.
    public final func dynamicList(_ propertyName: String) -> List<DynamicObject> {
        if rowContext == nil { return unmanagedLinks(propertyName) { $0.isList } }
        let place = dynamicPlace(propertyName) { $0.isList }
        let list = List<DynamicObject>()
        list.becomeManaged(place)
        return list
    }

    /// Returns a set of links with dynamic objects as its elements. Any other property is a programmer error.
    public final func dynamicMutableSet(_ propertyName: String) -> MutableSet<DynamicObject> {
        if rowContext == nil { return unmanagedLinks(propertyName) { $0.isSet } }
        let place = dynamicPlace(propertyName) { $0.isSet }
        let set = MutableSet<DynamicObject>()
        set.becomeManaged(place)
        return set
    }

    /// Returns a map of links with dynamic objects as its values. Any other property is a programmer error.
    public final func dynamicMap(_ propertyName: String) -> Map<String, DynamicObject?> {
        if rowContext == nil { return unmanagedLinks(propertyName) { $0.isMap } }
        let place = dynamicPlace(propertyName) { $0.isMap }
        let map = Map<String, DynamicObject?>()
        map.becomeManaged(place)
        return map
    }

    /// Returns the collection of an unmanaged object itself, typed as a collection of dynamic objects.
    private final func unmanagedLinks<C: AnyObject>(_ name: String, _ isRight: (ClassProperty) -> Bool) -> C {
        let property = linkCollection(name, isRight).property
        // unsafe: both hold references to objects, and the elements are only accessed by property name.
        return unsafeBitCast(property.collection(in: self) as AnyObject, to: C.self)
    }

    /// Returns the property for a collection of links that satisfies `isRight`, and its number.
    private final func linkCollection(
        _ name: String, _ isRight: (ClassProperty) -> Bool
    ) -> (property: ClassProperty, number: Int) {
        let schema = classSchema
        guard let number = schema.place(named: name) else {
            misuse("Invalid property name '\(name)' for class '\(schema.name)'.")
        }
        guard isRight(schema.properties[number]), schema.properties[number].hasTarget else {
            misuse(
                "Property '\(schema.name).\(name)' is not a collection of objects of that kind: read it by "
                    + "`object[\"\(name)\"]`.")
        }
        return (schema.properties[number], number)
    }

    /// Returns the location of a collection of links that satisfies `isRight`.
    final func dynamicPlace(_ name: String, _ isRight: (ClassProperty) -> Bool) -> PropertyLocation {
        let number = linkCollection(name, isRight).number
        guard rowContext != nil, !isTraced else {
            misuse("Dynamic collections are available only for managed objects: add the object to a Realm first.")
        }
        requireValid()
        return PropertyLocation(self, column: binding.columns[number])
    }
}
