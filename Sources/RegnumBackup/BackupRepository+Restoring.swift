// SPDX-License-Identifier: Apache-2.0
// Restores a backup to a new file. The file has its name only when it is complete, on stable storage, and compared with
// the hashes of its blocks. Its head is written after that comparison, and without it the file does not open.

public import Foundation
internal import RegnumEngine
package import RegnumSystem

extension BackupRepository {
    /// The backup to restore.
    public enum Point: Sendable, Equatable {
        case newest
        /// The newest one of that time or before: the greatest `date`, which is when the backup began. If two have the
        /// same date, the later one.
        case date(Date)
        /// The newest one of that version of the database.
        case version(UInt64)
        /// The one with that number in the repository.
        case number(UInt64)
    }

    /// What a restore would do.
    public struct RestorePlan: Sendable, Equatable {
        public let backup: Backup
        /// The objects to fetch, not counting those of the page map.
        public let packCount: Int
        /// The bytes of the blocks to fetch. The rest of the file is free space.
        public let byteCount: Int
    }

    /// Finds the backup to restore, and what would be fetched. Reads its page map only.
    public func plan(_ point: Point) throws -> RestorePlan {
        let (entry, manifest) = try find(point)
        let records = try objects.map(manifest).records
        return RestorePlan(
            backup: Backup(entry, manifest), packCount: Set(records.map(\.pack)).count,
            byteCount: records.reduce(0) { $0 + $1.byteCount })
    }

    /// Restores a backup to a new file at `fileURL`. An encrypted one needs no key for that, only for being opened.
    ///
    /// Throws `BackupError`: `.fileExists` if something exists at `fileURL`, `.noSuchBackup`, `.damaged`. After an
    /// error, or if the process ends, there is no file at `fileURL`. `progress` is called with the bytes fetched and
    /// the bytes to fetch; an error that it throws cancels the restore and is rethrown.
    @discardableResult
    public func restore(
        _ point: Point, to fileURL: URL, progress: (Int, Int) throws -> Void = { _, _ in }
    ) throws -> Backup {
        try restore(point, to: fileURL.standardizedFileURL.path, in: PosixFileSystem.shared, progress: progress)
    }

    @discardableResult
    package func restore(
        _ point: Point, to path: String, in fileSystem: any FileSystem,
        progress: (Int, Int) throws -> Void = { _, _ in }
    ) throws -> Backup {
        let (entry, manifest) = try find(point)
        try restore(manifest, to: path, in: fileSystem, progress)
        return Backup(entry, manifest)
    }

    func restore(
        _ manifest: Manifest, to path: String, in fileSystem: any FileSystem, _ progress: (Int, Int) throws -> Void
    ) throws {
        do {
            if try fileSystem.status(path) != nil { throw EngineError.fileExists(path: path) }
            let map = try objects.map(manifest)
            try TemporaryFile.publish(at: path, permissions: 0o600, in: fileSystem) { file in
                try fill(file, manifest, map, progress)
            }
        } catch { throw BackupError.converting(error, path: path) }
    }

    private func fill(
        _ file: any File, _ manifest: Manifest, _ map: PageMap, _ progress: (Int, Int) throws -> Void
    ) throws {
        let byteCount = Int(manifest.pageCount) << 12
        let records = map.records
        let wanted = records.reduce(0) { $0 + $1.byteCount }
        guard records.allSatisfy({ $0.end <= manifest.pageCount }) else {
            throw BackupError.damaged("a block lies outside the file")
        }
        try file.allocate(byteCount)
        let reserved = FormatLimits.reservedPages << 12
        try write(manifest.parts.filter { $0.offset >= reserved }, to: file)
        var done = 0
        for (pack, records) in Self.byPack(records) {
            try objects.read(records, in: pack, lost: { throw Self.lost($0) }) { record, bytes in
                try file.write(bytes, at: Int(record.page) << 12)
                done += record.byteCount
                try progress(done, wanted)
            }
        }
        try file.sync(.data)
        for record in records {
            var bytes = [UInt8](repeating: 0, count: record.byteCount)
            let count = try bytes.withUnsafeMutableBytes { try file.read($0, at: Int(record.page) << 12) }
            guard count == record.byteCount, hasher.digest(bytes) == record.digest else {
                throw BackupError(.storage, "The restored file does not have the bytes that were written to it.")
            }
        }
        try write(manifest.parts.filter { $0.offset < reserved }, to: file)
    }

    private func write(_ parts: [Manifest.Part], to file: any File) throws {
        for part in parts { try part.bytes.withUnsafeBytes { try file.write($0, at: Int(part.offset)) } }
    }

    static func lost(_ record: BlockRecord) -> BackupError {
        .damaged("the block at page \(record.page) is missing or damaged in '\(record.pack.packName)'")
    }

    /// The blocks of each pack, ordered by name and offset.
    static func byPack(_ records: some Sequence<BlockRecord>) -> [(PackName, [BlockRecord])] {
        Dictionary(grouping: records, by: \.pack)
            .map { ($0.key, $0.value.sorted { $0.offset < $1.offset }) }
            .sorted { ($0.0.token, $0.0.digest.high) < ($1.0.token, $1.0.digest.high) }
    }

    // MARK: Finding

    func find(_ point: Point) throws -> (LogEntry, Manifest) {
        let state = try log.read()
        let entries = state.backups
        let found: LogEntry?
        switch point {
        case .newest: found = entries.last
        case .date(let date):
            let time = Int64(clamping: (date.timeIntervalSince1970 * 1e6).rounded())
            // The times descend where a clock was set back.
            found = entries.filter { state.time($0) <= time }
                .max { (state.time($0), $0.number) < (state.time($1), $1.number) }
        case .version(let version):
            found = entries.last { state.summaries[$0.number]?.version == version }
        case .number(let number): found = entries.last { $0.number == number }
        }
        guard let found else { throw Self.noSuchBackup(point, state) }
        let entry = try full(found.number)
        return (entry, try Manifest(entry.payload))
    }

    /// Returns the entry of a backup with its payload. Throws `.damaged`.
    func full(_ number: UInt64) throws -> LogEntry {
        guard let entry = try log.entry(number) else {
            throw BackupError.damaged("the manifest of backup \(number) cannot be read")
        }
        return entry
    }

    private static func noSuchBackup(_ point: Point, _ state: BackupLog.State) -> BackupError {
        guard let oldest = state.backups.map({ state.time($0) }).min() else {
            return BackupError(.noSuchBackup, "The repository has no backups.")
        }
        switch point {
        case .version(let version):
            let versions = state.backups.compactMap { state.summaries[$0.number]?.version }
            let below = versions.last { $0 < version }.map { "\($0)" } ?? "none"
            let above = versions.first { $0 > version }.map { "\($0)" } ?? "none"
            return BackupError(
                .noSuchBackup,
                "The repository has no backup of version \(version): the next older one is \(below), "
                    + "the next newer one \(above).")
        case .number(let number):
            return BackupError(.noSuchBackup, "The repository has no backup with the number \(number).")
        case .date, .newest:
            let date = Date(timeIntervalSince1970: Double(oldest) / 1e6)
            return BackupError(.noSuchBackup, "The oldest backup was made later, at \(date.formatted(.iso8601)).")
        }
    }
}

extension Int64 {
    /// The nearest number; 0 for a value that is none.
    init(clamping value: Double) {
        if value.isNaN { self = 0; return }
        self = value >= 9.2e18 ? .max : value <= -9.2e18 ? .min : Int64(value)
    }
}
