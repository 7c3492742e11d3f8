// SPDX-License-Identifier: Apache-2.0
// Rules that a class may declare by adopting a protocol: unique constraints, delete rules, numbers. Additions to
// RealmSwift's API. The file keeps constraints and delete rules, and every program that writes it follows them.

internal import RegnumEngine

/// Lets a class of objects declare properties whose values no two of its objects share.
///
/// ```swift
/// extension Person: UniqueConstraints {
///     static var uniqueConstraints: [[String]] { [["email"], ["country", "passportNumber"]] }
/// }
/// ```
///
/// When a write ends, no two objects of the class have the same values in all properties of a constraint; else the
/// write throws `Realm.Error` with the reason `duplicateValues` and keeps nothing. Objects with a nil among the values
/// are not compared. See <doc:UniqueValues>.
public protocol UniqueConstraints: Object {
    /// Names of properties, a list for each constraint. Allowed are Int, Bool, String, Date, ObjectId, UUID, enums of
    /// these, and links to objects.
    static var uniqueConstraints: [[String]] { get }
}

/// What becomes of the objects at the far end of a link when the object at its near end is deleted.
public enum DeleteRule: Sendable, Hashable {
    /// They stay.
    case nullify
    /// They are deleted as well, and what their own rules say.
    case cascade
    /// There must be none, or they must be deleted together with it: else the delete is refused, and its write throws
    /// `Realm.Error` with the reason `deniedDelete`.
    case deny
}

/// Lets a class of objects say what becomes of the objects that it links to, or that link to it.
///
/// ```swift
/// extension Department: DeleteRules {
///     static var deleteRules: [String: DeleteRule] { ["projects": .cascade, "employees": .deny] }
/// }
/// ```
///
/// A property may be a link, a list, a set or a map of objects, or linking objects. Properties that are not named have
/// the rule `nullify`. See <doc:DeletingByRules>.
public protocol DeleteRules: Object {
    /// The rules by names of properties.
    static var deleteRules: [String: DeleteRule] { get }
}

/// Lets a class of objects have an Int property that numbers its objects.
///
/// ```swift
/// class Invoice: Object {
///     @Persisted(primaryKey: true) var number: Int
/// }
/// extension Invoice: AutoIncrement {
///     static var autoIncrementedProperty: String { "number" }
/// }
/// ```
///
/// An object that is added or created with 0 (or nil) in the property gets the number above the highest of its class,
/// and above the number of objects its class ever had. See <doc:GeneratingIdentifiers>.
public protocol AutoIncrement: Object {
    /// The name of an Int property that is the primary key, indexed, or a unique constraint of its own.
    static var autoIncrementedProperty: String { get }
}

extension DeleteRule {
    fileprivate var linkRule: LinkRule {
        switch self {
        case .nullify: .nullify
        case .cascade: .cascade
        case .deny: .deny
        }
    }
}

extension ClassSchema {
    /// Reads what the class declares; returns the places of the properties of each constraint.
    static func applyRules(
        _ properties: inout [ClassProperty], _ type: ObjectBase.Type, _ className: String
    ) throws(SchemaProblem) -> [[Int]] {
        var uniques: [[Int]] = []
        if let type = type as? any UniqueConstraints.Type {
            for names in type.uniqueConstraints {
                let places = try places(names, properties, className)
                if uniques.contains(places) { continue }
                uniques.append(places)
                // Its index keeps the constraint, and serves queries.
                if places.count == 1, isIndexable(properties[places[0]]), !properties[places[0]].isPrimaryKey {
                    properties[places[0]].isIndexed = true
                }
            }
        }
        if let type = type as? any DeleteRules.Type {
            for (name, rule) in type.deleteRules.sorted(by: { $0.key < $1.key }) {
                try apply(rule, name, &properties, className)
            }
        }
        if let type = type as? any AutoIncrement.Type {
            let name = type.autoIncrementedProperty
            guard let place = properties.firstIndex(where: { $0.name == name }) else {
                throw SchemaProblem("Auto-incremented property '\(name)' does not exist on object '\(className)'")
            }
            let property = properties[place]
            guard property.shape.type == .int, !property.shape.isCollection, !property.shape.isCustom,
                property.isIndexed || property.isPrimaryKey
            else {
                throw SchemaProblem(
                    "Property '\(className).\(name)' cannot be auto-incremented: it must be an Int that is the primary "
                        + "key, indexed, or a unique constraint of its own.")
            }
            properties[place].isAutoIncremented = true
        }
        return uniques
    }

    private static func isIndexable(_ property: ClassProperty) -> Bool {
        [.int, .bool, .string, .date, .objectId, .UUID].contains(property.shape.type) && !property.shape.isCollection
    }

    private static func places(
        _ names: [String], _ properties: [ClassProperty], _ className: String
    ) throws(SchemaProblem) -> [Int] {
        if names.isEmpty || Set(names).count != names.count {
            throw SchemaProblem(
                "A unique constraint of '\(className)' names no property, or one twice: \(names).")
        }
        var places: [Int] = []
        for name in names {
            guard let place = properties.firstIndex(where: { $0.name == name }) else {
                throw SchemaProblem("Unique property '\(name)' does not exist on object '\(className)'")
            }
            let property = properties[place]
            let isLink = property.shape.type == .object && !property.shape.isCollection && !property.isComputed
            guard isIndexable(property) || isLink else {
                throw SchemaProblem(
                    "Property '\(className).\(name)' of type '\(property.shape.type.text)' cannot be part of a unique "
                        + "constraint.")
            }
            places.append(place)
        }
        return places
    }

    private static func apply(
        _ rule: DeleteRule, _ name: String, _ properties: inout [ClassProperty], _ className: String
    ) throws(SchemaProblem) {
        guard let place = properties.firstIndex(where: { $0.name == name }) else {
            throw SchemaProblem("Property '\(name)' with a delete rule does not exist on object '\(className)'")
        }
        guard let target = properties[place].shape.target, !target.isEmbedded() || properties[place].isComputed else {
            throw SchemaProblem(
                "Property '\(className).\(name)' cannot have a delete rule: it does not link to objects of their own.")
        }
        properties[place].deleteRule = rule.linkRule
    }

    // MARK: Columns

    /// The columns of each constraint.
    var uniqueColumns: [[String]] { uniques.map { $0.map { properties[$0].columnName } } }

    /// What becomes of the objects that link by a property of this class when the one they link to is deleted: as its
    /// class says for its linking objects; nil where that class is not known here.
    func originRule(of property: ClassProperty, among classes: [ClassSchema]) -> LinkRule? {
        if let rule = property.originRule { return rule }
        guard let target = classes.first(where: { $0.name == property.targetName }) else { return nil }
        let backward = target.properties.filter {
            $0.isComputed && $0.targetName == name && $0.originProperty == property.name
        }
        return backward.map(\.deleteRule).max { $0.rawValue < $1.rawValue } ?? .nullify
    }
}
