// SPDX-License-Identifier: Apache-2.0
// The changes that count as changes to an observed object: changes to its own properties, and to objects it links to.
// Without key paths all links are followed to a depth; with key paths only the links they name.
//
// The traversal runs backwards: from the changed objects over their backlinks to the observed ones. Its cost grows with
// the change and the objects that link to it, not with the number of observed objects.

package import RegnumEngine

/// A part of the schema, rooted at an observed class.
package final class Region: Sendable {
    /// The number of links followed if no key paths are given.
    package static let depth = 4

    package enum Step: Sendable, Hashable {
        /// A link, or a collection of links.
        case forward(column: Int, target: TableKey)
        case backlinks(origin: TableKey, column: Int)
    }

    let table: TableKey
    /// Columns whose changes count; nil for all.
    let columns: ColumnSet?
    /// The columns that key paths only pass through.
    package let passedColumns: ColumnSet
    let steps: [(step: Step, region: Region)]
    /// The number of links to follow in addition to `steps`, through any column.
    let remainingDepth: Int

    private init(
        _ table: TableKey, _ columns: ColumnSet?, _ steps: [(Step, Region)], _ remainingDepth: Int,
        passed: ColumnSet = ColumnSet()
    ) {
        self.table = table
        self.columns = columns
        passedColumns = passed
        self.steps = steps
        self.remainingDepth = remainingDepth
    }

    /// True if a traversal caches the modified objects. False if it is just as fast to compute them again.
    var isKept: Bool { columns == nil || !steps.isEmpty }

    /// Every property, and links to `depth`.
    package static func everything(_ table: TableKey, depth: Int = Region.depth) -> Region {
        Region(table, nil, [], depth)
    }

    /// Only the columns that the key paths name or pass through. Each path is a list of steps followed by a column, or
    /// by nothing if it ends with its last step.
    package static func keyPaths(_ table: TableKey, _ paths: [(steps: [Step], column: Int?)]) -> Region {
        var columns = ColumnSet()
        var forward: Set<Int> = []
        var order: [Step] = []
        var below: [Step: [(steps: [Step], column: Int?)]] = [:]
        for path in paths {
            guard let first = path.steps.first else {
                if let column = path.column { columns.insert(column) }
                continue
            }
            if case .forward(let column, _) = first {
                columns.insert(column)
                forward.insert(column)
            }
            if below[first] == nil { order.append(first) }
            below[first, default: []].append((Array(path.steps.dropFirst()), path.column))
        }
        if order.isEmpty { return Region(table, columns, [], 0, passed: ColumnSet()) }
        let steps = order.map { step in
            switch step {
            case .forward(_, let target): (step, keyPaths(target, below[step] ?? []))
            case .backlinks(let origin, _): (step, keyPaths(origin, below[step] ?? []))
            }
        }
        let passed = ColumnSet(forward.subtracting(paths.compactMap { $0.steps.isEmpty ? $0.column : nil }))
        return Region(table, columns, steps, 0, passed: passed)
    }

    /// The tables whose changes may count, following the links of the session's schema; all tables if a link may point
    /// to any class.
    package func tables(in session: Session) -> Set<TableKey> {
        var found: Set<TableKey> = [table]
        for (_, below) in steps { found.formUnion(below.tables(in: session)) }
        var last = remainingDepth > 0 ? found : []
        for _ in 0..<remainingDepth {
            var next: Set<TableKey> = []
            for key in last {
                for column in session.table(key)?.definition.columns ?? [] {
                    // Links to objects of any class are added and removed without a change of the schema.
                    if column.type == .mixed { return Set(session.tables.map(\.definition.key)) }
                    if let target = column.target, found.insert(target).inserted { next.insert(target) }
                }
            }
            if next.isEmpty { break }
            last = next
        }
        return found
    }

    /// The columns of an observed object that have changed or lead to a change.
    package func columns(of key: ObjectKey, in walk: RegionTraversal) throws(EngineError) -> ColumnSet {
        try walk.columns(of: key, self)
    }
}

