// SPDX-License-Identifier: Apache-2.0
// Deletes backups that a policy does not keep, or a single one, and the objects that no other one needs.
//
// It needs no lease, and may run while another process makes a backup. That process uses the packs of the newest
// backup, which is always kept, and those that it has put itself, whose names have its token. So an object is garbage
// if no kept backup needs it and its token is lower than that of the newest entry in the log: a process with such a
// token can put no backup that counts. If the list of the log is old, the newest entry that it shows has a lower token,
// and fewer objects are deleted. What an interrupted backup has put is deleted after the next backup. No entry of the
// last hour is deleted: see `BackupLog.grace`.

extension BackupRepository {
    /// The result of `prune`.
    public struct Pruning: Sendable, Equatable {
        public internal(set) var kept: [Backup] = []
        public internal(set) var removed: [Backup] = []
        /// Packs and page maps that were deleted.
        public internal(set) var objectCount = 0
    }

    /// Removes the backups that `policy` does not keep, those whose manifests are lost, and everything that no other
    /// backup needs. With `isRehearsal`, deletes nothing and returns what would be removed; objects are not counted
    /// then.
    ///
    /// The newest backup and those of the last hour are always kept. Any number of processes may prune, and one may
    /// make backups in the meantime. If it is interrupted, all kept backups are still complete, and the next call
    /// continues. Throws `.damaged`, and has deleted nothing, if the page map of a kept backup cannot be read: `remove`
    /// removes that backup. Reads the page maps of all kept backups.
    @discardableResult
    public func prune(_ policy: RetentionPolicy, isRehearsal: Bool = false) throws -> Pruning {
        try prune(policy, isRehearsal: isRehearsal, step: {})
    }

    /// `step` is called before each call of the store; an error that it throws ends the prune.
    func prune(_ policy: RetentionPolicy, isRehearsal: Bool, step: () throws -> Void) throws -> Pruning {
        let state = try log.read(step: step)
        let keptIndexes = policy.kept(state.backups.map { state.time($0) })
        let young = log.now() &- log.grace
        var result = Pruning()
        var needed = NeededObjects()
        var doomed: [UInt64] = []
        for (index, entry) in state.backups.enumerated() {
            let backup = state.summaries[entry.number]
            if keptIndexes.contains(index) || entry.time > young {
                do {
                    guard let backup else {
                        throw BackupError.damaged("the manifest of backup \(entry.number) cannot be read")
                    }
                    let isNewestToken = entry.token == state.head?.token
                    if !isRehearsal, !(isNewestToken && needed.hasNewestToken) {
                        try step()
                        try needed.add(try Manifest(try full(entry.number).payload), objects, step)
                        needed.hasNewestToken = isNewestToken
                    }
                    result.kept.append(backup)
                } catch let error as BackupError where [.damaged, .noSuchBackup].contains(error.code) {
                    // If the list was old, another process has removed the backup in the meantime.
                    guard try isRemoved(entry.number) else { throw error }
                }
            } else {
                if let backup { result.removed.append(backup) }
                doomed.append(entry.number)
            }
        }
        if isRehearsal { return result }
        // A damaged entry may be a backup that another copy of the repository can restore, so nothing is deleted for
        // it. The entries before the newest backup that are none are of no use.
        let newest = state.backups.last?.number ?? 0
        doomed += state.lost.filter { number in
            (state.backups + state.others).contains { $0.number > number && $0.time <= young }
        }
        doomed += state.others.filter { $0.number < newest && $0.time <= young }.map(\.number)
        for number in doomed {
            try step()
            try deleteEntry(number)
        }
        if state.damaged.isEmpty, let head = state.head {
            result.objectCount = try deleteObjects(before: head.token, except: needed, step)
        }
        return result
    }

    private func deleteEntry(_ number: UInt64) throws {
        try store.delete(ObjectName.copies + ObjectName.entry(number))
        try store.delete(ObjectName.entry(number))
        // `verify` may have put a missing copy again in the meantime.
        try store.delete(ObjectName.copies + ObjectName.entry(number))
        log.forget(number)
    }

    /// Removes the backup with that number, also if it is damaged: one that is to be kept and whose page map or manifest
    /// is lost prevents `prune` from deleting anything. The objects that only it needs are deleted by the next `prune`.
    ///
    /// Throws `BackupError`: `.noSuchBackup`; `.recentBackup` for the newest backup, on which the next one builds, for
    /// those of the last hour, and for a damaged one as long as it may be one of these.
    public func remove(_ number: UInt64) throws {
        let state = try log.read()
        let entry = state.backups.first { $0.number == number }
        guard entry != nil || (state.damaged + state.lost).contains(number) else {
            throw BackupError(.noSuchBackup, "The repository has no backup with the number \(number).")
        }
        let young = log.now() &- log.grace
        // The time of one that cannot be read is before that of a later entry.
        let isOld =
            entry.map { $0.time <= young }
            ?? (state.backups + state.others).contains { $0.number > number && $0.time <= young }
        guard isOld, let newest = state.backups.last, number < newest.number else {
            throw BackupError(
                .recentBackup,
                "The backup \(number) cannot be removed: it is the newest one, or of the last hour.")
        }
        try deleteEntry(number)
    }

    /// True if the store has no entry with this number. Lists may be old, objects are not.
    private func isRemoved(_ number: UInt64) throws -> Bool {
        let copy = ObjectName.copies + ObjectName.entry(number)
        return try store.get(ObjectName.entry(number)) == nil && store.get(copy) == nil
    }

    private struct NeededObjects {
        var names: Set<String> = []
        private var segments: Set<Manifest.Segment> = []
        /// True if a backup of the newest token was added. Later ones need nothing that this one does not need, except
        /// objects of that token, which are not deleted: each backup of a lease takes the others from the backup before
        /// it. A process that follows a database makes thousands of them.
        var hasNewestToken = false

        /// Reads each segment once: consecutive backups share most of them.
        mutating func add(_ manifest: Manifest, _ objects: ObjectAccess, _ step: () throws -> Void) throws {
            var maps: Set<PackName> = []
            var packs: Set<PackName> = []
            try objects.visitSegments(manifest, except: &segments) { segment, records in
                try step()
                maps.insert(segment.object)
                for record in records { packs.insert(record.pack) }
            }
            for map in maps { names.insert(map.mapName) }
            for pack in packs { names.insert(pack.packName) }
        }
    }

    private func deleteObjects(
        before token: UInt64, except needed: NeededObjects, _ step: () throws -> Void
    ) throws -> Int {
        var count = 0
        for prefix in [ObjectName.packs, ObjectName.maps] {
            for copies in [ObjectName.healing, ObjectName.copies, ""] {
                for name in Set(try store.list(copies + prefix)) {
                    let original = String(name.dropFirst(copies.count))
                    guard let own = ObjectName.number(name), own < token, !needed.names.contains(original) else {
                        continue
                    }
                    try step()
                    try store.delete(name)
                    count += 1
                }
            }
        }
        return count
    }
}
