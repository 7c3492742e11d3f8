// SPDX-License-Identifier: Apache-2.0
// The classes of a file and their properties, as plain values.

package import RegnumEngine

/// A class as it is stored in a file. **Unstable**, like `Inspector`.
public struct ClassDescription: Sendable, Equatable {
    public internal(set) var name: String
    /// True if each object belongs to another one.
    public internal(set) var isEmbedded: Bool
    /// The properties in the order in which they were added to the file.
    public internal(set) var properties: [PropertyDescription]
    /// The properties of each unique constraint.
    public internal(set) var uniqueConstraints: [[String]]
    public internal(set) var objects: Int

    /// The property that identifies the objects; nil if there is none.
    public var primaryKey: PropertyDescription? { properties.first(where: \.isPrimaryKey) }
}

/// A property as it is stored in a file. **Unstable**, like `Inspector`.
public struct PropertyDescription: Sendable, Equatable {
    public enum Collection: String, Sendable { case none, list, set, map }

    public internal(set) var name: String
    /// The Swift type of the values: `Int`, `String`, `AnyRealmValue`, or the name of a class.
    public internal(set) var type: String
    public internal(set) var collection: Collection
    public internal(set) var isOptional: Bool
    public internal(set) var isPrimaryKey: Bool
    public internal(set) var isIndexed: Bool
    /// True if the property has a full-text or a geospatial index.
    public internal(set) var isContentIndexed: Bool
    /// True if the values are objects of the class `type`.
    public internal(set) var isLink: Bool

    /// The type as it is declared, as in `List<String?>`, with `primary key` and `indexed` after it.
    public var text: String {
        let element = isOptional ? type + "?" : type
        let declared =
            switch collection {
            case .none: element
            case .list: "List<\(element)>"
            case .set: "MutableSet<\(element)>"
            case .map: "Map<String, \(element)>"
            }
        var words = [declared]
        if isPrimaryKey { words.append("primary key") }
        if isIndexed, !isPrimaryKey { words.append("indexed") }
        if isContentIndexed { words.append(type == "String" ? "full-text index" : "geospatial index") }
        return words.joined(separator: ", ")
    }
}

extension Inspector {
    /// The classes in ascending order of their names. Throws `InspectionError`.
    public func classes() throws -> [ClassDescription] {
        let session = try makeSession()
        return session.tables.map { ClassDescription($0, session) }.sorted { $0.name < $1.name }
    }

    /// The class with that name. Throws `InspectionError`, for example if the file has no such class.
    public func classDescription(_ name: String) throws -> ClassDescription {
        let session = try makeSession()
        return ClassDescription(try table(name, session), session)
    }
}

extension ClassDescription {
    init(_ table: Table, _ session: Session) {
        let definition = table.definition
        name = definition.name
        isEmbedded = definition.isEmbedded
        objects = table.count
        properties = definition.columns.filter { !$0.isHidden }.map { PropertyDescription($0, session) }
        uniqueConstraints = definition.uniques.map { unique in
            unique.columns.compactMap { key in definition.columns.first { $0.key == key }?.name }
        }
    }
}

extension PropertyDescription {
    package init(_ column: ColumnDefinition, _ session: Session) {
        name = column.name
        type = column.type.swiftName
        isLink = column.type == .link
        if let target = column.target { type = session.table(target)?.definition.name ?? "nothing" }
        collection =
            switch column.collection {
            case .none: .none
            case .list: .list
            case .set: .set
            case .dictionary: .map
            }
        isOptional = column.isNullable && column.type != .mixed
        isPrimaryKey = column.isPrimaryKey
        isIndexed = column.isIndexed
        isContentIndexed = column.isContentIndexed
    }
}

extension ColumnType {
    /// The Swift type of the values; for links a general word.
    var swiftName: String {
        switch self {
        case .bool: "Bool"
        case .int: "Int"
        case .float: "Float"
        case .double: "Double"
        case .string: "String"
        case .data: "Data"
        case .date: "Date"
        case .objectID: "ObjectId"
        case .uuid: "UUID"
        case .link: "object"
        case .decimal128: "Decimal128"
        case .mixed: "AnyRealmValue"
        }
    }
}
