// SPDX-License-Identifier: Apache-2.0
// The number of the results of a query, and the minimum, maximum, sum and average of a property over them.

package import RegnumEngine
package import RegnumQuery

/// Aggregates of one property over the results of a query. **Unstable**, like `Inspector`.
public struct InspectedAggregates: Sendable, Equatable {
    /// An aggregate, by its name: `min`, `max`, `sum` or `avg`.
    public struct Aggregate: Sendable, Equatable {
        public internal(set) var name: String
        /// The value as `InspectedObject.cells` writes it; nil if no result has a value.
        public internal(set) var text: String?
        /// True if the value is an integer or a floating-point number.
        public internal(set) var isNumber: Bool
    }

    /// The number of all results, also of those without a value.
    public internal(set) var objects = 0
    /// Those that the type of the property has: of numbers all, of dates the minimum and the maximum, else none.
    public internal(set) var aggregates: [Aggregate] = []

    package var values: [(name: String, text: String?)] { aggregates.map { ($0.name, $0.text) } }
}

extension Inspector {
    /// The aggregates of a property over the objects that match `text`, see `forEachObject`. Null and NaN are left out;
    /// sums of integers wrap. Throws `InspectionError`, for example if the class has no such property. O(results).
    public func aggregates(
        _ className: String, property: String, matching text: String = "TRUEPREDICATE"
    ) throws -> InspectedAggregates {
        let session = try makeSession()
        let table = try table(className, session)
        guard let column = table.definition.column(named: property), !table.definition.columns[column].isHidden else {
            throw InspectionError(
                path: database.path, description: "Class '\(className)' has no property '\(property)'.")
        }
        return try aggregates(of: column, in: table, try query(text, table, session))
    }

    /// The same, of a column over the results of a query of its table.
    package func aggregates(of column: Int, in table: Table, _ query: ObjectQuery) throws -> InspectedAggregates {
        let definition = table.definition.columns[column]
        var kinds: [(String, AggregateKind)] = []
        switch definition.type {
        case .int, .float, .double, .decimal128:
            kinds = [("min", .min), ("max", .max), ("sum", .sum), ("avg", .avg)]
        case .date: kinds = [("min", .min), ("max", .max)]
        default: break
        }
        if definition.collection != .none { kinds = [] }
        let formatter = ObjectFormatter(session: query.session)
        return try inspecting(database.path) { () throws(EngineError) in
            var found = InspectedAggregates(objects: try query.count())
            for (name, kind) in kinds {
                let value = try query.aggregate(kind, column)
                found.aggregates.append(
                    .init(
                        name: name, text: value == .null ? nil : try formatter.plain(value),
                        isNumber: definition.type != .date && definition.type != .decimal128))
            }
            return found
        }
    }
}
