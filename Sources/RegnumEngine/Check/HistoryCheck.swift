// SPDX-License-Identifier: Apache-2.0
// The part of the integrity check that concerns kept versions: each of them is complete, and every page that is kept is
// needed by one. Blocks that several versions share are visited once, so the cost is that of the kept pages. Only the
// row groups of a table that has lost columns are visited again: its blocks stay when a column is removed, but the long
// values of this column are needed by older versions alone.

import RegnumSystem

extension IntegrityCheck.Walk {
    /// Marks the blocks of the record, and the pages that only kept versions need.
    mutating func markHistory(_ history: History?) throws(EngineError) {
        guard let history else { return }
        self.history = history
        for ref in history.blocks { try mark(ref, parentBirth: database.versions.newest.number, "history") }
        for version in history.versions {
            for block in version.freed { mark(block.extent, .kept, "version \(version.number)") }
        }
        report.keptPages = history.heldPages
        report.keptVersions = history.versions.count
    }

    /// Visits the blocks of the kept versions. Call when all blocks of the newest version are marked.
    mutating func checkHistory() throws(EngineError) {
        guard let history, let session else { return }
        var schemas: [BlockRef: SchemaBlock] = [:]
        // Of each table, the columns whose values have been visited in all blocks that older versions share.
        var visited: [TableKey: Set<UInt32>] = [:]
        for table in session.tables {
            visited[table.definition.key] = Set(table.definition.columns.map(\.key.rawValue))
        }
        for version in history.versions.reversed() {
            let name = "version \(version.number)"
            attempt(name) { (walk) throws(EngineError) in
                var visit = KeptVisit(space: session.space, name: name)
                guard try visit.needs(version.catalog, version.number, &walk) else { return }
                let catalog = try Catalog.read(version.catalog, try session.space.bytes(version.catalog))
                _ = try visit.needs(catalog.schema, version.number, &walk)
                let schema: SchemaBlock
                if let known = schemas[catalog.schema] {
                    schema = known
                } else {
                    schema = try SchemaBlock.read(catalog.schema, try session.space.bytes(catalog.schema))
                    schemas[catalog.schema] = schema
                }
                for table in catalog.tables {
                    let columns = schema.tables.first { $0.key == table.key }?.columns ?? []
                    visit.columns = Set(columns.map(\.key.rawValue))
                    visit.removed = visit.columns.subtracting(visited[table.key] ?? [])
                    visited[table.key, default: []].formUnion(visit.columns)
                    try visit.run(table.root, version.number, &walk)
                    visit.removed = []
                    for tree in table.trees { try visit.run(tree.root, version.number, &walk) }
                }
            }
        }
        for page in pages.indices where pages[page] == PageUse.kept.rawValue {
            find(1, "history: page \(page) is kept, and no kept version needs it")
        }
    }
}

/// The traversal of one kept version.
private struct KeptVisit {
    let space: BlockSpace
    let name: String
    /// Columns of the table that is visited.
    var columns: Set<UInt32> = []
    /// Those that no later version has.
    var removed: Set<UInt32> = []

    init(space: BlockSpace, name: String) {
        self.space = space
        self.name = name
    }

    /// Verifies a block. Returns true if it is needed only by kept versions, and has not been visited. A row group that
    /// has been visited only because a later one uses some of its columns (`isSource`) counts as not visited: its other
    /// columns may refer to long values that no later version has.
    func needs(
        _ ref: BlockRef, _ parentBirth: UInt64, isSource: Bool = false, _ walk: inout IntegrityCheck.Walk
    ) throws(EngineError) -> Bool {
        _ = try space.bytes(ref)
        if ref.birth > parentBirth {
            walk.find(3, "\(name): the block at page \(ref.page) is younger than the one that leads to it")
        }
        switch walk.use(of: ref) {
        case .kept?:
            walk.note(ref, as: isSource ? .source : .older)
            walk.report.blocks += 1
            return true
        case .source?:
            if !isSource { walk.note(ref, as: .older) }
            return !isSource
        case .reachable?, .older?: return false
        case .free?, .pending?, .none?, nil:
            walk.find(1, "\(name): the block at page \(ref.page) is needed and not kept")
            return false
        }
    }

    func run(
        _ ref: BlockRef, _ parentBirth: UInt64, _ walk: inout IntegrityCheck.Walk, depth: Int = 0
    ) throws(EngineError) {
        if ref.isNone { return }
        guard depth <= 2 * FormatLimits.treeDepth + 2 else { throw corrupted("a tree is too deep", page: ref.page) }
        let isNew = try needs(ref, parentBirth, &walk)
        guard isNew || !removed.isEmpty && isShared(ref, walk) else { return }
        let bytes = try space.bytes(ref)
        var children: [BlockRef] = []
        switch BlockKind(rawValue: ref.kind) {
        case .rowGroup:
            for i in 0..<(isNew ? RowGroupLayout.externalCount(bytes) : 0) {
                _ = try needs(RowGroupLayout.external(bytes, i), ref.birth, isSource: true, &walk)
            }
            children = try GroupCopy(ref, bytes, isNew ? columns : removed, space).blobs.map(\.ref)
        case .groupNode: children = (0..<GroupNodeLayout.count(bytes)).map { GroupNodeLayout.ref(bytes, $0) }
        case .elementNode: children = (0..<ElementNodeLayout.count(bytes)).map { ElementNodeLayout.ref(bytes, $0) }
        case .indexBranch:
            let branch = IndexBranchView(bytes)
            children = (0..<branch.count).map { branch.ref($0) }
        case .indexLeaf, .blob: return
        default: throw corrupted("a tree refers to a block of another kind", page: ref.page)
        }
        for child in children { try run(child, ref.birth, &walk, depth: depth + 1) }
    }

    /// True for a row group, or a node above row groups, that a later version needs too.
    private func isShared(_ ref: BlockRef, _ walk: IntegrityCheck.Walk) -> Bool {
        let isOfGroups =
            ref.kind == BlockKind.rowGroup.rawValue || ref.kind == BlockKind.groupNode.rawValue
        switch walk.use(of: ref) {
        case .reachable?, .source?, .older?: return isOfGroups
        default: return false
        }
    }
}
