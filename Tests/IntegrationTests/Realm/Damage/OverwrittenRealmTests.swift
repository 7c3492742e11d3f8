// SPDX-License-Identifier: Apache-2.0
// A Realm file that another program overwrites in place while it is open.

import Foundation
import RealmSwift
import RegnumTestKit
import Testing

final class OverwrittenRow: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var number: Int
}

@Suite final class OverwrittenRealmTests {
    private let folder = FileManager.default.temporaryDirectory.appendingPathComponent("over-\(UUID().uuidString)")

    init() throws { try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true) }
    deinit { try? FileManager.default.removeItem(at: folder) }

    private func configuration(_ name: String) -> Realm.Configuration {
        Realm.Configuration(fileURL: folder.appendingPathComponent(name), objectTypes: [OverwrittenRow.self])
    }

    private func fill(_ realm: Realm, _ rows: Int, _ number: Int) throws {
        try realm.write {
            for id in 0..<rows { realm.create(OverwrittenRow.self, value: ["id": id, "number": number]) }
        }
    }

    /// As `cp` does: the file keeps its identity and gets the bytes of the other file.
    private func overwrite(_ name: String, with other: String) throws {
        let bytes = try Data(contentsOf: folder.appendingPathComponent(other))
        let handle = try FileHandle(forWritingTo: folder.appendingPathComponent(name))
        try handle.truncate(atOffset: 0)
        try handle.write(contentsOf: bytes)
        try handle.close()
    }

    @Test("A write and an opening report an overwritten file, and the new contents are used after all have closed")
    func noticed() throws {
        let other = configuration("other.realm")
        try autoreleasepool {
            let realm = try Realm(configuration: other)
            try fill(realm, 5000, 7)
        }
        try autoreleasepool {
            let realm = try Realm(configuration: configuration("x.realm"))
            try fill(realm, 10, 1225)
            let row = try #require(realm.object(ofType: OverwrittenRow.self, forPrimaryKey: 3))
            #expect(row.number == 1225)
            try overwrite("x.realm", with: "other.realm")
            let error = #expect(throws: Realm.Error.self) { try realm.write { row.number = 0 } }
            #expect(error?.code == .invalidDatabase)
            #expect("\(error as Any)".contains("another program has overwritten the file"))
            #expect(throws: Realm.Error.self) {
                try realm.write { realm.create(OverwrittenRow.self, value: ["id": 99]) }
            }
        }
        let now = try Data(contentsOf: folder.appendingPathComponent("x.realm"))
        #expect(now == (try Data(contentsOf: folder.appendingPathComponent("other.realm"))))
        let realm = try Realm(configuration: configuration("x.realm"))
        #expect(realm.objects(OverwrittenRow.self).count == 5000)
        #expect(realm.object(ofType: OverwrittenRow.self, forPrimaryKey: 3)?.number == 7)
    }

    #if os(Linux)
        // Separate from the test above, because a caught programmer error keeps the Realm and its file open.
        @Test("A refresh, which cannot throw, is a programmer error that names the cause")
        func refreshed() throws {
            try fill(try Realm(configuration: configuration("other.realm")), 5000, 7)
            let realm = try Realm(configuration: configuration("x.realm"))
            try fill(realm, 10, 1225)
            try overwrite("x.realm", with: "other.realm")
            #expect(catchMisuse { realm.refresh() }?.contains("another program has overwritten the file") == true)
        }
    #endif
}
