// SPDX-License-Identifier: Apache-2.0
// Builds the schema of a class: its stored fields by reflection, superclass first; flags from one instance created by
// its initialiser; names and keys from its class functions. A property that compiles is either stored or rejected by
// name.

@_spi(Reflection) internal import Swift

/// The stored fields of a class.
struct FieldScan {
    struct Field {
        var name: String
        var offset: Int
        var type: Any.Type
    }

    let type: ObjectBase.Type
    /// The fields declared by subclasses of `ObjectBase`.
    private(set) var fields: [Field] = []
    /// The size of an instance in bytes. Meaningless unless `RuntimeLayout.isVerified` is true.
    let instanceSize: Int
    /// True if the class has stored fields that are not of a Realm type: its initialiser must run for accessors too.
    var hasForeignFields = false
    var hasIgnoredWrappers = false

    init(_ type: ObjectBase.Type) {
        self.type = type
        instanceSize = RuntimeLayout.instanceSize(of: type)
        // Superclasses first: the fields of `ObjectBase` precede all others.
        fields = Array(FieldScan.allFields(of: type).dropFirst(FieldScan.allFields(of: ObjectBase.self).count))
    }

    private static func allFields(of type: AnyClass) -> [Field] {
        var found: [Field] = []
        // Option 1 is `.classType`, written as a number: the constant is a `static var`, which Swift 6 mode rejects.
        _ = _forEachField(of: type, options: _EachFieldOptions(rawValue: 1)) { name, offset, fieldType, _ in
            found.append(Field(name: String(cString: name), offset: offset, type: fieldType))
            return true
        }
        return found
    }
}

extension ClassSchema {
    static func build(_ type: ObjectBase.Type) throws(SchemaProblem) -> ClassSchema {
        var scan = FieldScan(type)
        let name = ClassNames.name(of: type)
        // The identifiers generated here are discarded: the first use of a class must not shift those that a test
        // counts.
        let instance = IdentifierGenerator.$current.withValue(nil) { type.init() }
        var properties: [ClassProperty] = []
        for field in scan.fields {
            if let property = try property(of: field, in: instance, name) {
                property.targetName = property.shape.target.map { ClassNames.name(of: $0) }
                if property.shape.isCustom, property.hasTarget, !property.isList, !property.isSet {
                    // Such links can always be nil; nil reads as the default if the custom type is not optional.
                    property.shape.isOptional = true
                }
                properties.append(property)
            } else {
                scan.hasForeignFields = true
            }
        }
        try applyIgnored(&properties, &scan, type, name)
        try applyKeys(&properties, type, name)
        try applyNames(&properties, type, name)
        try check(properties, name)
        let uniques = try applyRules(&properties, type, name)
        return ClassSchema(scan, name: name, properties: properties, uniques: uniques)
    }

    /// The property that a field stores; nil if it is a plain field of the user's.
    private static func property(
        of field: FieldScan.Field, in instance: ObjectBase, _ className: String
    ) throws(SchemaProblem) -> ClassProperty? {
        let address = UnsafeRawPointer(Unmanaged.passUnretained(instance).toOpaque()) + field.offset
        if let wrapper = field.type as? any AnyPersisted.Type {
            let name = field.name.hasPrefix("_") ? String(field.name.dropFirst()) : field.name
            let type = wrapper.valueType
            let property = ClassProperty(
                name: name, offset: field.offset, shape: type._shape, storage: .wrapper, type: type,
                fieldType: field.type)
            let flags = wrapper.flags(at: address)
            property.isIndexed = flags & 1 != 0
            property.isPrimaryKey = flags & 2 != 0
            property.isContentIndexed = flags & 8 != 0
            if type is any _LinkingObjectsProtocol.Type {
                property.originProperty = origin(of: type, instance, field.offset)
            }
            return property
        }
        if field.type is any AnyOwnedCollection.Type, let type = field.type as? any _Persistable.Type {
            return ClassProperty(
                name: field.name, offset: field.offset, shape: type._shape, storage: .collectionField, type: type,
                fieldType: field.type)
        }
        if let type = field.type as? any _LinkingObjectsProtocol.Type {
            let property = ClassProperty(
                name: field.name, offset: field.offset, shape: type._shape, storage: .linkingField,
                type: type,
                fieldType: field.type)
            property.originProperty = fieldOrigin(type, address)
            return property
        }
        if let type = field.type as? any AnyRealmProperty.Type {
            return ClassProperty(
                name: field.name, offset: field.offset, shape: type.shape, storage: .boxField, type: nil,
                fieldType: field.type)
        }
        if field.name.hasPrefix("$__lazy_storage_$_"), isOurs(unwrappedType(field.type)) {
            throw SchemaProblem(
                "Lazy managed property '\(field.name.dropFirst(18))' is not allowed on a Realm Swift "
                    + "object class. "
                    + "Either add the property to the ignored properties list or make it non-lazy.")
        }
        if isOptionalOfOurs(field.type) {
            throw SchemaProblem(
                "Property \(className).\(field.name) is declared as \(field.type), which is not a "
                    + "supported managed Object "
                    + "property type. Declare it without '?': a collection is empty, never nil.")
        }
        return nil
    }

