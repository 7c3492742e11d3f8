// SPDX-License-Identifier: Apache-2.0
// Iterates over the objects of a table without a lookup for each.

/// Iterates over a table in key order. Only for tables that do not change during the iteration, such as those of a
/// frozen session, because it steps through the rows of each group directly.
package struct RowTraversal {
    private let table: Table
    private var location: RowLocation?
    private var position = 0

    package init(_ table: Table) { self.table = table }

    /// The next object; nil at the end.
    package mutating func next() throws(EngineError) -> RowLocation? {
        guard position < table.count else { return nil }
        if let last = location, last.row + 1 < last.group.pointee.count {
            location = RowLocation(group: last.group, row: last.row + 1)
        } else {
            location = try table.location(atPosition: position)
        }
        position += 1
        return location
    }
}
