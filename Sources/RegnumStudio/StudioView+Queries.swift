// SPDX-License-Identifier: Apache-2.0
// Requests about a query: its errors with their position, its form in Swift, how it runs, and aggregates.

internal import Foundation
internal import RegnumEngine
internal import RegnumInspect
internal import RegnumQuery
internal import RegnumSystem

extension StudioView {
    /// The text of the query of a request, with the order of the grid as a last clause. Throws `StudioFailure` and
    /// `QueryError`, with the position in the text.
    func queryText(_ call: StudioCall) throws -> String {
        let text = call["query"] ?? ""
        _ = try parsed(text, try table(try call.text("class")))
        guard let sort = call["sort"], !sort.isEmpty else { return text }
        let isDescending = call["descending"] == "1"
        return text + " SORT(\(QueryText.quoted(sort)) \(isDescending ? "DESC" : "ASC"))"
    }

    private func parsed(_ text: String, _ table: Table) throws -> (parts: QueryText, predicate: RegnumQuery.Predicate) {
        let parts: QueryText
        do throws(QueryText.Problem) { parts = try QueryText(text) } catch {
            var failure = StudioFailure(400, "query", error.message)
            failure.position = error.position
            throw failure
        }
        let predicate = try PredicateParser.parse(parts.predicate)
        _ = try PredicateBinder.bind(
            predicate, to: table.definition.key, in: TableSchema(session.tables.map(\.definition)))
        return (parts, predicate)
    }

    /// The query as Swift and as a predicate format.
    func query(_ call: StudioCall) throws -> JSONValue {
        let table = try table(try call.text("class"))
        let (parts, predicate) = try parsed(call["query"] ?? "", table)
        // Binds the orders too.
        _ = try inspector.query(call["query"] ?? "", table, session)
        let name = table.definition.name
        let format = parts.predicate.trimmingCharacters(in: .whitespacesAndNewlines)
        let isAll = format == "TRUEPREDICATE"
        let clauses = parts.clauses.map { SwiftQuery.text($0) }.joined()
        let objects = "realm.objects(\(name).self)"
        let condition = isAll ? "" : SwiftQuery.text(predicate).map { ".where { \($0) }" }
        return [
            "swift": condition.map { .string(objects + $0 + clauses) } ?? .null,
            "predicate": .string(
                objects + (isAll ? "" : ".filter(NSPredicate(format: \(SwiftQuery.literal(format))))") + clauses),
        ]
    }

    func explain(_ call: StudioCall) throws -> JSONValue {
        let run = try inspector.explain(try call.text("class"), matching: try queryText(call), in: session)
        return [
            "indexes": .array(run.indexes.map { .string($0) }), "isByIndexAlone": .bool(run.isByIndexAlone),
            "objects": .int(run.objects), "estimated": .int(run.estimatedRows), "read": .int(run.examinedRows),
            "skipped": .int(run.skippedRows), "found": .int(run.foundRows), "microseconds": .int(run.microseconds),
            "advice": .array(run.advisedIndexes.map { .string($0) }),
        ]
    }

    /// Aggregates of a property over the results.
    func aggregates(_ call: StudioCall) throws -> JSONValue {
        let table = try table(try call.text("class"))
        let column = try column(try call.text("property"), of: table)
        let query = try inspector.query(try queryText(call), table, session)
        let found = try inspector.aggregates(of: column, in: table, query)
        var members: [JSONMember] = [.init(key: "count", value: .int(found.objects))]
        for (name, value) in found.values {
            members.append(.init(key: name, value: value.map { .string($0) } ?? .null))
        }
        return .object(members)
    }
}
