// SPDX-License-Identifier: Apache-2.0
// Calls inside an observer's block: writing, ending observations, deleting the observed object, refreshing,
// invalidating.

import Dispatch
import Foundation
import RealmSwift
import RegnumTestKit
import Testing

@Suite("Observers' blocks")
struct ObserverBlockContractTests {
    private func filled(_ count: Int = 3) throws -> (Stage, Diary) {
        let stage = try Stage()
        try stage.write { realm in
            for id in 0..<count { realm.add(Watched(value: ["id": id, "rank": id * 10])) }
        }
        return (stage, Diary())
    }

    private func find(_ id: Int, _ realm: Realm) throws -> Watched {
        try #require(realm.object(ofType: Watched.self, forPrimaryKey: id))
    }

    /// A commit of another thread's Realm.
    private func elsewhere(_ stage: Stage, _ body: @escaping (Realm) throws -> Void) throws {
        let realm = try Realm(configuration: stage.configuration)
        try realm.write { try body(realm) }
    }

    @Test("Inside a block, refresh returns false and does nothing, and invalidate does nothing")
    func refreshInside() throws {
        let (stage, diary) = try filled()
        try stage.on { realm in
            let row = try find(0, realm)
            diary.tokens = [
                realm.observe { notification, realm in
                    diary.lines.append("realm \(realm.refresh())")
                    realm.invalidate()
                    diary.lines.append("\(row.isInvalidated)")
                },
                realm.objects(Watched.self).observe { change in
                    diary.note(change)
                    diary.lines.append("rows \(realm.refresh())")
                    realm.invalidate()
                    diary.lines.append("\(row.isInvalidated)")
                },
            ]
        }
        stage.settle()
        #expect(diary.take() == ["initial 3", "rows false", "false"])
        try stage.write { try find(1, $0).rank = 1 }
        #expect(diary.take() == ["realm false", "false", "d[] i[] m[1]", "rows false", "false"])
        try stage.on { realm in
            diary.tokens = []
            let row = try find(0, realm)
            realm.invalidate()
            #expect(row.isInvalidated)
        }
    }

    @Test("A block that writes without notifying its own token still notifies other observers")
    func silentInside() throws {
        let (stage, diary) = try filled()
        try stage.on { realm in
            let rows = realm.objects(Watched.self)
            diary.tokens = [
                rows.observe { change in
                    diary.note(change)
                    if case .update = change {
                        try? realm.write(withoutNotifying: [diary.tokens[0]]) { rows[0].rank += 1 }
                    }
                },
                rows.observe { diary.note($0) },
            ]
        }
        stage.settle()
        #expect(diary.take() == ["initial 3", "initial 3"])
        try stage.write { try find(2, $0).rank = 1 }
        #expect(diary.take() == ["d[] i[] m[2]", "d[] i[] m[2]", "d[] i[] m[0]"])
        let rank = try stage.on { try find(0, $0).rank }
        #expect(rank == 1)
    }

    @Test("A write that throws inside a block is rolled back and not delivered, and the observer stays registered")
    func throwsInside() throws {
        let (stage, diary) = try filled()
        try stage.on { realm in
            diary.tokens = [
                realm.objects(Watched.self).observe { change in
                    diary.note(change)
                    do {
                        try realm.write {
                            realm.add(Watched(value: ["id": 100]))
                            throw CocoaError(.featureUnsupported)
                        }
                    } catch { diary.lines.append("\(error is CocoaError) \(realm.isInWriteTransaction)") }
                }
            ]
        }
        stage.settle()
        #expect(diary.take() == ["initial 3", "true false"])
        try stage.write { try find(2, $0).rank = 1 }
        #expect(diary.take() == ["d[] i[] m[2]", "true false"])
        let count = try stage.on { $0.objects(Watched.self).count }
        #expect(count == 3)
    }

    @Test("A block can end another observation before its call in the same turn")
    func endsAnother() throws {
        let (stage, diary) = try filled()
        try stage.on { realm in
            let rows = realm.objects(Watched.self)
            for number in 0..<2 {
                diary.tokens.append(
                    rows.observe { change in
                        diary.lines.append("\(number)")
                        if case .update = change { diary.tokens[1 - number].invalidate() }
                    })
            }
        }
        stage.settle()
        #expect(diary.take() == ["0", "1"])
        for _ in 0..<2 {
            try stage.write { try find(2, $0).rank += 1 }
            #expect(diary.take() == ["0"])
        }
    }

