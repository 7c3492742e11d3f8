// SPDX-License-Identifier: Apache-2.0
// The schema as users see it: value types over the class schemas.

/// The type of a property.
public enum PropertyType: Int, Sendable, CustomStringConvertible {
    case int = 0
    case bool = 1
    case string = 2
    case data = 3
    case date = 4
    case float = 5
    case double = 6
    /// A link to an object.
    case object = 7
    /// The reverse of links.
    case linkingObjects = 8
    /// A value of any type.
    case any = 9
    case objectId = 10
    case decimal128 = 11
    case UUID = 12

    public var description: String { text }

    /// The name as messages and descriptions spell it.
    package var text: String {
        switch self {
        case .int: "int"
        case .bool: "bool"
        case .string: "string"
        case .data: "data"
        case .date: "date"
        case .float: "float"
        case .double: "double"
        case .object: "object"
        case .linkingObjects: "linking objects"
        case .any: "mixed"
        case .objectId: "object id"
        case .decimal128: "decimal128"
        case .UUID: "uuid"
        }
    }
}

/// The classes of a Realm.
public struct Schema: CustomStringConvertible, Equatable, Sendable {
    /// The schemas of the classes.
    public let objectSchema: [ObjectSchema]

    package init(_ classes: [ClassSchema]) { objectSchema = classes.map { ObjectSchema($0) } }

    /// The class with the given name, or nil.
    public subscript(className: String) -> ObjectSchema? { objectSchema.first { $0.className == className } }

    public var description: String {
        "Schema {\n" + objectSchema.map { indented($0.description) + "\n" }.joined() + "}"
    }

    public static func == (left: Schema, right: Schema) -> Bool { left.objectSchema == right.objectSchema }
}

/// One class of a Realm.
public struct ObjectSchema: CustomStringConvertible, Equatable, Sendable {
    package let schema: ClassSchema

    package init(_ schema: ClassSchema) { self.schema = schema }

    /// The stored properties, in the order of declaration, those of superclasses first.
    public var properties: [Property] { schema.properties.filter { !$0.isComputed }.map { Property($0) } }
    /// The name in the file.
    public var className: String { schema.name }
    /// The Swift class.
    public var objectClass: AnyClass { schema.type }
    /// True for classes of embedded objects.
    public var isEmbedded: Bool { schema.isEmbedded }
    /// Always false: asymmetric classes require a server.
    public var isAsymmetric: Bool { false }
    /// The primary key, or nil.
    public var primaryKeyProperty: Property? { schema.primaryKey.map { Property(schema.properties[$0]) } }

    /// The property with the given name, or nil.
    public subscript(propertyName: String) -> Property? {
        schema.property(named: propertyName).map { Property($0) }
    }

    public var description: String {
        "\(className) {\n" + schema.properties.map { indented(Property($0).description) + "\n" }.joined()
            + "}"
    }

    public static func == (left: ObjectSchema, right: ObjectSchema) -> Bool {
        left.className == right.className
            && left.schema.properties.map(Property.init) == right.schema.properties.map(Property.init)
    }
}

/// One property of a class.
public struct Property: CustomStringConvertible, Equatable, Sendable {
    package let info: ClassProperty

    package init(_ info: ClassProperty) { self.info = info }

    /// The name in Swift.
    public var name: String { info.name }
    /// The name in the file.
    public var columnName: String { info.columnName }
    /// The type of the values; for collections, of the elements.
    public var type: PropertyType { info.shape.type }
    /// True for lists.
    public var isArray: Bool { info.isList }
    /// True for sets.
    public var isSet: Bool { info.isSet }
    /// True for maps.
    public var isMap: Bool { info.isMap }
    /// True if the property is indexed, as a primary key always is: lookups by value are fast.
    public var isIndexed: Bool { info.isIndexed || info.isPrimaryKey }
    /// True if the value may be nil; for a collection, if its elements may be nil.
    public var isOptional: Bool { info.shape.isOptional }
    /// The name of the class that the links refer to, or nil.
    public var objectClassName: String? { info.targetName }

    public var description: String {
        func text(_ value: Bool) -> String { value ? "YES" : "NO" }
        var lines = ["type = \(type.text)"]
        if type == .object || type == .linkingObjects {
            lines.append("objectClassName = \(objectClassName ?? "(null)")")
            lines.append("linkOriginPropertyName = \(info.originProperty ?? "(null)")")
        }
        lines.append("columnName = \(columnName)")
        lines.append("indexed = \(text(isIndexed))")
        lines.append("isPrimary = \(text(info.isPrimaryKey))")
        lines.append("array = \(text(isArray || type == .linkingObjects))")
        lines.append("set = \(text(isSet))")
        lines.append("dictionary = \(text(isMap))")
        lines.append("optional = \(text(isOptional))")
        return "\(name) {\n" + lines.map { "\t\($0);\n" }.joined() + "}"
    }

    public static func == (left: Property, right: Property) -> Bool { left.description == right.description }
}

/// The text with each line indented by one tab.
private func indented(_ text: String) -> String {
    text.split(separator: "\n", omittingEmptySubsequences: false).map { "\t\($0)" }.joined(separator: "\n")
}
