// SPDX-License-Identifier: Apache-2.0
// Reads the log of a repository, and appends to it while holding its lease. Confined to one thread.

internal import RegnumSystem

final class BackupLog {
    let store: any BackupStore
    let hasher: Hasher128
    /// The bytes of the object 'repository'.
    private let record: [UInt8]
    private let clock: @Sendable () -> Int64
    /// How long entries stay after they are of no use, in microseconds: longer than any list is old, so that a process
    /// with an old list does not mistake the number of a deleted entry for the next one.
    let grace: Int64
    /// Backups that were read before; entries never change.
    private var known: [UInt64: LogEntry] = [:]
    private static let knownLimit = 256
    /// All entries that were read or put before, without claims and payload, and what their manifests say.
    private var seen: [UInt64: (entry: LogEntry, summary: BackupRepository.Backup?)] = [:]

    init(
        _ store: any BackupStore, _ hasher: Hasher128, record: [UInt8], clock: @escaping @Sendable () -> Int64,
        grace: Int64
    ) {
        self.store = store
        self.hasher = hasher
        self.record = record
        self.clock = clock
        self.grace = grace
    }

    func now() -> Int64 { clock() }

    /// Throws `.storage` unless the store still has the repository that was opened. A folder whose file system is no
    /// longer mounted is an empty one, to which a process that holds a lease would go on adding backups.
    func checkRepository() throws {
        for name in [ObjectName.repository, ObjectName.copies + ObjectName.repository] {
            if try store.get(name) == record { return }
        }
        throw BackupError(
            .storage, "The store no longer has the repository: the file system of its folder may not be mounted.")
    }

    // MARK: Reading

    /// The numbers of the entries, ascending, as far as the store's list is complete.
    func numbers() throws -> [UInt64] {
        let names = try store.list(ObjectName.log) + store.list(ObjectName.copies + ObjectName.log)
        return Set(names.compactMap { ObjectName.number($0) }).sorted()
    }

    /// Returns an entry; nil if it is missing, or damaged and without a copy.
    func entry(_ number: UInt64) throws -> LogEntry? {
        if let entry = known[number] { return entry }
        let name = ObjectName.entry(number)
        var found = try store.get(name).flatMap { try LogEntry($0, number: number, hasher) }
        if found == nil {
            found = try store.get(ObjectName.copies + name).flatMap { try LogEntry($0, number: number, hasher) }
        }
        if let found { remember(found) }
        return found
    }

    /// Keeps an entry that was read or put.
    fileprivate func remember(_ entry: LogEntry) {
        var summary: BackupRepository.Backup?
        if entry.kind == .backup {
            if known.count >= Self.knownLimit { known.removeAll(keepingCapacity: true) }
            known[entry.number] = entry
            summary = (try? Manifest(entry.payload)).map { BackupRepository.Backup(entry, $0) }
        }
        var short = entry
        (short.claims, short.payload) = ([], [])
        seen[entry.number] = (short, summary)
    }

    /// The state of the log. Its entries, except `head`, are without claims and payload: all of them may not fit in
    /// memory.
    struct State {
        /// Its greatest number; 0 if it is empty.
        var last: UInt64 = 0
        /// The newest entry that can be read.
        var head: LogEntry?
        /// The entries that are backups and count, ascending.
        var backups: [LogEntry] = []
        /// What the manifests of entries say, by number. Those that cannot be read are left out.
        var summaries: [UInt64: BackupRepository.Backup] = [:]
        /// The numbers of entries that exist, cannot be read, and may be backups.
        var damaged: [UInt64] = []
        /// Those of backups that cannot be read, and that a later process did not find either.
        var lost: [UInt64] = []
        /// All other entries.
        var others: [LogEntry] = []

        /// The time of which a backup has the state of the database.
        func time(_ backup: LogEntry) -> Int64 { summaries[backup.number]?.time ?? backup.time }
    }