/// The changes between two versions, evaluated for regions. Used by one thread at a time, for one delivery.
package final class RegionTraversal {
    package let older: Session
    package let newer: Session
    package let changes: [TableKey: TableChanges]
    private struct Asked: Hashable {
        let table: TableKey
        let depth: Int
    }

    /// The results for `Region.everything`.
    private var reached: [Asked: Set<ObjectKey>] = [:]
    /// The number of objects whose backlinks were read, for tests.
    private(set) var backlinkCount = 0
    /// Modified objects of regions with key paths; the region is retained so that its address is not reused.
    private var pathed: [ObjectIdentifier: (region: Region, modified: Set<ObjectKey>)] = [:]
    private struct AskedStep: Hashable {
        let region: ObjectIdentifier
        let step: Region.Step
    }

    /// Objects from which a step of a region in `pathed` leads to a change.
    private var stepped: [AskedStep: Set<ObjectKey>] = [:]
    private var retargetedObjects: [Region.Step: Set<ObjectKey>] = [:]

    package init(older: Session, newer: Session, changes: [TableChanges]) {
        self.older = older
        self.newer = newer
        self.changes = Dictionary(changes.map { ($0.table, $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// The objects of the region's table that count as modified. They may have been inserted, but not deleted.
    package func modified(_ region: Region) throws(EngineError) -> Set<ObjectKey> {
        if region.columns == nil { return try everything(region.table, region.remainingDepth) }
        if let known = pathed[ObjectIdentifier(region)] { return known.modified }
        var found = own(region)
        for (step, below) in region.steps {
            let reached = try over(step, from: region.table, try modified(below))
            stepped[AskedStep(region: ObjectIdentifier(region), step: step)] = reached
            found.formUnion(reached)
            if case .backlinks = step { found.formUnion(try retargeted(step)) }
        }
        pathed[ObjectIdentifier(region)] = (region, found)
        return found
    }

    private func own(_ region: Region) -> Set<ObjectKey> {
        guard let changes = changes[region.table] else { return [] }
        guard let columns = region.columns else { return Set(changes.modified) }
        return Set(
            zip(changes.modified, changes.columns).lazy.filter { $0.1.intersects(columns) }.map(\.0))
    }

    private func everything(_ table: TableKey, _ depth: Int) throws(EngineError) -> Set<ObjectKey> {
        let asked = Asked(table: table, depth: depth)
        if let known = reached[asked] { return known }
        let found = try reach(table, depth)
        reached[asked] = found
        return found
    }

    /// The objects of the table from which at most `depth` links lead to a changed object. Goes backwards from the
    /// changed objects, one link at a time, and skips steps from which the table cannot be reached with the links left.
    private func reach(_ table: TableKey, _ depth: Int) throws(EngineError) -> Set<ObjectKey> {
        /// `linksLeft`: the number of links that may follow after the target, if the origin is as near to the table as
        /// possible.
        var steps: [(origin: TableKey, column: Int, target: TableKey, linksLeft: Int)] = []
        var tables: Set<TableKey> = [table]
        var open = [table]
        for distance in 0..<depth where !open.isEmpty {
            var next: [TableKey] = []
            for origin in open {
                for step in forwardSteps(origin) + anySteps(origin) {
                    steps.append((origin, step.column, step.target, depth - distance - 1))
                    if tables.insert(step.target).inserted { next.append(step.target) }
                }
            }
            open = next
        }
        var objects: [TableKey: Set<ObjectKey>] = [:]
        for table in tables {
            if let changes = changes[table], !changes.modified.isEmpty { objects[table] = Set(changes.modified) }
        }
        var last = objects
        for linkCount in 0..<depth where !last.isEmpty {
            var next: [TableKey: Set<ObjectKey>] = [:]
            for step in steps where linkCount <= step.linksLeft {
                guard let keys = last[step.target] else { continue }
                let linking = try over(.forward(column: step.column, target: step.target), from: step.origin, keys)
                let new = objects[step.origin].map { linking.subtracting($0) } ?? linking
                if !new.isEmpty { next[step.origin, default: []].formUnion(new) }
            }
            objects.merge(next) { $0.union($1) }
            last = next
        }
        return objects[table] ?? []
    }

    /// The links of the table that are in use.
    private func forwardSteps(_ key: TableKey) -> [(column: Int, target: TableKey)] {
        guard let table = newer.table(key) else { return [] }
        return table.definition.columns.indices.compactMap { column in
            guard let target = table.definition.columns[column].target, table.hasLinks(in: column) else { return nil }
            return (column, target)
        }
    }

    /// The links to objects of any class that the table contains: each may point to any other table.
    private func anySteps(_ table: TableKey) -> [(column: Int, target: TableKey)] {
        guard let table = newer.table(table) else { return [] }
        let columns = table.definition.columns.indices.filter {
            table.definition.columns[$0].type == .mixed && table.hasLinks(in: $0)
        }
        if columns.isEmpty { return [] }
        let targets = newer.tables.filter { !$0.definition.isEmbedded }
        return columns.flatMap { column in targets.map { (column: column, target: $0.definition.key) } }
    }

    /// For values that are links to objects of any class: the objects of their tables that count as modified, including
    /// changes of objects they link to. Tables without such objects are left out.
    package func modified(linkedBy values: some Sequence<Value>) throws(EngineError) -> [TableKey: Set<ObjectKey>] {
        var found: [TableKey: Set<ObjectKey>] = [:]
        for case .typedLink(let table, _) in values where found[table] == nil {
            found[table] = try everything(table, Region.depth)
        }
        return found.filter { !$0.value.isEmpty }
    }

    /// The objects of `table` from which the step leads to one of `keys`.
    private func over(
        _ step: Region.Step, from table: TableKey, _ keys: Set<ObjectKey>
    ) throws(EngineError) -> Set<ObjectKey> {
        var found: Set<ObjectKey> = []
        if keys.isEmpty { return found }
        switch step {
        case .forward(let column, let target):
            guard let targets = newer.table(target), let origin = newer.table(table) else { return found }
            backlinkCount += keys.count
            for key in keys { found.formUnion(try targets.backlinks(to: key, from: origin, column: column)) }
        case .backlinks(let origin, let column):
            for key in keys {
                found.formUnion(try targets(of: key, origin, column, newer))
            }
        }
        return found
    }

    /// The objects from which a step of a region with key paths leads to a change. Computed once for all observers.
    private func reached(by step: Region.Step, _ region: Region) throws(EngineError) -> Set<ObjectKey> {
        _ = try modified(region)
        return stepped[AskedStep(region: ObjectIdentifier(region), step: step)] ?? []
    }

    /// The objects whose backlinks of that step differ between the versions.
    private func retargeted(_ step: Region.Step) throws(EngineError) -> Set<ObjectKey> {
        guard case .backlinks(let origin, let column) = step else { return [] }
        if let known = retargetedObjects[step] { return known }
        let found = try retargeted(origin, column)
        retargetedObjects[step] = found
        return found
    }

    private func retargeted(_ origin: TableKey, _ column: Int) throws(EngineError) -> Set<ObjectKey> {
        guard let changes = changes[origin] else { return [] }
        var found: Set<ObjectKey> = []
        for key in changes.inserted { found.formUnion(try targets(of: key, origin, column, newer)) }
        for key in changes.deleted { found.formUnion(try targets(of: key, origin, column, older)) }
        for (key, columns) in zip(changes.modified, changes.columns) where columns.contains(column) {
            let before = try targets(of: key, origin, column, older)
            let after = try targets(of: key, origin, column, newer)
            found.formUnion(before.symmetricDifference(after))
        }
        return found
    }

    /// The objects that an object links to through a column.
    private func targets(
        of key: ObjectKey, _ origin: TableKey, _ column: Int, _ session: Session
    ) throws(EngineError) -> Set<ObjectKey> {
        guard let table = session.table(origin), try table.contains(key) else { return [] }
        let values: [Value]
        switch table.definition.columns[column].collection {
        case .none: values = [try table.value(column, of: key)]
        case .list, .set: values = try table.listValues(column, of: key)
        case .dictionary: values = try table.dictionaryEntries(column, of: key).map(\.value)
        }
        return Set(
            values.lazy.compactMap { value -> ObjectKey? in if case .link(let key) = value { key } else { nil } })
    }

    /// See `Region.columns(of:in:)`.
    fileprivate func columns(of key: ObjectKey, _ region: Region) throws(EngineError) -> ColumnSet {
        var found = ColumnSet()
        if let changed = changes[region.table]?.columns(of: key) {
            for column in changed.columns where region.columns?.contains(column) ?? true { found.insert(column) }
        }
        for (step, _) in region.steps {
            guard case .forward(let column, _) = step else { continue }
            if try reached(by: step, region).contains(key) { found.insert(column) }
        }
        return found
    }
}

extension RegionTraversal {
    /// True if the object's backlinks of that step count as changed in the region.
    package func isReached(_ key: ObjectKey, by step: Region.Step, _ region: Region) throws(EngineError) -> Bool {
        guard case .backlinks = step, region.steps.contains(where: { $0.step == step }) else { return false }
        if try retargeted(step).contains(key) { return true }
        return try reached(by: step, region).contains(key)
    }
}
