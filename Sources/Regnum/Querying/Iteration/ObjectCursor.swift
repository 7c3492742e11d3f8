// SPDX-License-Identifier: Apache-2.0
// Iterates in order over the objects that exist when the iteration begins, and returns accessors. There are two modes:
// over a whole table, row group by row group and without an array of keys, or over the keys found by a query.
//
// The same accessor is returned again if nothing else holds a strong, weak or unowned reference to it. If the loop's
// body changes the Realm, the epoch changes; the cursor then looks its position up again by key. Objects deleted since
// then are skipped, and objects added after the last one are not visited.

public import RegnumEngine

@usableFromInline
package final class ObjectCursor {
    /// The state that changes with each element. Outside the object, so that a step does no reference counting of the
    /// cursor.
    @usableFromInline
    struct Step {
        @usableFromInline let session: UnsafeMutablePointer<SessionState>
        /// The accessor returned last, owned by the cursor; nil if accessors are not recycled.
        @usableFromInline var current: Unmanaged<ObjectBase>?
        /// The row group that contains `row`; valid while `epoch` equals the session's epoch.
        var group: UnsafeMutablePointer<GroupView>?
        @usableFromInline var row = 0
        var rowEnd = 0
        /// While `epoch` equals the session's epoch: the rows before this one have consecutive keys from `firstKey` on,
        /// belong to the iteration, and are in the row group that `current` points into. 0 if that is unknown.
        @usableFromInline var runEnd = 0
        @usableFromInline var firstKey: UInt64 = 0
        @usableFromInline var epoch = Int.min
        /// The key returned last, and the last key of the iteration.
        @usableFromInline var lastKey: UInt64 = 0
        var endKey: UInt64 = 0
        let cursor: Unmanaged<ObjectCursor>
        /// Of the class; see `ClassSchema`.
        @usableFromInline let collectionOffsets: UnsafeBufferPointer<Int>
    }

    private let realm: RealmCore
    private let binding: ClassBinding
    private let isRecyclable: Bool
    private let invalidations: Int
    /// Deallocated with the cursor.
    @usableFromInline let step: UnsafeMutablePointer<Step>
    /// The approximate position of the next object in the table.
    @exclusivity(unchecked) private var position = 0
    /// The keys to visit; nil for a whole table.
    private let keys: [ObjectKey]?
    @exclusivity(unchecked) private var index = 0
    /// The prefetched rows of the keys from `aheadStart` on, as far as known; valid while `aheadEpoch` equals the
    /// session's epoch. Allocated only for many keys; deallocated with the cursor.
    @exclusivity(unchecked) private var ahead: UnsafeMutablePointer<RowLocation?>?
    @exclusivity(unchecked) private var aheadStart = 0
    @exclusivity(unchecked) private var aheadEnd = 0
    @exclusivity(unchecked) private var aheadEpoch = Int.min
    /// Prevents the compiler from removing the reads that prefetch.
    @exclusivity(unchecked) @usableFromInline var touched: UInt8 = 0

    private init(_ binding: ClassBinding, keys: [ObjectKey]?) {
        realm = binding.core
        self.binding = binding
        // Frozen objects are passed between threads: another thread may be creating a collection of the accessor.
        isRecyclable = binding.schema.isRecyclable && (!realm.isFrozen || binding.schema.collectionOffsets.isEmpty)
        invalidations = realm.settings.invalidations
        self.keys = keys
        step = .allocate(capacity: 1)
        step.initialize(
            to: Step(
                session: realm.session.state, cursor: .passUnretained(self),
                collectionOffsets: binding.schema.collectionOffsets))
    }

    deinit {
        step.pointee.current?.release()
        step.deallocate()
        ahead?.deallocate()
    }

    /// Creates a cursor over the whole table of a class, as it is now.
    package convenience init(tableOf binding: ClassBinding) {
        self.init(binding, keys: nil)
        let table = binding.table
        let count = table.count
        if count > 0 {
            step.pointee.endKey = engine { () throws(EngineError) in try table.key(atPosition: count - 1).rawValue }
        }
    }

    /// Creates a cursor over the objects with these keys, in this order.
    package convenience init(_ keys: [ObjectKey], of binding: ClassBinding) { self.init(binding, keys: keys) }

    fileprivate func nextSlowly() -> ObjectBase? {
        realm.check()
        if keys != nil { return nextOfKeys() }
        let isKnown = step.pointee.epoch == step.pointee.session.pointee.epoch
        guard isKnown && step.pointee.row < step.pointee.rowEnd || findGroup(), let group = step.pointee.group else {
            return finish()
        }
        let row = step.pointee.row
        let key = group.pointee.key(at: row)
        guard key <= step.pointee.endKey else { return finish() }
        step.pointee.row = row &+ 1
        step.pointee.lastKey = key
        // Reset before the object is created: that releases another object, and the `deinit` of its class may do
        // anything.
        step.pointee.runEnd = 0
        if group.pointee.keyForm == .dense {
            step.pointee.firstKey = group.pointee.firstKey
            let keysLeft = step.pointee.endKey &- group.pointee.firstKey
            step.pointee.runEnd =
                keysLeft < UInt64(step.pointee.rowEnd) ? Int(keysLeft) &+ 1 : step.pointee.rowEnd
        }
        return handOut(ObjectKey(key), RowLocation(group: group, row: row))
    }

    /// Returns an accessor of a row. If `location` is nil, the row is looked up at the first access.
    private func handOut(_ key: ObjectKey, _ location: RowLocation?) -> ObjectBase {
        if let current = step.pointee.current, current.isHeldOnce {
            let object = current.secondReference()
            if let location { binding.rebind(object, key, at: location) } else { binding.rebind(object, key) }
            return object
        }
        let object = location.map { binding.makeAccessor(key, at: $0) } ?? binding.makeAccessor(key)
        if isRecyclable {
            replaceCurrent(by: .passRetained(object))
        }
        return object
    }

    /// Replaces the current accessor, and releases the old one only when the state is consistent: the `deinit` of its
    /// class may do anything, including advancing a copy of the iterator.
    private func replaceCurrent(by object: Unmanaged<ObjectBase>?) {
        let before = step.pointee.current
        step.pointee.current = object
        before?.release()
    }

    fileprivate func repointCollections(of object: ObjectBase) {
        let row = Int(object.rowNumber)
        binding.repointCollections(of: object, at: step.pointee.group.map { RowLocation(group: $0, row: row) })
    }

    private func finish() -> ObjectBase? {
        step.pointee.endKey = 0
        step.pointee.rowEnd = 0
        step.pointee.runEnd = 0
        replaceCurrent(by: nil)
        return nil
    }

    private func checkValid() {
        if realm.settings.invalidations != invalidations {
            misuse("Collection is no longer valid. The Realm was invalidated during the loop over it.")
        }
    }

    // MARK: Whole table

    /// Finds the row group and row of the first key after `lastKey`; returns false at the end.
    @inline(never)
    private func findGroup() -> Bool {
        checkValid()
        guard step.pointee.lastKey < step.pointee.endKey else { return false }
        let table = binding.table
        return engine { () throws(EngineError) -> Bool in
            let moved = step.pointee.epoch != step.pointee.session.pointee.epoch
            let count = table.count
            // After the end of a group the next one starts at a known position; after a change it has to be searched.
            var next = position &+ step.pointee.rowEnd
            if moved { next = try searchPosition(table, count) }
            guard next < count else { return false }
            let location = try table.location(atPosition: next)
            step.pointee.group = location.group
            step.pointee.row = location.row
            step.pointee.rowEnd = location.group.pointee.count
            position = next - location.row
            step.pointee.epoch = step.pointee.session.pointee.epoch
            return true
        }
    }

    /// Returns the position of the first key greater than `lastKey`. First tries the two positions where it is if the
    /// loop's body deleted the current element, or deleted nothing before it.
    private func searchPosition(_ table: Table, _ count: Int) throws(EngineError) -> Int {
        for guess in [position &+ step.pointee.row &- 1, position &+ step.pointee.row] where guess >= 0 && guess < count
        {
            guard try table.key(atPosition: guess).rawValue > step.pointee.lastKey else { continue }
            if guess == 0 { return 0 }
            if try table.key(atPosition: guess - 1).rawValue <= step.pointee.lastKey { return guess }
        }
        var low = 0
        var high = count
        while low < high {
            let middle = (low + high) / 2
            if try table.key(atPosition: middle).rawValue <= step.pointee.lastKey {
                low = middle + 1
            } else {
                high = middle
            }
        }
        return low
    }

    // MARK: Keys

    private func nextOfKeys() -> ObjectBase? {
        guard let keys else { return nil }
        while index < keys.count {
            let key = keys[index]
            let isMany = keys.count >= Self.aheadLimit
            if isMany, index == aheadEnd { lookAhead(keys) }
            index &+= 1
            guard let location = known(at: index &- 1) ?? locate(key) else { continue }
            if isMany, index % Self.questionCount == 1, !realm.isFrozen {
                binding.context.pointee.asksForReadColumn = true
                return handOut(key, nil)
            }
            return handOut(key, location)
        }
        return finish()
    }

    /// With fewer keys than this, objects are found one by one.
    private static let aheadLimit = 1024
    /// The largest difference between the first and last key of objects that are mostly in one row group.
    private static let nearby = 1024
    /// The number of objects prefetched together.
    private static let aheadCount = 16
    /// The number of objects after which the cursor asks again which column the loop reads.
    private static let questionCount = 4096

    /// Prefetches the rows of the next objects, and the first column that the loop's body reads of each.
    private func lookAhead(_ keys: [ObjectKey]) {
        checkValid()
        aheadStart = index
        aheadEnd = min(index &+ Self.aheadCount, keys.count)
        aheadEpoch = .min
        // The keys of a query without a sort are in table order.
        let (first, last) = (keys[aheadStart].rawValue, keys[aheadEnd &- 1].rawValue)
        if last > first, last &- first < UInt64(Self.nearby) { return }
        aheadEpoch = step.pointee.session.pointee.epoch
        let places: UnsafeMutablePointer<RowLocation?>
        if let ahead {
            places = ahead
        } else {
            places = .allocate(capacity: Self.aheadCount)
            ahead = places
        }
        let column = binding.context.pointee.readColumn
        touched &+= binding.table.lookAhead(to: keys[aheadStart..<aheadEnd], column: column < 0 ? nil : column, places)
    }

    @inline(__always)
    private func known(at index: Int) -> RowLocation? {
        guard let ahead, aheadEpoch == step.pointee.session.pointee.epoch, index < aheadEnd else { return nil }
        return ahead[index &- aheadStart]
    }

    /// Looks a key up. Neighbours in the order are often neighbours in the table, so the row group of the last one is
    /// tried first.
    private func locate(_ key: ObjectKey) -> RowLocation? {
        if step.pointee.epoch == step.pointee.session.pointee.epoch, let group = step.pointee.group {
            let row = group.pointee.row(of: key.rawValue)
            if row >= 0 { return RowLocation(group: group, row: row) }
        } else {
            checkValid()
        }
        let location = engine { () throws(EngineError) in try binding.table.locate(key) }
        step.pointee.epoch = step.pointee.session.pointee.epoch
        step.pointee.group = location?.group
        return location
    }
}