    /// Reads the entries that were not read before, each with a call of the store. `step` is called before each.
    func read(step: () throws -> Void = {}) throws -> State {
        var state = State()
        var entries: [LogEntry] = []
        // Only backups have a copy.
        var copied: Set<UInt64> = []
        let numbers = try numbers()
        for number in numbers {
            if seen[number] == nil {
                try step()
                _ = try entry(number)
            }
            guard let (entry, summary) = seen[number] else {
                let name = ObjectName.entry(number)
                let hasCopy = try store.byteCount(of: ObjectName.copies + name) != nil
                if hasCopy { copied.insert(number) }
                // Otherwise it has been deleted, and the list is old.
                if try hasCopy || store.byteCount(of: name) != nil {
                    state.damaged.append(number)
                    state.last = number
                }
                continue
            }
            state.last = number
            state.summaries[number] = summary
            entries.append(entry)
        }
        // Its claims were not kept. If it was deleted since, the list is old.
        while state.head == nil, let last = entries.last {
            state.head = try entry(last.number)
            if state.head == nil {
                entries.removeLast()
                forget(last.number)
            }
        }
        let listed = Set(numbers)
        seen = seen.filter { listed.contains($0.key) }
        // Each entry names the newest backup before it that its process could read.
        let claims = state.head?.claims ?? []
        let counting = entries.filter { $0.counts(among: claims) }
        let passed = state.damaged.filter { number in
            counting.first { $0.number > number }.map { $0.lastBackup < number } ?? false
        }
        state.damaged.removeAll { passed.contains($0) }
        state.lost = passed.filter { copied.contains($0) }
        for entry in entries {
            if entry.kind == .backup, entry.counts(among: claims) {
                state.backups.append(entry)
            } else {
                state.others.append(entry)
            }
        }
        return state
    }

    /// The end of the log: the greatest number, 0 if it is empty; the newest entry that can be read; and the least
    /// number.
    private func readEnd() throws -> (last: UInt64, head: LogEntry?, first: UInt64) {
        let numbers = try numbers()
        var last: UInt64?
        for number in numbers.reversed() {
            if let entry = try entry(number) { return (last ?? number, entry, numbers[0]) }
            // Damaged; or deleted, and the list is old.
            if last == nil, try store.byteCount(of: ObjectName.entry(number)) != nil { last = number }
        }
        return (last ?? 0, nil, numbers.first ?? 0)
    }

    /// Forgets an entry that was deleted.
    func forget(_ number: UInt64) { (known[number], seen[number]) = (nil, nil) }

    // MARK: The lease

    /// Takes over the log. Throws `.inUse` if another process holds the lease. An entry of the same owner is one whose
    /// put seemed to fail.
    func claim(owner: SIMD2<UInt64>, duration: Int64) throws -> Lease {
        try checkRepository()
        var (last, head, first) = try readEnd()
        while true {
            if let head, head.number == last, head.owner != owner, !head.isOver(at: now()) {
                throw BackupError(
                    .inUse,
                    "Another process is making backups to the repository: it has the lease for "
                        + "\((head.time &+ head.duration &- now()) / 1_000_000 + 1) seconds at most.")
            }
            let number = last + 1
            var entry = LogEntry(
                .claim, number: number, token: number, owner: owner, time: now(), duration: duration,
                claims: Self.claims(head, from: first) + [number])
            entry.follow(head, hasher)
            let bytes = entry.bytes(hasher)
            if try store.putIfAbsent(ObjectName.entry(number), bytes) || isStored(bytes, number) {
                return Lease(self, entry)
            }
            // The list was old, or another process was faster.
            last = number
            if let found = try self.entry(number) { head = found }
        }
    }

    private static let claimLimit = 512

    /// The claims that later entries list: if there are many, those from the one that owns entry `first` on.
    private static func claims(_ head: LogEntry?, from first: UInt64) -> [UInt64] {
        let claims = head?.claims ?? []
        if claims.count < claimLimit { return claims }
        return Array(claims[(claims.lastIndex { $0 <= first } ?? 0)...])
    }

    /// True if another process had taken over before this entry was put: the first entry of its number was deleted.
    func isVoid(_ entry: LogEntry) throws -> Bool {
        guard let head = try readEnd().head, head.number > entry.number else { return false }
        return !entry.counts(among: head.claims)
    }

