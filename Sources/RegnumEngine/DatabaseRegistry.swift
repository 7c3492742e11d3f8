// SPDX-License-Identifier: Apache-2.0
// The databases that are open in this process. There is one `Database` per file, and no thread opens a file that
// another compacts or deletes. Threads that open different files do not wait for each other, however long one takes: a
// file may be compacted when it is opened, or another process may be compacting it.
//
// Guards: one mutex, held only to access the tables, never during file operations; and a lock per path and per file,
// which a thread of this process holds while it opens, compacts or deletes.

package import RegnumSystem
import Synchronization

/// See `Database.lettingGo`.
package final class LettingGo: Sendable {
    private let file: FileIdentity

    package init(file: FileIdentity) {
        self.file = file
        DatabaseRegistry.shared.letsGo(of: file)
    }

    deinit { DatabaseRegistry.shared.hasLetGo(of: file) }
}

/// The databases that are open in this process.
final class DatabaseRegistry: Sendable {
    static let shared = DatabaseRegistry()

    private struct Weak { weak var database: Database? }
    private enum Place: Hashable {
        case path(String)
        case file(FileIdentity)
    }
    private struct State {
        var files: [FileIdentity: Weak] = [:]
        var inMemory: [String: Weak] = [:]
        /// Paths and files that threads are opening, compacting or deleting. Of this process, not of the one it was
        /// forked from.
        var taken: Set<Place> = []
        var generation = ForkWatch.generation
    }
    private let state = Lock(State())
    private let generation = Atomic(ForkWatch.generation)
    /// Files that are about to be closed, each with the number of reasons: the background thread during a sync, and
    /// databases being deinitialized. Of this process, not of the one it was forked from.
    private let lettingGo = Lock((generation: ForkWatch.generation, counts: [FileIdentity: Int]()))

    /// The databases of the files that are open.
    var openFiles: [Database] { state.withLock { $0.files.values.compactMap(\.database) } }

    /// The results of `body` for the databases that are open: files first, then those in memory. Meanwhile they are
    /// marked as about to be closed: this thread may be the last one that holds them.
    func mapOpen<R>(_ body: (Database) -> R) -> [R] {
        // Held for longer than the databases.
        var lettingGo: [LettingGo] = []
        defer { withExtendedLifetime(lettingGo) {} }
        let open = state.withLock { state in
            let all = state.files.values.compactMap(\.database) + state.inMemory.values.compactMap(\.database)
            let open = all.filter { !$0.isForked }
            lettingGo = open.map { $0.lettingGo() }
            return open
        }
        return open.map(body)
    }

    /// `ForkWatch.generation` of the process that last opened a file here.
    var generationOfOpening: UInt { generation.load(ordering: .acquiring) }

    /// Marks the file as about to be closed, until `hasLetGo`.
    func letsGo(of file: FileIdentity) { changeLettingGo { $0[file, default: 0] += 1 } }

    func hasLetGo(of file: FileIdentity) {
        changeLettingGo { counts in counts[file] = counts[file].flatMap { $0 > 1 ? $0 - 1 : nil } }
    }

    private func changeLettingGo(_ body: (inout [FileIdentity: Int]) -> Void) {
        lettingGo.withLock { state in
            if state.generation != ForkWatch.generation { state = (ForkWatch.generation, [:]) }
            body(&state.counts)
        }
    }

    private func isLettingGo(of file: FileIdentity) -> Bool {
        var isBusy = false
        changeLettingGo { isBusy = $0[file] != nil }
        return isBusy
    }

    /// Waits at most one second while the file is about to be closed, because its last writes are being synced.
    private func waitForLettingGo(_ path: String, _ fileSystem: any FileSystem) {
        guard let file = try? Self.identity(path, fileSystem) else { return }
        let end = MonotonicClock.now() + 1_000_000_000
        while MonotonicClock.now() < end, isLettingGo(of: file) { CurrentThread.sleep(nanoseconds: 200_000) }
    }

