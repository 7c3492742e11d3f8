// SPDX-License-Identifier: Apache-2.0
// The size of an open file and its free space, and the databases that are open in this process.

package import RegnumSystem

extension Database {
    /// The results of `body` for the databases that are open in this process: files first, then those in memory. Does
    /// not keep them open: a thread that deletes, compacts or opens one of them with other settings waits a moment for
    /// this one.
    package static func mapOpen<R>(_ body: (Database) -> R) -> [R] { DatabaseRegistry.shared.mapOpen(body) }

    package var identity: FileIdentity { file.identity }

    /// The length of the file and the part of it that is free, in bytes.
    package struct Space: Sendable, Equatable {
        package var total: Int
        /// Free pages and the room to grow at the end of the file. Pages that an older version still needs are not
        /// free. Nil if it cannot be read.
        package var free: Int?
    }

    /// The length and the free space of the newest version. Reads the record of free pages if another process has
    /// committed since this one did: O(free extents). Any thread.
    package func space() throws(EngineError) -> Space {
        let total: Int
        do throws(SystemError) { total = try file.byteCount() } catch { throw .system(error) }
        let session = try? makeSession()
        guard let session, let pages = freePages(in: session) else { return Space(total: total, free: nil) }
        let room = max(0, total - Int(session.highWater) << 12)
        return Space(total: total, free: pages << 12 + room)
    }

    private func freePages(in session: Session) -> Int? {
        if let known = counters.freePages(at: session.version) { return known }
        guard let space = try? RecordedSpace.load(session.current, reader) else { return nil }
        counters.noteFree(space.free.freePages, at: session.version)
        return space.free.freePages
    }
}
