// SPDX-License-Identifier: Apache-2.0
// The state of `Results` and of `LinkingObjects`: the source of the objects, the filters and sorts applied to them, and
// the keys of the last evaluation. Evaluated on first use, and again after the Realm has changed.
//
// For an unfiltered, unsorted table no key array is created: positions are looked up in the table itself.

package import RegnumEngine
internal import RegnumObservation
package import RegnumQuery

package final class ResultsState {
    /// The source of the objects.
    package enum Source {
        /// All objects of the class.
        case table
        /// The elements of a list of links, in its order.
        case list(owner: RowReference, column: Int)
        /// The values in a list, a set or a map, or in a nested collection at `path`. `kind` is the collection's name
        /// in messages.
        case values(owner: RowReference, column: Int, path: [NestedStep]?, kind: String)
        /// The objects of the class that link to the owner through the given column.
        case backlinks(owner: RowReference, column: Int)
        /// No objects: the file has no table for the class (read-only).
        case nothing
    }

    /// An operation on the objects. Steps are applied in order.
    package enum Step {
        case filter(Predicate)
        case sort([SortDescriptor])
        case distinct([String])
        /// Skips the first `offset` objects, and all after the next `limit`.
        case slice(offset: Int, limit: Int?)
        /// The objects after a given one in the order of the preceding steps.
        case behind(BoundPredicate)
    }

    package let realm: RealmCore
    /// The class of the elements; nil only for `.nothing` and `.values`.
    package let binding: ClassBinding?
    package let source: Source
    package var steps: [Step] {
        unfold()
        return madeSteps
    }
    private var madeSteps: [Step]
    /// Replaces the only step: `steps` and `query` are created on demand.
    let equality: IndexedEquality?
    /// `binding` if the elements are the whole table, for use without reference counting; otherwise nil.
    private let wholeBinding: Unmanaged<ClassBinding>?
    /// True if positions can be looked up in the table itself.
    var isWholeTable: Bool { wholeBinding != nil }
    let elementType: ObjectBase.Type
    /// The value of `RealmSettings.invalidations` at creation.
    private let invalidations: Int

    /// True if the class is observable.
    private let isTracked: Bool

    /// The change count of the last check, and the row stamps of all tables that the elements depend on at that time;
    /// nil in a write transaction. See `renewed`.
    @exclusivity(unchecked) private var seen: (changeCount: UInt64, rows: RowStamps?)?
    /// The row stamps of the elements' table and of the other tables they depend on.
    private struct RowStamps: Equatable {
        let own: BlockRef?
        let others: [BlockRef?]
    }
    /// The tables that the elements depend on, in addition to their own.
    private lazy var otherTables: [TableKey] = findOtherTables()

    /// The result of the last evaluation; valid while `stamp` equals the Realm's change count.
    private var keys: [ObjectKey] = []
    @exclusivity(unchecked) private var stamp: UInt64?
    @exclusivity(unchecked) private var counted: (stamp: UInt64, count: Int)?
    /// The first keys, if only those were requested.
    private var head: (stamp: UInt64, keys: [ObjectKey])?
    private var tail: (stamp: UInt64, key: ObjectKey?)?
    /// The number of positions of backlinks that were looked up individually.
    private var ranked: (stamp: UInt64, lookups: Int) = (0, 0)
    /// For `.values`: the result of the last evaluation, and the position of each value in the collection.
    var valueCache: (stamp: UInt64, values: [Value], places: [Int])?
    /// The query built from `steps`; nil if there are none.
    var query: ObjectQuery? {
        unfold()
        return madeQuery
    }
    private var madeQuery: ObjectQuery?
    /// See `place`.
    @exclusivity(unchecked) private var recycled = RecycledAccessors()

    package init(
        realm: RealmCore, elementType: ObjectBase.Type, binding: ClassBinding?, source: Source, steps: [Step] = [],
        equality: IndexedEquality? = nil
    ) {
        self.realm = realm
        self.elementType = elementType
        self.binding = binding
        if case .values = source {
            self.source = source
        } else {
            self.source = binding == nil ? .nothing : source
        }
        madeSteps = steps
        self.equality = equality
        if steps.isEmpty, equality == nil, case .table = self.source {
            wholeBinding = binding.map { .passUnretained($0) }
        } else {
            wholeBinding = nil
        }
        isTracked = binding?.context.pointee.isTracked ?? false
        invalidations = realm.settings.invalidations
    }

    /// Creates `steps` and `query` from `equality`. Call it on the thread of the Realm, which must not be frozen.
    private func unfold() {
        guard let equality, let binding, madeSteps.isEmpty else { return }
        madeSteps = [.filter(equality.condition.lowered(for: realm))]
        do { madeQuery = try makeQuery(binding) } catch { misuse(error.message) }
    }

    /// Returns the same objects with one more step. Throws for a step that cannot be evaluated, instead of failing at
    /// the first access.
    func appending(_ step: Step) throws(QueryError) -> ResultsState {
        check()
        try checkStep(step)
        var steps = steps
        steps.append(step)
        let next = ResultsState(
            realm: realm, elementType: elementType, binding: binding, source: source, steps: steps)
        if let binding { next.madeQuery = try next.makeQuery(binding) }
        return next
    }

    /// Returns the same objects in another Realm of the file; nil if the owner of their list does not exist there,
    /// unless `mayBeMissing` is true.
    func moved(to core: RealmCore, mayBeMissing: Bool) -> ResultsState? {
        let target = binding.flatMap { core.counterpart(of: $0) }
        let source: Source
        switch self.source {
        case .table: source = .table
        case .nothing: source = .nothing
        case .list(let owner, let column):
            guard let owner = owner.moved(to: core, mayBeMissing: mayBeMissing) else { return nil }
            source = .list(owner: owner, column: column)
        case .values(let owner, let column, let path, let kind):
            guard let owner = owner.moved(to: core, mayBeMissing: mayBeMissing) else { return nil }
            source = .values(owner: owner, column: column, path: path, kind: kind)
        case .backlinks(let owner, let column):
            guard let owner = owner.moved(to: core, mayBeMissing: mayBeMissing) else { return nil }
            source = .backlinks(owner: owner, column: column)
        }
        let next = ResultsState(
            realm: core, elementType: elementType, binding: target, source: source, steps: steps)
        guard let target else { return next }
        do { next.madeQuery = try next.makeQuery(target) } catch { misuse("\(error)") }
        return next
    }

    // MARK: Validity

    var isInvalidated: Bool { realm.settings.invalidations != invalidations }

    /// Reports a programmer error if called off the Realm's thread or after `invalidate`.
    @inline(__always)
    func check() {
        realm.check()
        if isInvalidated {
            misuse("Collection is no longer valid. The Realm was invalidated after it was fetched: fetch it again.")
        }
        if isTracked { trackRead() }
    }

    // MARK: Cached results

    /// Returns the current change count. If only tables that the elements do not depend on have changed, cached results
    /// stay valid.
    private func renewed() -> UInt64 {
        let now = realm.changeCount
        if let seen, seen.changeCount == now { return now }
        let rows = rowsOfNow()
        if let seen, let before = seen.rows, let rows, before == rows {
            let old = seen.changeCount
            if stamp == old { stamp = now }
            if counted?.stamp == old { counted?.stamp = now }
            if head?.stamp == old { head?.stamp = now }
            if tail?.stamp == old { tail?.stamp = now }
        }
        seen = (now, rows)
        return now
    }

    private func rowsOfNow() -> RowStamps? {
        let session = realm.session
        if session.isWriting { return nil }
        let own = binding?.withTable { table in table.rowsStamp }
        if equality != nil { return RowStamps(own: own, others: []) }
        return RowStamps(own: own, others: otherTables.map { session.table($0)?.rowsStamp })
    }

    private func findOtherTables() -> [TableKey] {
        var found: [TableKey] = []
        switch source {
        case .list(let owner, _), .values(let owner, _, _, _), .backlinks(let owner, _):
            found.append(owner.binding.tableKey)
        case .table, .nothing: break
        }
        if let query { found += QueryRegion.otherTables(of: query) }
        return found
    }

    // MARK: Elements

    /// Returns the element at a position. An out-of-bounds position is a programmer error. This is a method of the
    /// class, because a protocol method looks up its witnesses at each call, which takes longer than the rest.
    func element<Element: RealmCollectionValue>(at position: Int, as type: Element.Type) -> Element {
        if let wholeBinding {
            check()
            return wholeBinding._withUnsafeGuaranteedRef { binding in
                let found = binding.withTable { table throws(EngineError) in
                    try table.locationIfAny(atPosition: position)
                }
                guard let location = found else { refuseIndex(position, binding.table.count) }
                return Element._element(place(binding, location.key, location))
            }
        }
        guard let binding else {
            checkIndex(position, count: count)
            return valueElement(at: position, as: type)
        }
        checkIndex(position, count: count)
        return Element._element(place(binding, key(at: position), nil))
    }

    /// Returns the elements at the positions, which ascend. An out-of-bounds position is a programmer error.
    func elements<Element: RealmCollectionValue>(
        at positions: some BidirectionalCollection<Int>, as type: Element.Type
    ) -> [Element] {
        if let last = positions.last, last >= count { misuse("Indexes for collection are out of bounds.") }
        return positions.map { element(at: $0, as: type) }
    }

    /// Returns the first element, or nil if there is none.
    func first<Element: RealmCollectionValue>(as type: Element.Type) -> Element? {
        guard let binding else { return count == 0 ? nil : element(at: 0, as: type) }
        return firstKey().map { binding.element($0, as: type) }
    }

    /// Returns the last element, or nil if there is none.
    func last<Element: RealmCollectionValue>(as type: Element.Type) -> Element? {
        guard let binding else {
            let count = count
            return count == 0 ? nil : element(at: count - 1, as: type)
        }
        return lastKey().map { binding.element($0, as: type) }
    }

    /// Returns the element's row, with an accessor if one can be reused. The last two accessors are kept, and reused
    /// for other rows if nothing else references them.
    @inline(__always)
    private func place(_ binding: ClassBinding, _ key: ObjectKey, _ location: RowLocation?) -> _RowPlace {
        // Frozen objects are passed between threads.
        let isRecyclable = binding.schema.isRecyclable && !realm.isFrozen
        return _RowPlace(
            binding: binding, key: key, location: location,
            object: isRecyclable ? recycled.accessor(binding, key, location) : nil)
    }

    /// The number of elements. O(1) for a whole table; otherwise the cost of evaluation, once per change.
    var count: Int {
        check()
        guard let binding else { return isOfValues ? currentValues().count : 0 }
        if isWholeTable { return binding.table.count }
        return realm.alone { countOfNow(binding) }
    }

    private func countOfNow(_ binding: ClassBinding) -> Int {
        let now = renewed()
        if stamp == now { return keys.count }
        if let counted, counted.stamp == now { return counted.count }
        if let count = equality?.count(binding) {
            counted = (now, count)
            return count
        }
        if let count = plainBacklinkCount() {
            counted = (now, count)
            return count
        }
        if case .table = source, let query {
            let count = observed(query)?.count ?? run(query) { () throws(EngineError) in try query.count() }
            counted = (now, count)
            return count
        }
        return currentKeys().count
    }

    /// Returns the key at a valid position.
    func key(at position: Int) -> ObjectKey {
        if isWholeTable, let binding {
            return engine { () throws(EngineError) in try binding.table.key(atPosition: position) }
        }
        if position < Self.headLimit, let keys = headKeys(position + 1), position < keys.count {
            return keys[position]
        }
        if let key = plainBacklink(at: position) { return key }
        return currentKeys()[position]
    }

    /// Returns a single backlink, as long as few have been requested by position: the tree that holds backlinks keeps
    /// counts, so it can find one by its position.
    private func plainBacklink(at position: Int) -> ObjectKey? {
        guard case .backlinks(let owner, let column) = source, let binding, query == nil else { return nil }
        return realm.alone {
            let now = renewed()
            if stamp == now { return nil }
            if ranked.stamp != now { ranked = (now, 0) }
            if ranked.lookups >= Self.rankedLimit { return nil }
            ranked.lookups += 1
            return engine { () throws(EngineError) in
                try owner.binding.table.backlink(to: owner.key, from: binding.table, column: column, at: position)
            }
        }
    }

    private func plainBacklinkCount() -> Int? {
        guard case .backlinks(let owner, let column) = source, let binding, query == nil else { return nil }
        if !owner.exists { return 0 }
        return engine { () throws(EngineError) in
            try owner.binding.table.backlinkCount(to: owner.key, from: binding.table, column: column)
        }
    }

    /// Positions below this are answered without evaluating the rest.
    private static let headLimit = 256

    /// After this many lookups by position all backlinks are fetched, because a loop over them is then cheaper.
    private static let rankedLimit = 64

    /// Returns at least the first `count` keys, or all; nil if all are already known or no query can stop early.
    private func headKeys(_ count: Int) -> [ObjectKey]? { realm.alone { madeHead(count) } }

    private func madeHead(_ count: Int) -> [ObjectKey]? {
        guard let binding, case .table = source, !isWholeTable else { return nil }
        let now = renewed()
        if stamp == now { return nil }
        if let head, head.stamp == now, head.keys.count >= count { return head.keys }
        if let few = equality?.fewKeys(binding) {
            (keys, stamp) = (few, now)
            return few
        }
        guard let query else { return nil }
        let limit = count <= 32 ? 32 : Self.headLimit
        let keys =
            observed(query)?.keys(first: limit) ?? run(query) { () throws(EngineError) in try query.keys(first: limit) }
        head = (now, keys)
        return keys
    }

    /// Returns the key of the first element, or nil if there is none. Does not search for others.
    func firstKey() -> ObjectKey? {
        check()
        return realm.alone {
            if let equality, let binding, stamp != renewed(), let first = equality.keys(binding, limit: 1) {
                return first.first
            }
            if case .table = source, let query, stamp != renewed() {
                if let head, head.stamp == realm.changeCount { return head.keys.first }
                if let observed = observed(query) { return observed.keys(first: 1).first }
                return run(query) { () throws(EngineError) in try query.first() }
            }
            return count == 0 ? nil : key(at: 0)
        }
    }

    /// Returns the key of the last element, or nil if there is none. The other objects are not sorted.
    func lastKey() -> ObjectKey? {
        check()
        return realm.alone {
            let now = renewed()
            if case .table = source, let query, stamp != now {
                if let tail, tail.stamp == now { return tail.key }
                if let observed = observed(query) { return observed.lastKey }
                let key = run(query) { () throws(EngineError) in try query.keys(last: 1) }.last
                tail = (now, key)
                return key
            }
            let count = count
            return count == 0 ? nil : key(at: count - 1)
        }
    }

    /// True if there are no elements. Stops at the first element.
    var isEmpty: Bool {
        check()
        return realm.alone {
            if equality == nil, case .table = source, query != nil, stamp != renewed(),
                counted?.stamp != realm.changeCount
            {
                return firstKey() == nil
            }
            return count == 0
        }
    }

    /// Returns the position of an object, or nil if it is not an element.
    func position(of key: ObjectKey) -> Int? {
        if isWholeTable, let binding {
            return engine { () throws(EngineError) in try binding.table.position(of: key) }
        }
        return currentKeys().firstIndex(of: key)
    }

    /// Returns all keys in order, evaluated again if the Realm has changed.
    func currentKeys() -> [ObjectKey] {
        check()
        return realm.alone {
            let now = renewed()
            if stamp != now {
                keys = evaluate()
                stamp = now
            }
            return keys
        }
    }

    /// Returns all keys in order, even for a whole table, for callers that need them before they change anything.
    func allKeys() -> [ObjectKey] {
        check()
        guard isWholeTable, let binding else { return currentKeys() }
        return tableKeys(binding)
    }

    private func tableKeys(_ binding: ClassBinding) -> [ObjectKey] {
        var found: [ObjectKey] = []
        found.reserveCapacity(binding.table.count)
        engine { () throws(EngineError) in
            try binding.table.forEachGroup { group throws(EngineError) in
                for row in 0..<group.pointee.count { found.append(ObjectKey(group.pointee.key(at: row))) }
                return true
            }
        }
        return found
    }

    private func evaluate() -> [ObjectKey] {
        guard let binding else { return [] }
        switch source {
        case .nothing, .values: return []
        case .table:
            if let few = equality?.fewKeys(binding) { return few }
            guard let query else { return tableKeys(binding) }
            return observed(query)?.allKeys ?? run(query) { () throws(EngineError) in try query.keys() }
        case .list, .backlinks: return applySteps(sourceKeys())
        }
    }

    /// Returns the keys of a list or of backlinks, before the steps are applied.
    func sourceKeys() -> [ObjectKey] {
        guard let binding else { return [] }
        switch source {
        case .table, .nothing, .values: return []
        case .list(let owner, let column):
            guard owner.exists else { return [] }
            let table = owner.binding.table
            let values = engine { () throws(EngineError) in try table.listValues(column, of: owner.key) }
            return values.compactMap { if case .link(let key) = $0 { key } else { nil } }
        case .backlinks(let owner, let column):
            guard owner.exists else { return [] }
            let target = owner.binding.table
            return engine { () throws(EngineError) in
                try target.backlinks(to: owner.key, from: binding.table, column: column)
            }
        }
    }

    /// Returns whether an object of the table is among the elements.
    func contains(_ key: ObjectKey) -> Bool {
        check()
        guard binding != nil else { return false }
        if case .table = source, let query {
            return engine { () throws(EngineError) in try query.contains(key) }
        }
        return position(of: key) != nil
    }

    /// Returns the result that observers of the same objects hold for the current version, so that no query has to run.
    private func observed(_ query: ObjectQuery) -> ObservedQuery? {
        guard let binding, let notifier = realm.notifier, !realm.session.isWriting else { return nil }
        return notifier.queries.known(query, of: binding.tableKey, in: realm.session)
    }

    /// Runs a query over the whole table.
    private func run<R>(_ query: ObjectQuery, _ body: () throws(EngineError) -> R) -> R {
        if let binding, !realm.isFrozen { noteRun(query, binding) }
        return observing(query, body)
    }

    private func applySteps(_ found: [ObjectKey]) -> [ObjectKey] {
        guard let query else { return found }
        return observing(query) { () throws(EngineError) in try query.keys(among: found) }
    }
}

