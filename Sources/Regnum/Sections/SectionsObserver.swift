// SPDX-License-Identifier: Apache-2.0
// Observers of sectioned results and of single sections.

public import Dispatch
public import Foundation
internal import RegnumEngine
internal import RegnumObservation
internal import RegnumQuery

/// The change passed to the block that observes sectioned results or a section.
@frozen
public enum SectionedResultsChange<CollectionType> {
    /// The first call, with the current sections.
    case initial(CollectionType)
    /// The sections have changed. `deletions` and `modifications` are index paths of section and item before the
    /// change, `insertions` are index paths after it. An element is in both `deletions` and `insertions` if it has
    /// moved, within its section or to another one, or if it was modified in a section whose position has changed.
    /// Removed sections are in `sectionsToDelete` by their old position, without deletions of their elements; new
    /// sections are in `sectionsToInsert` by their new position, with insertions of their elements.
    case update(
        CollectionType, deletions: [IndexPath], insertions: [IndexPath], modifications: [IndexPath],
        sectionsToInsert: IndexSet, sectionsToDelete: IndexSet)
}

/// The difference between one state of the sections and the next.
struct SectionChanges {
    var deletions: [IndexPath] = []
    var insertions: [IndexPath] = []
    var modifications: [IndexPath] = []
    var sectionsToInsert = IndexSet()
    var sectionsToDelete = IndexSet()

    var isEmpty: Bool {
        deletions.isEmpty && insertions.isEmpty && modifications.isEmpty && sectionsToInsert.isEmpty
            && sectionsToDelete.isEmpty
    }

    /// Creates changes that consist of modifications only.
    init(modifications: [IndexPath]) { self.modifications = modifications.sorted() }

    init(from old: Sections, to new: Sections, isModified: (Value) -> Bool) {
        let moved = CollectionDiff.between(old.keys, new.keys)
        sectionsToDelete = IndexSet(moved.deletions)
        sectionsToInsert = IndexSet(moved.insertions)
        for (before, key) in old.keys.enumerated() where !sectionsToDelete.contains(before) {
            guard let now = new.place(of: key) else { continue }
            let changes = CollectionDiff.between(old.members[before], new.members[now], isModified: isModified)
            deletions += changes.deletions.map { IndexPath(indexes: [before, $0]) }
            insertions += changes.insertions.map { IndexPath(indexes: [now, $0]) }
            if before == now {
                modifications += changes.modifications.map { IndexPath(indexes: [before, $0]) }
            } else {
                // As RealmSwift reports it: a modified element has another index path now.
                deletions += changes.modifications.map { IndexPath(indexes: [before, $0]) }
                insertions += changes.newPositions(of: changes.modifications).map { IndexPath(indexes: [now, $0]) }
            }
        }
        deletions.sort()
        for now in moved.insertions {
            insertions += new.members[now].indices.map { IndexPath(indexes: [now, $0]) }
        }
        insertions.sort()
    }

    /// The part that concerns one section. `before` and `now` are its positions before and after the change, nil if it
    /// does not exist at that time.
    func of(before: Int?, now: Int?) -> SectionChanges {
        var part = self
        part.deletions.removeAll { $0[0] != before }
        part.modifications.removeAll { $0[0] != before }
        part.insertions.removeAll { $0[0] != now }
        part.sectionsToDelete.formIntersection(before.map { IndexSet(integer: $0) } ?? [])
        part.sectionsToInsert.formIntersection(now.map { IndexSet(integer: $0) } ?? [])
        return part
    }
}

final class SectionsObserver<C: RealmSectionedResult>: ChangeObserver {
    private var collection: C
    private var state: SectionsState<C.Key, C.SectionElement>
    /// Nil to observe all sections.
    private let section: GroupKey?
    private let region: Region?
    private let block: (SectionedResultsChange<C>) -> Void
    private var sections = Sections()
    /// For sections by a key path to a stored property, whose keys are the stored values. Keys are computed again only
    /// for elements that have changed.
    private struct StoredKeys {
        /// The region that the key path reads.
        let region: Region
        let place: SortKey
        let table: TableKey
        /// The elements in order.
        var elements: WatchedElements
    }
    private var keys: StoredKeys?
    /// True once the key path has turned out to be that of a computed property: its value may depend on anything, as a
    /// block's may.
    private var isComputed = false

    init(_ collection: C, region: Region?, _ block: @escaping (SectionedResultsChange<C>) -> Void) {
        self.collection = collection
        state = collection._sections.state
        section = collection._sections.section
        self.region = region
        self.block = block
    }

