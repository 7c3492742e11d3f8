// SPDX-License-Identifier: Apache-2.0
// Where the observed Realms of this process hear of each other's commits, and of those of other processes: a thread
// for each observed file waits until another process has written to the file that they share.

internal import Foundation
internal import RegnumEngine
internal import RegnumSystem

/// Mutable state: `places`, guarded by its mutex, which is never held while a notifier runs.
enum CommitBoard {
    private struct WeakNotifier: Sendable { weak var notifier: RealmNotifier? }
    private struct Place: Sendable {
        var notifiers: [WeakNotifier] = []
        var watch: FileWatch?
    }

    private static let places = Lock<[ObjectIdentifier: Place]>([:])
    /// How long a commit of another process may go unnoticed where the system does not tell.
    private static let longestWait: Int32 = 1000

    static func add(_ notifier: RealmNotifier, _ database: Database) {
        let entry = WeakNotifier(notifier: notifier)
        let key = ObjectIdentifier(database)
        places.withLock { places in
            places[key, default: Place()].notifiers.removeAll { $0.notifier == nil }
            places[key]?.notifiers.append(entry)
            if places[key]?.watch == nil { places[key]?.watch = watch(database, key) }
        }
    }

    /// To be called when a notifier has ended: nobody is waited for any more behind the last one.
    static func remove(_ database: Database) {
        let key = ObjectIdentifier(database)
        places.withLock { places in
            places[key]?.notifiers.removeAll { $0.notifier == nil }
            guard let place = places[key], place.notifiers.isEmpty else { return }
            places[key] = nil
            place.watch?.stop()
            // Where the watch could not begin, others were asked to tell all the same.
            database.listen(false)
        }
    }

    /// Any thread: every other observed Realm of the database gets a turn.
    static func committed(_ database: Database, by own: RealmNotifier?) {
        tell(ObjectIdentifier(database), but: own)
    }

    private static func tell(_ key: ObjectIdentifier, but own: RealmNotifier?) {
        let list = places.withLock { $0[key]?.notifiers ?? [] }
        for entry in list {
            if let notifier = entry.notifier, notifier !== own { notifier.schedule() }
        }
    }

    /// Begins to wait for other processes; nil where there can be none. The thread makes what it needs of the system by
    /// itself: who opens a Realm does not wait for that.
    private static func watch(_ database: Database, _ key: ObjectIdentifier) -> FileWatch? {
        guard let path = database.sharedPath else { return nil }
        let watch = FileWatch()
        // What this process has seen: what comes between that and the first look is told too.
        let seen = database.versions.newest.number
        database.listen(true)
        // Not the database: it must not stay open for this.
        let versions = database.versions
        Thread.detachNewThread {
            guard watch.begin(path: path) else {
                // The next observed Realm tries again.
                places.withLock { if $0[key]?.watch === watch { $0[key]?.watch = nil } }
                return
            }
            var known = seen
            repeat {
                // Below the mutex: who closes the database takes the watch away before the memory goes.
                let newest = places.withLock { $0[key]?.watch === watch ? versions.latestNumber : known }
                if newest == known { continue }
                known = newest
                tell(key, but: nil)
            } while watch.wait(milliseconds: longestWait)
        }
        return watch
    }
}
