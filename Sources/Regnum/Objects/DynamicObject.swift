// SPDX-License-Identifier: Apache-2.0
// Objects by the name of their class: also of tables in the file that no class in the program stands for.
// `DynamicProperty.swift` reads and stores, `RealmCore+Dynamic.swift` knows the tables.

internal import RegnumEngine

/// An object whose properties are known by name only.
///
/// ```swift
/// for dog in realm.dynamicObjects("Dog") { record(dog.name as? String, dog["age"] as? Int) }
/// try realm.write { dog.name = "Rex" }
/// ```
///
/// Numbers are instances of `NSNumber`, which cast to every number type that has the value; enums are their raw values,
/// links `DynamicObject`, collections `List<DynamicObject>`, `List<Int>` and so on, null is nil. Names are those of the
/// Swift class where the schema has one, else those in the file. Confined to the thread of its Realm.
@dynamicMemberLookup
public final class DynamicObject: Object {
    /// The value of a property by its name.
    public subscript(dynamicMember member: String) -> Any? {
        get { self[member] }
        set { self[member] = newValue }
    }

    /// The value of a property by its name; misuse where there is none of that name.
    public func value(forUndefinedKey key: String) -> Any? { self[key] }

    /// Sets a property by its name; misuse where there is none of that name.
    public func setValue(_ value: Any?, forUndefinedKey key: String) { self[key] = value }

    /// False: it stands for other classes.
    public override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

extension Realm {
    /// All objects of the class of that name; live. Misuse where the Realm has no such class and the file no such
    /// table.
    public func dynamicObjects(_ typeName: String) -> Results<DynamicObject> {
        core.check()
        let binding = core.dynamicFetchable(typeName)
        return Results(
            state: ResultsState(realm: core, elementType: DynamicObject.self, binding: binding, source: .table))
    }

    /// The object with that primary key, or nil. O(log n).
    public func dynamicObject(ofType typeName: String, forPrimaryKey key: Any) -> DynamicObject? {
        core.check()
        guard let binding = core.dynamicFetchable(typeName) else { return nil }
        return core.key(of: binding, forPrimaryKey: key)
            .map { unsafeDowncast(binding.makeAccessor($0), to: DynamicObject.self) }
    }

    /// Makes an object of the class of that name from a dictionary, an array in the order of the properties, or
    /// another object. Of a table without a class, what is not given is zero, empty or null.
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
    /// A managed object seen as another class of the same table: from dynamic to typed or back. Nil where the class
    /// is that of another table.
    final func accessor(as type: ObjectBase.Type) -> ObjectBase? {
        guard let context = rowContext, context.pointee.kind == .managed else { return nil }
        requireValid()
        let other = type == DynamicObject.self ? core.dynamicBinding(binding.table) : core.bindingIfAny(for: type)
        guard let other, other.tableKey == binding.tableKey else { return nil }
        return other.makeAccessor(rowKey)
    }

    /// A list of links, with elements whose properties are known by name only. Misuse where the property is not one.
    public final func dynamicList(_ propertyName: String) -> List<DynamicObject> {
        if rowContext == nil { return unmanagedLinks(propertyName) { $0.isList } }
        let place = dynamicPlace(propertyName) { $0.isList }
        let list = List<DynamicObject>()
        list.becomeManaged(place)
        return list
    }

    /// A set of links, with elements whose properties are known by name only. Misuse where the property is not one.
    public final func dynamicMutableSet(_ propertyName: String) -> MutableSet<DynamicObject> {
        if rowContext == nil { return unmanagedLinks(propertyName) { $0.isSet } }
        let place = dynamicPlace(propertyName) { $0.isSet }
        let set = MutableSet<DynamicObject>()
        set.becomeManaged(place)
        return set
    }

    /// A map of links, with values whose properties are known by name only. Misuse where the property is not one.
    public final func dynamicMap(_ propertyName: String) -> Map<String, DynamicObject?> {
        if rowContext == nil { return unmanagedLinks(propertyName) { $0.isMap } }
        let place = dynamicPlace(propertyName) { $0.isMap }
        let map = Map<String, DynamicObject?>()
        map.becomeManaged(place)
        return map
    }

    /// The collection of an unmanaged object itself, seen as one of dynamic objects.
    private final func unmanagedLinks<C: AnyObject>(_ name: String, _ isRight: (ClassProperty) -> Bool) -> C {
        let property = linkCollection(name, isRight).property
        // unsafe: both hold references to objects, and what is asked of the elements is asked by name.
        return unsafeBitCast(property.collection(in: self) as AnyObject, to: C.self)
    }

    /// A collection of links that satisfies `isRight`, and its number.
    private final func linkCollection(
        _ name: String, _ isRight: (ClassProperty) -> Bool
    ) -> (property: ClassProperty, number: Int) {
        let schema = classSchema
        guard let number = schema.place(named: name) else {
            misuse("Invalid property name '\(name)' for class '\(schema.name)'.")
        }
        guard isRight(schema.properties[number]), schema.properties[number].hasTarget else {
            misuse(
                "Property '\(schema.name).\(name)' is not such a collection of objects: read it by "
                    + "`object[\"\(name)\"]`.")
        }
        return (schema.properties[number], number)
    }

    /// The place of a collection of links that satisfies `isRight`.
    final func dynamicPlace(_ name: String, _ isRight: (ClassProperty) -> Bool) -> ManagedPlace {
        let number = linkCollection(name, isRight).number
        guard rowContext != nil, !isTraced else {
            misuse("Dynamic collections are of managed objects: add the object to a Realm first.")
        }
        requireValid()
        return ManagedPlace(self, column: binding.columns[number])
    }
}