    /// The tables that the elements and their order depend on, and those that the section key path reads. With a block,
    /// an element's section may depend on everything that it links to; nil if it may depend on still more: on
    /// backlinks, or on links in `AnyRealmValue`.
    func tables(in session: Session) -> Set<TableKey>? {
        var found = watched.tables()
        guard let binding = watched.elements else { return found }
        found.formUnion(region?.tables(in: session) ?? [])
        if let path = state.path, !isComputed {
            return found.union(binding.region([path], depth: 0).tables(in: session))
        }
        if binding.schema.properties.contains(where: \.isComputed) { return nil }
        found.formUnion(Region.everything(binding.tableKey).tables(in: session))
        let reachesAll = found.contains { key in
            session.table(key)?.definition.columns.contains { $0.type == .mixed } ?? false
        }
        return reachesAll ? nil : found
    }

    var watching: Watching { Watching(query: keys?.elements.query, first: watched.tableQuery, region: region) }

    func revive(in home: _RealmHome) {
        guard let moved = collection._moved(to: home, mayBeMissing: true) else { return }
        collection = moved
        state = moved._sections.state
        keys?.elements.revive(watched)
    }

    private var watched: _Watched { _Watched(kind: .results(state.results.state)) }

    func begin() throws(EngineError) -> (() -> Void)? {
        sections = state.current()
        keys = nil
        if let path = state.path, let binding = watched.elements {
            if let place = storedKey(path, binding), try areStored(place, binding) {
                keys = StoredKeys(
                    region: binding.region([path], depth: 0), place: place, table: binding.tableKey,
                    elements: try WatchedElements(watched))
            } else {
                takeForComputed()
            }
        }
        return { [block, collection] in block(.initial(collection)) }
    }

    /// The column that stores the values of the key path; nil if it cannot be determined.
    private func storedKey(_ path: String, _ binding: ClassBinding) -> SortKey? {
        do throws(QueryError) {
            let schema = RealmQuerySchema(realm: binding.core)
            return try SortKey.bind(path, to: binding.tableKey, in: schema, verb: "group")
        } catch {
            return nil
        }
    }

    /// True if the key of every element is the value stored in the column.
    private func areStored(_ place: SortKey, _ binding: ClassBinding) throws(EngineError) -> Bool {
        let count = sections.places.count
        // In batches, to limit the memory that values take.
        for start in stride(from: 0, to: count, by: 4096) {
            let end = min(start + 4096, count)
            var members: [ObjectKey] = []
            for position in start..<end {
                if case .link(let key) = sections[position].member { members.append(key) }
            }
            let values = try Grouping.values(of: members, by: place, in: binding.tableKey, binding.core.session)
            if values.count != end - start { return false }
            for (index, value) in values.enumerated() where GroupKey(value) != sections[start + index].key {
                return false
            }
        }
        return true
    }

    /// The current key of an element. If it differs from the stored value, the property is a computed one.
    private func askedKey(_ member: Value, _ session: Session) throws(EngineError) -> GroupKey {
        let key = state.key(of: member)
        if let keys, !isComputed, case .link(let object) = member {
            let stored = try Grouping.values(of: [object], by: keys.place, in: keys.table, session).first
            if stored.map({ GroupKey($0) }) != key { isComputed = true }
        }
        return key
    }

    /// From now on the keys of all elements are computed, as with a block.
    private func takeForComputed() {
        keys = nil
        isComputed = true
        state.results.state.realm.notifier?.forgetTables()
    }

    func advance(_ walk: RegionTraversal, isLocal: Bool) throws(EngineError) -> (() -> Void)? {
        if walk.changes.isEmpty { return nil }
        let modified = try region.map { region throws(EngineError) in try walk.modified(region) } ?? []
        let old = sections
        var changes = try follow(walk, modified)
        if let section { changes = changes.of(before: old.place(of: section), now: sections.place(of: section)) }
        if changes.isEmpty { return nil }
        return { [block, collection, changes] in
            block(
                .update(
                    collection, deletions: changes.deletions, insertions: changes.insertions,
                    modifications: changes.modifications, sectionsToInsert: changes.sectionsToInsert,
                    sectionsToDelete: changes.sectionsToDelete))
        }
    }

    /// Advances to the current sections, and returns the change that leads to them.
    private func follow(_ walk: RegionTraversal, _ modified: Set<ObjectKey>) throws(EngineError) -> SectionChanges {
        let old = sections
        if let region = keys?.region {
            let asked = modified.union(try walk.modified(region))
            let moves = try keys?.elements.advance(walk, modified: asked) ?? CollectionChanges()
            let new = try renewed(old, moves, walk.newer)
            if isComputed {
                takeForComputed()
                sections = state.current()
            } else if let new {
                sections = new
                state.know(new)
            } else {
                state.know(old)
                return SectionChanges(modifications: Self.paths(of: moves.modifications, in: old, modified))
            }
        } else {
            sections = state.current()
        }
        return SectionChanges(from: old, to: sections) { member in
            if case .link(let key) = member { modified.contains(key) } else { false }
        }
    }

