// SPDX-License-Identifier: Apache-2.0
// The differences between two files, in the schema and in the objects.

internal import RegnumEngine
internal import RegnumQuery

/// A difference between two files. Values are JSON. **Unstable**, like `Inspector`.
public enum FileDifference: Sendable, Equatable {
    /// Something of the schema: a class, a property or a constraint, as text. Nil if a file lacks it.
    case schema(subject: String, before: String?, after: String?)
    /// An object that only the first file has.
    case removed(className: String, identity: String, json: String)
    /// An object that only the second file has.
    case added(className: String, identity: String, json: String)
    case changed(className: String, identity: String, properties: [ChangedProperty])

    public struct ChangedProperty: Sendable, Equatable {
        public internal(set) var name: String
        public internal(set) var before: String
        public internal(set) var after: String
    }
}

extension Inspector {
    /// Calls `body` with each difference from this file to another one: first those of the schema, then those of the
    /// objects, which are compared by primary key, or else by their numbers. Embedded objects are compared as parts of
    /// their owners. With `classNames`, only these classes are compared. Memory: 8 bytes for each object of a class.
    ///
    /// Throws `InspectionError`, for example if no file has a class of `classNames`, and any error that `body` throws.
    public func compare(
        with other: Inspector, classNames: [String]? = nil, objects: Bool = true,
        _ body: (FileDifference) throws -> Void
    ) throws {
        let (before, after) = (try makeSession(), try other.makeSession())
        let names = Set(before.tables.map(\.definition.name)).union(after.tables.map(\.definition.name))
        for name in classNames ?? [] where !names.contains(name) { _ = try table(name, before) }
        let chosen = names.sorted().filter { classNames?.contains($0) ?? true }
        if classNames == nil, before.schemaVersion != after.schemaVersion {
            func text(_ session: Session) -> String {
                session.schemaVersion == Catalog.neverSet ? "never set" : "\(session.schemaVersion)"
            }
            try body(.schema(subject: "schema version", before: text(before), after: text(after)))
        }
        for name in chosen {
            let old = before.table(named: name).map { ClassDescription($0, before) }
            let new = after.table(named: name).map { ClassDescription($0, after) }
            try Self.compare(name, old, new, body)
        }
        if classNames == nil, try schemaRules() != other.schemaRules() {
            try body(
                .schema(subject: "constraints and rules", before: try schemaRules(), after: try other.schemaRules()))
        }
        if !objects { return }
        for name in chosen {
            let comparison = ClassComparison(
                name: name, path: database.path, before: before, after: after, old: before.table(named: name),
                new: after.table(named: name))
            try comparison.run(body)
        }
    }

    private static func compare(
        _ name: String, _ old: ClassDescription?, _ new: ClassDescription?, _ body: (FileDifference) throws -> Void
    ) throws {
        func kind(_ description: ClassDescription?) -> String? {
            description.map { $0.isEmbedded ? "embedded class" : "class" }
        }
        if kind(old) != kind(new) { try body(.schema(subject: name, before: kind(old), after: kind(new))) }
        guard let old, let new else { return }
        for property in old.properties {
            let found = new.properties.first { $0.name == property.name }
            if found?.text != property.text {
                try body(.schema(subject: "\(name).\(property.name)", before: property.text, after: found?.text))
            }
        }
        for property in new.properties where !old.properties.contains(where: { $0.name == property.name }) {
            try body(.schema(subject: "\(name).\(property.name)", before: nil, after: property.text))
        }
    }
}

/// The comparison of the objects of a class. Confined to the sessions.
private struct ClassComparison {
    let name: String
    let path: String
    let before: Session
    let after: Session
    let old: Table?
    let new: Table?

    func run(_ body: (FileDifference) throws -> Void) throws {
        if old?.definition.isEmbedded ?? false || new?.definition.isEmbedded ?? false { return }
        let (oldFormatter, newFormatter) = (ObjectFormatter(session: before), ObjectFormatter(session: after))
        if let old {
            for key in try keys(old, before) {
                let identity = try identity(old, key, oldFormatter)
                guard let new, let counterpart = try counterpart(of: key, old, in: new) else {
                    try body(.removed(className: name, identity: identity, json: try json(old, key, oldFormatter)))
                    continue
                }
                var changed: [FileDifference.ChangedProperty] = []
                for (column, definition) in old.definition.columns.enumerated() where !definition.isHidden {
                    guard let other = new.definition.column(named: definition.name) else { continue }
                    let (left, right) = try inspecting(path) { () throws(EngineError) in
                        (try oldFormatter.json(old, column, key), try newFormatter.json(new, other, counterpart))
                    }
                    if left != right { changed.append(.init(name: definition.name, before: left, after: right)) }
                }
                if !changed.isEmpty {
                    try body(.changed(className: name, identity: identity, properties: changed))
                }
            }
        }
        guard let new else { return }
        for key in try keys(new, after) {
            if let old, try counterpart(of: key, new, in: old) != nil { continue }
            try body(
                .added(
                    className: name, identity: try identity(new, key, newFormatter),
                    json: try json(new, key, newFormatter)))
        }
    }

    private func keys(_ table: Table, _ session: Session) throws -> [ObjectKey] {
        try inspecting(path) { () throws(EngineError) in
            try ObjectQuery(session: session, table: table.definition.key).keys()
        }
    }

    /// The object of the other file with the same primary key, or the same number if a file has no such key.
    private func counterpart(of key: ObjectKey, _ table: Table, in other: Table) throws -> ObjectKey? {
        try inspecting(path) { () throws(EngineError) in
            guard let primary = table.definition.primaryKey, let otherPrimary = other.definition.primaryKey,
                table.definition.columns[primary].type == other.definition.columns[otherPrimary].type
            else { return try other.contains(key) ? key : nil }
            return try other.key(forPrimaryKey: try table.value(primary, of: key))
        }
    }

    private func identity(_ table: Table, _ key: ObjectKey, _ formatter: ObjectFormatter) throws -> String {
        guard let primary = table.definition.primaryKey else { return "#\(key.rawValue)" }
        return try inspecting(path) { () throws(EngineError) in try formatter.json(table, primary, key) }
    }

    private func json(_ table: Table, _ key: ObjectKey, _ formatter: ObjectFormatter) throws -> String {
        try inspecting(path) { () throws(EngineError) in try formatter.json(table, key, tagged: true) }
    }
}