    /// True if `find` returns an open database. Waits at most one second while that one is about to be closed: a thread
    /// may hold it for a moment to read its statistics.
    private func staysOpen(_ find: () -> Database?) -> Bool {
        let end = MonotonicClock.now() + 1_000_000_000
        var wasLettingGo = true
        while let file = find()?.file.identity {
            let isLettingGo = isLettingGo(of: file)
            // Twice: that thread may have been the only holder when the database was found, and be gone since.
            if !isLettingGo, !wasLettingGo { return true }
            if MonotonicClock.now() > end { return true }
            if isLettingGo { CurrentThread.sleep(nanoseconds: 200_000) }
            wasLettingGo = isLettingGo
        }
        return false
    }

    /// Runs `body` while no other thread holds the lock of `place`. Lock order: path before file; a thread that holds a
    /// file takes no other lock. Polls, first after 20 microseconds, later every millisecond; throws `.busy` at the
    /// deadline.
    private func alone<R>(
        at place: Place, until deadline: UInt64, _ body: () throws(EngineError) -> R
    ) throws(EngineError) -> R {
        var pause: UInt64 = 20_000
        while !take(place) {
            if MonotonicClock.now() > deadline {
                throw .busy(
                    "Another thread of this process is opening, compacting or deleting the file: try again later.")
            }
            CurrentThread.sleep(nanoseconds: pause)
            pause = min(pause * 2, 1_000_000)
        }
        defer { state.withLock { _ = $0.taken.remove(place) } }
        return try body()
    }

    private func take(_ place: Place) -> Bool {
        state.withLock { state in
            if state.generation != ForkWatch.generation {
                // Locks of threads of the parent, which will never release them here.
                state.taken = []
                state.generation = ForkWatch.generation
            }
            return state.taken.insert(place).inserted
        }
    }

    /// Returns this process's open database for the file.
    private func openDatabase(_ file: FileIdentity) -> Database? {
        guard let open = state.withLock({ $0.files[file]?.database }), !open.isForked else { return nil }
        return open
    }

    func open(
        path: String, fileSystem: any FileSystem, options: Database.OpenOptions
    ) throws(EngineError) -> Database {
        let deadline = options.openingDeadline
        while true {
            let opening = try Opening(path: path, fileSystem: fileSystem, options: options)
            let file = opening.file.identity
            _ = staysOpen { openDatabase(file).flatMap { isBetterClosed($0, for: options) ? $0 : nil } }
            if let open = openDatabase(file) { return try join(open, opening) }
            let opened = try alone(at: .path(opening.path), until: deadline) { () throws(EngineError) in
                try alone(at: .file(file), until: deadline) { () throws(EngineError) -> Database? in
                    if let open = openDatabase(file) { return try join(open, opening) }
                    guard let database = try opening.makeDatabase(until: deadline) else { return nil }
                    state.withLock { state in
                        state.files = state.files.filter { $0.value.database != nil }
                        state.files[file] = Weak(database: database)
                        generation.store(ForkWatch.generation, ordering: .releasing)
                    }
                    return database
                }
            }
            if let opened { return opened }
        }
    }

    /// True if a thread that opens the file should not join the database: it has other settings, or can no longer
    /// write.
    private func isBetterClosed(_ open: Database, for options: Database.OpenOptions) -> Bool {
        open.options.isReadOnly != options.isReadOnly || !open.fits(options.encryptionKey)
            || open.queue.monitor.withLock { open.queue.failure != nil }
    }

    private func join(_ open: Database, _ opening: Opening) throws(EngineError) -> Database {
        opening.file.close()
        guard open.fits(opening.options.encryptionKey) else {
            throw .encryption(path: opening.path, .otherKeyInUse)
        }
        return open
    }

