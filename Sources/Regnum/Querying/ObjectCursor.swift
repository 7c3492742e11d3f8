// SPDX-License-Identifier: Apache-2.0
// Walks over objects in the order of one moment and hands out accessors. Two ways: over a whole table, row group by
// row group without an array of keys; over keys that a query found.
//
// The same accessor is handed out again where nobody else holds it, strongly, weakly or unowned. What the loop's
// body does to the Realm shows as a moved epoch: then the place is looked up anew by key. Objects deleted meanwhile
// are left out, objects added behind the end of that moment too.

public import RegnumEngine

@usableFromInline
package final class ObjectCursor {
    /// What changes with each element. Outside of the object, so that a step costs no reference counting of the cursor.
    @usableFromInline
    struct Step {
        @usableFromInline let session: UnsafeMutablePointer<SessionState>
        /// The accessor handed out last, owned by the cursor; nil where accessors are not recycled.
        @usableFromInline var current: Unmanaged<ObjectBase>?
        /// The row group that `row` is in; good while `epoch` is the session's.
        var group: UnsafeMutablePointer<GroupView>?
        @usableFromInline var row = 0
        var rowEnd = 0
        /// While `epoch` is the session's: rows before this one follow each other by key from `firstKey` on, belong to
        /// the snapshot, and lie in the group that `current` points into. 0 where that is not known.
        @usableFromInline var runEnd = 0
        @usableFromInline var firstKey: UInt64 = 0
        @usableFromInline var epoch = Int.min
        /// The key handed out last, and the last one of the snapshot.
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
    /// Freed with the cursor.
    @usableFromInline let step: UnsafeMutablePointer<Step>
    /// About where the next object lies in the table.
    @exclusivity(unchecked) private var position = 0
    /// The keys to visit; nil for a whole table.
    private let keys: [ObjectKey]?
    @exclusivity(unchecked) private var index = 0
    /// Of the keys from `aheadStart` on, where their objects are as far as that is known; good while `aheadEpoch` is the
    /// session's. Allocated for many keys only, freed with the cursor.
    @exclusivity(unchecked) private var ahead: UnsafeMutablePointer<RowLocation?>?
    @exclusivity(unchecked) private var aheadStart = 0
    @exclusivity(unchecked) private var aheadEnd = 0
    @exclusivity(unchecked) private var aheadEpoch = Int.min
    /// So that the compiler does not leave out the reads of what is looked ahead to.
    @exclusivity(unchecked) @usableFromInline var touched: UInt8 = 0

    private init(_ binding: ClassBinding, keys: [ObjectKey]?) {
        realm = binding.core
        self.binding = binding
        // Frozen objects go from thread to thread: another one may just have made a collection of the accessor.
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

    /// Over the whole table of a class, as it is now.
    package convenience init(tableOf binding: ClassBinding) {
        self.init(binding, keys: nil)
        let table = binding.table
        let count = table.count
        if count > 0 {
            step.pointee.endKey = engine { () throws(EngineError) in try table.key(atPosition: count - 1).rawValue }
        }
    }

    /// Over the objects with these keys, in this order.
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
        // Before the object is made: that lets go of another one, and the `deinit` of its class may do anything.
        step.pointee.runEnd = 0
        if group.pointee.keyForm == .dense {
            step.pointee.firstKey = group.pointee.firstKey
            let keysLeft = step.pointee.endKey &- group.pointee.firstKey
            step.pointee.runEnd =
                keysLeft < UInt64(step.pointee.rowEnd) ? Int(keysLeft) &+ 1 : step.pointee.rowEnd
        }
        return handOut(ObjectKey(key), RowLocation(group: group, row: row))
    }

    /// `location`: nil where the row is to be looked up at the first access.
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

    /// Lets go of the last one when all is in order: the `deinit` of its class may do anything, also go on with a copy of
    /// the iterator.
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

    /// Finds the row group and row of the first key behind `lastKey`; false at the end.
    @inline(never)
    private func findGroup() -> Bool {
        checkValid()
        guard step.pointee.lastKey < step.pointee.endKey else { return false }
        let table = binding.table
        return engine { () throws(EngineError) -> Bool in
            let moved = step.pointee.epoch != step.pointee.session.pointee.epoch
            let count = table.count
            // Behind the end of a group the next one starts at a known position; after a change it is searched.
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

    /// The position of the first key greater than `lastKey`. Tries the places where it is when the body of the loop
    /// deleted the element it was given, or nothing before it.
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

    /// Fewer objects than this are found one by one.
    private static let aheadLimit = 1024
    /// Between the first and the last of objects that mostly lie in one group.
    private static let nearby = 1024
    /// Objects that are found together.
    private static let aheadCount = 16
    /// Objects after which the column that the loop reads is asked for anew.
    private static let questionCount = 4096

    /// Finds the next objects together, with what the loop's body will read first of each.
    private func lookAhead(_ keys: [ObjectKey]) {
        checkValid()
        aheadStart = index
        aheadEnd = min(index &+ Self.aheadCount, keys.count)
        aheadEpoch = .min
        // Those of a query that was not sorted lie one behind the other.
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

    /// Neighbours in the order are often neighbours in the table: the row group of the last one is tried first.
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

// Functions of the pointer, not of the type: one of the type is called through another that drops the type.
extension UnsafeMutablePointer<ObjectCursor.Step> {
    /// The next object, or nil at the end. Of a living cursor.
    @inlinable
    func nextObject() -> ObjectBase? {
        let row = pointee.row
        // Of a cursor over keys `runEnd` stays 0, so that it always takes the other way.
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

    /// Of an object that was just handed out again.
    @usableFromInline @inline(never)
    func repointCollections(of object: ObjectBase) {
        if object.hasMadeCollections(at: pointee.collectionOffsets) {
            pointee.cursor._withUnsafeGuaranteedRef { $0.repointCollections(of: object) }
        }
    }
}

extension ClassBinding {
    /// A new accessor with its row known.
    @inline(__always)
    package func makeAccessor(_ key: ObjectKey, at location: RowLocation) -> ObjectBase {
        let object = schema.accessors.make()
        bind(object, key, at: location)
        return object
    }
}
