// SPDX-License-Identifier: Apache-2.0
// Notifications of collections, maps, objects and Realms. Each stage has its own queue, on which it is notified, so
// waiting for an empty block on the queue is enough.

import Dispatch
import Foundation
import RealmSwift
import Regnum
import RegnumTestKit
import Testing

class Watched: Object {
    @Persisted(primaryKey: true) var id = 0
    @Persisted var name = ""
    @Persisted var rank = 0
    @Persisted var other: Watched?
    @Persisted var list: List<Watched>
    @Persisted var numbers: List<Int>
    @Persisted var set: MutableSet<Watched>
    @Persisted var map: Map<String, Int>
    @Persisted var links: Map<String, Watched?>
    @Persisted(originProperty: "other") var others: LinkingObjects<Watched>
}

class Unrelated: Object {
    @Persisted var value = 0
}

/// A Realm on its own queue.
final class Stage: @unchecked Sendable {
    // Sendable: everything is used on the queue.
    let queue = DispatchQueue(label: "stage")
    let configuration: Realm.Configuration
    private var realm: Realm?

    init(_ configuration: Realm.Configuration) throws {
        self.configuration = configuration
        try queue.sync { realm = try Realm(configuration: configuration, queue: queue) }
    }

    convenience init() throws {
        try self.init(
            Realm.Configuration(
                inMemoryIdentifier: UUID().uuidString, objectTypes: [Watched.self, Unrelated.self]))
    }

