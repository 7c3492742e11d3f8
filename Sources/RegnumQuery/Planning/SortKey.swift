// SPDX-License-Identifier: Apache-2.0
// What results are ordered by and kept apart by.

package import RegnumEngine

/// A column at the end of a path of to-one links, and the direction.
package struct SortKey: Sendable, Hashable {
    /// Link columns, each of the table that the one before leads to.
    package var links: [PathStep]
    package var column: Int
    package var type: ColumnType
    package var isAscending: Bool
    /// Strings as people order them (`TextOrder`), not as their bytes.
    package var isFolded = false

    package init(links: [PathStep] = [], column: Int, type: ColumnType, isAscending: Bool = true) {
        self.links = links
        self.column = column
        self.type = type
        self.isAscending = isAscending
    }

    /// Binds a key path such as `owner.name`. `verb` is what messages say it cannot be done: "sort" or "distinct".
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
        for (index, name) in names.enumerated() {
            guard let property = current.properties[name] else {
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
}

/// What is done with the rows that match, one after the other.
package enum Ordering: Sendable, Hashable {
    /// The first key decides, the next ones break ties; what is left keeps the order it had.
    case sort([SortKey])
    /// Keeps the first of those that agree in all keys; objects with a null link on the way are dropped.
    case distinct([SortKey])
    /// Leaves out the first `offset` of them, and all behind the next `limit`.
    case slice(offset: Int, limit: Int?)
    /// A filter of what a slice has left.
    case filter(BoundPredicate)
}
