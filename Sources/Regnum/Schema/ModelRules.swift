// SPDX-License-Identifier: Apache-2.0
// Rules that a class declares by conforming to a protocol: unique constraints, delete rules, automatic numbers.
// Additions to RealmSwift's API. The file stores constraints and delete rules, and every program that writes to it
// enforces them.

internal import RegnumEngine

/// Lets a class of objects declare properties whose values must be unique.
///
/// ```swift
/// extension Person: UniqueConstraints {
///     static var uniqueConstraints: [[String]] { [["email"], ["country", "passportNumber"]] }
/// }
/// ```
///
/// When a write ends, no two objects of the class may have the same values in all properties of a constraint; otherwise
/// the write throws `Realm.Error` with the reason `duplicateValues`, and none of its changes are kept. Objects with nil
/// among the values are not compared. See <doc:UniqueValues>.
public protocol UniqueConstraints: Object {
    /// The constraints, each a list of property names. Allowed types are Int, Bool, String, Date, ObjectId, UUID, enums
    /// of these, and links to objects.
    static var uniqueConstraints: [[String]] { get }
}

/// The rule for linked objects when the object that links to them is deleted.
public enum DeleteRule: Sendable, Hashable {
    /// They are kept.
    case nullify
    /// They are deleted too, and their own rules are applied.
    case cascade
    /// There must be none, or they must be deleted together with the object; otherwise the delete is refused, and its
    /// write throws `Realm.Error` with the reason `deniedDelete`.
    case deny
}

/// Lets a class of objects declare what happens to the objects that its objects link to, or that link to them.
///
/// ```swift
/// extension Department: DeleteRules {
///     static var deleteRules: [String: DeleteRule] { ["projects": .cascade, "employees": .deny] }
/// }
/// ```
///
/// A property may be a link, a list, a set or a map of objects, or linking objects. Properties that are not listed have
/// the rule `nullify`. See <doc:DeletingByRules>.
public protocol DeleteRules: Object {
    /// The rules, by property name.
    static var deleteRules: [String: DeleteRule] { get }
}

/// Lets a class of objects number its objects in an Int property.
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
/// An object that is added or created with 0 (or nil) in the property gets a number above the highest of its class, and
/// above the number of objects that its class has ever had. See <doc:GeneratingIdentifiers>.
public protocol AutoIncrement: Object {
    /// The name of an Int property that is the primary key, is indexed, or is a unique constraint on its own.
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
    /// Applies the rules that the class declares; returns the property indexes of each constraint.
    static func applyRules(
        _ properties: inout [ClassProperty], _ type: ObjectBase.Type, _ className: String
    ) throws(SchemaProblem) -> [[Int]] {
        var uniques: [[Int]] = []
        if let type = type as? any UniqueConstraints.Type {
            for names in type.uniqueConstraints {
                let places = try places(names, properties, className)
                if uniques.contains(places) { continue }
                uniques.append(places)
                // The index enforces the constraint, and also serves queries.
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
                "A unique constraint of '\(className)' is empty, or repeats a property: \(names).")
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
                "Property '\(className).\(name)' cannot have a delete rule: it must link to objects of a class that is "
                    + "not embedded.")
        }
        properties[place].deleteRule = rule.linkRule
    }

    // MARK: Columns

    /// The column names of each constraint.
    var uniqueColumns: [[String]] { uniques.map { $0.map { properties[$0].columnName } } }

    /// The rule for the objects that link through a property of this class when the object they link to is deleted. It
    /// is declared by that object's class for its linking objects; nil if that class is not known here.
    func originRule(of property: ClassProperty, among classes: [ClassSchema]) -> LinkRule? {
        if let rule = property.originRule { return rule }
        guard let target = classes.first(where: { $0.name == property.targetName }) else { return nil }
        let backward = target.properties.filter {
            $0.isComputed && $0.targetName == name && $0.originProperty == property.name
        }
        return backward.map(\.deleteRule).max { $0.rawValue < $1.rawValue } ?? .nullify
    }
}
