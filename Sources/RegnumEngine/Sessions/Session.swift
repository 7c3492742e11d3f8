// SPDX-License-Identifier: Apache-2.0
// One view of a database: a version held open and, during a write, the write transaction. Confined: used from one
// thread (or queue, or actor) at a time. Any number of sessions read at once; one writes.
//
//     reading ──beginWrite──▶ writing ──commitWrite / rollbackWrite──▶ reading
//        │ refresh: to the newest version
//
// `state.epoch` changes whenever pointers into groups, or the rows they point at, may have become invalid. Code that
// keeps such a pointer stores the epoch with it, and looks the object up again by key when they differ.

import RegnumSystem

/// The state that every accessor of a session checks before it reads. Lives as long as the session.
@usableFromInline @frozen
package struct SessionState {
    @usableFromInline package var epoch: Int
    /// `CurrentThread.id` of the thread that the session is confined to; set by the owner of the session.
    @usableFromInline package var owner: UInt
    @usableFromInline package var isWriting: Bool
}

package final class Session {
    package let database: Database
    package let state: UnsafeMutablePointer<SessionState>
    let space: BlockSpace
    @exclusivity(unchecked) private(set) var current: Version
    @exclusivity(unchecked) var catalog: Catalog
    @exclusivity(unchecked) var schema: SchemaBlock
    /// By key, ascending.
    @exclusivity(unchecked) package internal(set) var tables: [Table] = []
    /// Increases with every refresh that advances and with every change made in a write.
    @exclusivity(unchecked) package internal(set) var changeCount: UInt64 = 0
    /// True if the session never leaves its version.
    package let isFrozen: Bool
    /// True if the session reads the uncommitted changes of another session's running write.
    private let isSnapshot: Bool
    /// Set in sessions that can advance.
    @exclusivity(unchecked) private var slots: NewerVersionCheck?
    var isSchemaChanged = false
    /// The durability of commits that do not state their own.
    package var durability = CommitDurability.full
    /// The ticket of `current`, if that is not known to be durable.
    private(set) var ticket: CommitTicket?
    /// With a ticket: the catalog of the newest durable version that the session has shown; see `firstAbandonedKey`.
    private var durableCatalog: Catalog?
    /// In a write: the ticket of the version shown before it began.
    private var ticketBeforeWrite: CommitTicket?
    /// Set when the session moves away from a version whose commit has failed. The object layer resets it, and
    /// makes the objects that the commit had created invalid: later objects may get their keys.
    package var hasLeftAbandoned = false { didSet { if !hasLeftAbandoned { leftCatalog = nil } } }
    /// With `hasLeftAbandoned`: `durableCatalog` at that moment.
    private(set) var leftCatalog: Catalog?
    /// In a write: the rule that it breaks; see Session+Refusals.
    var refusal: EngineError?
    /// In a write: the savepoints that have not ended, outermost first; see Session+Savepoints.
    var savepoints: [Savepoint] = []
    /// Ends the scans of this session, if it is set; see ScanStop. Not for writes.
    package var scanStop: ScanStop?
    /// In a write: receives the progress of work on whole tables, and may cancel it; see Session+WholeTables.
    package var watch: TableProgress?
    var isCalledOff = false
    /// In a write: the change of the file's history.
    var historyChange: HistoryChange?
    /// In a write: the state shown before it began.
    private var beforeWrite: Shown?
    /// The source location that opened it, to report why a version is kept.
    package let origin: SessionOrigin?

    /// Takes ownership of one pin of `version`.
    init(
        _ database: Database, at version: Version, isFrozen: Bool = false, origin: SessionOrigin? = nil,
        ticket: CommitTicket? = nil
    ) throws(EngineError) {
        self.origin = origin
        self.ticket = ticket
        isSnapshot = false
        self.database = database
        self.isFrozen = isFrozen
        current = version
        space = BlockSpace(reader: database.reader, reserving: database.options.spillLimits.reserved)
        state = .allocate(capacity: 1)
        state.initialize(to: SessionState(epoch: 1, owner: CurrentThread.id, isWriting: false))
        catalog = Catalog()
        schema = SchemaBlock()
        slots = isFrozen ? nil : NewerVersionCheck(database)
        ForkWatch.add(ownerWord)
        // If this throws, `deinit` releases the pin.
        noteVersion()
        try load(version)
    }

    /// The address of `owner`, which a fork sets to 0 in the child: no thread has that id.
    private var ownerWord: UnsafeMutablePointer<UInt> {
        (UnsafeMutableRawPointer(state) + (MemoryLayout<SessionState>.offset(of: \.owner) ?? 0))
            .assumingMemoryBound(to: UInt.self)
    }

    /// In a write: returns a session that keeps showing the current state, uncommitted changes included. It shares the
    /// transaction's blocks, so it is valid only until the write ends, and only on the same thread. Costs as much as a
    /// commit without the writing.
    package func snapshot() throws(EngineError) -> Session {
        precondition(state.pointee.isWriting, "a snapshot needs a write transaction")
        let (catalog, schema) = try contents()
        database.versions.pinAgain(current)
        return try Session(of: self, catalog, schema)
    }

    /// Takes ownership of one pin of the writer's version.
    private init(of writer: Session, _ catalog: Catalog, _ schema: SchemaBlock) throws(EngineError) {
        origin = nil
        database = writer.database
        isFrozen = true
        current = writer.current
        space = writer.space
        space.snapshots += 1
        isSnapshot = true
        state = .allocate(capacity: 1)
        state.initialize(to: SessionState(epoch: 1, owner: CurrentThread.id, isWriting: false))
        self.catalog = catalog
        self.schema = schema
        ForkWatch.add(ownerWord)
        noteVersion()
        try rebuildTables(catalog)
    }

    private func noteVersion() { database.versions.note(UInt(bitPattern: state), at: current.number, origin) }

    deinit {
        if isSnapshot { space.snapshots -= 1 }
        ForkWatch.remove(ownerWord)
        // In the child of a fork all of this belongs to the parent, and a thread of the parent may have held a lock.
        if !database.isForked {
            database.versions.note(UInt(bitPattern: state), at: nil, nil)
            if state.pointee.isWriting {
                database.counters.noteRollback()
                database.forgetSpill()
                database.leaveWriter()
            }
            database.versions.unpin(current.number)
        }
        tables.removeAll()
        (beforeWrite, savepoints) = (nil, [])
        state.deallocate()
    }

    // MARK: Reading

    /// The number of the version shown.
    package var version: UInt64 { current.number }
    package var isWriting: Bool { state.pointee.isWriting }
    /// The first page that the version has never allocated: the file's length in pages, without its room to grow.
    package var highWater: UInt64 { current.highWater }
    package var schemaVersion: UInt64 { catalog.schemaVersion }
    /// Equal if and only if the definitions of the tables are unchanged.
    package var schemaStamp: BlockRef { catalog.schema }

    package func table(named name: String) -> Table? { tables.first { $0.definition.name == name } }

    /// Advances to the newest version. Returns false if there is none newer, during a write, and when frozen.
    package func refresh() throws(EngineError) -> Bool {
        if state.pointee.isWriting || isFrozen { return false }
        switch standing {
        case .durable: if try isNewest() { return false }
        // Versions are published in order, so none newer is published before it.
        case .waiting: return false
        case .failed: break
        }
        try come(to: try database.versions.pinNewest())
        return true
    }

    private func isNewest() throws(EngineError) -> Bool {
        guard let words = try checkFile() else { return database.versions.latestNumber == current.number }
        if slots.unsafelyUnwrapped.isSeen(words) { return true }
        guard database.versions.latestNumber == current.number else { return false }
        slots?.note(words, newest: current.number)
        return true
    }

    /// Throws if another program has overwritten the file. Returns `NewerVersionCheck.words` as read before the check.
    private func checkFile() throws(EngineError) -> SIMD4<UInt64>? {
        guard let words = slots?.words else { return nil }
        try slots?.check(words, database, current)
        return words
    }

    /// Shows `next`, whose pin it takes over; `nextTicket` is its ticket if it is not durable.
    private func come(to next: Version, _ nextTicket: CommitTicket? = nil) throws(EngineError) {
        let (last, before) = (current, shown)
        let wasAbandoned = isAbandoned
        let base = newestDurable(catalog)
        do throws(EngineError) {
            try load(next)
        } catch {
            database.versions.unpin(next.number)
            show(again: before)
            throw error
        }
        current = next
        if wasAbandoned {
            // Other commits may have given its keys to their objects by now, so the version that is shown next does not
            // tell which keys these were.
            if !hasLeftAbandoned { leftCatalog = base }
            hasLeftAbandoned = true
        }
        (ticket, durableCatalog) = (nextTicket, nextTicket == nil ? nil : base)
        noteVersion()
        database.versions.unpin(last.number)
        moved()
    }

    /// Whether the version shown is on stable storage.
    private var standing: CommitTicket.State {
        guard let ticket, !isFrozen else { return .durable }
        let state = database.queue.monitor.withLock { ticket.state }
        if case .durable = state { self.ticket = nil }
        return state
    }

    /// The newest durable version shown so far, if `shown` is the catalog of the current version; nil if there is none.
    private func newestDurable(_ shown: Catalog) -> Catalog? {
        if case .durable = standing { shown } else { durableCatalog }
    }

    /// Moves from an abandoned version to the newest one; true if the version was abandoned. Not during a write.
    package func comeBack() throws(EngineError) -> Bool {
        guard case .failed = standing else { return false }
        try come(to: try database.versions.pinNewest())
        return true
    }

    /// Moves to the version that `other` shows, older or newer; never during a write. The caller guarantees that
    /// nothing read before is still in use.
    package func move(to other: Session) throws(EngineError) {
        precondition(!state.pointee.isWriting && !isFrozen && other.database === database)
        database.versions.pinAgain(other.current)
        try come(to: other.current, other.ticket)
    }

    /// Everything needed to show a version again without reading anything.
    private struct Shown {
        var catalog: Catalog
        var schema: SchemaBlock
        var tables: [Table]
    }

    private var shown: Shown { Shown(catalog: catalog, schema: schema, tables: tables) }

    /// Restores `old`. Cannot fail, and reads nothing: after a failed sync the pages of a version may read differently.
    private func show(again old: Shown) {
        (catalog, schema, tables) = (old.catalog, old.schema, old.tables)
        for (table, record) in zip(tables, catalog.tables) {
            table.abandon()
            table.show(record)
        }
        resolveOrigins()
        moved()
    }

    /// Shows `version`: reads its catalog and points the tables at its roots.
    private func load(_ version: Version) throws(EngineError) {
        try database.checkUntouched(version)
        let next = try Catalog.read(version.catalog, try database.reader.bytes(version.catalog))
        try next.checkCounts(highWater: version.highWater)
        if next.schema != catalog.schema || tables.isEmpty {
            schema = try database.schema(next.schema)
            try schema.checkOrigins()
            try rebuildTables(next)
        } else {
            guard next.tables.elementsEqual(tables, by: { $0.key == $1.definition.key }) else {
                throw corrupted("the tables of the catalog do not match its schema")
            }
            for (table, record) in zip(tables, next.tables) { table.show(record) }
        }
        catalog = next
    }

    /// Rebuilds the tables after a schema change; tables with an unchanged definition keep their identity.
    private func rebuildTables(_ next: Catalog) throws(EngineError) {
        // Both are sorted by key.
        guard next.tables.elementsEqual(schema.tables, by: { $0.key == $1.key }) else {
            throw corrupted("the tables of the catalog do not match its schema")
        }
        var made: [Table] = []
        for (record, definition) in zip(next.tables, schema.tables) {
            if let old = table(definition.key), old.definition == definition {
                old.show(record)
                made.append(old)
            } else {
                made.append(try Table(definition, record, self))
            }
        }
        tables = made
        resolveOrigins()
    }

    /// Invalidates pointers and row positions held elsewhere.
    package func moved() {
        state.pointee.epoch &+= 1
        changeCount &+= 1
    }

    // MARK: Writing

    /// Waits for the writer lock, then advances to the newest version. That version may still be in the commit queue,
    /// visible to this process only; if it fails, the commit of this write fails too. With `settled`, waits for the
    /// queue first.
    package func beginWrite(settled: Bool = false) throws(EngineError) {
        precondition(!state.pointee.isWriting && !isFrozen, "a write inside a write")
        try database.enterWriter(for: origin)
        try startWrite(settled)
    }

    /// Like `beginWrite`, with the writer lock that `Database.offerTurn` offered as `number`; false if the offer is
    /// gone.
    package func beginWrite(acceptingTurn number: UInt64, settled: Bool = false) throws(EngineError) -> Bool {
        precondition(!state.pointee.isWriting && !isFrozen, "a write inside a write")
        guard database.writerLock.accept(number) else { return false }
        try startWrite(settled)
        return true
    }

    /// Like `beginWrite`, without waiting for the writer lock: false if another thread or process holds it or waits for
    /// it.
    package func tryBeginWrite(settled: Bool = false) throws(EngineError) -> Bool {
        precondition(!state.pointee.isWriting && !isFrozen, "a write inside a write")
        guard try database.tryEnterWriterInTurn() else { return false }
        try startWrite(settled)
        return true
    }

    private func startWrite(_ settled: Bool) throws(EngineError) {
        database.writerLock.setHolder(WriterLockHolder(.thread(CurrentThread.id), origin: origin))
        let shownTicket = ticket
        do throws(EngineError) {
            if settled { database.settle() }
            let tip = database.queue.monitor.withLock { database.queue.commits.last }
            if let tip {
                if tip.version.number != current.number {
                    database.versions.pin(tip.version.number)
                    try come(to: tip.version, tip.ticket)
                }
            } else {
                // The writer lock guarantees that the newest version is the one known here.
                let isNewest = ticket == nil && database.versions.newest.number == current.number
                if !isNewest { _ = try refresh() }
            }
            _ = try checkFile()
            try database.spaceManager.reclaim()
            try space.sealer.reserve(encrypting: database.isEncrypted)
        } catch {
            database.leaveWriter()
            throw error
        }
        state.pointee.isWriting = true
        beforeWrite = shown
        ticketBeforeWrite = shownTicket
        isSchemaChanged = false
        isCalledOff = false
        refusal = nil
        historyChange = nil
        limitMemory()
    }

    // MARK: Memory of a write

    /// The `changeCount` at which the memory of the transaction is checked next. Reset when a write begins.
    @exclusivity(unchecked) private var reliefDue = UInt64.max
    /// The `changeCount` when the tables were last sealed.
    private var lastRelief: UInt64 = 0
    private var changedLimit = 0
    /// Bytes of long values stored since then, and that number at the last check.
    private var longValueBytes = 0
    private var longValuesSeen = 0
    /// Bytes of long values between two checks.
    private static let longValueInterval = 16 << 20

    /// In a write: counts a stored value of more than `longValue` bytes.
    @inline(never)
    func noteLongValue(_ byteCount: Int) {
        longValueBytes += byteCount
        if longValueBytes - longValuesSeen > Self.longValueInterval, reliefDue != .max { reliefDue = 0 }
    }

    /// Like `noteLongValue`, for an element that may be or contain a long value.
    func noteIfLong(_ value: Value) {
        switch value {
        case .string(let text): if text.utf8.count > SpillLimits.longValue { noteLongValue(text.utf8.count) }
        case .data(let bytes): if bytes.count > SpillLimits.longValue { noteLongValue(bytes.count) }
        case .list(let values): for value in values { noteIfLong(value) }
        case .dictionary(let entries): for entry in entries { noteIfLong(entry.value) }
        default: break
        }
    }

    private func limitMemory() {
        let limits = database.options.spillLimits
        reliefDue = changeCount &+ limits.interval
        lastRelief = changeCount
        (longValueBytes, longValuesSeen) = (0, 0)
        changedLimit = limits.changed
        guard database.canSpill else { return }
        space.spillLimit = limits.sealed.lowerBound
        space.spill = { [unowned self] in
            // Indexes must still be able to read the old values of open collections, so `relieve` must run first.
            // Failed spills are not retried.
            let isEarly = tables.contains { $0.hasOpenIndexedCollection }
            if isEarly { reliefDue = 0 }
            if !isEarly { space.spillLimit = database.spill(space, before: current, base: ticket) ?? .max }
        }
    }

    /// In a write, while no pointer into a group is held and no block is half built: seals and spills if changed
    /// groups, trees and collections take much memory. May invalidate pointers into groups; see `state.epoch`.
    @inline(__always)
    func relieveIfDue() throws(EngineError) { if changeCount >= reliefDue { try relieve() } }

    /// The number of unsealed bytes, and the additional bytes that they need as blocks: open collections are held
    /// unpacked.
    private func unsealedByteCounts() -> (held: Int, packing: Int) {
        (
            tables.reduce(0) { $0 + $1.changedByteCount },
            tables.reduce(0) { sum, table in
                sum + table.openCollections.sum { $0.sealedByteCount - $0.changedByteCount }
            }
        )
    }

    private static let noRoom = EngineError.limit(
        "The transaction writes more than there is address space for: commit it in parts.")

    /// If address space is scarce: throws if there is not enough left to seal the changes.
    func requireRoomToSeal() throws(EngineError) {
        guard space.sealer.isScarce else { return }
        let (held, packing) = unsealedByteCounts()
        if space.sealer.isNearlyFull(with: held + packing) { throw Self.noRoom }
    }

    @inline(never)
    private func relieve() throws(EngineError) {
        reliefDue = .max
        guard state.pointee.isWriting else { return }
        for table in tables where table.hasOpenIndexedCollection { try table.flushOpenCollections() }
        var (held, packing) = unsealedByteCounts()
        if database.canSpill, held > changedLimit {
            let limits = database.options.spillLimits
            // Long values need their own size and some overhead.
            let given = Double(changeCount - lastRelief) * Double(limits.bytesPerChange) + 2 * Double(longValueBytes)
            if Double(held) > given, changedLimit < SpillLimits.changedMaximum {
                changedLimit = min(2 * changedLimit, SpillLimits.changedMaximum)
            } else {
                try change { () throws(EngineError) in for table in tables { _ = try table.seal() } }
                moved()
                lastRelief = changeCount
                (longValueBytes, held, packing) = (0, 0, 0)
            }
        }
        longValuesSeen = longValueBytes
        space.spillIfLarge()
        reliefDue = changeCount &+ database.options.spillLimits.interval
        // Unsealed changes are added at the commit.
        if space.sealer.isNearlyFull(with: held + packing) {
            reliefDue = 0
            throw Self.noRoom
        }
    }

    /// Makes the changes visible to others and as durable as `wanted` asks (nil: the session's `durability`). After an
    /// error the transaction has been rolled back. If the commit failed and even the newest version cannot be read, the
    /// failed state stays visible until `refresh` succeeds, or throws the reason.
    package func commitWrite(_ wanted: CommitDurability? = nil) throws(EngineError) {
        let made = try commit(wanted ?? durability, nil)
        guard let waited = made.ticket else {
            if made.isFileLong, database.isVolatile { database.shrinkIfLong(current) }
            return
        }
        do throws(EngineError) {
            try database.wait(for: waited)
            ticket = nil
        } catch {
            // If this fails, the next refresh or write fails again and reports it.
            _ = try? comeBack()
            throw error
        }
        if made.isFileLong { database.shrinkIfLong(current) }
    }

    /// Like `commitWrite`, but does not wait: the session shows the changes immediately, others when they are durable.
    /// Then `onDone` is called, on any thread; after an error the changes are abandoned and `comeBack` is due.
    package func commitWriteLater(
        _ wanted: CommitDurability? = nil, _ onDone: @escaping @Sendable (EngineError?) -> Void
    ) throws(EngineError) {
        let made = try commit(wanted ?? durability, onDone)
        if made.ticket != nil { return database.syncSoon() }
        if made.isFileLong, database.isVolatile { database.shrinkIfLong(current) }
        onDone(nil)
    }

    private func commit(
        _ wanted: CommitDurability, _ onDone: (@Sendable (EngineError?) -> Void)?
    ) throws(EngineError) -> Database.Made {
        precondition(state.pointee.isWriting, "no write to commit")
        precondition(!isCalledOff, "a cancelled write cannot be committed")
        releaseSavepoints()
        let made: Database.Made
        do throws(EngineError) {
            try checkRules()
            try requireRoomToSeal()
            _ = try checkFile()
            try database.checkDurableSlot()
            let root = try seal()
            let sealed = Database.Sealed(
                blocks: space, catalog: root, before: current, base: ticket, history: historyChange,
                catalogs: (beforeWrite?.catalog, catalog))
            made = try database.commit(sealed, wanted, onDone)
        } catch {
            rollbackWrite()
            throw error
        }
        // The version that the write was built on may be durable by now.
        durableCatalog = made.ticket == nil ? nil : beforeWrite.flatMap { newestDurable($0.catalog) }
        let sealer = space.sealer
        catalog.schema = sealer.placed(catalog.schema)
        for i in catalog.tables.indices {
            catalog.tables[i].root = sealer.placed(catalog.tables[i].root)
            for j in catalog.tables[i].trees.indices {
                catalog.tables[i].trees[j].root = sealer.placed(catalog.tables[i].trees[j].root)
            }
            tables[i].adopt(catalog.tables[i])
        }
        space.reset()
        (beforeWrite, ticketBeforeWrite) = (nil, nil)
        let last = current
        current = made.version
        ticket = made.ticket
        noteVersion()
        database.versions.unpin(last.number)
        moved()
        state.pointee.isWriting = false
        database.leaveWriter()
        return made
    }

    /// Discards all changes of the transaction. If the version it was built on was committed by another session and
    /// waits for its sync, waits for that. If that version has failed, shows the newest version; if that cannot be
    /// read, the failed one, as after `commitWrite`.
    package func rollbackWrite() {
        precondition(state.pointee.isWriting, "no write to roll back")
        database.counters.noteRollback()
        database.forgetSpill()
        space.reset()
        savepoints = []
        if let beforeWrite { show(again: beforeWrite) }
        let shownTicket = ticketBeforeWrite
        (beforeWrite, ticketBeforeWrite) = (nil, nil)
        state.pointee.isWriting = false
        database.leaveWriter()
        guard let ticket else { return }
        // A version of others may still fail. The session's own has been shown before, and its commit reports that.
        if ticket !== shownTicket { do { try database.wait(for: ticket) } catch {} }
        // If this fails, the next refresh or write fails again and reports it.
        _ = try? comeBack()
    }

    /// Returns the catalog and schema of the state shown. In a write, seals the tables first, so that changes have
    /// pending refs; the tables stay writable.
    func contents() throws(EngineError) -> (Catalog, SchemaBlock) {
        guard state.pointee.isWriting else { return (catalog, schema) }
        try checkRules()
        var (catalog, schema) = (catalog, schema)
        var records: [TableRecord] = []
        try change { () throws(EngineError) in for table in tables { records.append(try table.seal()) } }
        catalog.tables = records
        schema.tables = tables.map(\.definition)
        schema.settleFeatures()
        moved()
        return (catalog, schema)
    }

    /// Seals all tables; returns the pending ref of the catalog.
    private func seal() throws(EngineError) -> BlockRef {
        var records: [TableRecord] = []
        records.reserveCapacity(tables.count)
        for table in tables { records.append(try table.seal()) }
        database.moveBlocksFromEnd(&records, tables, space)
        if isSchemaChanged || database.spaceManager.keepsFileLong(catalog.schema) {
            space.free(catalog.schema)
            schema.tables = tables.map(\.definition)
            schema.settleFeatures()
            var writer = ByteWriter()
            schema.write(&writer)
            catalog.schema = writer.seal(.schema, into: space.sealer).ref
        }
        catalog.tables = records
        space.free(current.catalog)
        var writer = ByteWriter()
        catalog.write(&writer)
        return writer.seal(.catalog, into: space.sealer).ref
    }
}
