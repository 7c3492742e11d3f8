// SPDX-License-Identifier: Apache-2.0
// Completeness of notifications in special cases: objects that are passed on in the write that creates them, commits
// before a queue has begun to observe, Realms that are invalidated or were never observed.

import Dispatch
import Foundation
import RealmSwift
import Regnum
import RegnumTestKit
import Testing

class FaultRow: Object {
    @Persisted(primaryKey: true) var id = 0
    @Persisted var name = ""
    @Persisted var n = 0
    @Persisted var any: AnyRealmValue
    @Persisted var friend: FaultRow?
    @Persisted var list: List<FaultRow>
    @Persisted var set: MutableSet<FaultRow>
    @Persisted var rows: Map<String, FaultRow?>
    @Persisted var numbers: List<Int>
    @Persisted var map: Map<String, Int>
    @Persisted var part: FaultPart?
    @Persisted(originProperty: "friend") var admirers: LinkingObjects<FaultRow>
}

class FaultPart: EmbeddedObject {
    @Persisted var size = 0
}

class FaultView: Projection<FaultRow> {
    @Projected(\FaultRow.n) var number
}

/// A suite that starts with rows in memory.
protocol FaultRowSuite {}

extension FaultRowSuite {
    static func configuration() -> Realm.Configuration {
        Realm.Configuration(inMemoryIdentifier: UUID().uuidString, objectTypes: [FaultRow.self, FaultPart.self])
    }

    /// A stage with the rows 0, 1 and 2.
    func filled() throws -> (Stage, Diary) {
        let stage = try Stage(Self.configuration())
        try stage.write { realm in
            for id in 0..<3 { realm.create(FaultRow.self, value: ["id": id]) }
        }
        return (stage, Diary())
    }

    func find(_ id: Int, _ realm: Realm) throws -> FaultRow {
        try #require(realm.object(ofType: FaultRow.self, forPrimaryKey: id))
    }
}

@Suite("Completeness of notifications")
struct NotificationRegressionTests: FaultRowSuite {
    private func settle(_ queue: DispatchQueue) { for _ in 0..<3 { queue.sync {} } }

    /// Runs `body` on another thread and waits for it.
    private func elsewhere<R: Sendable>(_ body: @escaping @Sendable () throws -> R) throws -> R {
        nonisolated(unsafe) var result: Result<R, any Error>?
        let done = DispatchSemaphore(value: 0)
        let thread = Thread {
            result = Result { try body() }
            done.signal()
        }
        thread.start()
        done.wait()
        return try #require(result).get()
    }

    /// Logs names with old and new values.
    private func names<T>(_ diary: Diary) -> (ObjectChange<T>) -> Void {
        func text(_ value: Any?) -> String {
            guard let value else { return "nil" }
            return value is ObjectBase ? "object" : "\(value)"
        }
        return { change in
            switch change {
            case .change(_, let properties):
                let lines = properties.map { "\($0.name) \(text($0.oldValue))>\(text($0.newValue))" }
                diary.lines.append(lines.joined(separator: ", "))
            case .deleted: diary.lines.append("deleted")
            case .error: diary.lines.append("error")
            }
        }
    }

    /// Logs changes, but no first calls.
    private func updates<C: RealmCollection>(_ label: String, _ diary: Diary) -> (RealmCollectionChange<C>) -> Void {
        { change in
            guard case .update(_, let deletions, let insertions, let modifications) = change else { return }
            diary.lines.append("\(label) d\(deletions) i\(insertions) m\(modifications)")
        }
    }

    // MARK: References made in a write

    @Test("A reference that is made in a write resolves after it, in new Realms and in those at an older version")
    func ofWrite() throws {
        let (stage, _) = try filled()
        let configuration = stage.configuration
        let queue = DispatchQueue(label: "behind")
        nonisolated(unsafe) var behind: Realm?
        try queue.sync {
            behind = try Realm(configuration: configuration, queue: queue)
            behind?.autorefresh = false
            #expect(behind?.objects(FaultRow.self).count == 3)
        }
        let (first, second, all) = try stage.on { realm in
            realm.beginWrite()
            let row = realm.create(FaultRow.self, value: ["id": 50])
            let references = (
                ThreadSafeReference(to: row), ThreadSafeReference(to: row),
                ThreadSafeReference(to: realm.objects(FaultRow.self))
            )
            try realm.commitWrite()
            return references
        }
        #expect(try elsewhere { try Realm(configuration: configuration).resolve(first)?.id } == 50)
        #expect(try elsewhere { try Realm(configuration: configuration).resolve(all)?.count } == 4)
        try queue.sync {
            let realm = try #require(behind)
            #expect(realm.resolve(second)?.id == 50)
            behind = nil
        }
    }

