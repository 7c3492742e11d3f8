// SPDX-License-Identifier: Apache-2.0
// Blocks that are called because a write begins: they may change objects before others get pending notifications, and
// some calls are programmer errors. Also collections in mixed values that are created in the current write.

import Dispatch
import Foundation
import Observation
import RealmSwift
import RegnumTestKit
import Testing

/// Begins a write with one Realm inside the write of another.
private actor TwoRealmKeeper {
    func beginTwice(_ narrow: Realm.Configuration, _ wide: Realm.Configuration) async throws -> String? {
        let realm = try await Realm(configuration: narrow, actor: self)
        let other = try await Realm(configuration: wide, actor: self)
        return beginTwice(realm, other)
    }

    private func beginTwice(_ realm: Realm, _ other: Realm) -> String? {
        realm.beginWrite()
        defer { realm.cancelWrite() }
        return catchMisuse { other.beginWrite() }
    }
}

@Suite("Blocks in a beginning write")
struct BeginWriteCallbackTests {
    private func filled() throws -> (Stage, Diary) {
        let stage = try Stage(
            Realm.Configuration(
                inMemoryIdentifier: UUID().uuidString, objectTypes: [SeenRow.self, FaultRow.self, FaultPart.self]))
        try stage.write { realm in
            for id in 0..<3 {
                realm.create(SeenRow.self, value: ["id": id])
                realm.create(FaultRow.self, value: ["id": id])
            }
        }
        try stage.on { $0.autorefresh = false }
        return (stage, Diary())
    }

    /// A commit of another thread's Realm, which changes the second row.
    private func commitElsewhere(_ stage: Stage) {
        let configuration = stage.configuration
        onOtherThread {
            guard let realm = try? Realm(configuration: configuration) else { return }
            try? realm.write { realm.objects(SeenRow.self)[1].rank += 1 }
        }
        stage.settle()
    }

