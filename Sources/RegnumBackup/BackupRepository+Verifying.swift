// SPDX-License-Identifier: Apache-2.0
// Proves that every backup can be restored, without writing it, and heals what another copy has: manifests and page
// maps from their second copies, blocks from another repository or a file of the same database.

public import Foundation
package import RegnumEngine
package import RegnumSystem

extension BackupRepository {
    /// A damaged or missing object.
    public struct Finding: Sendable, Equatable, CustomStringConvertible {
        /// The name of the object in the store.
        public let object: String
        /// What is wrong with it.
        public let problem: String
        /// The numbers of the backups that cannot be restored because of it; empty if there is a good copy.
        public internal(set) var lostBackups: [UInt64]
        /// True if it was replaced by a good one.
        public internal(set) var isHealed = false

        public var description: String {
            let backups = lostBackups.map { "\($0)" }.joined(separator: ", ")
            let effect =
                isHealed ? "healed" : lostBackups.isEmpty ? "its copy is intact" : "needed by backup \(backups)"
            return "\(object): \(problem); \(effect)"
        }
    }

    /// The result of `verify`.
    public struct Verification: Sendable, Equatable {
        public internal(set) var backupCount = 0
        public internal(set) var blockCount = 0
        /// Bytes of the blocks that were compared with their hashes.
        public internal(set) var byteCount = 0
        public internal(set) var findings: [Finding] = []
        /// True if every backup can be restored.
        public var isRestorable: Bool { findings.allSatisfy { $0.isHealed || $0.lostBackups.isEmpty } }
    }

    /// Compares everything that the backups need with its hash, each block once. Needs no key. Other processes may make
    /// and prune backups in the meantime; those that are deleted have no findings.
    ///
    /// With `healing`, replaces damaged objects: manifests and page maps by their second copies, blocks by those of
    /// `others`, repositories of the same database, and of `files`: the database file, which often still has them, or
    /// restored ones. Needs no key for them. `progress` is called with the bytes compared so far; an error that it
    /// throws ends the verification and is rethrown. Throws errors of the store, and `.storage` if a file cannot be
    /// opened. Reads all packs. Needs some 300 bytes of memory for each different block of all backups.
    public func verify(
        healing: Bool = false, from others: [BackupRepository] = [], files: [URL] = [],
        progress: (Int) throws -> Void = { _ in }
    ) throws -> Verification {
        try verify(
            healing: healing, from: others, paths: files.map(\.path), in: PosixFileSystem.shared, progress: progress)
    }

    package func verify(
        healing: Bool, from others: [BackupRepository] = [], paths: [String], in fileSystem: any FileSystem,
        progress: (Int) throws -> Void = { _ in }
    ) throws -> Verification {
        var result = Verification()
        let state = try log.read()
        try check(ObjectName.repository, record, healing, &result)
        for number in state.damaged + state.lost {
            result.findings.append(
                Finding(object: ObjectName.entry(number), problem: "damaged", lostBackups: [number]))
        }
        var readable: [UInt64] = []
        var segments: Set<Manifest.Segment> = []
        var records: Set<BlockRecord> = []
        var checkedMaps: Set<PackName> = []
        let numbers = state.backups.map(\.number)
        for number in numbers {
            if try isPruned(number) { continue }
            result.backupCount += 1
            let name = ObjectName.entry(number)
            do {
                let entry = try full(number)
                guard try check(entry, healing, &result) else {
                    result.backupCount -= 1
                    continue
                }
                let manifest = try Manifest(entry.payload)
                for object in Set(manifest.segments.compactMap { $0?.object })
                where checkedMaps.insert(object).inserted {
                    try check(object, healing, &result)
                }
                try objects.visitSegments(manifest, except: &segments) { _, blocks in records.formUnion(blocks) }
                readable.append(number)
            } catch let error as BackupError where error.code == .damaged {
                result.findings.append(Finding(object: name, problem: error.message, lostBackups: [number]))
            }
        }
        let lost = try checkBlocks(records, &result, progress)
        if !lost.isEmpty {
            let found = healing ? try find(lost, in: others, paths, fileSystem) : [:]
            try report(lost, readable, found, records, &result)
        }
        if !result.findings.isEmpty { try forgetPruned(numbers, &result) }
        return result
    }

