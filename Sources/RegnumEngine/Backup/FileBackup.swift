// SPDX-License-Identifier: Apache-2.0
// Online backup: writes the newest version of a database, which others may be writing, as a file of its own. The file
// has its name only when it is complete, on stable storage and compared with the tags of its blocks.

package import RegnumSystem

package enum FileBackup {
    /// How much of a backup has been done.
    package struct Progress: Sendable, Equatable {
        package var copiedByteCount: Int
        /// The bytes of all blocks.
        package var byteCount: Int
        package init(copiedByteCount: Int, byteCount: Int) {
            self.copiedByteCount = copiedByteCount
            self.byteCount = byteCount
        }
    }

    /// Copies the newest version to a new file at `path`, encrypted with the same key if the database is encrypted.
    /// Throws `.fileExists` if something is at the path. Reads at most `rate` bytes per second, of the database and then
    /// of the copy, to compare it. `progress` is called after each block that was copied or compared, and while it waits
    /// at least ten times per second; an error that it throws ends the backup and is thrown. Writers are never made to
    /// wait. Returns the number of the version.
    @discardableResult
    package static func write(
        _ database: Database, to path: String, in fileSystem: any FileSystem, rate: Int? = nil,
        progress: (Progress) throws -> Void = { _ in }
    ) throws -> UInt64 {
        if try fileSystem.status(path) != nil { throw EngineError.fileExists(path: path) }
        let image = try VersionImage(newestOf: database)
        do {
            // Only for its owner until it has the owner and the permissions of the source.
            try TemporaryFile.publish(at: path, permissions: 0o600, in: fileSystem) { file in
                file.takeAccess(of: database.file, asReplacement: false)
                try fill(file, image, rate, progress)
            }
        } catch let error as SystemError {
            throw EngineError.system(error)
        }
        return image.version
    }

    private static func fill(
        _ file: any File, _ image: VersionImage, _ rate: Int?, _ progress: (Progress) throws -> Void
    ) throws {
        let unused = try image.unusedPages()
        var state = Progress(copiedByteCount: 0, byteCount: unused.usedPageCount << 12)
        var pace = BackupPace(rate)
        var blocks: [BlockRef] = []
        try file.allocate(Int(unused.highWater) << 12)
        try image.visit(isKnown: { _ in false }) { ref in
            try file.write(try image.bytes(ref), at: Int(ref.page) << 12)
            blocks.append(ref)
            state.copiedByteCount += ref.byteCount
            state.byteCount = max(state.byteCount, state.copiedByteCount)
            try progress(state)
            try pace.wait(after: ref.byteCount) { try progress(state) }
        }
        let used = blocks.map { Extent(page: $0.page, pageCount: $0.pageCount) }.sorted { $0.page < $1.page }
        let ending = try image.makeEnding(used: used)
        try file.allocate(Int(ending.highWater) << 12)
        for block in ending.blocks {
            try block.bytes.withUnsafeBytes { try file.write($0, at: Int(block.ref.page) << 12) }
        }
        // The head comes last: without it the file does not open.
        try file.sync(.data)
        try verify(file, blocks + ending.blocks.map(\.ref), image) { byteCount in
            try progress(state)
            try pace.wait(after: byteCount) { try progress(state) }
        }
        for part in ending.head { try part.bytes.withUnsafeBytes { try file.write($0, at: part.offset) } }
    }

    /// Reads the copy and compares each block with its tag. Calls `step` with the bytes of each.
    private static func verify(
        _ file: any File, _ blocks: [BlockRef], _ image: VersionImage, step: (Int) throws -> Void
    ) throws {
        let longest = blocks.reduce(0) { max($0, $1.byteCount) }
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: longest, alignment: 4096)
        defer { buffer.deallocate() }
        for ref in blocks {
            let part = UnsafeMutableRawBufferPointer(rebasing: buffer[..<ref.byteCount])
            let count = try file.read(part, at: Int(ref.page) << 12)
            try image.check(UnsafeRawBufferPointer(rebasing: part[..<count]), ref)
            try step(ref.byteCount)
        }
    }
}

/// Limits the rate of a backup. Sleeps are short, so that a cancellation takes effect soon.
package struct BackupPace {
    private static let longestSleep: UInt64 = 50_000_000

    private let rate: Int?
    private let start = MonotonicClock.now()
    private var byteCount = 0

    /// `rate`: bytes per second, more than 0; nil: no limit.
    package init(_ rate: Int?) {
        precondition(rate ?? 1 > 0, "a rate of \(rate ?? 0) bytes per second")
        self.rate = rate
    }

    /// Waits until the bytes copied so far, with `count` more, are due. `check` is called between sleeps, and may
    /// throw.
    package mutating func wait(after count: Int, check: () throws -> Void) throws {
        guard let rate else { return }
        byteCount += count
        let due = start &+ UInt64(Double(byteCount) / Double(rate) * 1e9)
        while true {
            let now = MonotonicClock.now()
            if now >= due { return }
            CurrentThread.sleep(nanoseconds: min(due - now, Self.longestSleep))
            try check()
        }
    }
}
