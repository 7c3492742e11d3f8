// SPDX-License-Identifier: Apache-2.0
// All access of the service to its database. Each function is one transaction of the pool, and returns values.

import Foundation
import RealmSwift
import ServiceLifecycle

/// The entries in a folder. Any task.
package struct EntryStore: Sendable {
    /// The most entries of a page or a search.
    static let largestPage = 100

    let pool: RealmPool
    let backups: BackupFolder

    /// Opens the database, and creates it if necessary. Throws `Realm.Error` and errors of the file system.
    package init(folder: URL) async throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let configuration = Realm.Configuration(
            fileURL: folder.appendingPathComponent("entries.realm"), objectTypes: [Entry.self])
        // With more waiting calls than this, clients had better come back later.
        pool = try await RealmPool(configuration: configuration, waitingLimit: 1_000)
        backups = BackupFolder(folder.appendingPathComponent("backups", isDirectory: true), of: pool)
    }

    func entry(_ id: Int) async throws -> EntryValue? {
        try await pool.read { realm -> EntryValue? in
            try realm.object(ofType: Entry.self, forPrimaryKey: id)?.snapshot(as: EntryValue.self)
        }
    }

    /// The newest entries whose numbers are lower than `before`. A page begins after the last entry of the page before
    /// it, not at a position, so entries that were added or deleted meanwhile do not shift it.
    func page(before: Int?, limit: Int) async throws -> EntryPage {
        try await pool.read { realm -> EntryPage in
            var entries = realm.objects(Entry.self).sorted(byKeyPath: "id", ascending: false)
            if let before { entries = entries.where { $0.id < before } }
            // One more, which says whether there is another page.
            let found = try entries.limit(limit + 1).snapshots(as: EntryValue.self)
            let page = Array(found.prefix(limit))
            return EntryPage(entries: page, next: found.count > limit ? page.last?.id : nil)
        }
    }

    /// The most relevant entries for the input of a user, as in `storm -snow "north sea"`.
    func search(_ text: String, limit: Int) async throws -> [EntryHit] {
        try await pool.read { realm -> [EntryHit] in
            try realm.objects(Entry.self).search(text, in: \.text, limit: limit).map { hit in
                EntryHit(
                    entry: try hit.element.snapshot(as: EntryValue.self), score: hit.score,
                    excerpt: hit.snippet(length: 120).marked(before: "[", after: "]"))
            }
        }
    }

    /// Returns when the entry is durable. Entries that are added at the same time share a sync.
    func add(_ new: NewEntry) async throws -> EntryValue {
        try new.check()
        return try await pool.write { realm -> EntryValue in
            let entry = Entry()
            new.fill(entry)
            realm.add(entry)
            return try entry.snapshot(as: EntryValue.self)
        }
    }

    /// Returns nil if there is no such entry.
    func replace(_ id: Int, by new: NewEntry) async throws -> EntryValue? {
        try new.check()
        return try await pool.write { realm -> EntryValue? in
            guard let entry = realm.object(ofType: Entry.self, forPrimaryKey: id) else { return nil }
            new.fill(entry)
            return try entry.snapshot(as: EntryValue.self)
        }
    }

    /// Returns false if there is no such entry.
    func delete(_ id: Int) async throws -> Bool {
        try await pool.write { realm -> Bool in
            guard let entry = realm.object(ofType: Entry.self, forPrimaryKey: id) else { return false }
            realm.delete(entry)
            return true
        }
    }

    /// Counts and times of the file, which need neither a reader nor the writer. Throws if the database is closed.
    func statistics() throws -> RealmStatistics {
        guard let statistics = pool.statistics else { throw RealmPoolError.closed }
        return statistics
    }
}

// A service group stops its services in the reverse order: the server finishes its requests, then the pool closes.
extension EntryStore: Service {
    package func run() async throws {
        try? await gracefulShutdown()
        await pool.close()
    }
}
