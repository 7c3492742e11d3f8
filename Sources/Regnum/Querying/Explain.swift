// SPDX-License-Identifier: Apache-2.0
// How a query finds its objects, as a printable value, and advice on missing indexes. Additions to RealmSwift's API.

internal import RegnumEngine
internal import RegnumQuery

/// A description of how a query was run.
///
/// ```swift
/// print(people.where { $0.email == address }.explain())
/// // Person where email == "a@b.c": only index on email, 1 rows examined (1 estimated), 1 found, 12 us
/// ```
public struct QueryExplanation: Sendable, CustomStringConvertible {
    /// The class of the objects.
    public let className: String
    /// The filters as text; empty if there are none.
    public let conditions: String
    /// The properties whose indexes found the objects or returned them in order. Empty if all objects were examined.
    public let indexes: [String]
    /// True if the indexes alone answered the query, without examining an object.
    public let isAnsweredByIndex: Bool
    /// The estimated number of objects to examine.
    public let estimatedRows: Int
    /// The number of objects examined.
    public let examinedRows: Int
    /// The number of objects skipped by zone maps (the smallest and largest values of each row group).
    public let skippedRows: Int
    /// The number of objects found.
    public let foundRows: Int
    /// The time the query took, excluding the time to explain it.
    public let duration: Duration

    /// Returns whether the index of this property was used.
    public func usesIndex(on property: String) -> Bool { indexes.contains(property) }

    public var description: String {
        let way =
            indexes.isEmpty
            ? "scan" : (isAnsweredByIndex ? "only index on " : "index on ") + indexes.joined(separator: ", ")
        let skipped = skippedRows == 0 ? "" : ", \(skippedRows) skipped by zone maps"
        let milliseconds = Double(duration.components.attoseconds) / 1e15 + Double(duration.components.seconds) * 1e3
        let time = Int((milliseconds * 1000).rounded())
        return "\(className)\(conditions.isEmpty ? "" : " where \(conditions)"): \(way), \(examinedRows) rows "
            + "examined (\(estimatedRows) estimated\(skipped)), \(foundRows) found, \(time) us"
    }
}

extension RealmCollection {
    /// Runs the query and describes how it ran: which index it used, how many objects it examined and how long it took.
    /// For tests and tuning; it costs more than the query itself.
    @_disfavoredOverload
    public func explain() -> QueryExplanation {
        let state = managed()
        let run = state.explain()
        let binding = state.binding
        return QueryExplanation(
            className: binding?.schema.name ?? ClassNames.name(of: state.elementType),
            conditions: state.conditionsText,
            indexes: run.indexes.compactMap { binding?.propertyName(ofColumn: $0) },
            isAnsweredByIndex: run.isByIndexAlone, estimatedRows: run.estimatedRows,
            examinedRows: run.examinedRows, skippedRows: run.skippedRows, foundRows: run.foundRows,
            duration: run.duration)
    }
}

extension ClassBinding {
    func propertyName(ofColumn column: Int) -> String? {
        columns.firstIndex(of: column).map { schema.properties[$0].name }
    }
}

extension ResultsState {
    fileprivate func explain() -> QueryRun {
        check()
        guard let binding else { return QueryRun() }
        return engine { () throws(EngineError) in
            let query = self.query ?? ObjectQuery(session: realm.session, table: binding.tableKey)
            if case .table = source { return try query.explain() }
            return try query.explain(among: sourceKeys())
        }
    }

    /// Records a run over the whole table for `IndexAdvice`. Tables of fewer than 1,000 objects are left out.
    func noteRun(_ query: ObjectQuery, _ binding: ClassBinding) {
        let count = binding.table.count
        guard count >= 1000 else { return }
        let settings = realm.settings
        for (column, selectivity) in query.adviceColumns {
            var note = settings.scans[binding.tableKey]?[column] ?? ScanRecord()
            note.queries += 1
            note.rows += count
            note.spared += Int(Double(count) * (1 - selectivity))
            settings.scans[binding.tableKey, default: [:]][column] = note
        }
    }
}

/// Statistics of queries that examined all objects because an index was missing.
struct ScanRecord {
    var queries = 0
    var rows = 0
    /// The estimated number of rows that an index would have skipped.
    var spared = 0
}

/// A property for which an index is advised, based on the queries that an open Realm has run.
public struct IndexAdvice: Sendable, CustomStringConvertible {
    /// The name of the class.
    public let className: String
    /// The property to mark `@Persisted(indexed: true)`.
    public let property: String
    /// The number of queries that would have used the index.
    public let queries: Int
    /// The number of objects these queries examined.
    public let examinedRows: Int
    /// The estimated number of these objects that the index would have skipped.
    public let sparedRows: Int

    public var description: String {
        "\(className).\(property): \(queries) queries examined \(examinedRows) objects; an index would have skipped "
            + "about \(sparedRows) of them. Mark it @Persisted(indexed: true)."
    }

    /// Returns advice based on the queries run through this Realm since it was opened, the most helpful first. Classes
    /// of fewer than 1,000 objects are left out.
    public static func after(queriesOf realm: Realm) -> [IndexAdvice] {
        realm.core.check()
        guard let settings = realm.core.openedWith else { return [] }
        var advice: [IndexAdvice] = []
        for (table, columns) in settings.scans {
            guard let binding = realm.core.binding(forTable: table) else { continue }
            for (column, note) in columns {
                guard let property = binding.propertyName(ofColumn: column) else { continue }
                advice.append(
                    IndexAdvice(
                        className: binding.schema.name, property: property, queries: note.queries,
                        examinedRows: note.rows, sparedRows: note.spared))
            }
        }
        return advice.sorted { ($1.sparedRows, $0.property) < ($0.sparedRows, $1.property) }
    }
}