    @Test("A reference to an object of a rolled-back write does not resolve, although another object has its key")
    func ofRolledBack() throws {
        let (stage, _) = try filled()
        let configuration = stage.configuration
        let (lost, kept) = try stage.on { realm in
            realm.beginWrite()
            let row = realm.create(FaultRow.self, value: ["id": 50])
            let references = (ThreadSafeReference(to: row), ThreadSafeReference(to: realm.objects(FaultRow.self)[0]))
            realm.cancelWrite()
            try realm.write { _ = realm.create(FaultRow.self, value: ["id": 60]) }
            return references
        }
        #expect(try elsewhere { try Realm(configuration: configuration).resolve(lost)?.id } == nil)
        #expect(try elsewhere { try Realm(configuration: configuration).resolve(kept)?.id } == 0)
    }

    @Test("An object that is created in a write can be observed on a queue from the commit on")
    func observedInWrite() throws {
        let (stage, _) = try filled()
        let queue = DispatchQueue(label: "watcher")
        let diary = Diary()
        try stage.on { realm in
            realm.beginWrite()
            let row = realm.create(FaultRow.self, value: ["id": 60])
            diary.tokens = [row.observe(on: queue, names(diary))]
            // The queue runs while the object is not visible to others yet.
            settle(queue)
            try realm.commitWrite()
        }
        settle(queue)
        try stage.write { try find(60, $0).n = 5 }
        settle(queue)
        #expect(queue.sync { diary.take() } == ["n 0>5"])
        queue.sync { diary.tokens = [] }
    }

    private actor Bystander {}

    /// The write waits for the caller, and the caller for the other actor.
    @MainActor fileprivate static func observeInWrite() async throws {
        let realm = try await Realm.open(configuration: configuration())
        realm.beginWrite()
        let row = realm.create(FaultRow.self, value: ["id": 1])
        _ = await row.observe(on: Bystander()) { _, _ in }
    }