    // MARK: Backups that are pruned in the meantime

    /// True if a prune has deleted the backup.
    private func isPruned(_ number: UInt64) throws -> Bool {
        let name = ObjectName.entry(number)
        return try store.byteCount(of: name) == nil && store.byteCount(of: ObjectName.copies + name) == nil
    }

    /// Checks the entry of a backup. Returns false if a prune has deleted it.
    private func check(_ entry: LogEntry, _ healing: Bool, _ result: inout Verification) throws -> Bool {
        let name = ObjectName.entry(entry.number)
        let count = result.findings.count
        try check(name, entry.bytes(hasher), healing, &result)
        guard result.findings[count...].contains(where: \.isHealed) else { return true }
        // A copy that was put after a prune had deleted the other one would make the backup exist again. A prune that
        // deletes the other one later deletes this one too.
        for (healed, other) in [(name, ObjectName.copies + name), (ObjectName.copies + name, name)]
        where result.findings[count...].contains(where: { $0.object == healed }) {
            if try store.byteCount(of: other) != nil { continue }
            try store.delete(healed)
            result.findings.removeSubrange(count...)
            return false
        }
        return true
    }

    /// Removes the findings that concern only backups that were deleted since.
    private func forgetPruned(_ numbers: [UInt64], _ result: inout Verification) throws {
        var pruned: Set<UInt64> = []
        var needed: Set<String> = []
        for number in numbers {
            if try isPruned(number) {
                pruned.insert(number)
            } else if let entry = try log.entry(number), let manifest = try? Manifest(entry.payload) {
                for segment in manifest.segments { if let segment { needed.insert(segment.object.mapName) } }
            }
        }
        if pruned.isEmpty { return }
        result.backupCount = numbers.count - pruned.count
        result.findings = result.findings.compactMap { (finding: Finding) -> Finding? in
            var finding = finding
            let isCopy = finding.object.hasPrefix(ObjectName.copies)
            let name = isCopy ? String(finding.object.dropFirst(ObjectName.copies.count)) : finding.object
            if name.hasPrefix(ObjectName.log), let number = ObjectName.number(name), pruned.contains(number) {
                return nil
            }
            if name.hasPrefix(ObjectName.maps), !needed.contains(name) { return nil }
            let wasLost = !finding.lostBackups.isEmpty
            finding.lostBackups.removeAll { pruned.contains($0) }
            return wasLost && finding.lostBackups.isEmpty ? nil : finding
        }
    }

    // MARK: Objects with a copy

    /// Compares an object and its copy with its bytes, and replaces those that differ if `healing`.
    private func check(_ name: String, _ bytes: [UInt8], _ healing: Bool, _ result: inout Verification) throws {
        let pairs = try [name, ObjectName.copies + name].map { ($0, try store.get($0)) }
        // A prune has deleted both.
        if pairs.allSatisfy({ $0.1 == nil }) { return }
        for (name, found) in pairs where found != bytes {
            var finding = Finding(object: name, problem: found == nil ? "missing" : "damaged", lostBackups: [])
            if healing { finding.isHealed = try replace(name, bytes) }
            result.findings.append(finding)
        }
    }

    /// Checks an object with segments of page maps, from whichever of its copies is good.
    private func check(_ object: PackName, _ healing: Bool, _ result: inout Verification) throws {
        let name = object.mapName
        for candidate in [name, ObjectName.copies + name] {
            if let bytes = try store.get(candidate), hasher.digest(bytes) == object.digest {
                return try check(name, bytes, healing, &result)
            }
        }
        // Its segments may still be good one by one.
        result.findings.append(Finding(object: name, problem: "damaged, and so is its copy", lostBackups: []))
    }