    /// The sections after `moves`, in which every element that may have changed its section counts as modified; nil if
    /// the sections are unchanged.
    private func renewed(
        _ old: Sections, _ moves: CollectionChanges, _ session: Session
    ) throws(EngineError) -> Sections? {
        if moves.deletions.isEmpty, moves.insertions.isEmpty {
            var isSame = true
            for position in moves.modifications where isSame {
                let (member, key) = old[position]
                isSame = try askedKey(member, session) == key
            }
            if isSame { return nil }
        }
        var new = Sections()
        var (at, deleted, inserted, modified) = (0, 0, 0, 0)
        while true {
            if inserted < moves.insertions.count, moves.insertions[inserted] == new.places.count {
                guard let key = try keys?.elements.key(at: new.places.count, in: session) else {
                    preconditionFailure("an inserted element exists")
                }
                new.append(.link(key), to: try askedKey(.link(key), session))
                inserted += 1
            } else if at == old.places.count {
                return new
            } else if deleted < moves.deletions.count, moves.deletions[deleted] == at {
                deleted += 1
                at += 1
            } else {
                let (member, key) = old[at]
                let isModified = modified < moves.modifications.count && moves.modifications[modified] == at
                if isModified { modified += 1 }
                let now = try isModified ? askedKey(member, session) : key
                new.append(member, to: now)
                at += 1
            }
        }
    }

    /// The index paths of those elements at the positions that count as modified.
    private static func paths(
        of positions: [Int], in sections: Sections, _ modified: Set<ObjectKey>
    ) -> [IndexPath] {
        positions.compactMap { position in
            guard case .link(let key) = sections[position].member, modified.contains(key) else { return nil }
            let place = sections.places[position]
            return IndexPath(indexes: [Int(place.section), Int(place.row)])
        }
    }
}

extension RealmSectionedResult {
    /// Calls `block` once with the current sections, or the section, and then after each change to them.
    ///
    /// - Parameters:
    ///   - keyPaths: properties of the elements, such as "name" or "owner.name": only changes to these count as
    ///     modifications. Nil: all properties, and those of linked objects to depth 4. Insertions, deletions and moves
    ///     always count.
    ///   - queue: a serial queue to call the block on; nil: the thread of the collection, which must run a run loop, or
    ///     the queue of its Realm.
    ///   - block: receives the sections, and each change with its index paths.
    /// - Returns: a token; the block is called as long as the token is held.
    ///
    /// A section is observed by its key, even while it moves, disappears and comes back. Calls are made when the Realm
    /// advances, as for other collections. It is a programmer error to observe a frozen collection, or to begin in a
    /// write transaction that has already changed something.
    ///
    /// For sections by a key path to a stored property, a commit costs in proportion to its changes; if elements are
    /// inserted, deleted or moved, it costs O(elements), without computing their keys. For sections by a block or a
    /// computed property, each commit that changes elements, or objects that they link to, costs O(elements): the keys
    /// of all of them are computed.
    public func observe(
        keyPaths: [String]? = nil, on queue: DispatchQueue? = nil,
        _ block: @escaping (SectionedResultsChange<Self>) -> Void
    ) -> NotificationToken {
        observing(self, on: queue, checking: { $0.check(keyPaths: keyPaths) }) { $0.entry(keyPaths, block) }
    }

    private var watched: _Watched { _Watched(kind: .results(_sections.state.results.state)) }

    /// Validates the key paths. It is a programmer error if one leads to no property.
    func check(keyPaths: [String]?) { _ = watched.region(keyPaths) }

    /// Observes on the thread, queue or actor of the sections.
    func entry(
        _ keyPaths: [String]?, _ block: @escaping (SectionedResultsChange<Self>) -> Void
    ) -> ObservationEntry {
        let state = _sections.state.results.state
        return state.realm.observe(SectionsObserver(self, region: watched.region(keyPaths), block))
    }
}

extension RealmSectionedResult where SectionElement: ObjectBase {
    /// Like `observe(keyPaths:on:_:)`, with key paths of the element class.
    public func observe(
        keyPaths: [PartialKeyPath<SectionElement>], on queue: DispatchQueue? = nil,
        _ block: @escaping (SectionedResultsChange<Self>) -> Void
    ) -> NotificationToken {
        observe(keyPaths: keyPaths.map { _name(for: $0) }, on: queue, block)
    }
}

extension RealmSectionedResult where SectionElement: ProjectionObservable {
    /// Like `observe(keyPaths:on:_:)`, with key paths of the projection.
    public func observe(
        keyPaths: [PartialKeyPath<SectionElement>], on queue: DispatchQueue? = nil,
        _ block: @escaping (SectionedResultsChange<Self>) -> Void
    ) -> NotificationToken {
        observe(keyPaths: keyPaths.map { _name(for: $0) }, on: queue, block)
    }
}
