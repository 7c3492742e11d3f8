// SPDX-License-Identifier: Apache-2.0
// Older versions of a Realm as frozen Realms: by date, by version, and what is reported when they are not there.

import Foundation
import RealmSwift
import RegnumTestKit
import Testing

enum HistoryModels {
    class HistoryPage: Object {
        @Persisted(primaryKey: true) var id = 0
        @Persisted var title = ""
        @Persisted var words: List<String>
        @Persisted var next: HistoryPage?
    }

    class HistoryNote: Object {
        @Persisted var text = ""

        override class func propertiesMapping() -> [String: String] { ["text": "content"] }
    }

    class HistoryToken: Object {
        @Persisted(primaryKey: true) var id: ObjectId
        @Persisted var count = 0
    }

    class HistoryMark: Object {
        @Persisted(primaryKey: true) var id = UUID()
        @Persisted var count = 0
    }

    static let always = Date.distantPast...Date.distantFuture

    /// Runs `body` with the configuration of a new file that keeps a history.
    static func withHistory<R>(
        _ types: [ObjectBase.Type] = [HistoryPage.self, HistoryNote.self], _ body: (Realm.Configuration) throws -> R
    ) throws -> R {
        try withFile(types) { configuration in
            var configuration = configuration
            configuration.history = .keep(for: .days(7), atMost: .megabytes(50))
            return try body(configuration)
        }
    }
}

@Suite struct HistoryRealmTests {
    private typealias Page = HistoryModels.HistoryPage
    private typealias Note = HistoryModels.HistoryNote

    @Test("Each kept version is a frozen Realm that shows what was there, by version and by date")
    func versions() throws {
        try HistoryModels.withHistory { configuration in
            let realm = try Realm(configuration: configuration)
            for id in 1...5 {
                try realm.write {
                    realm.add(Page(value: ["id": id, "title": "page \(id)", "words": ["w\(id)"]] as [String: Any]))
                }
                // Two commits within a microsecond would have one date.
                Thread.sleep(forTimeInterval: 0.002)
            }
            try realm.write { realm.delete(realm.objects(Page.self).where { $0.id < 4 }) }
            let versions = try realm.versions(in: HistoryModels.always)
            // The version that created the classes, five pages, and the deletion, which is the newest.
            #expect(versions.count == 7)
            #expect(versions.map(\.number) == versions.map(\.number).sorted())
            for (version, count) in zip(versions, [0, 1, 2, 3, 4, 5, 2]) {
                let older = try realm.asOf(version)
                #expect(older.isFrozen)
                #expect(older.objects(Page.self).count == count)
                #expect(older.objects(Page.self).allSatisfy { $0.title == "page \($0.id)" && $0.words.count == 1 })
                #expect(try realm.asOf(version.date).objects(Page.self).count == count)
                #expect(older.changeCursor == version.cursor)
            }
            let third = versions[3]
            #expect(try realm.versions(in: third.date...third.date).map(\.number) == [third.number])
            #expect(try realm.asOf(Date()).objects(Page.self).count == 2)
            expectIntegrity(of: configuration)
        }
    }

    @Test("The versions, and the setting, survive closing the file")
    func reopened() throws {
        try HistoryModels.withHistory { configuration in
            do {
                let realm = try Realm(configuration: configuration)
                try realm.write { realm.add(Page(value: ["id": 1])) }
                try realm.write { realm.deleteAll() }
            }
            var plain = configuration
            plain.history = nil
            do {
                let realm = try Realm(configuration: plain)
                let versions = try realm.versions(in: HistoryModels.always)
                #expect(versions.count == 3)
                #expect(try realm.asOf(versions[1]).object(ofType: Page.self, forPrimaryKey: 1) != nil)
                try realm.write { realm.add(Page(value: ["id": 2])) }
                #expect(try realm.versions(in: HistoryModels.always).count == 4)
                let report = try #require(try realm.historyReport())
                #expect(report.versions == 3 && report.byteLimit == 50_000_000)
                #expect(report.secondsKept == 7 * 86400 && report.oldest == versions[0].date)
                #expect(report.byteCount > 0 && report.byteCount < 1_000_000)
            }
            var off = configuration
            off.history = .off
            let realm = try Realm(configuration: off)
            #expect(try realm.versions(in: HistoryModels.always).isEmpty)
            #expect(try realm.historyReport() == nil)
            #expect(realm.objects(Page.self).count == 1)
            expectIntegrity(of: configuration)
        }
    }

    @Test("Objects of an older version stay readable when the file no longer keeps it")
    func held() throws {
        try HistoryModels.withHistory { configuration in
            var off = configuration
            off.history = .off
            let realm = try Realm(configuration: configuration)
            try realm.write {
                for id in 0..<200 { realm.add(Page(value: ["id": id, "title": "old \(id)"] as [String: Any])) }
            }
            let version = try #require(try realm.versions(in: HistoryModels.always).last)
            try realm.write { realm.deleteAll() }
            let pages = try realm.asOf(version).objects(Page.self)
            let group = DispatchGroup()
            DispatchQueue(label: "other").async(group: group) { [off] in
                do {
                    let other = try Realm(configuration: off)
                    for id in 0..<50 {
                        try other.write { other.add(Page(value: ["id": id, "title": "new"] as [String: Any])) }
                    }
                } catch { Issue.record(error) }
            }
            group.wait()
            realm.refresh()
            #expect(throws: Realm.Error.self) { try realm.asOf(version.date.addingTimeInterval(-1)) }
            #expect(pages.count == 200)
            #expect(pages.allSatisfy { $0.title == "old \($0.id)" })
        }
    }