    /// Calls `body` with the file at `path` if it is not open in this process or another; no thread or process opens it
    /// in the meantime. Returns nil if it is open, or if there is no file.
    func whileClosed<R>(
        path: String, fileSystem: any FileSystem, options: Database.OpenOptions,
        _ body: (Database) throws(EngineError) -> R
    ) throws(EngineError) -> R? {
        waitForLettingGo(path, fileSystem)
        let deadline = options.openingDeadline
        return try alone(at: .path(fileSystem.linked(path)), until: deadline) { () throws(EngineError) -> R? in
            while true {
                do throws(SystemError) {
                    if try fileSystem.status(path) == nil { return nil }
                } catch { throw EngineError.system(error) }
                let opening = try Opening(path: path, fileSystem: fileSystem, options: options)
                let file = opening.file.identity
                var isMoved = false
                let result = try alone(at: .file(file), until: deadline) { () throws(EngineError) -> R? in
                    if staysOpen({ openDatabase(file) }) {
                        opening.file.close()
                        return nil
                    }
                    return try opening.whileClosed(isMoved: &isMoved, until: deadline, body)
                }
                if !isMoved { return result }
            }
        }
    }

    func openedInMemory(_ identifier: String) -> Database? {
        state.withLock { $0.inMemory[identifier]?.database }
    }

    func whileUnused<R>(
        path: String, fileSystem: any FileSystem, _ body: (_ isThere: Bool) -> R
    ) throws(EngineError) -> R? {
        waitForLettingGo(path, fileSystem)
        let deadline = Database.OpenOptions().openingDeadline
        return try alone(at: .path(fileSystem.linked(path)), until: deadline) { () throws(EngineError) -> R? in
            while true {
                if let file = try Self.identity(path, fileSystem), staysOpen({ openDatabase(file) }) { return nil }
                guard let (file, canLock) = try Self.openIfThere(path, fileSystem) else { return body(false) }
                defer { file.close() }
                var isMoved = false
                let result = try alone(at: .file(file.identity), until: deadline) { () throws(EngineError) -> R? in
                    if staysOpen({ openDatabase(file.identity) }) { return nil }
                    let shared = LockFile(path: path, fileSystem: fileSystem, database: file)
                    func look() throws(EngineError) -> Bool {
                        // A compacted copy may have been renamed to the path in the meantime.
                        isMoved = try Self.identity(path, fileSystem) != file.identity
                        if isMoved { return false }
                        return try !shared.hasOthers()
                    }
                    if canLock {
                        return try shared.whileOpening(until: deadline) {
                            () throws(EngineError) -> R? in
                            try look() ? body(true) : nil
                        }
                    }
                    return try look() ? body(true) : nil
                }
                if !isMoved { return result }
            }
        }
    }

    private static func identity(_ path: String, _ fileSystem: any FileSystem) throws(EngineError) -> FileIdentity? {
        do { return try fileSystem.status(path)?.identity } catch { throw .system(error) }
    }

    /// Returns nil if there is no file at the path. Without write permission the file's bytes cannot be locked, but
    /// locks of others can be seen.
    private static func openIfThere(
        _ path: String, _ fileSystem: any FileSystem
    ) throws(EngineError) -> (file: any File, canLock: Bool)? {
        do throws(SystemError) {
            return (try fileSystem.open(path, .readWrite), true)
        } catch {
            if error.kind == .notFound || error.kind == .notDirectory { return nil }
            if error.kind != .permissionDenied { throw .system(error) }
        }
        do throws(SystemError) {
            return (try fileSystem.open(path, .readOnly), false)
        } catch {
            if error.kind == .notFound { return nil }
            throw .system(error)
        }
    }

    func openInMemory(_ identifier: String) throws(EngineError) -> Database {
        // Its data ends with the last user, who may be gone.
        _ = staysOpen { openedInMemory(identifier) }
        return try state.withLock { state throws(EngineError) in
            if let open = state.inMemory[identifier]?.database, !open.isForked { return open }
            var options = Database.OpenOptions()
            options.isVolatile = true
            let opening = try Opening(path: identifier, fileSystem: MemoryFileSystem(), options: options)
            guard let database = try opening.makeDatabase() else { fatalError("a file in memory that has moved") }
            state.inMemory = state.inMemory.filter { $0.value.database != nil }
            state.inMemory[identifier] = Weak(database: database)
            return database
        }
    }
}
