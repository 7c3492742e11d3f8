// SPDX-License-Identifier: Apache-2.0
// `body TEXT 'words'`: requires a full-text index on the column, which also defines how text is split into words.

import RegnumEngine

extension PredicateBinder {
    func search(_ path: ResolvedPath, _ comparison: Comparison, _ constant: Constant) throws(QueryError)
        -> BoundPredicate
    {
        let column: Int
        switch path.end {
        case .column(let number, .string), .elements(let number, .string): column = number
        default:
            throw QueryError(.unsupported, "Operator 'TEXT' not supported for type '\(path.typeName)'")
        }
        guard path.aggregate == nil, path.dictionary == nil, path.isContentIndexed else {
            throw QueryError(
                .unsupported,
                "Column has no fulltext index: declare '\(path.className).\(path.property)' with "
                    + "@Persisted(indexed: .fullText).")
        }
        if !comparison.options.isEmpty {
            throw QueryError(
                .unsupported, "Operator 'TEXT' takes no modifiers: it always ignores case and accents.")
        }
        guard case .string(let typed) = constant else {
            throw QueryError(
                .value,
                "Cannot compare value '\(constant.shown)' of type '\(constant.typeName)' to property "
                    + "'\(path.property)' of type 'string'")
        }
        // The text of a list is the text of all its elements, so ANY in front of it makes no difference.
        var single = path
        single.bound.end = .column(column, .string)
        if single.isToMany || path.end == single.end { try checkModifier(single, comparison) }
        let search = TextSearch(typed)
        return single.bound.steps.isEmpty ? search.predicate(single.bound) : .text(single.bound, search)
    }
}

extension TextSearch {
    /// For a column of the queried objects, the parts of a search become ordinary conditions.
    fileprivate func predicate(_ path: BoundPath) -> BoundPredicate {
        switch self {
        case .term: .text(path, self)
        case .all(let parts): .and(parts.map { $0.predicate(path) })
        case .any(let parts): .or(parts.map { $0.predicate(path) })
        case .without(let part): .not(part.predicate(path))
        }
    }

    func plan(_ column: Int) -> PlanNode {
        switch self {
        case .term(let term): .text(TextNode(column, term))
        case .all(let parts): .and(parts.map { $0.plan(column) })
        case .any(let parts): .or(parts.map { $0.plan(column) })
        case .without(let part): .not(part.plan(column))
        }
    }
}
