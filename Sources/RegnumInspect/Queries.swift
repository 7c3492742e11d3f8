// SPDX-License-Identifier: Apache-2.0
// Runs and explains queries given as text, object by object.

package import RegnumEngine
package import RegnumQuery

/// An object that a query has found. Valid until the callback that received it returns. **Unstable**, like `Inspector`.
public struct InspectedObject {
    let table: Table
    let objectKey: ObjectKey
    let formatter: ObjectFormatter
    let path: String

    /// The number of the object in its class.
    public var key: UInt64 { objectKey.rawValue }

    /// One readable line; long strings are truncated.
    public func line() throws -> String {
        try inspecting(path) { () throws(EngineError) in try formatter.line(table, objectKey) }
    }

    /// A JSON object in one line, as `ObjectFormat.json` has it.
    public func json() throws -> String {
        try inspecting(path) { () throws(EngineError) in try formatter.json(table, objectKey) }
    }

    /// As `json`, with tags in values of any type, so that `ObjectEditor` restores the object.
    public func taggedJSON() throws -> String {
        try inspecting(path) { () throws(EngineError) in try formatter.json(table, objectKey, tagged: true) }
    }

    /// The values in the order of `ClassDescription.properties`, as plain text: strings as they are, data as base64,
    /// dates in ISO 8601, a link as the primary key of its object, embedded objects, collections and values of any type
    /// as JSON. Nil for null.
    public func cells() throws -> [String?] {
        try inspecting(path) { () throws(EngineError) in try formatter.cells(table, objectKey) }
    }
}

/// Statistics of one run of a query. **Unstable**, like `Inspector`.
public struct InspectedRun: Sendable, Equatable {
    public internal(set) var className = ""
    /// The predicate; empty if all objects match.
    public internal(set) var conditions = ""
    /// The properties whose indexes found the objects or determined their order; empty for a scan.
    public internal(set) var indexes: [String] = []
    /// True if the indexes produced the result without reading objects.
    public internal(set) var isByIndexAlone = false
    /// The number of objects of the class.
    public internal(set) var objects = 0
    public internal(set) var estimatedRows = 0
    public internal(set) var examinedRows = 0
    /// The number of objects skipped by the smallest and largest values of their groups.
    public internal(set) var skippedRows = 0
    public internal(set) var foundRows = 0
    public internal(set) var microseconds = 0
    /// The properties for which an index would have saved reading most objects.
    public internal(set) var advisedIndexes: [String] = []
}

extension Inspector {
    /// Calls `body` with the objects of a class that match `text`, at most `limit`. Returns the number of all matches.
    ///
    /// `text` is a predicate, then clauses: `age > 30 SORT(name ASC, age DESC) DISTINCT(city) LIMIT(10)`. Without a
    /// SORT the objects come in the order of their creation. Memory: 8 bytes for each match.
    ///
    /// Throws `InspectionError` if the file does not have the class, if the text is invalid, or if the file is damaged,
    /// and any error that `body` throws.
    @discardableResult
    public func forEachObject(
        of className: String, matching text: String = "TRUEPREDICATE", limit: Int = .max,
        _ body: (InspectedObject) throws -> Void
    ) throws -> Int {
        let session = try makeSession()
        let table = try table(className, session)
        let query = try query(text, table, session)
        let limit = max(limit, 0)
        let (keys, count) = try inspecting(database.path) { () throws(EngineError) in
            if limit >= table.count {
                let keys = try query.keys()
                return (keys, keys.count)
            }
            return (try query.keys(first: limit), try query.count())
        }
        let formatter = ObjectFormatter(session: session)
        for key in keys {
            try body(InspectedObject(table: table, objectKey: key, formatter: formatter, path: database.path))
        }
        return count
    }

    /// Runs the query and returns how it ran. Throws the same errors as `forEachObject`.
    public func explain(_ className: String, matching text: String = "TRUEPREDICATE") throws -> InspectedRun {
        try explain(className, matching: text, in: try makeSession())
    }