    /// True if the entry with that number has these bytes: a put that seemed to fail has succeeded.
    func isStored(_ bytes: [UInt8], _ number: UInt64) throws -> Bool {
        try store.get(ObjectName.entry(number)) == bytes
    }
}

extension LogEntry {
    /// Refers to `head` as the entry before this one.
    mutating func follow(_ head: LogEntry?, _ hasher: Hasher128) {
        guard let head else { return }
        let digest = hasher.digest(head.bytes(hasher))
        previous = digest
        (lastBackup, lastBackupDigest) = (head.lastBackup, head.lastBackupDigest)
        if head.kind == .backup { (lastBackup, lastBackupDigest) = (head.number, digest) }
    }
}

/// The right to append to a log.
///
///     held ──append──▶ held ──release──▶ released
///       └──another process has put the next entry──▶ fenced
final class Lease {
    enum State { case held, released, fenced }

    private let log: BackupLog
    private(set) var state = State.held
    /// The newest entry, put by this lease.
    private(set) var last: LogEntry
    /// Entries of this lease that are no backups, oldest first.
    private var others: [(number: UInt64, time: Int64)]
    /// True if the lease was over for a while, so that another process may have taken over and its entries may be
    /// deleted by now: then no free number proves that there was none.
    private var isDoubtful = false

    init(_ log: BackupLog, _ claim: LogEntry) {
        self.log = log
        last = claim
        others = [(claim.number, claim.time)]
    }

    var token: UInt64 { last.token }

    /// The newest backup; nil if there is none, or if it cannot be read.
    func newestBackup() throws -> LogEntry? {
        if last.kind == .backup { return last }
        return last.lastBackup == 0 ? nil : try log.entry(last.lastBackup)
    }

    /// Prolongs the lease if a third of its time has passed. Throws `.fenced`.
    func keep() throws {
        let now = log.now()
        if now &- last.time >= last.duration / 3 || now < last.time { try append(.beat) }
    }

    /// Appends an entry. Throws `.fenced` if another process has taken over, and `.storage` if the store has lost the
    /// repository. After another error the entry may have been appended; the lease is still held.
    @discardableResult
    func append(_ kind: LogEntry.Kind, payload: [UInt8] = []) throws -> LogEntry {
        assertState()
        guard state == .held else { throw fencedError }
        try log.checkRepository()
        while true {
            var entry = LogEntry(
                kind, number: last.number + 1, token: token, owner: last.owner, time: log.now(),
                duration: last.duration, claims: last.claims)
            entry.payload = payload
            entry.follow(last, log.hasher)
            if last.isOver(at: entry.time) { isDoubtful = true }
            let bytes = entry.bytes(log.hasher)
            if try log.store.putIfAbsent(ObjectName.entry(entry.number), bytes)
                || log.isStored(bytes, entry.number)
            {
                if isDoubtful, try log.isVoid(entry) {
                    state = .fenced
                    throw fencedError
                }
                isDoubtful = false
                advance(to: entry)
                return entry
            }
            // An earlier attempt of this lease seemed to fail. Or another process has taken over.
            guard let found = try log.entry(entry.number), found.owner == last.owner, found.token == token else {
                state = .fenced
                throw fencedError
            }
            advance(to: found)
        }
    }

    private func advance(to entry: LogEntry) {
        last = entry
        log.remember(entry)
        if entry.kind == .release { state = .released }
        if entry.kind != .backup { others.append((entry.number, entry.time)) }
        while let oldest = others.first, oldest.number < entry.number, oldest.time &+ log.grace < entry.time {
            // If that fails, `prune` deletes it.
            try? log.store.delete(ObjectName.entry(oldest.number))
            log.forget(oldest.number)
            others.removeFirst()
        }
    }

    private var fencedError: BackupError {
        BackupError(.fenced, "Another process has taken over the repository.")
    }

    /// Ends the lease, so that the next process need not wait.
    func release() {
        if state == .held { _ = try? append(.release) }
    }

    func assertState() {
        assert(last.token <= last.number && last.claims.contains(token), "a lease without its claim")
    }
}