    /// Puts a good object in place of a bad one. While this runs, the other copy is good.
    private func replace(_ name: String, _ bytes: [UInt8]) throws -> Bool {
        try store.delete(name)
        return try store.putIfAbsent(name, bytes)
    }

    // MARK: Blocks

    /// Returns the blocks that cannot be read.
    private func checkBlocks(
        _ records: Set<BlockRecord>, _ result: inout Verification, _ progress: (Int) throws -> Void
    ) throws -> [BlockRecord] {
        var lost: [BlockRecord] = []
        for (pack, records) in Self.byPack(records) {
            try objects.read(records, in: pack, lost: { lost.append($0) }) { record, _ in
                result.blockCount += 1
                result.byteCount += record.byteCount
                try progress(result.byteCount)
            }
        }
        return lost
    }

    /// Adds findings for the lost blocks, after healing those that were found elsewhere. `all`: the blocks of all
    /// backups.
    private func report(
        _ lost: [BlockRecord], _ readable: [UInt64], _ found: [BlockRecord: [UInt8]], _ all: Set<BlockRecord>,
        _ result: inout Verification
    ) throws {
        let needing = backups(readable, needing: Set(lost))
        for (pack, records) in Self.byPack(lost) {
            let isPut =
                try records.contains { found[$0] != nil } && heal(pack, all.filter { $0.pack == pack }, found)
            for record in records {
                let isHealed = isPut && found[record] != nil
                // Otherwise only backups need it whose page maps are lost.
                guard let numbers = needing[record] else { continue }
                result.findings.append(
                    Finding(
                        object: pack.packName, problem: "the block at page \(record.page) is missing or damaged",
                        lostBackups: numbers, isHealed: isHealed))
            }
        }
    }

    /// The numbers of the backups that need each of some blocks. Reads one page map after another: all of them may not
    /// fit in memory.
    private func backups(_ numbers: [UInt64], needing lost: Set<BlockRecord>) -> [BlockRecord: [UInt64]] {
        var found: [BlockRecord: [UInt64]] = [:]
        for number in numbers {
            guard let entry = try? full(number), let manifest = try? Manifest(entry.payload),
                let map = try? objects.map(manifest)
            else { continue }
            for record in map.segments.joined() where lost.contains(record) {
                found[record, default: []].append(number)
            }
        }
        return found
    }

    /// Finds blocks in database files and in other repositories, and compares them with the digests of this one.
    private func find(
        _ wanted: [BlockRecord], in others: [BackupRepository], _ paths: [String], _ fileSystem: any FileSystem
    ) throws -> [BlockRecord: [UInt8]] {
        var found: [BlockRecord: [UInt8]] = [:]
        for path in paths {
            do {
                let file = try fileSystem.open(path, .readOnly)
                defer { file.close() }
                for record in wanted where found[record] == nil {
                    found[record] = try read(record, of: file)
                }
            } catch { throw BackupError.converting(error, path: path) }
        }
        try find(wanted, in: others, &found)
        return found
    }

