// SPDX-License-Identifier: Apache-2.0
// Notifies the observed Realms and change feeds of this process of commits by each other and by other processes. For
// each observed file, one thread waits until another process has written to the lock file.

internal import Foundation
internal import RegnumEngine
internal import RegnumSystem
internal import Synchronization

/// Mutable state: `places`, guarded by its lock, which is never held while a notifier runs.
package enum CommitNotifications {
    private struct WeakNotifier: Sendable { weak var notifier: RealmNotifier? }
    private struct Place: Sendable {
        var notifiers: [WeakNotifier] = []
        /// The change feeds that wait for a commit.
        var feeds: [Int: @Sendable () -> Void] = [:]
        var watch: FileWatch?
    }

    private static let places = Lock<[ObjectIdentifier: Place]>([:])
    /// The longest time in milliseconds for which a commit by another process may go unnoticed if the system sends no
    /// event. Tests set it.
    package static var longestWait: Int32 {
        get { limit.load(ordering: .relaxed) }
        set { limit.store(newValue, ordering: .relaxed) }
    }
    private static let limit = Atomic<Int32>(1000)

    static func add(_ notifier: RealmNotifier, _ database: Database) {
        let entry = WeakNotifier(notifier: notifier)
        let key = ObjectIdentifier(database)
        places.withLock { places in
            places[key, default: Place()].notifiers.removeAll { $0.notifier == nil }
            places[key]?.notifiers.append(entry)
            if places[key]?.watch == nil { places[key]?.watch = watch(database, key) }
        }
    }

    /// Calls `body` after each commit until `removeFeed`. Any thread.
    static func addFeed(_ number: Int, _ database: Database, _ body: @escaping @Sendable () -> Void) {
        let key = ObjectIdentifier(database)
        places.withLock { places in
            places[key, default: Place()].feeds[number] = body
            if places[key]?.watch == nil { places[key]?.watch = watch(database, key) }
        }
    }

    static func removeFeed(_ number: Int, _ database: Database) {
        places.withLock { places in _ = places[ObjectIdentifier(database)]?.feeds.removeValue(forKey: number) }
        remove(database)
    }

    /// Called when a notifier has ended. Stops waiting for other processes after the last one.
    static func remove(_ database: Database) {
        let key = ObjectIdentifier(database)
        places.withLock { places in
            places[key]?.notifiers.removeAll { $0.notifier == nil }
            guard let place = places[key], place.notifiers.isEmpty, place.feeds.isEmpty else { return }
            places[key] = nil
            place.watch?.stop()
            // Other processes were asked for notifications even if the watch could not start.
            database.listen(false)
        }
    }

    /// Schedules a turn for every other observed Realm of the database. May be called from any thread.
    static func committed(_ database: Database, by own: RealmNotifier?) {
        tell(ObjectIdentifier(database), but: own)
    }

    private static func tell(_ key: ObjectIdentifier, but own: RealmNotifier?) {
        let (list, feeds) = places.withLock { ($0[key]?.notifiers ?? [], $0[key]?.feeds ?? [:]) }
        for entry in list {
            if let notifier = entry.notifier, notifier !== own { notifier.schedule() }
        }
        for feed in feeds.values { feed() }
    }

    /// Starts waiting for other processes; nil if there can be none. The thread itself sets up what it needs from the
    /// system, so that opening a Realm does not wait for it.
    private static func watch(_ database: Database, _ key: ObjectIdentifier) -> FileWatch? {
        guard let path = database.sharedPath else { return nil }
        let watch = FileWatch()
        // The version this process has seen: a commit between it and the first check is reported too.
        let seen = database.versions.newest.number
        database.listen(true)
        // Does not capture the database, which must not stay open for this.
        let versions = database.versions
        Thread.detachNewThread {
            guard watch.begin(path: path) else {
                // The next observed Realm tries again.
                places.withLock { if $0[key]?.watch === watch { $0[key]?.watch = nil } }
                return
            }
            var known = seen
            repeat {
                // Under the lock: closing the database removes the watch before its memory is unmapped.
                let newest = places.withLock { $0[key]?.watch === watch ? versions.latestNumber : known }
                if newest == known { continue }
                known = newest
                tell(key, but: nil)
            } while watch.wait(milliseconds: longestWait)
        }
        return watch
    }
}
