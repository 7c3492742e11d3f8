// SPDX-License-Identifier: Apache-2.0
// The orders and distinct conditions of results.

package import RegnumEngine

/// A column at the end of a path of to-one links, and a direction.
package struct SortKey: Sendable, Hashable {
    /// Link columns, each in the table that the previous one leads to.
    package var links: [PathStep]
    package var column: Int
    package var type: ColumnType
    package var isAscending: Bool
    /// True if strings are sorted in natural order (`TextOrder`), not by their bytes.
    package var isFolded = false
    /// For a map: the key whose value is used; `type` is then mixed.
    package var entry: String?

    package init(links: [PathStep] = [], column: Int, type: ColumnType, isAscending: Bool = true) {
        self.links = links
        self.column = column
        self.type = type
        self.isAscending = isAscending
    }

    /// Binds a key path such as `owner.name`. `verb` is the operation named in error messages: "sort" or "distinct".
    package static func bind(
        _ path: String, isAscending: Bool = true, to table: TableKey, in schema: any QuerySchema,
        verb: String = "sort"
    ) throws(QueryError) -> SortKey {
        let intro = "Cannot \(verb) on key path '\(path)': "
        if path.contains("@") {
            throw QueryError(.keyPath, intro + "KVC collection operators are not supported.")
        }
        guard var current = schema.queryClass(table) else {
            throw QueryError(.keyPath, intro + "the class is not in the schema.")
        }
        var links: [PathStep] = []
        let names = path.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        if names.count > PredicateBinder.pathLimit {
            throw QueryError(
                .keyPath,
                "Cannot \(verb) on a key path of \(names.count) parts: a key path may have at most "
                    + "\(PredicateBinder.pathLimit).")
        }
        for (index, name) in names.enumerated() {
            if verb == "sort", index == names.count - 1, let key = entry(name, of: current, links, isAscending) {
                return key
            }
            guard let property = current.properties[name] ?? current.column(named: name) else {
                throw QueryError(.keyPath, intro + "property '\(current.name).\(name)' does not exist.")
            }
            guard case .column(let number, let definition) = property, definition.collection == .none,
                definition.type != .data
            else {
                throw QueryError(
                    .keyPath, intro + "property '\(current.name).\(name)' is of unsupported type.")
            }
            let isLast = index == names.count - 1
            if definition.type == .link, let target = definition.target, let next = schema.queryClass(target) {
                if isLast {
                    throw QueryError(
                        .keyPath,
                        intro + "property '\(current.name).\(name)' of type 'object' cannot be the final "
                            + "property in the key path.")
                }
                links.append(.link(column: number, target: target))
                current = next
            } else if isLast {
                return SortKey(links: links, column: number, type: definition.type, isAscending: isAscending)
            } else {
                throw QueryError(
                    .keyPath,
                    intro + "property '\(current.name).\(name)' of type '\(definition.type.shown)' may only "
                        + "be the final property in the key path.")
            }
        }
        throw QueryError(.keyPath, intro + "there is no property in it.")
    }

    /// The value of a map's key, as in `scores[anna]`; nil if the name does not have this form.
    private static func entry(
        _ name: String, of queryClass: QueryClass, _ links: [PathStep], _ isAscending: Bool
    ) -> SortKey? {
        guard let bracket = name.firstIndex(of: "["), name.hasSuffix("]"),
            case .column(let number, let definition)? = queryClass.properties[String(name[..<bracket])],
            definition.collection == .dictionary, definition.type != .link, definition.type != .data
        else { return nil }
        var key = SortKey(links: links, column: number, type: .mixed, isAscending: isAscending)
        let quotes: Set<Character> = ["'", "\""]
        var text = name[name.index(after: bracket)...].dropLast()
        if text.count >= 2, let quote = text.first, quotes.contains(quote), text.last == quote {
            text = text.dropFirst().dropLast()
        }
        key.entry = String(text)
        return key
    }
}

extension QueryClass {
    /// The column with that name in the file, if the property has another name.
    fileprivate func column(named name: String) -> QueryProperty? {
        properties.values.first { property in
            if case .column(_, let definition) = property { definition.name == name } else { false }
        }
    }
}

/// An operation on the matching rows; operations are applied in order.
package enum Ordering: Sendable, Hashable {
    /// The first key takes precedence, the next ones break ties; equal rows keep their order.
    case sort([SortKey])
    /// Keeps the first of the rows that are equal in all keys; drops objects with a null link on the path.
    case distinct([SortKey])
    /// Skips the first `offset` rows, and drops all after the next `limit`.
    case slice(offset: Int, limit: Int?)
    /// Filters the result of a slice.
    case filter(BoundPredicate)
}
