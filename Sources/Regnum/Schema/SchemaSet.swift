// SPDX-License-Identifier: Apache-2.0
// The classes of a Realm: a given list, or all classes in the process. Immutable; any thread.

internal import RegnumSystem

package struct SchemaSet: Sendable {
    package let classes: [ClassSchema]
    /// The classes left out because another class has the same name, or because they link to such a class, with the
    /// message for a program that uses one.
    package let clashes: [ObjectIdentifier: String]

    private init(_ classes: [ClassSchema], clashes: [ObjectIdentifier: String] = [:]) {
        self.classes = classes
        self.clashes = clashes
    }

    /// The listed classes. It is a programmer error if a declaration is invalid, a name occurs twice, or a class links
    /// to one that is not listed.
    package static func of(_ types: [ObjectBase.Type]) -> SchemaSet {
        var seen: Set<ObjectIdentifier> = []
        var byName: [String: ClassSchema] = [:]
        var classes: [ClassSchema] = []
        for type in types where seen.insert(ObjectIdentifier(type)).inserted {
            let schema = ClassSchema.of(type)
            if let other = byName[schema.name] { misuse(clashMessage([other.type, type], schema.name)) }
            byName[schema.name] = schema
            classes.append(schema)
        }
        var missing: [String] = []
        for schema in classes {
            for property in schema.properties {
                guard let target = property.shape.target, let name = property.targetName,
                    !seen.contains(ObjectIdentifier(target))
                else { continue }
                missing.append(
                    "- '\(schema.name).\(property.name)' links to class '\(name)', which is missing from "
                        + "the list of classes "
                        + "managed by the Realm")
            }
        }
        if !missing.isEmpty { misuse("Invalid class subset list:\n" + missing.joined(separator: "\n")) }
        requireLinks(classes, byName)
        return SchemaSet(classes)
    }

    /// Classes known from a text instead of declarations.
    static func described(_ classes: [ClassSchema]) -> SchemaSet { SchemaSet(classes) }

    private struct Discovered: Sendable {
        var types: Set<ObjectIdentifier>
        var set: SchemaSet
    }
    private static let discovered = Lock<Discovered?>(nil)

    /// Every class in the process that belongs to the default schema. Scans each time, because images may have been
    /// loaded since (0.1 ms if nothing is new). It is a programmer error if a declaration is invalid.
    package static func all() -> SchemaSet {
        let types = ClassScan.subclasses(of: ObjectBase.self).compactMap { $0 as? ObjectBase.Type }
            .filter { !$0.isBase && $0.shouldIncludeInDefaultSchema() && !$0._realmIgnoreClass() }
        let ids = Set(types.map { ObjectIdentifier($0) })
        if let known = discovered.withLock({ $0 }), known.types == ids { return known.set }
        let set = assemble(types)
        discovered.withLock { $0 = Discovered(types: ids, set: set) }
        return set
    }

    private static func assemble(_ types: [ObjectBase.Type]) -> SchemaSet {
        var byName: [String: [ObjectBase.Type]] = [:]
        for type in types { byName[ClassNames.name(of: type), default: []].append(type) }
        var clashes: [ObjectIdentifier: String] = [:]
        for (name, same) in byName where same.count > 1 {
            for type in same { clashes[ObjectIdentifier(type)] = clashMessage(same, name) }
        }
        var classes = types.filter { clashes[ObjectIdentifier($0)] == nil }.map { ClassSchema.of($0) }
        // A class that links to an omitted class cannot be stored either.
        var last = -1
        while last != classes.count {
            last = classes.count
            classes.removeAll { schema in
                let message = schema.properties.lazy
                    .compactMap { $0.shape.target.flatMap { clashes[ObjectIdentifier($0)] } }.first
                if let message { clashes[ObjectIdentifier(schema.type)] = message }
                return message != nil
            }
        }
        classes.sort { $0.name < $1.name }
        requireLinks(
            classes, Dictionary(classes.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first }))
        return SchemaSet(classes, clashes: clashes)
    }

    private static func requireLinks(_ classes: [ClassSchema], _ byName: [String: ClassSchema]) {
        let lines = classes.flatMap { $0.linkProblems(among: byName) }
        if lines.isEmpty { return }
        misuse(
            "Schema validation failed due to the following errors:\n"
                + lines.map { "- \($0)" }.joined(separator: "\n"))
    }

    private static func clashMessage(_ types: [ObjectBase.Type], _ name: String) -> String {
        let modules = types.map { "'\(ClassNames.module(of: $0))'" }.sorted().joined(separator: " and ")
        return
            "RLMObject subclasses with the same name cannot be included twice in the same target. "
            + "'\(name)' is declared "
            + "in the modules \(modules): list the one that is meant in `objectTypes`, or give one "
            + "another name by "
            + "overriding `_realmObjectName()`."
    }
}
