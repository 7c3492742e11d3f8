// SPDX-License-Identifier: Apache-2.0
// A file replaced by its copy without free space, while nobody has it open: who opens it meanwhile waits, finds
// that the path leads to another file, and opens that one. Until the copy is renamed the old file is the file.

package import RegnumSystem

extension Session {
    /// Writes what the session sees, changes not yet committed too, into a new file at `path`, encrypted
    /// where there is a key. Throws `.fileExists` where there is something. Inside a write it takes the time of a commit without the sync besides.
    package func writeCopy(
        to path: String, in fileSystem: any FileSystem, key: EncryptionKey? = nil, replacing: Bool = false
    ) throws(EngineError) {
        try FileCopy.write(self, to: path, in: fileSystem, key: key, replacing: replacing)
    }
}

extension Database {
    /// How long a file is and how much of that its newest version needs, in bytes.
    package struct FileSizes: Sendable, Equatable {
        package var total: Int
        package var used: Int
    }

    /// The sizes of the file at `path`; nil where there is none, or where it is open in this or another process.
    package static func measure(
        path: String, fileSystem: any FileSystem, options: OpenOptions = OpenOptions()
    ) throws(EngineError) -> FileSizes? {
        try DatabaseRegistry.shared.whileClosed(path: path, fileSystem: fileSystem, options: options) {
            database throws(EngineError) in try database.fileSizes()
        }
    }

    /// Replaces the file at `path` by a copy without free space. False where there is none, or where it is open in
    /// this or another process: nothing is done then. After an error the file is what it was, or, where its folder could
    /// not be synced at last, the copy with the same content.
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
        let space = try loadRecordedSpace()
        let unused = space.free.freePages + space.free.pending.reduce(0) { $0 + $1.extent.pageCount }
        let pages = Int(versions.newest.highWater) - Int(FormatLimits.reservedPages) - unused
        do { return FileSizes(total: try file.byteCount(), used: pages << 12) } catch { throw .system(error) }
    }
}

extension Opening {
    /// Calls `body` with the file if nobody has it open, and while nobody opens it. Nil where that is not so, or
    /// where the file has nothing in it yet; `isMoved` where the path has come to lead to another file.
    func whileClosed<R>(
        isMoved: inout Bool, until deadline: UInt64, _ body: (Database) throws(EngineError) -> R
    ) throws(EngineError) -> R? {
        defer { file.close() }
        let shared = SharedFile(path: path, fileSystem: fileSystem, database: file)
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