    @Test("An uncommitted object cannot be observed on another actor")
    func actorInWrite() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            try await NotificationRegressionTests.observeInWrite()
        }
        let words = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(words.contains("Cannot create asynchronous query after making changes in a write transaction."))
    }

    // MARK: Invalidation

    @Test("Freezing after the invalidation of a frozen Realm returns a valid frozen Realm of the same version")
    func frozenAnew() throws {
        let (stage, _) = try filled()
        try stage.on { realm in
            let frozen = realm.freeze()
            frozen.invalidate()
            let row = try find(1, realm).freeze()
            #expect(row.id == 1 && row.isFrozen)
            #expect(row.realm != frozen)
            #expect(realm.freeze() == row.realm)
            withExtendedLifetime(frozen) {}
        }
    }

    // MARK: Time

    @Test("A commit before the queue has begun to observe an object is delivered")
    func lateQueue() throws {
        let (stage, _) = try filled()
        let queue = DispatchQueue(label: "late")
        let diary = Diary()
        queue.suspend()
        try stage.on { realm in
            let row = try find(0, realm)
            diary.tokens = [
                row.observe(on: queue, names(diary)), FaultView(projecting: row).observe(on: queue, names(diary)),
            ]
            try realm.write { row.n = 7 }
        }
        queue.resume()
        settle(queue)
        #expect(queue.sync { diary.take() } == ["n 0>7", "number 0>7"])
        queue.sync { diary.tokens = [] }
    }

    @Test("Commits of others while nothing is observed do not make later own changes look like theirs")
    func ownChanges() throws {
        let (stage, diary) = try filled()
        let other = try Realm(configuration: stage.configuration)
        try other.write { _ = other.create(FaultRow.self, value: ["id": 30]) }
        stage.settle()
        try stage.on { realm in
            let row = try find(0, realm)
            diary.tokens = [row.observe(names(diary)), FaultView(projecting: row).observe(names(diary))]
        }
        try stage.write { try find(0, $0).n = 2 }
        #expect(diary.take() == ["n nil>2", "number nil>2"])
    }

    private final class Probe {}

    @Test("The block of a Realm's observer is released with its token, and so is the Realm")
    func blocks() throws {
        try withFile([FaultRow.self, FaultPart.self]) { configuration in
            let queue = DispatchQueue(label: "closing")
            try queue.sync {
                for isInvalidated in [true, false] {
                    weak var held: Probe?
                    var token: NotificationToken? = try {
                        let realm = try Realm(configuration: configuration, queue: queue)
                        let probe = Probe()
                        held = probe
                        return realm.observe { [realm, probe] _, _ in
                            withExtendedLifetime((realm, probe)) {}
                        }
                    }()
                    #expect(held != nil)
                    if isInvalidated { token?.invalidate() } else { token = nil }
                    #expect(held == nil)
                    #expect(try Realm.deleteFiles(for: configuration))
                    token = nil
                }
            }
        }
    }

    // MARK: Contents

    @Test("Key paths over linking objects work for dynamic objects")
    func dynamicBacklinks() throws {
        let (stage, _) = try filled()
        let (plain, named, results) = (Diary(), Diary(), Diary())
        try stage.on { realm in
            let row = try #require(realm.dynamicObject(ofType: "FaultRow", forPrimaryKey: 0))
            plain.tokens = [row.observe(keyPaths: ["admirers"], names(plain))]
            named.tokens = [row.observe(keyPaths: ["admirers.name"], names(named))]
            results.tokens = [
                realm.dynamicObjects("FaultRow").filter("id == 0")
                    .observe(keyPaths: ["admirers.name"], updates("rows", results))
            ]
        }
        stage.settle()
        func told() -> [[String]] { [plain, named, results].map { $0.take() } }
        try stage.write { try find(1, $0).friend = try find(0, $0) }
        #expect(told() == [["admirers nil>nil"], ["admirers nil>nil"], ["rows d[] i[] m[0]"]])
        try stage.write { try find(1, $0).name = "x" }
        #expect(told() == [[], ["admirers nil>nil"], ["rows d[] i[] m[0]"]])
        try stage.write { try find(1, $0).n = 8 }
        #expect(told() == [[], [], []])
    }

    @Test("Changes of others to links and mixed values arrive with old values, including those of dynamic objects")
    func oldValues() throws {
        let (stage, diary) = try filled()
        try stage.write { realm in
            let row = try find(0, realm)
            row.any = .object(try find(1, realm))
            row.friend = try find(1, realm)
        }
        try stage.on { realm in
            let dynamic = try #require(realm.dynamicObject(ofType: "FaultRow", forPrimaryKey: 0))
            diary.tokens = [try find(0, realm).observe(names(diary)), dynamic.observe(names(diary))]
        }
        let other = try Realm(configuration: stage.configuration)
        try other.write {
            let row = try find(0, other)
            row.any = .none
            row.friend = nil
        }
        stage.settle()
        let links = "any object>nil, friend object>nil"
        #expect(diaryLines(stage, diary) == [links, links])
        try stage.write { try find(0, $0).any = AnyRealmValue.fromArray([.int(1)]) }
        _ = diaryLines(stage, diary)
        try other.write { try find(0, other).any = .int(3) }
        stage.settle()
        #expect(diaryLines(stage, diary) == ["any nil>3", "any nil>3"])
    }

    @Test("Observers distinguish keys of maps by their bytes")
    func mapKeys() throws {
        let (stage, diary) = try filled()
        // The same character in two bytes and in three.
        let (short, long) = ("\u{E9}", "e\u{301}")
        try stage.write { realm in
            let map = try find(0, realm).map
            map[short] = 1
            map[long] = 2
        }
        try stage.on { realm in
            diary.tokens = [
                try find(0, realm).map.observe { change in
                    guard case .update(_, let gone, let new, let changed) = change else { return }
                    let counts = [gone, new, changed].map { keys in keys.map(\.utf8.count) }
                    diary.lines.append("d\(counts[0]) i\(counts[1]) m\(counts[2])")
                }
            ]
        }
        stage.settle()
        try stage.write { try find(0, $0).map["a"] = 1 }
        #expect(diary.take() == ["d[] i[1] m[]"])
        try stage.write { try find(0, $0).map[long] = 3 }
        #expect(diary.take() == ["d[] i[] m[3]"])
        try stage.write { try find(0, $0).map[short] = nil }
        #expect(diary.take() == ["d[2] i[] m[]"])
        try stage.write { try find(0, $0).map[short] = 1 }
        #expect(diary.take() == ["d[] i[2] m[]"])
    }

    // MARK: Programmer errors

    @Test("Invalid key paths are refused by the call, even for a queue and for values")
    func wrongKeyPaths() throws {
        let (stage, _) = try filled()
        let queue = DispatchQueue(label: "refused")
        func refuses(_ body: () -> Void) -> Bool {
            catchMisuse(body)?.contains("Invalid property name: property 'nope' not found") == true
        }
        try stage.on { realm in
            let row = try find(0, realm)
            let view = FaultView(projecting: row)
            let rows = realm.objects(FaultRow.self)
            #expect(refuses { _ = rows.observe(keyPaths: ["nope"], on: queue) { _ in } })
            #expect(refuses { _ = row.rows.observe(keyPaths: ["nope"], on: queue) { _ in } })
            #expect(refuses { _ = rows.sectioned(by: \.name).observe(keyPaths: ["nope"], on: queue) { _ in } })
            #expect(refuses { _ = row.observe(keyPaths: ["nope"], on: queue, names(Diary())) })
            #expect(refuses { _ = view.observe(keyPaths: ["nope"], on: queue, names(Diary())) })
            #expect(refuses { _ = row.numbers.observe(keyPaths: ["nope"]) { _ in } })
            #expect(refuses { _ = row.numbers.sorted(ascending: true).observe(keyPaths: ["nope"]) { _ in } })
            #expect(refuses { _ = row.map.observe(keyPaths: ["nope"]) { _ in } })
        }
    }

    @Test("Valid key paths limit notifications on a queue, for every kind of collection and object")
    func rightKeyPaths() throws {
        let (stage, _) = try filled()
        let queue = DispatchQueue(label: "taken")
        let diary = Diary()
        try stage.write { realm in
            let row = try find(0, realm)
            row.rows["a"] = row
            row.friend = row
        }
        try stage.on { realm in
            let row = try find(0, realm)
            let rows = realm.objects(FaultRow.self)
            diary.tokens = [
                rows.observe(keyPaths: ["n"], on: queue, updates("rows", diary)),
                row.rows.observe(keyPaths: ["friend.n"], on: queue) { change in
                    if case .update(_, _, _, let changed) = change { diary.lines.append("map \(changed)") }
                },
                rows.sectioned(by: \.name).observe(keyPaths: [\.n], on: queue) { change in
                    if case .update(_, _, _, let changed, _, _) = change { diary.lines.append("sections \(changed)") }
                },
                row.observe(keyPaths: [\FaultRow.n], on: queue, names(diary)),
                FaultView(projecting: row).observe(keyPaths: [\FaultView.number], on: queue, names(diary)),
            ]
        }
        settle(queue)
        try stage.write { try find(0, $0).map["k"] = 1 }
        settle(queue)
        #expect(queue.sync { diary.take() } == [])
        try stage.write { try find(0, $0).n = 3 }
        settle(queue)
        #expect(
            queue.sync { diary.take() } == [
                "rows d[] i[] m[0]", #"map ["a"]"#, "sections [[0, 0]]", "n 0>3", "number 0>3",
            ])
        queue.sync { diary.tokens = [] }
    }

    @Test("Observing a read-only Realm on a queue is refused by the call")
    func readOnly() throws {
        try withFile([FaultRow.self, FaultPart.self]) { configuration in
            try { _ = try Realm(configuration: configuration).isEmpty }()
            var reading = configuration
            reading.readOnly = true
            let rows = try Realm(configuration: reading).objects(FaultRow.self)
            let queue = DispatchQueue(label: "reading")
            let words = catchMisuse { _ = rows.observe(on: queue) { _ in } }
            #expect(words?.contains("Read-only Realms do not change and do not have change notifications.") == true)
        }
    }

    // MARK: Every kind of collection

    @Test("Key paths work for sets, linking objects, embedded objects and AnyRealmCollection")
    func keyPaths() throws {
        let (stage, diary) = try filled()
        try stage.write { realm in
            let row = try find(0, realm)
            for id in 1..<3 {
                row.set.insert(try find(id, realm))
                try find(id, realm).friend = row
            }
            row.part = FaultPart()
        }
        try stage.on { realm in
            let row = try find(0, realm)
            let rows = realm.objects(FaultRow.self)
            diary.tokens = [
                row.set.observe(keyPaths: ["name"], updates("set", diary)),
                row.admirers.observe(keyPaths: ["name"], updates("admirers", diary)),
                AnyRealmCollection(rows).observe(keyPaths: ["name"], updates("any", diary)),
                rows.observe(keyPaths: [String](), updates("none", diary)),
                try #require(row.part).observe(keyPaths: ["size"], names(diary)),
            ]
        }
        stage.settle()
        try stage.write { try find(1, $0).n = 5 }
        #expect(diary.take() == [])
        try stage.write { try find(1, $0).name = "x" }
        #expect(diary.take() == ["set d[] i[] m[0]", "admirers d[] i[] m[0]", "any d[] i[] m[1]"])
        try stage.write { realm in
            let part = try #require(try find(0, realm).part)
            part.size = 2
        }
        #expect(diary.take() == ["size nil>2"])
        try stage.write { $0.add(FaultRow(value: ["id": 9])) }
        #expect(diary.take() == ["any d[] i[3] m[]", "none d[] i[3] m[]"])
    }

    @Test("A map can be observed on another queue")
    func mapOnQueue() throws {
        let (stage, _) = try filled()
        let queue = DispatchQueue(label: "maps")
        let diary = Diary()
        try stage.on { realm in
            diary.tokens = [
                try find(0, realm).map.observe(on: queue) { change in
                    switch change {
                    case .initial(let map): diary.lines.append("initial \(map.count)")
                    case .update(_, let gone, let new, let changed):
                        diary.lines.append("d\(gone) i\(new) m\(changed)")
                    case .error: diary.lines.append("error")
                    }
                }
            ]
        }
        settle(queue)
        try stage.write { try find(0, $0).map["a"] = 1 }
        settle(queue)
        #expect(queue.sync { diary.take() } == ["initial 0", #"d[] i["a"] m[]"#])
        queue.sync { diary.tokens = [] }
    }

    @Test("Sets, maps, linking objects, embedded objects and AnyRealmCollection can be passed by reference")
    func references() throws {
        let (stage, _) = try filled()
        let configuration = stage.configuration
        try stage.write { realm in
            let row = try find(0, realm)
            row.set.insert(try find(1, realm))
            row.map["a"] = 4
            row.part = FaultPart(value: ["size": 6])
            try find(2, realm).friend = row
        }
        let (set, map, admirers, any, part) = try stage.on { realm in
            let row = try find(0, realm)
            return (
                ThreadSafeReference(to: row.set), ThreadSafeReference(to: row.map),
                ThreadSafeReference(to: row.admirers),
                ThreadSafeReference(to: AnyRealmCollection(realm.objects(FaultRow.self))),
                ThreadSafeReference(to: try #require(row.part))
            )
        }
        let found = try elsewhere {
            let realm = try Realm(configuration: configuration)
            return [
                realm.resolve(set)?.first?.id, realm.resolve(map)?["a"], realm.resolve(admirers)?.first?.id,
                realm.resolve(any)?.count, realm.resolve(part)?.size,
            ]
        }
        #expect(found == [1, 4, 2, 3, 6])
    }

    @Test("Access to maps, sets, AnyRealmCollection and sections on a wrong thread is refused")
    func wrongThread() throws {
        let realm = try memoryRealm(FaultRow.self, FaultPart.self)
        let row = try realm.write { realm.create(FaultRow.self, value: ["id": 1]) }
        let rows = realm.objects(FaultRow.self)
        nonisolated(unsafe) let map = row.map
        nonisolated(unsafe) let set = row.set
        nonisolated(unsafe) let any = AnyRealmCollection(rows)
        nonisolated(unsafe) let sections = rows.sectioned(by: \.name)
        let words = try elsewhere {
            [
                catchMisuse { _ = map.count }, catchMisuse { _ = set.count }, catchMisuse { _ = any.count },
                catchMisuse { _ = sections.count },
            ]
        }
        for text in words { #expect(text?.contains("Realm accessed from incorrect thread") == true) }
    }
}