    /// Returns the bytes of a block at its place in a file; nil if the file has other ones there. The file may be
    /// written at the same time.
    private func read(_ record: BlockRecord, of file: any File) throws -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: record.byteCount)
        let count = try bytes.withUnsafeMutableBytes { try file.read($0, at: Int(record.page) << 12) }
        return count == bytes.count && hasher.digest(bytes) == record.digest ? bytes : nil
    }

    /// Finds blocks in other repositories of the same database, by location, birth and tag.
    private func find(
        _ wanted: [BlockRecord], in others: [BackupRepository], _ found: inout [BlockRecord: [UInt8]]
    ) throws {
        for other in others {
            for entry in try other.log.read().backups.reversed() {
                let missing = wanted.filter { found[$0] == nil }
                if missing.isEmpty { return }
                guard let entry = try? other.full(entry.number), let manifest = try? Manifest(entry.payload),
                    let map = try? other.objects.map(manifest)
                else { continue }
                for record in missing {
                    guard let there = map.record(at: record.page), there.isNamed(by: record.ref) else { continue }
                    try other.objects.read([there], in: there.pack, lost: { _ in }) { _, bytes in
                        if hasher.digest(bytes) == record.digest { found[record] = [UInt8](bytes) }
                    }
                }
            }
        }
    }

    /// Puts a second copy of a pack with all its blocks that are good in the pack or in an earlier copy, or that were
    /// found elsewhere. If the process ends meanwhile, a third copy has the blocks that were healed before.
    private func heal(
        _ pack: PackName, _ records: some Collection<BlockRecord>, _ found: [BlockRecord: [UInt8]]
    ) throws -> Bool {
        let names = ["", ObjectName.copies, ObjectName.healing].map { $0 + pack.packName }
        let sources = try names.map { try store.get($0) ?? [] }
        var bytes = [UInt8](repeating: 0, count: Int(pack.byteCount))
        for record in records {
            let good = sources.lazy.compactMap { record.bytes(in: $0) }.first { hasher.digest($0) == record.digest }
            if let good = good ?? found[record] { bytes.replaceSubrange(record.range, with: good) }
        }
        // Unless an interrupted call has left one.
        _ = try store.putIfAbsent(names[2], bytes)
        guard try replace(names[1], bytes) else { return false }
        try store.delete(names[2])
        return true
    }

    // MARK: Opening

    /// Restores a backup to a file in `folder`, opens it and runs the integrity check. Removes the file, and those that
    /// killed processes have left there for more than a day. Returns the findings of the check; none if the backup is
    /// good. Throws `BackupError`: `.noSuchBackup` if it was deleted.
    public func check(_ backup: Backup, encryptionKey: Data? = nil, in folder: URL) throws -> [String] {
        Self.removeLeftovers(in: folder)
        let path = folder.appendingPathComponent(
            "\(Self.checkedName)\(backup.number)-\(UInt32.random(in: 0 ... .max))"
        ).path
        return try check(backup, key: try engineKey(encryptionKey, path), path: path, in: PosixFileSystem.shared)
    }

    private static let checkedName = "regnum-check-"
    private static let longestCheck: TimeInterval = 86_400

    /// Removes the restored files that killed processes have left for more than a day.
    private static func removeLeftovers(in folder: URL) {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        for name in names where name.hasPrefix(checkedName) {
            let path = folder.appendingPathComponent(name).path
            let date = (try? FileManager.default.attributesOfItem(atPath: path))?[.modificationDate] as? Date
            if let date, date.timeIntervalSinceNow < -longestCheck { try? PosixFileSystem.shared.remove(path) }
        }
    }

    private func engineKey(_ key: Data?, _ path: String) throws -> EncryptionKey? {
        do throws(EngineError) { return try Self.engineKey(key, path) } catch {
            throw BackupError(error, database: path)
        }
    }

    private static func deleted(_ backup: Backup) -> BackupError {
        BackupError(.noSuchBackup, "The backup \(backup.number) was deleted.")
    }

    package func check(
        _ backup: Backup, key: EncryptionKey?, path: String, in fileSystem: any FileSystem
    ) throws -> [String] {
        if try isPruned(backup.number) { throw Self.deleted(backup) }
        let entry = try full(backup.number)
        do { try restore(try Manifest(entry.payload), to: path, in: fileSystem) { _, _ in } } catch {
            if try isPruned(backup.number) { throw Self.deleted(backup) }
            throw error
        }
        defer { try? fileSystem.remove(path) }
        do throws(EngineError) {
            let database = try Database.openToRead(path: path, fileSystem: fileSystem, encryptionKey: key)
            return IntegrityCheck.run(database).findings.map(\.description)
        } catch {
            if case .corrupted = error { return ["\(error)"] }
            throw BackupError(error, database: path)
        }
    }
}
