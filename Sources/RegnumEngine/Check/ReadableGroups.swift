// SPDX-License-Identifier: Apache-2.0
// Reading what can still be read of a damaged table: a block that cannot be believed costs what lies in it and below
// it, nothing else.

/// A part of a table that cannot be read.
package struct LostPart: Sendable, Equatable {
    /// From the table's root to the block, for people.
    package var path: String
    package var why: EngineError
    /// The columns that are lost, where the rest of the group can be read; nil where all of it is.
    package var columns: [Int]?
}

extension Table {
    /// Calls `body` with each group that can be read, in order of its keys, and `lost` with each part that cannot.
    /// Lost columns of a group read as null, zero or empty. Only in a session that does not write.
    package func forEachReadableGroup(
        _ body: (UnsafeMutablePointer<GroupView>) throws(EngineError) -> Void, lost: (LostPart) -> Void
    ) throws(EngineError) {
        guard let root = groups.committedRoot else { return }
        var visited = 0
        try groups.visitReadable(root, definition.name, depth: 0, &visited, body, lost)
    }
}

extension GroupTree {
    fileprivate func visitReadable(
        _ ref: BlockRef, _ path: String, depth: Int, _ visited: inout Int,
        _ body: (UnsafeMutablePointer<GroupView>) throws(EngineError) -> Void, _ lost: (LostPart) -> Void
    ) throws(EngineError) {
        let path = "\(path) > block at page \(ref.page)"
        visited += 1
        guard depth <= FormatLimits.treeDepth, visited <= Int(clamping: space.reader.readablePages) + 1 else {
            return lost(LostPart(path: path, why: corrupted("a tree is too deep or too large"), columns: nil))
        }
        guard ref.kind == BlockKind.groupNode.rawValue else {
            var columns: [Int] = []
            var first: EngineError?
            let view: UnsafeMutablePointer<GroupView>
            do throws(EngineError) {
                view = try GroupHandle.make(ref, self.columns, space) { column, error in
                    columns.append(column)
                    if first == nil { first = error }
                }
            } catch { return lost(LostPart(path: path, why: error, columns: nil)) }
            defer { GroupHandle.deallocate(view) }
            if let first { lost(LostPart(path: path, why: first, columns: columns)) }
            return try body(view)
        }
        let bytes: UnsafeRawPointer
        do throws(EngineError) { bytes = try space.bytes(ref) } catch {
            return lost(LostPart(path: path, why: error, columns: nil))
        }
        for i in 0..<GroupNodeLayout.count(bytes) {
            try visitReadable(GroupNodeLayout.ref(bytes, i), path, depth: depth + 1, &visited, body, lost)
        }
    }
}