    private static func origin(of type: any _Persistable.Type, _ instance: ObjectBase, _ offset: Int)
        -> String?
    {
        func open<V: _Persistable>(_ type: V.Type) -> Any { unmanagedGet(instance, offset) as V }
        guard let objects = open(type) as? any _LinkingObjectsProtocol, !objects._originProperty.isEmpty
        else { return nil }
        return objects._originProperty
    }

    private static func fieldOrigin(_ type: any _LinkingObjectsProtocol.Type, _ address: UnsafeRawPointer)
        -> String
    {
        func open<L: _LinkingObjectsProtocol>(_ type: L.Type) -> String {
            address.assumingMemoryBound(to: L.self).pointee._originProperty
        }
        return open(type)
    }

    private static func isOurs(_ type: Any.Type) -> Bool {
        type is any AnyOwnedCollection.Type || type is any _LinkingObjectsProtocol.Type
            || type is any AnyRealmProperty.Type
    }

    private static func unwrappedType(_ type: Any.Type) -> Any.Type {
        func open<O: OptionalProtocol>(_ type: O.Type) -> Any.Type { O.Wrapped.self }
        guard let type = type as? any OptionalProtocol.Type else { return type }
        return open(type)
    }

    private static func isOptionalOfOurs(_ type: Any.Type) -> Bool {
        let wrapped = unwrappedType(type)
        return wrapped != type && isOurs(wrapped)
    }

    // MARK: Class functions

    private static func applyIgnored(
        _ properties: inout [ClassProperty], _ scan: inout FieldScan, _ type: ObjectBase.Type,
        _ className: String
    ) throws(SchemaProblem) {
        let ignored = type.ignoredProperties()
        if ignored.isEmpty { return }
        for property in properties where ignored.contains(property.name) {
            if property.isPrimaryKey || type.primaryKey() == property.name {
                throw SchemaProblem(
                    "Primary key property '\(property.name)' of '\(className)' is also an ignored property.")
            }
            if property.isField { scan.hasForeignFields = true } else { scan.hasIgnoredWrappers = true }
        }
        properties.removeAll { ignored.contains($0.name) }
    }

    private static func applyKeys(
        _ properties: inout [ClassProperty], _ type: ObjectBase.Type, _ className: String
    ) throws(SchemaProblem) {
        for name in type.indexedProperties() {
            guard let place = properties.firstIndex(where: { $0.name == name }) else {
                throw SchemaProblem("Indexed property '\(name)' does not exist on object '\(className)'.")
            }
            properties[place].isIndexed = true
        }
        let marked = properties.filter(\.isPrimaryKey).map(\.name)
        if marked.count > 1 {
            throw SchemaProblem(
                "Properties '\(marked[0])' and '\(marked[1])' are both marked as the primary key of "
                    + "'\(className)'"
            )
        }
        guard let name = type.primaryKey() else { return }
        if let other = marked.first, other != name {
            throw SchemaProblem(
                "Properties '\(other)' and '\(name)' are both marked as the primary key of '\(className)'")
        }
        guard let place = properties.firstIndex(where: { $0.name == name }) else {
            throw SchemaProblem("Primary key property '\(name)' does not exist on object '\(className)'")
        }
        properties[place].isPrimaryKey = true
    }

    private static func applyNames(
        _ properties: inout [ClassProperty], _ type: ObjectBase.Type, _ className: String
    ) throws(SchemaProblem) {
        var mapping = type.propertiesMapping()
        mapping.merge(type._realmColumnNames() ?? [:]) { first, _ in first }
        for place in properties.indices {
            if let name = mapping[properties[place].name] { properties[place].columnName = name }
        }
        for property in properties where property.columnName != property.name {
            let (name, column) = (property.name, property.columnName)
            func problem(_ property: String, _ alias: String, _ more: String = "") -> SchemaProblem {
                SchemaProblem(
                    "Property '\(className).\(property)' has an alias '\(alias)' that conflicts with a property of the "
                        + "same name.\(more)")
            }
            if properties.contains(where: { $0.columnName == name }) { throw problem(column, name) }
            if properties.contains(where: { $0.name == column && $0.columnName == column }) {
                throw problem(
                    name, column, " Property '\(column)' appears more than once in the schema for type '\(className)'.")
            }
        }
    }
}