// Methods of the pointer, not of `Step`: a method of `Step` would be called through another function that discards the
// type.
extension UnsafeMutablePointer<ObjectCursor.Step> {
    /// Returns the next object, or nil at the end. The cursor must be alive.
    @inlinable
    func nextObject() -> ObjectBase? {
        let row = pointee.row
        // In a cursor over keys `runEnd` stays 0, so that it always takes the slow path.
        guard row < pointee.runEnd, pointee.epoch == pointee.session.pointee.epoch,
            pointee.session.pointee.owner == currentThreadWord(), let current = pointee.current, current.isHeldOnce
        else { return nextObjectSlowly() }
        let key = pointee.firstKey &+ UInt64(truncatingIfNeeded: row)
        pointee.row = row &+ 1
        pointee.lastKey = key
        let object = current.secondReference()
        object.rowKey = ObjectKey(key)
        object.rowNumber = Int32(truncatingIfNeeded: row)
        if !pointee.collectionOffsets.isEmpty { repointCollections(of: object) }
        return object
    }

    @usableFromInline @inline(never)
    func nextObjectSlowly() -> ObjectBase? { pointee.cursor._withUnsafeGuaranteedRef { $0.nextSlowly() } }

    /// Repoints the collections of an object that was just reused.
    @usableFromInline @inline(never)
    func repointCollections(of object: ObjectBase) {
        if object.hasMadeCollections(at: pointee.collectionOffsets) {
            pointee.cursor._withUnsafeGuaranteedRef { $0.repointCollections(of: object) }
        }
    }
}

extension ClassBinding {
    /// Creates an accessor whose row is known.
    @inline(__always)
    package func makeAccessor(_ key: ObjectKey, at location: RowLocation) -> ObjectBase {
        let object = schema.accessors.make()
        bind(object, key, at: location)
        return object
    }
}