    @Test("Older versions that are not there are errors that say so")
    func missing() throws {
        try withFile([Page.self]) { configuration in
            let realm = try Realm(configuration: configuration)
            try realm.write { realm.add(Page(value: ["id": 1])) }
            let cursor = realm.changeCursor
            try realm.write { realm.deleteAll() }
            #expect(try reason { try realm.asOf(Date()) } == .noHistory)
            #expect(try reason { try realm.changes(since: cursor) } == .noHistory)
            #expect(try realm.versions(in: HistoryModels.always).isEmpty)
        }
        try HistoryModels.withHistory { configuration in
            var short = configuration
            short.history = .keep(for: .seconds(0), atMost: .bytes(0))
            let realm = try Realm(configuration: short)
            try realm.write { realm.add(Page(value: ["id": 1])) }
            let cursor = realm.changeCursor
            let version = try #require(try realm.versions(in: HistoryModels.always).last)
            try realm.write { realm.deleteAll() }
            #expect(try reason { try realm.asOf(Date(timeIntervalSinceNow: -3600)) } == .versionNotKept)
            #expect(try reason { try realm.asOf(version) } == .versionNotKept)
            #expect(try reason { try realm.changes(since: cursor) } == .versionNotKept)
            #expect(try realm.asOf(Date()).objects(Page.self).isEmpty)
        }
    }

    @Test("A class that an older version does not have is empty there")
    func newClass() throws {
        try HistoryModels.withHistory([Page.self]) { configuration in
            do {
                let realm = try Realm(configuration: configuration)
                try realm.write { realm.add(Page(value: ["id": 1])) }
            }
            var more = configuration
            more.objectTypes = [Page.self, Note.self]
            let realm = try Realm(configuration: more)
            try realm.write { realm.add(Note(value: ["text": "x"])) }
            let versions = try realm.versions(in: HistoryModels.always)
            let older = try realm.asOf(versions[1])
            #expect(older.objects(Page.self).count == 1)
            #expect(older.objects(Note.self).isEmpty)
            #expect(try realm.asOf(versions[versions.count - 1]).objects(Note.self).count == 1)
        }
    }

    @Test("Encrypted files and Realms in memory keep versions too")
    func otherPlaces() throws {
        #if Encryption
            try HistoryModels.withHistory { configuration in
                var configuration = configuration
                configuration.encryptionKey = Data(repeating: 3, count: 64)
                try expectTwoVersions(configuration)
                expectIntegrity(of: configuration)
            }
        #endif
        var memory = Realm.Configuration(inMemoryIdentifier: UUID().uuidString, objectTypes: [Page.self, Note.self])
        memory.history = .keep(for: .hours(1), atMost: .gigabytes(1))
        try expectTwoVersions(memory)
    }

    private func expectTwoVersions(_ configuration: Realm.Configuration) throws {
        let realm = try Realm(configuration: configuration)
        try realm.write { realm.add(Page(value: ["id": 1])) }
        let cursor = realm.changeCursor
        try realm.write { realm.add(Page(value: ["id": 2])) }
        let versions = try realm.versions(in: HistoryModels.always)
        #expect(try versions.map { try realm.asOf($0).objects(Page.self).count } == [0, 1, 2])
        #expect(try realm.changes(since: cursor)[Page.className()]?.inserted == [.int(2)])
    }

    private final class Sizes: @unchecked Sendable {
        // Sendable: set on the opening thread only.
        var used = 0
    }

    @Test("When a file is opened that may be compacted, its older versions count as used")
    func compaction() throws {
        try HistoryModels.withHistory { configuration in
            do {
                let realm = try Realm(configuration: configuration)
                let title = String(repeating: "x", count: 1_000_000)
                try realm.write { realm.add(Page(value: ["id": 1, "title": title] as [String: Any])) }
                try realm.write { realm.deleteAll() }
            }
            let sizes = Sizes()
            var asking = configuration
            asking.shouldCompactOnLaunch = { total, used in
                sizes.used = used
                return Double(used) / Double(total) < 0.5
            }
            let realm = try Realm(configuration: asking)
            #expect(sizes.used > 1_000_000)
            #expect(try realm.versions(in: HistoryModels.always).count == 3)
        }
    }

    @Test("Sizes and times are what they say")
    func units() {
        #expect(
            HistoryPolicy.keep(for: .days(1), atMost: .megabytes(1))
                == .keep(for: .hours(24), atMost: .bytes(1_000_000)))
        #expect(
            HistoryPolicy.keep(for: .seconds(-1), atMost: .bytes(-1)) == .keep(for: .days(0), atMost: .gigabytes(0)))
        #expect(HistoryPolicy.off != .keep(for: .days(0), atMost: .bytes(0)))
    }
}

/// The reason of the `Realm.Error` that `body` throws; nil if it throws none.
func reason<R>(_ body: () throws -> R) throws -> Realm.Error.Reason? {
    do {
        _ = try body()
        return nil
    } catch let error as Realm.Error {
        return error.reason
    }
}
