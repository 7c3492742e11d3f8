// SPDX-License-Identifier: Apache-2.0
// The rules for declarations, of one class and of all classes of a Realm together, with RealmSwift's messages.

internal import RegnumEngine

extension ClassSchema {
    /// Checks that need only one class.
    static func check(_ properties: [ClassProperty], _ className: String) throws(SchemaProblem) {
        if properties.isEmpty {
            throw SchemaProblem(
                "No properties are defined for '\(className)'. Did you remember to mark them with '@objc' "
                    + "or '@Persisted' in your model? Regnum stores '@Persisted var' only, and no 'dynamic var'.")
        }
        if className.utf8.count > FormatLimits.tableNameByteCount {
            throw SchemaProblem(
                "Class name '\(className)' is too long: at most \(FormatLimits.tableNameByteCount) bytes "
                    + "can be stored."
            )
        }
        var names: Set<String> = []
        var columns: Set<String> = []
        for property in properties {
            if !names.insert(property.name).inserted {
                throw SchemaProblem(
                    "Property '\(property.name)' is declared multiple times in the class hierarchy of "
                        + "'\(className)'"
                )
            }
            if !columns.insert(property.columnName).inserted {
                throw SchemaProblem(
                    "Property '\(property.columnName)' appears more than once in the schema for type "
                        + "'\(className)'."
                )
            }
            if property.columnName.utf8.count > FormatLimits.columnNameByteCount {
                throw SchemaProblem(
                    "Property name '\(property.columnName)' is too long: at most "
                        + "\(FormatLimits.columnNameByteCount) bytes "
                        + "can be stored.")
            }
            try check(property, className)
        }
    }

    private static func check(_ property: ClassProperty, _ className: String) throws(SchemaProblem) {
        let shape = property.shape
        if shape.isProjection {
            throw SchemaProblem(
                "Collections of projections must be used with @Projected. Property '\(className).\(property.name)' "
                    + "stores objects: declare it as a collection of them.")
        }
        if shape.type == .object {
            let target = property.targetName ?? ""
            if property.isList || property.isSet, shape.isOptional {
                throw SchemaProblem(
                    "\(property.isList ? "List" : "MutableSet")<\(target)> property '\(property.name)' must not "
                        + "be marked as optional.")
            }
            if property.isMap, !shape.isOptional {
                throw SchemaProblem(
                    "Map<String, \(target)> property '\(property.name)' must be marked as optional.")
            }
            if shape.isCustom, !(shape.target?.isEmbedded() ?? false) {
                throw SchemaProblem(
                    "Property '\(className).\(property.name)' cannot be stored as an object of '\(target)': custom "
                        + "types are stored as values or as embedded objects.")
            }
            if shape.target?.isBase ?? false {
                throw SchemaProblem(
                    "Property \(className).\(property.name) is declared as \(target), which is not a "
                        + "supported managed Object "
                        + "property type. Links lead to a subclass of Object or EmbeddedObject.")
            }
        }
        if shape.collection == .linkingObjects, property.originProperty?.isEmpty ?? true {
            throw SchemaProblem(
                "LinkingObjects<\(property.targetName ?? "")> property '\(property.name)' must set the "
                    + "origin property name "
                    + "with @Persisted(originProperty: \"name\").")
        }
        if property.isPrimaryKey {
            let isKeyType = [.int, .string, .objectId, .UUID].contains(shape.type)
            if !isKeyType || shape.isCollection {
                throw SchemaProblem(
                    "Property '\(property.name)' cannot be made the primary key of '\(className)' because "
                        + "it is not a 'string', "
                        + "'int', 'objectId', or 'uuid' property.")
            }
        }
        if property.isContentIndexed {
            let isText = shape.type == .string && (!shape.isCollection || property.isList)
            if property.isIndexed || !isText && !(shape.type == .double && property.isList) {
                throw SchemaProblem(
                    "Property '\(className).\(property.name)' of type '\(shape.type.text)' cannot have that index: "
                        + "fullText is for strings and lists of strings, location for lists of Double."
                )
            }
        }
        if property.isIndexed {
            let isIndexable = [.int, .bool, .string, .date, .objectId, .UUID, .any].contains(shape.type)
            if !isIndexable || shape.isCollection {
                throw SchemaProblem(
                    "Property '\(className).\(property.name)' of type '\(shape.type.text)' cannot be indexed."
                )
            }
        }
    }

    /// Checks the links of one class to others: `classes` are those of the same Realm, by name. Returns lines for
    /// "Schema validation failed due to the following errors:".
    func linkProblems(among classes: [String: ClassSchema]) -> [String] {
        var lines: [String] = []
        if isEmbedded, primaryKey != nil {
            lines.append("Embedded object type '\(name)' cannot have a primary key.")
        }
        for property in properties {
            guard let targetName = property.targetName else { continue }
            guard let target = classes[targetName], target.type == property.shape.target else {
                lines.append("Property '\(name).\(property.name)' has unknown object type '\(targetName)'")
                continue
            }
            if property.isSet, target.isEmbedded {
                lines.append(
                    "Set property '\(name).\(property.name)' cannot contain embedded objects of type "
                        + "'\(targetName)'; use a List or a Map.")
            }
            guard property.isComputed, let originName = property.originProperty else { continue }
            let start =
                "Property '\(targetName).\(originName)' declared as origin of linking objects property "
                + "'\(name).\(property.name)'"
            guard let origin = target.property(named: originName) else {
                lines.append("\(start) does not exist")
                continue
            }
            if origin.shape.type != .object {
                lines.append("\(start) is not a link")
            } else if origin.targetName != name {
                lines.append("\(start) links to type '\(origin.targetName ?? "")'")
            }
        }
        return lines
    }
}