extension ClassBinding {
    /// Returns an object of the class, or a projection of it.
    func element<Element: RealmCollectionValue>(_ key: ObjectKey, as type: Element.Type) -> Element {
        Element._element(_RowPlace(binding: self, key: key, location: nil))
    }
}

/// An object identified by class and key instead of by an accessor: valid as long as the Realm is, independent of
/// accessors.
package struct RowReference {
    package let binding: ClassBinding
    package let key: ObjectKey
    /// The number of rollbacks before it was created; see `RealmCore.noteRollback`.
    package let rollbacks: Int

    package init(binding: ClassBinding, key: ObjectKey, rollbacks: Int) {
        self.binding = binding
        self.key = key
        self.rollbacks = rollbacks
    }

    /// Returns the same object in another Realm of the file; nil if it does not exist there, unless `mayBeMissing` is
    /// true.
    func moved(to core: RealmCore, mayBeMissing: Bool) -> RowReference? {
        guard let target = core.counterpart(of: binding) else { return nil }
        let moved = RowReference(binding: target, key: key, rollbacks: target.rollbackFloors.count)
        return mayBeMissing || moved.exists ? moved : nil
    }

    /// False after the object was deleted or its creation was rolled back.
    package var exists: Bool { binding.locate(key, rollbacks: rollbacks) != nil }
}