    /// Runs on the queue.
    func on<R>(_ body: (Realm) throws -> R) throws -> R {
        try queue.sync { try body(try #require(realm)) }
    }

    func write(_ body: (Realm) throws -> Void) throws {
        try on { realm in try realm.write { try body(realm) } }
        settle()
    }

    /// Waits until all pending notifications have been delivered.
    func settle() { for _ in 0..<3 { queue.sync {} } }
}

/// The notifications of an observer.
final class Diary: @unchecked Sendable {
    // Sendable: written and read on the stage's queue.
    var lines: [String] = []
    var tokens: [NotificationToken] = []

    func note<C: RealmCollection>(_ change: RealmCollectionChange<C>) {
        switch change {
        case .initial(let collection): lines.append("initial \(collection.count)")
        case .update(_, let deletions, let insertions, let modifications):
            lines.append("d\(deletions) i\(insertions) m\(modifications)")
        case .error: lines.append("error")
        }
    }

    func take() -> [String] {
        defer { lines = [] }
        return lines
    }
}

/// The log of a diary, read on the stage's queue, for notifications of commits made elsewhere.
func diaryLines(_ stage: Stage, _ diary: Diary) -> [String] { stage.queue.sync { diary.take() } }

@Suite struct ObservingTests {
    private func filled(_ count: Int = 5) throws -> (Stage, Diary) {
        let stage = try Stage()
        try stage.write { realm in
            for id in 0..<count { realm.add(Watched(value: ["id": id, "name": "n\(id)", "rank": id * 10])) }
        }
        return (stage, Diary())
    }

    private func find(_ id: Int, _ realm: Realm) throws -> Watched {
        try #require(realm.object(ofType: Watched.self, forPrimaryKey: id))
    }

    @Test("Results of all objects deliver insertions, deletions and modifications by position")
    func table() throws {
        let (stage, diary) = try filled()
        try stage.on { realm in diary.tokens = [realm.objects(Watched.self).observe { diary.note($0) }] }
        stage.settle()
        #expect(diary.take() == ["initial 5"])
        try stage.write { realm in
            realm.delete(try find(1, realm))
            try find(2, realm).name = "x"
            realm.add(Watched(value: ["id": 9]))
        }
        #expect(diary.take() == ["d[1] i[4] m[2]"])
        try stage.write { realm in realm.add(Unrelated()) }
        try stage.write { _ in }
        #expect(diary.take() == [])
    }

    @Test("Filtered results deliver an entering object as insertion and a leaving one as deletion")
    func filtered() throws {
        let (stage, diary) = try filled()
        try stage.on { realm in
            diary.tokens = [realm.objects(Watched.self).filter("rank >= 20").observe { diary.note($0) }]
        }
        stage.settle()
        #expect(diary.take() == ["initial 3"])
        try stage.write { realm in
            try find(0, realm).rank = 99
            try find(3, realm).rank = 1
            try find(4, realm).name = "m"
        }
        #expect(diary.take() == ["d[1] i[0] m[2]"])
        try stage.write { realm in
            let new = realm.create(Watched.self, value: ["id": 50, "rank": 50])
            realm.delete(new)
            try find(1, realm).name = "not in it"
        }
        #expect(diary.take() == [])
    }

    @Test("Sorted results deliver a move as a deletion and an insertion")
    func sorted() throws {
        let (stage, diary) = try filled()
        try stage.on { realm in
            diary.tokens = [
                realm.objects(Watched.self).sorted(byKeyPath: "rank", ascending: false).observe { diary.note($0) }
            ]
        }
        stage.settle()
        _ = diary.take()
        try stage.write { realm in try find(0, realm).rank = 100 }
        #expect(diary.take() == ["d[4] i[0] m[]"])
        try stage.write { realm in try find(0, realm).rank = 101 }
        #expect(diary.take() == ["d[] i[] m[0]"])
        try stage.write { realm in try find(2, realm).name = "y" }
        #expect(diary.take() == ["d[] i[] m[3]"])
    }

    @Test("Changes of linked objects are delivered up to depth 4, and key paths limit them")
    func links() throws {
        let (stage, diary) = try filled(6)
        try stage.write { realm in
            for id in 0..<5 { try find(id, realm).other = try find(id + 1, realm) }
        }
        let named = Diary()
        let linked = Diary()
        try stage.on { realm in
            let first = realm.objects(Watched.self).filter("id < 2")
            diary.tokens = [first.observe { diary.note($0) }]
            named.tokens = [first.observe(keyPaths: ["name"]) { named.note($0) }]
            linked.tokens = [first.observe(keyPaths: [\Watched.other?.name]) { linked.note($0) }]
        }
        stage.settle()
        _ = (diary.take(), named.take(), linked.take())
        try stage.write { realm in try find(5, realm).name = "far" }
        #expect(diary.take() == ["d[] i[] m[1]"])
        #expect(named.take() == [] && linked.take() == [])
        try stage.write { realm in try find(1, realm).name = "near" }
        #expect(diary.take() == ["d[] i[] m[0, 1]"])
        #expect(named.take() == ["d[] i[] m[1]"])
        #expect(linked.take() == ["d[] i[] m[0]"])
        try stage.write { realm in try find(1, realm).other = nil }
        #expect(linked.take() == ["d[] i[] m[1]"])
        try stage.write { realm in realm.delete(try find(0, realm)) }
        #expect(named.take() == ["d[0] i[] m[]"])
    }

    @Test("Lists, sets and linking objects deliver changes, and deleting their owner empties them once")
    func collections() throws {
        let (stage, _) = try filled(6)
        let (list, numbers, set, backlinks) = (Diary(), Diary(), Diary(), Diary())
        let ordered = Diary()
        try stage.on { realm in
            let owner = try find(0, realm)
            ordered.tokens = [owner.numbers.sorted(ascending: false).observe { ordered.note($0) }]
            list.tokens = [owner.list.observe { list.note($0) }]
            numbers.tokens = [owner.numbers.observe { numbers.note($0) }]
            set.tokens = [owner.set.observe { set.note($0) }]
            backlinks.tokens = [owner.others.observe { backlinks.note($0) }]
        }
        stage.settle()
        for diary in [list, numbers, set, backlinks] { #expect(diary.take() == ["initial 0"]) }
        try stage.write { realm in
            let owner = try find(0, realm)
            owner.list.append(objectsIn: try (1...3).map { try find($0, realm) })
            owner.numbers.append(objectsIn: [1, 2, 3])
            owner.set.insert(try find(2, realm))
            try find(4, realm).other = owner
        }
        #expect(list.take() == ["d[] i[0, 1, 2] m[]"])
        #expect(numbers.take() == ["d[] i[0, 1, 2] m[]"])
        #expect(set.take() == ["d[] i[0] m[]"])
        #expect(backlinks.take() == ["d[] i[0] m[]"])
        try stage.write { realm in
            let owner = try find(0, realm)
            owner.numbers[1] = 7
            owner.list.move(from: 0, to: 2)
            try find(2, realm).name = "m"
        }
        #expect(numbers.take() == ["d[] i[] m[1]"])
        #expect(ordered.take() == ["initial 0", "d[] i[0, 1, 2] m[]", "d[1] i[0] m[]"])
        #expect(list.take() == ["d[0] i[2] m[1]"])
        #expect(set.take() == ["d[] i[] m[0]"])
        // The row that links to the owner, whose lists have changed.
        #expect(backlinks.take() == ["d[] i[] m[0]"])
        try stage.write { realm in realm.delete(try find(0, realm)) }
        #expect(list.take() == ["d[0, 1, 2] i[] m[]"])
        #expect(numbers.take() == ["d[0, 1, 2] i[] m[]"])
        #expect(set.take() == ["d[0] i[] m[]"])
        #expect(backlinks.take() == ["d[0] i[] m[]"])
        try stage.write { realm in realm.delete(try find(2, realm)) }
        #expect(list.take() == [])
    }

    @Test("Maps deliver keys in order, and a deleted object is a modification")
    func maps() throws {
        let (stage, diary) = try filled()
        func lines<M: RealmKeyedCollection>(_ change: RealmMapChange<M>) {
            switch change {
            case .initial: diary.lines.append("initial")
            case .update(_, let gone, let new, let changed): diary.lines.append("d\(gone) i\(new) m\(changed)")
            case .error: diary.lines.append("error")
            }
        }
        try stage.on { realm in
            let owner = try find(0, realm)
            diary.tokens = [owner.map.observe { lines($0) }, owner.links.observe { lines($0) }]
        }
        stage.settle()
        #expect(diary.take() == ["initial", "initial"])
        try stage.write { realm in
            let owner = try find(0, realm)
            owner.map["b"] = 2
            owner.map["a"] = 1
            owner.links["x"] = try find(1, realm)
        }
        #expect(diary.take() == [#"d[] i["a", "b"] m[]"#, #"d[] i["x"] m[]"#])
        try stage.write { realm in
            let owner = try find(0, realm)
            owner.map["a"] = nil
            owner.map["b"] = 3
            realm.delete(try find(1, realm))
        }
        #expect(diary.take() == [#"d["a"] i[] m["b"]"#, #"d[] i[] m["x"]"#])
        let values = try stage.on { try find(0, $0).links.values.map { $0 == nil } as [Bool] }
        #expect(values == [true], "the key must still exist, with nil")
    }

    @Test("An object delivers new values of own writes, also old values of others' writes, and its deletion once")
    func object() throws {
        try withFile([Watched.self, Unrelated.self]) { configuration in
            let stage = try Stage(configuration)
            let other = try Stage(configuration)
            let diary = Diary()
            try stage.write { realm in realm.add(Watched(value: ["id": 1, "name": "a"])) }
            try stage.on { realm in
                let object = try find(1, realm)
                diary.tokens = [
                    object.observe { change in
                        switch change {
                        case .change(let object, let properties):
                            let texts = properties.map {
                                "\($0.name) \($0.oldValue ?? "nil") \($0.newValue ?? "nil")"
                            }
                            diary.lines.append("\(object.id): " + texts.joined(separator: ", "))
                        case .deleted: diary.lines.append("deleted")
                        case .error: diary.lines.append("error")
                        }
                    }
                ]
            }
            try stage.write { realm in
                try find(1, realm).rank = 5
                try find(1, realm).name = "b"
                try find(1, realm).numbers.append(1)
            }
            #expect(diary.take() == ["1: name nil b, rank nil 5, numbers nil nil"])
            try other.write { realm in try find(1, realm).name = "c" }
            stage.settle()
            #expect(diary.take() == ["1: name b c"])
            try stage.write { realm in
                let friend = realm.create(Watched.self, value: ["id": 2])
                friend.other = friend
            }
            #expect(diary.take() == [])
            try other.write { realm in realm.delete(try find(1, realm)) }
            stage.settle()
            #expect(diary.take() == ["deleted"])
            try stage.write { realm in realm.add(Watched(value: ["id": 1])) }
            #expect(diary.take() == [])
        }
    }

    @Test("Key paths of an object may follow links, lists and linking objects")
    func objectKeyPaths() throws {
        let (stage, _) = try filled()
        let (link, list, content, back) = (Diary(), Diary(), Diary(), Diary())
        func names<T>(_ diary: Diary) -> (ObjectChange<T>) -> Void {
            { change in
                if case .change(_, let properties) = change {
                    diary.lines.append(properties.map(\.name).joined(separator: ","))
                }
            }
        }
        try stage.on { realm in
            let object = try find(0, realm)
            link.tokens = [object.observe(keyPaths: ["other.name"], names(link))]
            list.tokens = [object.observe(keyPaths: [\Watched.list], names(list))]
            content.tokens = [object.observe(keyPaths: ["list.name"], names(content))]
            back.tokens = [object.observe(keyPaths: ["others.name"], names(back))]
        }
        try stage.write { realm in
            try find(0, realm).other = try find(1, realm)
            try find(0, realm).list.append(try find(2, realm))
            try find(3, realm).other = try find(0, realm)
        }
        #expect(link.take() == ["other"] && list.take() == ["list"])
        #expect(content.take() == ["list"] && back.take() == ["others"])
        try stage.write { realm in for id in 1...3 { try find(id, realm).name = "z" } }
        #expect(link.take() == ["other"] && list.take() == [])
        #expect(content.take() == ["list"] && back.take() == ["others"])
        try stage.write { realm in for id in 1...3 { try find(id, realm).rank = -1 } }
        #expect(link.take() + list.take() + content.take() + back.take() == [])
    }

    @Test("A token can end its observation inside the block, and silent writes are not delivered")
    func tokens() throws {
        let (stage, diary) = try filled()
        try stage.on { realm in
            diary.tokens = [realm.objects(Watched.self).observe { diary.note($0) }]
        }
        stage.settle()
        _ = diary.take()
        try stage.on { realm in
            try realm.write(withoutNotifying: diary.tokens) { realm.delete(try find(0, realm)) }
        }
        stage.settle()
        #expect(diary.take() == [])
        try stage.write { realm in realm.delete(try find(4, realm)) }
        #expect(diary.take() == ["d[3] i[] m[]"])
        try stage.on { realm in
            try realm.write { realm.delete(try find(3, realm)) }
            #expect(diary.tokens[0].invalidate())
            #expect(!diary.tokens[0].invalidate())
        }
        stage.settle()
        #expect(diary.take() == [])
        try stage.on { realm in
            diary.tokens = []
            let token = realm.objects(Watched.self).observe { change in
                diary.note(change)
                for token in diary.tokens { token.invalidate() }
            }
            diary.tokens = [token]
        }
        stage.settle()
        try stage.write { realm in realm.deleteAll() }
        #expect(diary.take() == ["initial 2"])
    }

    @Test("A block may write, and its changes are delivered in the next call")
    func writeInBlock() throws {
        let (stage, diary) = try filled(1)
        try stage.on { realm in
            diary.tokens = [
                realm.objects(Watched.self).observe { change in
                    diary.note(change)
                    let count = realm.objects(Watched.self).count
                    if count < 4 { try? realm.write { realm.add(Watched(value: ["id": 100 + count])) } }
                }
            ]
        }
        for _ in 0..<4 { stage.settle() }
        #expect(diary.take() == ["initial 1", "d[] i[1] m[]", "d[] i[2] m[]", "d[] i[3] m[]"])
    }

    @Test("A Realm notifies of own commits immediately, and of others' when it advances")
    func realm() throws {
        try withFile([Watched.self, Unrelated.self]) { configuration in
            let stage = try Stage(configuration)
            let other = try Stage(configuration)
            let diary = Diary()
            try stage.on { realm in
                diary.tokens = [
                    realm.observe { notification, realm in
                        diary.lines.append("\(notification) \(realm.isInWriteTransaction)")
                    }
                ]
                try realm.write {}
                #expect(diary.take() == ["didChange false"])
            }
            try other.write { realm in realm.add(Unrelated()) }
            stage.settle()
            #expect(diary.take() == ["didChange false"])
            try stage.on { realm in
                #expect(realm.objects(Unrelated.self).count == 1)
                realm.autorefresh = false
            }
            try other.write { realm in realm.add(Unrelated()) }
            stage.settle()
            #expect(diary.take() == ["refreshRequired false"])
            try stage.on { realm in
                #expect(realm.objects(Unrelated.self).count == 1)
                realm.beginWrite()
                #expect(diary.take() == ["didChange true"])
                #expect(realm.objects(Unrelated.self).count == 2)
                realm.cancelWrite()
            }
        }
    }

    // A Realm without autorefresh must be able to refresh in the block of `refreshRequired`.
    @Test("A block that is notified of refreshRequired may refresh, and is notified of the change inside the call")
    func refreshWhenAsked() throws {
        try withFile([Watched.self, Unrelated.self]) { configuration in
            let stage = try Stage(configuration)
            let other = try Stage(configuration)
            let diary = Diary()
            try stage.on { realm in
                realm.autorefresh = false
                diary.tokens = [
                    realm.observe { notification, realm in
                        let isAsked = notification == .refreshRequired
                        let hasMoved = realm.refresh()
                        diary.lines.append("\(isAsked) \(hasMoved) \(realm.objects(Unrelated.self).count)")
                    }
                ]
            }
            for count in 1...2 {
                try other.write { realm in realm.add(Unrelated()) }
                stage.settle()
                #expect(diary.take() == ["false false \(count)", "true true \(count)"])
            }
        }
    }

    @Test("A Realm without observers advances at the next turn of its queue, unless autorefresh is off")
    func autorefresh() throws {
        try withFile([Watched.self, Unrelated.self]) { configuration in
            let stage = try Stage(configuration)
            let other = try Stage(configuration)
            for (isOn, seen) in [(true, 1), (false, 1), (true, 3)] {
                try stage.on { realm in realm.autorefresh = isOn }
                try other.write { realm in realm.add(Unrelated()) }
                stage.settle()
                #expect(try stage.on { realm in realm.objects(Unrelated.self).count } == seen)
            }
        }
    }

    @Test("Results and objects can be observed on another queue")
    func onQueue() throws {
        try withFile([Watched.self, Unrelated.self]) { configuration in
            let realm = try Realm(configuration: configuration)
            try realm.write { realm.add(Watched(value: ["id": 1, "rank": 1])) }
            let queue = DispatchQueue(label: "observer")
            let diary = Diary()
            let token = realm.objects(Watched.self).filter("rank > 0").observe(on: queue) { diary.note($0) }
            let object = try find(1, realm).observe(on: queue) { change in
                if case .change(let object, let properties) = change {
                    diary.lines.append("\(properties[0].name) \(object.rank)")
                }
            }
            func wait(for count: Int) {
                let end = ContinuousClock.now + .seconds(14_400)
                while queue.sync(execute: { diary.lines.count }) < count, ContinuousClock.now < end {
                    Thread.sleep(forTimeInterval: 0.001)
                }
            }
            wait(for: 1)
            try realm.write { try find(1, realm).rank = 2 }
            wait(for: 3)
            #expect(queue.sync { diary.take() } == ["initial 1", "d[] i[] m[0]", "rank 2"])
            token.invalidate()
            object.invalidate()
        }
    }

    static let refusals = [
        MisuseCase("Only objects which are managed by a Realm support change notifications") {
            _ = Watched().observe { (_: ObjectChange<Watched>) in }
        },
        MisuseCase("Change notifications are only supported on managed collections.") {
            _ = Watched().list.observe { _ in }
        },
        MisuseCase("Change notifications are only supported on managed collections.") {
            _ = Watched().map.observe { _ in }
        },
        MisuseCase("Frozen Realms do not change and do not have change notifications.") {
            _ = try memoryRealm(Watched.self).objects(Watched.self).freeze().observe { _ in }
        },
        MisuseCase("Frozen Realms do not change and do not have change notifications.") {
            _ = try memoryRealm(Watched.self).freeze().observe { _, _ in }
        },
        MisuseCase("Can only add notification blocks from within runloops.") {
            _ = try onPlainThread { try memoryRealm(Watched.self).observe { _, _ in } }
        },
        MisuseCase("Cannot create asynchronous query after making changes in a write transaction.") {
            let stage = try Stage()
            try stage.on { realm in
                realm.beginWrite()
                realm.add(Watched())
                let words = catchMisuse { _ = realm.objects(Watched.self).observe { _ in } }
                realm.cancelWrite()
                misuse(words ?? "none")
            }
        },
        MisuseCase("Invalid property name: property 'nope' not found in object of type 'Watched'") {
            let stage = try Stage()
            let words = try stage.on { realm in
                catchMisuse { _ = realm.objects(Watched.self).observe(keyPaths: ["other.nope"]) { _ in } }
            }
            misuse(words ?? "none")
        },
        MisuseCase("Incorrect Realm: only notifications for the Realm being modified can be skipped.") {
            let stage = try Stage()
            let other = try Stage()
            let token = try other.on { realm in realm.objects(Watched.self).observe { _ in } }
            let words = try stage.on { realm in
                catchMisuse { try? realm.write(withoutNotifying: [token]) {} }
            }
            misuse(words ?? "none")
        },
    ]

    /// Test bodies may run on the main thread, which has a queue.
    private static func onPlainThread(_ body: @escaping @Sendable () throws -> NotificationToken) throws {
        nonisolated(unsafe) var words: String?
        let done = DispatchSemaphore(value: 0)
        Thread {
            words = try? catchMisuse { _ = try body() }
            done.signal()
        }.start()
        done.wait()
        misuse(words ?? "none")
    }

    @Test("Observing an invalid object or collection is refused with the reason", arguments: refusals)
    func refusal(_ wrong: MisuseCase) throws {
        #expect(try wrong.message().contains(wrong.words))
    }
}