    @Test("An observer that a block adds gets its first call later")
    func beginsAnother() throws {
        let (stage, diary) = try filled()
        try stage.on { realm in
            let rows = realm.objects(Watched.self)
            diary.tokens = [
                rows.observe { change in
                    diary.note(change)
                    if case .update = change, diary.tokens.count == 1 {
                        diary.tokens.append(rows.observe { diary.note($0) })
                        diary.tokens.append(rows[0].observe { _ in diary.lines.append("object") })
                        diary.lines.append("begun")
                    }
                }
            ]
        }
        stage.settle()
        try stage.write { try find(0, $0).rank = 9 }
        #expect(diary.take() == ["initial 3", "d[] i[] m[0]", "begun", "initial 3"])
        try stage.write { try find(0, $0).rank = 8 }
        #expect(diary.take().sorted() == ["d[] i[] m[0]", "d[] i[] m[0]", "object"])
    }

    @Test("A block may delete the observed object, and its observer is notified of that once")
    func deletes() throws {
        let (stage, diary) = try filled()
        try stage.on { realm in
            let row = try find(0, realm)
            diary.tokens = [
                row.observe { change in
                    if case .deleted = change { diary.lines.append("deleted") }
                    guard case .change(let row, _) = change else { return }
                    diary.lines.append("change")
                    try? realm.write { realm.delete(row) }
                    diary.lines.append("\(row.isInvalidated)")
                },
                row.list.observe { diary.note($0) },
            ]
        }
        stage.settle()
        try stage.write { try find(0, $0).rank = 9 }
        #expect(diary.take() == ["initial 0", "change", "true", "deleted"])
        try stage.write { try find(1, $0).rank = 9 }
        #expect(diary.take() == [])
    }

    @Test("An observer that is added in a write before its first change gets its first call after the commit")
    func inWrite() throws {
        let (stage, diary) = try filled()
        try stage.on { realm in
            let row = try find(0, realm)
            try realm.write {
                diary.tokens = [
                    realm.objects(Watched.self).observe { diary.note($0) },
                    row.observe { change in
                        if case .change(_, let properties) = change { diary.lines.append(properties[0].name) }
                    },
                ]
                realm.add(Watched(value: ["id": 7]))
                row.rank = 5
            }
        }
        stage.settle()
        #expect(diary.take().sorted() == ["initial 4", "rank"])
    }

    @Test("beginWrite delivers the commits of others inside the new write transaction")
    func beginWrite() throws {
        let (stage, diary) = try filled()
        try stage.on { realm in
            realm.autorefresh = false
            diary.tokens = [
                realm.objects(Watched.self).observe { change in
                    diary.note(change)
                    diary.lines.append("\(realm.isInWriteTransaction)")
                },
                realm.observe { notification, realm in
                    diary.lines.append("\(notification.rawValue) \(realm.isInWriteTransaction)")
                },
            ]
        }
        stage.settle()
        _ = diary.take()
        try elsewhere(stage) { try find(1, $0).rank = 1 }
        stage.settle()
        #expect(diaryLines(stage, diary) == ["RLMRealmRefreshRequiredNotification false"])
        try stage.on { realm in
            realm.beginWrite()
            #expect(diary.take() == ["RLMRealmDidChangeNotification true", "d[] i[] m[1]", "true"])
            realm.cancelWrite()
        }
        stage.settle()
        #expect(diary.take() == [])
    }