    // The changes must not affect the diff for the other observers.
    @Test("A Realm's observer may change objects before other observers get the changes of others")
    func changesBeforeOthers() throws {
        let (stage, diary) = try filled()
        try stage.on { realm in
            diary.tokens = [
                realm.objects(SeenRow.self).observe { diary.note($0) },
                realm.observe { _, realm in
                    if realm.isInWriteTransaction { realm.objects(SeenRow.self)[0].rank += 1 }
                },
            ]
        }
        stage.settle()
        #expect(diary.take() == ["initial 3"])
        commitElsewhere(stage)
        try stage.on { realm in
            try realm.write { #expect(diary.take() == ["d[] i[] m[1]"]) }
        }
        stage.settle()
        #expect(diaryLines(stage, diary) == ["d[] i[] m[0]"])
    }

    @Test("The block of a tracked read may change objects at the start of a write")
    func changesInScope() throws {
        let (stage, diary) = try filled()
        try stage.on { realm in
            diary.tokens = [realm.objects(SeenRow.self).observe { diary.note($0) }]
            nonisolated(unsafe) let rows = realm.objects(SeenRow.self)
            withObservationTracking {
                _ = rows[1].rank
            } onChange: {
                if rows.realm?.isInWriteTransaction == true { rows[0].name = "told" }
            }
        }
        stage.settle()
        _ = diary.take()
        commitElsewhere(stage)
        try stage.on { realm in
            try realm.write { #expect(diary.take() == ["d[] i[] m[1]"]) }
            #expect(realm.objects(SeenRow.self)[0].name == "told")
        }
        stage.settle()
        #expect(diaryLines(stage, diary) == ["d[] i[] m[0]"])
    }

    @Test("An added observer does not start with uncommitted changes of a block")
    func firstCall() throws {
        let (stage, diary) = try filled()
        try stage.on { realm in
            diary.tokens = [
                realm.observe { _, realm in
                    if realm.isInWriteTransaction { realm.create(SeenRow.self, value: ["id": 50]) }
                }
            ]
        }
        commitElsewhere(stage)
        try stage.on { realm in
            diary.tokens.append(realm.objects(SeenRow.self).observe { diary.note($0) })
            realm.beginWrite()
            #expect(diary.take() == ["initial 3", "d[] i[] m[1]"])
            realm.cancelWrite()
        }
        stage.settle()
        #expect(diaryLines(stage, diary) == [])
    }

    // The caller's block must not run without a write transaction.
    @Test("A block that ends the beginning write ends the program if the caller's block would run in it")
    func endsWrite() throws {
        let (stage, diary) = try filled()
        try stage.on { realm in
            diary.tokens = [realm.observe { _, realm in if realm.isInWriteTransaction { realm.cancelWrite() } }]
        }
        commitElsewhere(stage)
        try stage.on { realm in
            let words = try catchMisuse { try realm.write { diary.lines.append("ran") } }
            #expect(words?.hasPrefix("An observer's block has ended the write transaction that had just begun") == true)
            #expect(diary.take() == [])
        }
        commitElsewhere(stage)
        try stage.on { realm in
            realm.beginWrite()
            #expect(!realm.isInWriteTransaction)
            // There was no commit in the meantime.
            try realm.write { diary.lines.append("ran") }
            #expect(diary.take() == ["ran"])
        }
    }

    // The write must not wait for itself.
    @Test("A block in a beginning write cannot write with another Realm of the file on its thread")
    func anotherRealm() throws {
        let (stage, diary) = try filled()
        let configuration = stage.configuration
        try stage.on { realm in
            diary.tokens = [
                realm.observe { _, realm in
                    guard realm.isInWriteTransaction else { return }
                    guard let other = try? Realm(configuration: configuration) else { return }
                    diary.lines.append(catchMisuse { other.beginWrite() } ?? "begun")
                    realm.cancelWrite()
                    try? other.write { other.objects(SeenRow.self)[0].rank = 5 }
                    diary.lines.append("\(other.objects(SeenRow.self)[0].rank)")
                }
            ]
        }
        commitElsewhere(stage)
        try stage.on { realm in
            realm.beginWrite()
            let lines = diary.take()
            #expect(lines.count == 2 && lines[0].contains("it would deadlock") && lines[1] == "5")
            diary.tokens = []
            // A block that is not called by a beginning write may write.
            let other = try Realm(configuration: configuration)
            try other.write { other.objects(SeenRow.self)[0].rank = 6 }
            #expect(other.objects(SeenRow.self)[0].rank == 6)
        }
    }

    // Opening a Realm with new classes must not wait for itself either.
    @Test("A block in a beginning write cannot open a Realm that changes the file")
    func anotherSchema() throws {
        let (stage, diary) = try filled()
        var wider = stage.configuration
        wider.objectTypes = (wider.objectTypes ?? []) + [CareRow.self]
        let configuration = wider
        try stage.on { realm in
            diary.tokens = [
                realm.observe { _, realm in
                    guard realm.isInWriteTransaction else { return }
                    let words = try? catchMisuse { _ = try Realm(configuration: configuration) }
                    diary.lines.append(words ?? "opened")
                    realm.cancelWrite()
                    let rows = (try? Realm(configuration: configuration))?.objects(CareRow.self)
                    diary.lines.append("\(rows?.count ?? -1)")
                }
            ]
        }
        commitElsewhere(stage)
        try stage.on { realm in
            realm.beginWrite()
            let lines = diary.take()
            #expect(lines.count == 2 && lines[0].contains("it would deadlock") && lines[1] == "0", "\(lines)")
            diary.tokens = []
        }
    }

    // Another Realm must not wait for the write of its own thread, even without observers.
    @Test("A Realm cannot begin a write while another Realm of the file has one open on the same thread")
    func withinAnothersWrite() throws {
        let (stage, _) = try filled()
        var wider = stage.configuration
        wider.objectTypes = (wider.objectTypes ?? []) + [CareRow.self]
        let configuration = wider
        try stage.on { realm in
            let other = try Realm(configuration: configuration)
            realm.beginWrite()
            let words = catchMisuse { other.beginWrite() }
            #expect(words?.contains(": it would deadlock") == true)
            realm.cancelWrite()
            try other.write { other.objects(SeenRow.self)[0].rank = 7 }
            #expect(other.objects(SeenRow.self)[0].rank == 7)
        }
    }

    @Test("A Realm cannot begin a write while another Realm of the file has one open on the same actor")
    func withinAnothersWriteOnActor() async throws {
        let narrow = Realm.Configuration(inMemoryIdentifier: UUID().uuidString, objectTypes: [SeenRow.self])
        var wide = narrow
        wide.objectTypes = [SeenRow.self, CareRow.self]
        let words = try await TwoRealmKeeper().beginTwice(narrow, wide)
        #expect(words?.contains(": it would deadlock") == true, "\(words ?? "nil")")
        #expect(words?.contains("the actor TwoRealmKeeper") == true)
    }

    // MARK: Collections in mixed values

    @Test("A list in a mixed value of the current write can be passed by reference")
    func nestedInWrite() throws {
        let (stage, _) = try filled()
        let configuration = stage.configuration
        let reference = try stage.on { realm in
            realm.beginWrite()
            let row = realm.objects(FaultRow.self)[0]
            row.any = .fromArray([.int(1), .int(2)])
            let reference = ThreadSafeReference(to: try #require(row.any.listValue))
            try realm.commitWrite()
            return reference
        }
        nonisolated(unsafe) var count: Int?
        onOtherThread { count = (try? Realm(configuration: configuration))?.resolve(reference)?.count }
        #expect(count == 2)
    }

    @Test("The observer of a list in a mixed value survives invalidate() while another value is stored there")
    func nestedAway() throws {
        let (stage, diary) = try filled()
        try stage.write { $0.objects(FaultRow.self)[0].any = .fromArray([.int(1)]) }
        try stage.on { realm in
            let list = try #require(realm.objects(FaultRow.self)[0].any.listValue)
            diary.tokens = [list.observe { diary.note($0) }]
        }
        stage.settle()
        try stage.write { $0.objects(FaultRow.self)[0].any = .int(3) }
        #expect(diaryLines(stage, diary) == ["initial 1", "d[0] i[] m[]"])
        try stage.on { $0.invalidate() }
        stage.settle()
        try stage.write { $0.objects(FaultRow.self)[0].any = .fromArray([.int(1), .int(2)]) }
        #expect(diaryLines(stage, diary) == ["d[] i[0, 1] m[]"])
    }
}