    /// The same, at the version of a session.
    package func explain(_ className: String, matching text: String, in session: Session) throws -> InspectedRun {
        let table = try table(className, session)
        let query = try query(text, table, session)
        let run = try inspecting(database.path) { () throws(EngineError) in try query.explain() }
        let names = table.definition.columns.map(\.name)
        var explained = InspectedRun()
        explained.className = table.definition.name
        let predicate = try queryText(text).predicate.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        explained.conditions = predicate == "TRUEPREDICATE" ? "" : predicate
        explained.indexes = run.indexes.map { names[$0] }
        explained.isByIndexAlone = run.isByIndexAlone
        explained.objects = table.count
        explained.estimatedRows = run.estimatedRows
        explained.examinedRows = run.examinedRows
        explained.skippedRows = run.skippedRows
        explained.foundRows = run.foundRows
        explained.microseconds = Int(
            run.duration.components.seconds * 1_000_000 + run.duration.components.attoseconds / 1_000_000_000_000)
        explained.advisedIndexes =
            table.count < Self.adviceObjects || !run.indexes.isEmpty ? [] : query.adviceColumns.map { names[$0.column] }
        return explained
    }

    /// No index is advised for classes with fewer objects.
    private static let adviceObjects = 1000

    package func makeSession() throws -> Session {
        try inspecting(database.path) { () throws(EngineError) in
            let session = try database.makeSession()
            if database.options.isReadOnly { session.scanStop = stop?.scans }
            return session
        }
    }

    package func table(_ className: String, _ session: Session) throws -> Table {
        if let table = session.table(named: className) { return table }
        let names = session.tables.map(\.definition.name).sorted().joined(separator: ", ")
        throw InspectionError(
            path: database.path,
            description: "'\(database.path)' has no class '\(className)'. "
                + (names.isEmpty ? "It has none at all." : "It has: \(names)."))
    }

    private func queryText(_ text: String) throws -> QueryText {
        do throws(QueryText.Problem) { return try QueryText(text) } catch {
            throw InspectionError(
                path: database.path, description: "The query '\(text)' cannot be used: \(error.message)",
                query: text, position: error.position)
        }
    }

    package func query(_ text: String, _ table: Table, _ session: Session) throws -> ObjectQuery {
        let parts = try queryText(text)
        // The predicate begins at the start of the text, unless it is left out.
        var position: Int?
        do throws(QueryError) {
            let schema = TableSchema(session.tables.map(\.definition))
            let key = table.definition.key
            let parsed = try PredicateParser.parse(parts.predicate)
            let bound = try PredicateBinder.bind(parsed, to: key, in: schema)
            var orderings: [Ordering] = []
            for (clause, positions) in zip(parts.clauses, parts.positions) {
                switch clause {
                case .sort(let paths):
                    var keys: [SortKey] = []
                    for (index, path) in paths.enumerated() {
                        position = positions[index]
                        keys.append(
                            try SortKey.bind(path.path, isAscending: path.isAscending, to: key, in: schema))
                    }
                    orderings.append(.sort(keys))
                case .distinct(let paths):
                    var keys: [SortKey] = []
                    for (index, path) in paths.enumerated() {
                        position = positions[index]
                        keys.append(try SortKey.bind(path, to: key, in: schema, verb: "distinct"))
                    }
                    orderings.append(.distinct(keys))
                case .limit(let limit): orderings.append(.slice(offset: 0, limit: limit))
                }
            }
            return ObjectQuery(
                session: session, table: key, predicate: parts.predicate == "TRUEPREDICATE" ? nil : bound,
                orderings: orderings)
        } catch {
            let part = position == nil ? "predicate '\(parts.predicate)'" : "query '\(text)'"
            throw InspectionError(
                path: database.path, description: "The \(part) cannot be used: \(error.message)",
                query: text, position: position ?? error.position)
        }
    }
}
