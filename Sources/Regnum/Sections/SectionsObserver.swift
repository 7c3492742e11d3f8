// SPDX-License-Identifier: Apache-2.0
// Observers of sectioned results and of single sections.

public import Dispatch
public import Foundation
internal import RegnumEngine
internal import RegnumObservation
internal import RegnumQuery

/// What the block of observed sectioned results, or of an observed section, gets.
@frozen
public enum SectionedResultsChange<CollectionType> {
    /// The first call: the sections as they are.
    case initial(CollectionType)
    /// The sections have changed. `deletions` and `modifications` are index paths of section and item before,
    /// `insertions` those of now. What has changed its place, moved to another section, or was modified in a section
    /// whose position is another, is in both. Sections that
    /// went are in `sectionsToDelete` by their position before, without deletions of their elements; sections that
    /// came are in `sectionsToInsert` by their position now, with insertions of their elements.
    case update(
        CollectionType, deletions: [IndexPath], insertions: [IndexPath], modifications: [IndexPath],
        sectionsToInsert: IndexSet, sectionsToDelete: IndexSet)
}

/// What leads from one state of sections to the next.
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

    /// Where nothing has come, gone or moved.
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
                // As RealmSwift tells it: what was modified has another index path now.
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

    /// What of it concerns one section: by its position before and now, nil where it was not or is not there.
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
    /// Nil for all sections.
    private let section: GroupKey?
    private let region: Region?
    private let block: (SectionedResultsChange<C>) -> Void
    private var sections = Sections()
    /// Of sections by a key path whose keys are what is stored behind it. Those elements that have changed are asked
    /// for their section again, and no others.
    private struct StoredKeys {
        /// What the key path reads.
        let region: Region
        let place: SortKey
        let table: TableKey
        /// The elements in their order.
        var elements: WatchedElements
    }
    private var keys: StoredKeys?
    /// True where the key path turned out to be that of a property that computes its value: that may depend on
    /// anything, as a block may.
    private var isComputed = false

    init(_ collection: C, region: Region?, _ block: @escaping (SectionedResultsChange<C>) -> Void) {
        self.collection = collection
        state = collection._sections.state
        section = collection._sections.section
        self.region = region
        self.block = block
    }

    /// What the elements and their order depend on, and what a key path of the sections reads. Which section an element
    /// is in by a block may depend on all that it links to; nil where it may depend on still more: on backlinks, or on
    /// links of `AnyRealmValue`.
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

    /// Where the values behind the key path are stored; nil where that cannot be said.
    private func storedKey(_ path: String, _ binding: ClassBinding) -> SortKey? {
        do throws(QueryError) {
            let schema = RealmQuerySchema(realm: binding.core)
            return try SortKey.bind(path, to: binding.tableKey, in: schema, verb: "group")
        } catch {
            return nil
        }
    }

    /// True where all elements have what is stored there for a key.
    private func areStored(_ place: SortKey, _ binding: ClassBinding) throws(EngineError) -> Bool {
        let count = sections.places.count
        // A part at a time: values take memory.
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

    /// The key that an element has now. Where something else is stored, it is a computed one.
    private func askedKey(_ member: Value, _ session: Session) throws(EngineError) -> GroupKey {
        let key = state.key(of: member)
        if let keys, !isComputed, case .link(let object) = member {
            let stored = try Grouping.values(of: [object], by: keys.place, in: keys.table, session).first
            if stored.map({ GroupKey($0) }) != key { isComputed = true }
        }
        return key
    }

    /// From now on all elements are asked for their section, as with a block.
    private func takeForComputed() {
        keys = nil
        isComputed = true
        state.results.state.realm.notifier?.forgetTables()
    }

    func advance(_ walk: RegionWalk, isLocal: Bool) throws(EngineError) -> (() -> Void)? {
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

    /// Comes to the sections of now; what leads to them.
    private func follow(_ walk: RegionWalk, _ modified: Set<ObjectKey>) throws(EngineError) -> SectionChanges {
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

    /// The sections behind `moves`, which count all elements as modified that may be in another one; nil where they are
    /// the same.
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
                    preconditionFailure("an element that came is there")
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

    /// Where those elements at the positions are that count as modified.
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
    /// Calls `block` once with the sections, or the section, as they are, and then after each change of them.
    ///
    /// - Parameters:
    ///   - keyPaths: of the elements, as in "name" or "owner.name": only changes of these count as modifications.
    ///     Nil: all properties, and those of linked objects to depth 4. What comes, goes and moves always counts.
    ///   - queue: a serial queue to be called on; nil: the thread of the collection, which must run a run loop, or
    ///     the queue of its Realm.
    ///   - block: gets the sections, and with each change where it is.
    /// - Returns: the token to hold as long as calls are wanted.
    ///
    /// A section is observed by its key: also while it moves, goes and comes again. Calls come when the Realm moves
    /// on, as those of other collections. Misuse for what is frozen, and where a write has changed something already.
    /// Sections by a key path to a stored property cost of a commit what it changes, and O(elements) without asking for
    /// their keys where elements come, go or move. Those by a block or a computed property cost O(elements) for each
    /// commit that changes elements, or what they link to: all of them are asked.
    public func observe(
        keyPaths: [String]? = nil, on queue: DispatchQueue? = nil,
        _ block: @escaping (SectionedResultsChange<Self>) -> Void
    ) -> NotificationToken {
        observing(self, on: queue, checking: { $0.check(keyPaths: keyPaths) }) { $0.entry(keyPaths, block) }
    }

    private var watched: _Watched { _Watched(kind: .results(_sections.state.results.state)) }

    /// Misuse for key paths that lead to nothing.
    func check(keyPaths: [String]?) { _ = watched.region(keyPaths) }

    /// Observes where the sections are.
    func entry(
        _ keyPaths: [String]?, _ block: @escaping (SectionedResultsChange<Self>) -> Void
    ) -> ObservationEntry {
        let state = _sections.state.results.state
        return state.realm.observe(SectionsObserver(self, region: watched.region(keyPaths), block))
    }
}

extension RealmSectionedResult where SectionElement: ObjectBase {
    /// As `observe(keyPaths:on:_:)`, with key paths of the element class.
    public func observe(
        keyPaths: [PartialKeyPath<SectionElement>], on queue: DispatchQueue? = nil,
        _ block: @escaping (SectionedResultsChange<Self>) -> Void
    ) -> NotificationToken {
        observe(keyPaths: keyPaths.map { _name(for: $0) }, on: queue, block)
    }
}

extension RealmSectionedResult where SectionElement: ProjectionObservable {
    /// As `observe(keyPaths:on:_:)`, with key paths of the projection.
    public func observe(
        keyPaths: [PartialKeyPath<SectionElement>], on queue: DispatchQueue? = nil,
        _ block: @escaping (SectionedResultsChange<Self>) -> Void
    ) -> NotificationToken {
        observe(keyPaths: keyPaths.map { _name(for: $0) }, on: queue, block)
    }
}
