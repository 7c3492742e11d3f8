// SPDX-License-Identifier: Apache-2.0
// Reads the parts of a damaged table that are still readable: a damaged block makes its own content and everything
// below it unreadable, but nothing else.

/// A part of a table that cannot be read.
package struct LostPart: Sendable, Equatable {
    /// The path from the table's root to the block, for messages.
    package var path: String
    package var why: EngineError
    /// The lost columns if the rest of the group is readable; nil if all of it is lost.
    package var columns: [Int]?
}

extension Table {
    /// Calls `body` with each readable group, in order of its keys, and `lost` with each unreadable part. Lost columns
    /// of a group read as null, zero or empty. Only in a session that does not write.
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
