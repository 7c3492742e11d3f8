// SPDX-License-Identifier: Apache-2.0
// One view of a database: a version held open, and at times the write transaction. Confined: its user calls it
// from one thread (or queue, or actor) at a time. Several sessions read at once; one writes.
//
//     reading ──beginWrite──▶ writing ──commitWrite / rollbackWrite──▶ reading
//        │ refresh: to the newest version
//
// `state.epoch` moves whenever pointers into groups, or the rows they point at, may no longer hold: whoever keeps
// such a pointer keeps the epoch beside it and looks the object up again by key when they differ.

import RegnumSystem

/// What every accessor of a session compares before it reads. Lives as long as the session.
@usableFromInline @frozen
package struct SessionState {
    @usableFromInline package var epoch: Int
    /// `CurrentThread.id` of the thread the session is confined to; set by its user.
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
    /// Moves with every refresh that found something and every change made in a write.
    @exclusivity(unchecked) package internal(set) var changeCount: UInt64 = 0
    /// A frozen session stays at its version.
    package let isFrozen: Bool
    /// True where it reads what another session's running write has made.
    private let isSnapshot: Bool
    /// Of a session that advances.
    @exclusivity(unchecked) private var slots: SlotWatch?
    var isSchemaChanged = false
    /// What its commits wait for where they do not say themselves.
    package var durability = CommitDurability.full
    /// Of `current`, where that is not known to be durable.
    private(set) var ticket: CommitTicket?
    /// In a write: the rule that it breaks; see Session+Refusals.
    var refusal: EngineError?
    /// In a write: what it does to whole tables tells how far it is, and may be called off; see Session+WholeTables.
    package var watch: WholeTableWatch?
    var isCalledOff = false
    /// In a write: what was shown when it began.
    private var beforeWrite: Shown?
    /// Where in a program it was made, for who asks why a version is kept.
    package let origin: SessionOrigin?

    /// Takes over one pin of `version`.
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
        slots = isFrozen ? nil : SlotWatch(database)
        ForkWatch.add(ownerWord)
        // `deinit` gives the pin back should this throw.
        noteVersion()
        try load(version)
    }

    /// The owner's word, which a fork sets to 0: no thread has that id.
    private var ownerWord: UnsafeMutablePointer<UInt> {
        (UnsafeMutableRawPointer(state) + (MemoryLayout<SessionState>.offset(of: \.owner) ?? 0))
            .assumingMemoryBound(to: UInt.self)
    }

    /// In a write: what is seen now, changes of the transaction too, as a session of its own that stays as it is. It
    /// shares the blocks that the transaction has made, so it is good until the write ends, on the same thread. Takes
    /// the time of a commit without the writing.
    package func snapshot() throws(EngineError) -> Session {
        precondition(state.pointee.isWriting, "a snapshot of what is no write")
        let (catalog, schema) = try contents()
        database.versions.pinAgain(current)
        return try Session(of: self, catalog, schema)
    }

    /// Takes over one pin of the writer's version.
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
        // In the child of a fork all of that is the parent's, and a thread of the parent may have had a lock.
        if !database.isForked {
            database.versions.note(UInt(bitPattern: state), at: nil, nil)
            if state.pointee.isWriting {
                database.forgetSpill()
                database.leaveWriter()
            }
            database.versions.unpin(current.number)
        }
        tables.removeAll()
        beforeWrite = nil
        state.deallocate()
    }

    // MARK: Reading

    /// Number of the version that is seen.
    package var version: UInt64 { current.number }
    package var isWriting: Bool { state.pointee.isWriting }
    /// First page that the version does not know of: the file's length in pages, but for room to grow.
    package var highWater: UInt64 { current.highWater }
    package var schemaVersion: UInt64 { catalog.schemaVersion }
    /// Tells whether the definitions of the tables are those of another time.
    package var schemaStamp: BlockRef { catalog.schema }

    package func table(named name: String) -> Table? { tables.first { $0.definition.name == name } }

    /// Advances to the newest version; false where there is none newer, while writing and when frozen.
    package func refresh() throws(EngineError) -> Bool {
        if state.pointee.isWriting || isFrozen { return false }
        switch standing {
        case .durable: if try isNewest() { return false }
        // Nothing newer is published before it.
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

    /// Throws where another program has written over the file. Returns `SlotWatch.words` as they were at that time.
    private func checkFile() throws(EngineError) -> SIMD4<UInt64>? {
        guard let words = slots?.words else { return nil }
        try slots?.check(words, database, current)
        return words
    }

    /// Shows a version that is pinned for it, durable or with its ticket.
    private func come(to next: Version, _ nextTicket: CommitTicket? = nil) throws(EngineError) {
        let (last, before) = (current, shown)
        do throws(EngineError) {
            try load(next)
        } catch {
            database.versions.unpin(next.number)
            show(again: before)
            throw error
        }
        current = next
        ticket = nextTicket
        noteVersion()
        database.versions.unpin(last.number)
        moved()
    }

    /// Whether what is shown is on the medium.
    private var standing: CommitTicket.State {
        guard let ticket, !isFrozen else { return .durable }
        let state = database.line.monitor.withLock { ticket.state }
        if case .durable = state { self.ticket = nil }
        return state
    }

    /// Leaves a version that has been abandoned for the newest one; true where that was so. Not while writing.
    package func comeBack() throws(EngineError) -> Bool {
        guard case .failed = standing else { return false }
        try come(to: try database.versions.pinNewest())
        return true
    }

    /// Comes to the version that `other` shows, older or newer, and never while writing. The caller has made
    /// sure that nobody holds on to what was read before.
    package func move(to other: Session) throws(EngineError) {
        precondition(!state.pointee.isWriting && !isFrozen && other.database === database)
        database.versions.pinAgain(other.current)
        try come(to: other.current, other.ticket)
    }

    /// All that it takes to show a version again without reading anything.
    private struct Shown {
        var catalog: Catalog
        var schema: SchemaBlock
        var tables: [Table]
    }

    private var shown: Shown { Shown(catalog: catalog, schema: schema, tables: tables) }

    /// Shows what was shown before. Cannot fail: after a failed sync the pages of a version may read differently.
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
                throw corrupted("the catalog has other tables than its schema")
            }
            for (table, record) in zip(tables, next.tables) { table.show(record) }
        }
        catalog = next
    }

    /// After a change of schema: tables whose definition is the same keep their identity.
    private func rebuildTables(_ next: Catalog) throws(EngineError) {
        // Both are ordered by key.
        guard next.tables.elementsEqual(schema.tables, by: { $0.key == $1.key }) else {
            throw corrupted("the catalog has other tables than its schema")
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

    /// Pointers and rows may have moved: whoever keeps some looks anew.
    package func moved() {
        state.pointee.epoch &+= 1
        changeCount &+= 1
    }

    // MARK: Writing

    /// Waits for the writer's turn, then advances to the newest version. That may be one that is not durable yet, and
    /// that nobody else sees: should it fail, the commit of this write fails too. With `settled` it is waited for.
    package func beginWrite(settled: Bool = false) throws(EngineError) {
        precondition(!state.pointee.isWriting && !isFrozen, "a write inside a write")
        try database.enterWriter()
        try startWrite(settled)
    }

    /// As `beginWrite`, with the turn that `Database.offerTurn` has offered under that number; false where it is gone.
    package func beginWrite(acceptingTurn number: UInt64, settled: Bool = false) throws(EngineError) -> Bool {
        precondition(!state.pointee.isWriting && !isFrozen, "a write inside a write")
        guard database.offers.accept(number) else { return false }
        try startWrite(settled)
        return true
    }

    private func startWrite(_ settled: Bool) throws(EngineError) {
        database.noteWriter(WriterNote(.thread(CurrentThread.id), origin: origin))
        do throws(EngineError) {
            if settled { database.settle() }
            let tip = database.line.monitor.withLock { database.line.commits.last }
            if let tip {
                if tip.version.number != current.number {
                    database.versions.pin(tip.version.number)
                    try come(to: tip.version, tip.ticket)
                }
            } else {
                // With the turn, the newest version is the one that is known here.
                let isNewest = ticket == nil && database.versions.newest.number == current.number
                if !isNewest { _ = try refresh() }
            }
            _ = try checkFile()
            try database.reclaim()
            try space.sealer.reserve(encrypting: database.isEncrypted)
        } catch {
            database.leaveWriter()
            throw error
        }
        state.pointee.isWriting = true
        beforeWrite = shown
        isSchemaChanged = false
        isCalledOff = false
        refusal = nil
        limitMemory()
    }

    // MARK: Memory of a write

    /// `changeCount` at which the memory of the running transaction is looked at. Moved when a write begins.
    @exclusivity(unchecked) private var reliefDue = UInt64.max
    /// `changeCount` when the tables were sealed last.
    private var lastRelief: UInt64 = 0
    private var changedLimit = 0
    /// Bytes of long values stored since then, and how many there were at the last look.
    private var longValueBytes = 0
    private var longValuesSeen = 0
    /// Long values between two looks.
    private static let longValueInterval = 16 << 20

    /// In a write: a value of more than `longValue` bytes was stored.
    @inline(never)
    func noteLongValue(_ byteCount: Int) {
        longValueBytes += byteCount
        if longValueBytes - longValuesSeen > Self.longValueInterval, reliefDue != .max { reliefDue = 0 }
    }

    /// As `noteLongValue` for an element, with what lies in it, that may be long.
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
            // Indexes must look at what open collections have dropped: `relieve`, first. What failed once waits.
            let isEarly = tables.contains { $0.hasOpenIndexedCollection }
            if isEarly { reliefDue = 0 }
            if !isEarly { space.spillLimit = database.spill(space, before: current, base: ticket) ?? .max }
        }
    }

    /// In a write, where no pointer into a group is held and no block is half made: writes ahead of the commit where
    /// changed groups, trees and collections take much memory. Pointers into groups may no longer hold after it; see
    /// `state.epoch`.
    @inline(__always)
    func relieveIfDue() throws(EngineError) { if changeCount >= reliefDue { try relieve() } }

    /// Bytes that are not sealed yet, and how many more they take in blocks: open collections are unpacked.
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

    /// Where the system gives little address space: throws if what is to be sealed finds none.
    private func requireRoomToSeal() throws(EngineError) {
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
            // Long values take what they take, and a little around them.
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
        // What is not sealed comes on top at the commit.
        if space.sealer.isNearlyFull(with: held + packing) {
            reliefDue = 0
            throw Self.noRoom
        }
    }

    /// Makes the changes visible to others, and durable as is wanted (nil: as the session's `durability` says).
    /// After an error the transaction has been rolled back. Where the commit has failed and not even the newest version
    /// can be read, what has failed is shown until `refresh` finds one, or throws why not.
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
            // Where this fails, the next refresh or write meets it and says so.
            _ = try? comeBack()
            throw error
        }
        if made.isFileLong { database.shrinkIfLong(current) }
    }

    /// As `commitWrite`, but does not wait: the session shows the changes, others see them when they are durable. Then
    /// `onDone` is called on any thread; with an error the changes are abandoned, and `comeBack` is due.
    package func commitWriteLater(
        _ wanted: CommitDurability? = nil, _ onDone: @escaping @Sendable (EngineError?) -> Void
    ) throws(EngineError) {
        if try commit(wanted ?? durability, onDone).ticket == nil { onDone(nil) } else { database.syncSoon() }
    }

    private func commit(
        _ wanted: CommitDurability, _ onDone: (@Sendable (EngineError?) -> Void)?
    ) throws(EngineError) -> Database.Made {
        precondition(state.pointee.isWriting, "no write to commit")
        precondition(!isCalledOff, "a commit of what was called off half way")
        let made: Database.Made
        do throws(EngineError) {
            try checkRules()
            try requireRoomToSeal()
            _ = try checkFile()
            let root = try seal()
            made = try database.commit(
                Database.Sealed(blocks: space, catalog: root, before: current, base: ticket), wanted, onDone)
        } catch {
            rollbackWrite()
            throw error
        }
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
        beforeWrite = nil
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

    /// Forgets all changes of the transaction. Where what it was built on has failed, the newest version is shown; if
    /// that cannot be read, what has failed, as after `commitWrite`.
    package func rollbackWrite() {
        precondition(state.pointee.isWriting, "no write to roll back")
        database.forgetSpill()
        space.reset()
        if let beforeWrite { show(again: beforeWrite) }
        beforeWrite = nil
        state.pointee.isWriting = false
        database.leaveWriter()
        // What others have committed and is shown now may still fail.
        guard let ticket else { return }
        do { try database.wait(for: ticket) } catch {}
        // Where this fails, the next refresh or write meets it and says so.
        _ = try? comeBack()
    }

    /// The catalog and schema of what is seen, with pending refs where a write has changed something: the tables
    /// are sealed, and can be changed on.
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
        if isSchemaChanged || database.keepsFileLong(catalog.schema) {
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
