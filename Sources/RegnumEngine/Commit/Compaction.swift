// SPDX-License-Identifier: Apache-2.0
// Replaces a file with a copy without free space while no process has it open. A process that opens it in the meantime
// waits, finds that the path leads to another file, and opens that one. Until the copy is renamed, the old file is the
// database.

package import RegnumSystem

extension Session {
    /// Writes the state that the session sees, including uncommitted changes, to a new file at `path`, encrypted if
    /// there is a key. Throws `.fileExists` if the path is taken, unless `replacing`. Inside a write transaction it
    /// also takes the time of a commit without its sync.
    package func writeCopy(
        to path: String, in fileSystem: any FileSystem, key: EncryptionKey? = nil, replacing: Bool = false
    ) throws(EngineError) {
        try FileCopy.write(self, to: path, in: fileSystem, key: key, replacing: replacing)
    }
}

extension Database {
    /// The length of a file and how much of it its newest version and its older versions need, in bytes. A compaction
    /// frees the pages of the older versions too, but drops those versions: they are no reason for it.
    package struct FileSizes: Sendable, Equatable {
        package var total: Int
        package var used: Int
    }

    /// Returns the sizes of the file at `path`, or nil if there is none or it is open in this or another process.
    package static func measure(
        path: String, fileSystem: any FileSystem, options: OpenOptions = OpenOptions()
    ) throws(EngineError) -> FileSizes? {
        try DatabaseRegistry.shared.whileClosed(path: path, fileSystem: fileSystem, options: options) {
            database throws(EngineError) in try database.fileSizes()
        }
    }

    /// Replaces the file at `path` with a copy without free space. Returns false, and does nothing, if there is none or
    /// it is open in this or another process. After an error the file is unchanged, or, if only the final sync of its
    /// folder failed, the copy with the same content.
    package static func compact(
        path: String, fileSystem: any FileSystem, options: OpenOptions = OpenOptions()
    ) throws(EngineError) -> Bool {
        try DatabaseRegistry.shared.whileClosed(path: path, fileSystem: fileSystem, options: options) {
            database throws(EngineError) in
            try FileCopy.write(
                try database.makeSession(), to: database.path, in: fileSystem, key: options.encryptionKey,
                replacing: true)
        } != nil
    }

    private func fileSizes() throws(EngineError) -> FileSizes {
        let space = try spaceManager.load()
        let unused = space.free.freePages + space.free.pending.reduce(0) { $0 + $1.extent.pageCount }
        let pages = Int(versions.newest.highWater) - Int(FormatLimits.reservedPages) - unused
        do { return FileSizes(total: try file.byteCount(), used: pages << 12) } catch { throw .system(error) }
    }
}

extension Opening {
    /// Calls `body` with the file if no other thread or process has it open; none can open it in the meantime.
    /// Returns nil if it is open or still empty, or if the path refers to another file by now; the last case sets
    /// `isMoved`.
    func whileClosed<R>(
        isMoved: inout Bool, until deadline: UInt64, _ body: (Database) throws(EngineError) -> R
    ) throws(EngineError) -> R? {
        defer { file.close() }
        let shared = LockFile(path: path, fileSystem: fileSystem, database: file)
        return try shared.whileOpening(until: deadline) { () throws(EngineError) -> R? in
            guard try isAtPath() else {
                isMoved = true
                return nil
            }
            if try isNew() { return nil }
            if try shared.hasOthers() { return nil }
            let database = try recover(nil)
            defer { withExtendedLifetime(database) {} }
            return try body(database)
        }
    }
}