    @Test("A Realm's observer that writes is notified of its commit, not separately of commits that the write loads")
    func writesInRealmBlock() throws {
        let (stage, diary) = try filled()
        try stage.on { realm in
            realm.autorefresh = false
            diary.tokens = [
                realm.observe { notification, realm in
                    diary.lines.append("\(notification == .didChange) \(realm.isInWriteTransaction)")
                    guard diary.lines.count == 1 else { return }
                    // The commit that this write loads is delivered at the end of the outer call.
                    try? self.elsewhere(stage) { try self.find(2, $0).rank = 77 }
                    try? realm.write { try? self.find(0, realm).rank = 66 }
                }
            ]
        }
        try stage.write { try find(1, $0).rank = 1 }
        #expect(diary.take() == ["true false", "true false"])
        try stage.on { realm in #expect(realm.objects(Watched.self).sum(ofProperty: "rank") == 66 + 1 + 77) }
    }

    @Test("The first call comes before a following write, and no call comes after invalidate()")
    func firstCall() throws {
        let (stage, diary) = try filled(0)
        try stage.on { realm in
            diary.tokens = [realm.objects(Watched.self).observe { diary.note($0) }]
            #expect(diary.lines == [])
            try realm.write { realm.add(Watched(value: ["id": 1])) }
        }
        stage.settle()
        #expect(diary.take() == ["initial 0", "d[] i[0] m[]"])
        try stage.on { realm in
            try realm.write { realm.add(Watched(value: ["id": 2])) }
            #expect(diary.tokens[0].invalidate())
            #expect(!diary.tokens[0].invalidate())
        }
        stage.settle()
        #expect(diary.take() == [])
    }

    @Test("Results stay valid after their observer has ended")
    func ended() throws {
        let (stage, _) = try filled()
        try stage.on { realm in
            let rows = realm.objects(Watched.self).filter("rank > 5")
            let token = rows.observe { _ in }
            #expect(token.invalidate() && !token.invalidate() && rows.count == 2)
            try realm.write { realm.add(Watched(value: ["id": 9, "rank": 50])) }
            #expect(rows.count == 3 && !rows.isInvalidated && rows[2].id == 9)
        }
    }

    @Test("Resolving a reference that advances the Realm notifies its observers")
    func resolving() throws {
        let (stage, diary) = try filled()
        try stage.on { realm in
            realm.autorefresh = false
            diary.tokens = [
                realm.objects(Watched.self).observe { diary.note($0) },
                realm.observe { notification, _ in diary.lines.append("\(notification == .didChange)") },
            ]
        }
        stage.settle()
        _ = diary.take()
        let other = try Realm(configuration: stage.configuration)
        let row = try other.write { other.create(Watched.self, value: ["id": 40]) }
        let reference = ThreadSafeReference(to: row)
        try stage.on { realm in
            _ = diary.take()
            #expect(realm.resolve(reference)?.id == 40)
            #expect(diary.take() == ["true", "d[] i[3] m[]"])
        }
    }

    @Test("A read-only Realm cannot be observed")
    func readOnly() throws {
        try withFile([Watched.self, Unrelated.self]) { configuration in
            _ = try autoreleased { try Realm(configuration: configuration).isEmpty }
            var reading = configuration
            reading.readOnly = true
            let queue = DispatchQueue(label: "reading")
            try queue.sync {
                let realm = try Realm(configuration: reading, queue: queue)
                let words = catchMisuse { _ = realm.objects(Watched.self).observe { _ in } }
                #expect(words?.contains("Read-only Realms do not change and do not have change") == true)
            }
        }
    }

    private func autoreleased<R>(_ body: () throws -> R) rethrows -> R { try body() }

    @Test("A concurrent queue is refused")
    func concurrentQueue() throws {
        let realm = try memoryRealm(Watched.self)
        let queue = DispatchQueue(label: "wide", attributes: .concurrent)
        let words = catchMisuse { _ = realm.objects(Watched.self).observe(on: queue) { _ in } }
        #expect(words?.contains("Invalid queue 'wide'") == true)
    }

    enum Loop: CaseIterable { case table, filtered, list }

    @Test("A loop over objects ends the program if its Realm is invalidated", arguments: Loop.allCases)
    func invalidatedLoop(_ loop: Loop) throws {
        let words = try misuseText {
            let realm = try memoryRealm(Watched.self)
            try realm.write {
                for id in 0..<50 { realm.create(Watched.self, value: ["id": id]) }
                realm.objects(Watched.self)[0].list.append(objectsIn: realm.objects(Watched.self))
            }
            let rows = realm.objects(Watched.self)
            switch loop {
            case .table: for row in rows where row.id == 2 { realm.invalidate() }
            case .filtered: for row in rows.filter("id < 40") where row.id == 2 { realm.invalidate() }
            case .list: for row in rows[0].list where row.id == 2 { realm.invalidate() }
            }
        }
        #expect(words?.contains("Collection is no longer valid") == true)
    }

    @Test("An update notifies only of properties whose values differ, with both policies")
    func policies() throws {
        let stage = try Stage()
        let diary = Diary()
        try stage.write { $0.add(Watched(value: ["id": 1, "name": "a", "rank": 2])) }
        try stage.on { realm in
            let object = try #require(realm.objects(Watched.self).first)
            diary.tokens = [
                object.observe { change in
                    guard case .change(_, let properties) = change else { return }
                    diary.lines.append(properties.map(\.name).sorted().joined(separator: " "))
                }
            ]
        }
        stage.settle()
        let values: [String: any Sendable] = ["id": 1, "name": "a", "rank": 3]
        try stage.write { realm in realm.create(Watched.self, value: values, update: .modified) }
        #expect(diaryLines(stage, diary) == ["rank"])
        try stage.write { realm in realm.create(Watched.self, value: values, update: .modified) }
        #expect(diaryLines(stage, diary).isEmpty)
        try stage.write { realm in realm.create(Watched.self, value: values, update: .all) }
        #expect(diaryLines(stage, diary).isEmpty)
    }
}
