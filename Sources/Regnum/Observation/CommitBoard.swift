// SPDX-License-Identifier: Apache-2.0
// Where the observed Realms of this process hear of each other's commits.

internal import RegnumEngine
internal import Synchronization

/// Mutable state: `notifiers`, guarded by its mutex, which is never held while a notifier runs.
enum CommitBoard {
    private struct WeakNotifier: Sendable { weak var notifier: RealmNotifier? }

    private static let notifiers = Mutex<[ObjectIdentifier: [WeakNotifier]]>([:])

    static func add(_ notifier: RealmNotifier, _ database: Database) {
        let entry = WeakNotifier(notifier: notifier)
        notifiers.withLock { notifiers in
            var list = notifiers[ObjectIdentifier(database), default: []].filter { $0.notifier != nil }
            list.append(entry)
            notifiers[ObjectIdentifier(database)] = list
        }
    }

    /// Any thread: every other observed Realm of the database gets a turn.
    static func committed(_ database: Database, by own: RealmNotifier?) {
        let list = notifiers.withLock { $0[ObjectIdentifier(database)] ?? [] }
        for entry in list {
            if let notifier = entry.notifier, notifier !== own { notifier.schedule() }
        }
    }
}
