// SPDX-License-Identifier: Apache-2.0
// Notifications of projections, of collections of one property, and of projections in sections.

import Dispatch
import Foundation
import RealmSwift
import RegnumTestKit
import Testing

@Suite("Observed projections")
struct ObservingProjectionsTests {
    private typealias Person = ProjectionModels.Person
    private typealias PersonView = ProjectionModels.PersonView

    /// 1 Ann (30, in Graz) with friends 2 and 3; 2 Bob (20), 3 Cid (nil).
    private func stage() throws -> (Stage, Diary) {
        let stage = try Stage(
            Realm.Configuration(
                inMemoryIdentifier: UUID().uuidString, objectTypes: [ProjectionModels.City.self, Person.self]))
        try stage.write { realm in
            let bob = Person(value: ["id": 2, "name": "Bob", "age": 20])
            let cid = Person(value: ["id": 3, "name": "Cid"])
            realm.add(
                Person(value: ["id": 1, "name": "Ann", "age": 30, "city": ["name": "Graz"], "friends": [bob, cid]]))
        }
        return (stage, Diary())
    }

    private func ann(_ realm: Realm) throws -> PersonView {
        PersonView(projecting: try #require(realm.object(ofType: Person.self, forPrimaryKey: 1)))
    }

    /// "name old>new" of each change.
    private static func line<P>(_ change: ObjectChange<P>) -> String {
        func text(_ value: Any?) -> String {
            switch value {
            case let texts as ProjectedCollection<String>: "[\(texts.joined(separator: ", "))]"
            case let numbers as ProjectedCollection<Int>: "\(Array(numbers))"
            default: value.map { "\($0)" } ?? "-"
            }
        }
        return switch change {
        case .change(_, let properties):
            properties.map { "\($0.name) \(text($0.oldValue))>\(text($0.newValue))" }.joined(separator: ", ")
        case .deleted: "deleted"
        case .error: "error"
        }
    }

    @Test("All projections of a changed property are delivered by name, with the projected values")
    func names() throws {
        let (stage, diary) = try stage()
        try stage.on { realm in
            diary.tokens = [try ann(realm).observe { diary.lines.append(Self.line($0)) }]
        }
        try stage.write { try ann($0).rootObject.name = "Anna" }
        #expect(diary.take() == ["title ->Anna, shouted ->ANNA"])
        try stage.write { realm in
            try ann(realm).rootObject.city?.name = "Linz"
            try ann(realm).rootObject.age = nil
        }
        #expect(diary.take() == ["years ->-, home ->Linz"])
        try stage.write { try ann($0).friendNames[1] = "Sid" }
        #expect(diary.take() == ["friendNames ->[Bob, Sid]"])
        try stage.write { realm in
            // A fan, because linking objects are projected too.
            let bob = realm.object(ofType: Person.self, forPrimaryKey: 2)
            bob?.friends.append(try ann(realm).rootObject)
        }
        #expect(diary.take() == ["fanKeys ->[2]"])
        try stage.write { $0.delete(try ann($0).rootObject) }
        try stage.write { $0.add(Person(value: ["id": 1])) }
        #expect(diary.take() == ["deleted"])
    }

    @Test("Changes of others are delivered with the old values as projected")
    func oldValues() throws {
        let (stage, diary) = try stage()
        try stage.on { realm in
            diary.tokens = [try ann(realm).observe { diary.lines.append(Self.line($0)) }]
        }
        stage.settle()
        let other = try Realm(configuration: stage.configuration)
        let person = try #require(other.object(ofType: Person.self, forPrimaryKey: 1))
        try other.write {
            person.name = "Zoe"
            person.age = 31
            person.city?.name = "Wien"
        }
        stage.settle()
        #expect(diaryLines(stage, diary) == ["title Ann>Zoe, shouted ANN>ZOE, years 30>31, home ->Wien"])
    }

    @Test("Key paths by name of the root, by own name, and typed limit notifications")
    func keyPaths() throws {
        let (stage, diary) = try stage()
        try stage.on { realm in
            let view = try ann(realm)
            diary.tokens = [
                view.observe(keyPaths: ["age"]) { diary.lines.append("1 " + Self.line($0)) },
                view.observe(keyPaths: ["home"]) { diary.lines.append("2 " + Self.line($0)) },
                view.observe(keyPaths: [\PersonView.title]) { diary.lines.append("3 " + Self.line($0)) },
                view.observe(keyPaths: ["city.name", "name"]) { diary.lines.append("4 " + Self.line($0)) },
            ]
        }
        try stage.write { try ann($0).rootObject.age = 5 }
        #expect(diary.take() == ["1 years ->5"])
        try stage.write { try ann($0).rootObject.city?.name = "Linz" }
        #expect(diary.take() == ["2 home ->Linz", "4 home ->Linz"])
        try stage.write { try ann($0).rootObject.name = "A" }
        #expect(diary.take() == ["3 title ->A, shouted ->A", "4 title ->A, shouted ->A"])
        let words = try stage.on { realm in
            let view = try ann(realm)
            return catchMisuse { _ = view.observe(keyPaths: ["nope"]) { _ in } }
        }
        #expect(words?.contains("property 'nope' not found in object of type '") == true)
        let loose = catchMisuse { _ = PersonView(projecting: Person()).observe { _ in } }
        #expect(loose?.contains("Only objects which are managed by a Realm support change notifications") == true)
    }

    @Test("A collection of one property delivers changes of that property, insertions and deletions")
    func projectedCollection() throws {
        let (stage, diary) = try stage()
        func note(_ change: RealmCollectionChange<ProjectedCollection<String>>) {
            switch change {
            case .initial(let names): diary.lines.append("initial \(Array(names))")
            case .update(let names, let deletions, let insertions, let modifications):
                diary.lines.append("\(Array(names)) d\(deletions) i\(insertions) m\(modifications)")
            case .error: diary.lines.append("error")
            }
        }
        nonisolated(unsafe) let take = note
        try stage.on { realm in
            diary.tokens = [try ann(realm).friendNames.observe { take($0) }]
        }
        stage.settle()
        #expect(diary.take() == ["initial [\"Bob\", \"Cid\"]"])
        try stage.write { try ann($0).rootObject.friends[0].age = 1 }
        #expect(diary.take() == [])
        try stage.write { try ann($0).rootObject.friends[1].name = "Sid" }
        #expect(diary.take() == ["[\"Bob\", \"Sid\"] d[] i[] m[1]"])
        try stage.write { try ann($0).rootObject.friends.remove(at: 0) }
        #expect(diary.take() == ["[\"Sid\"] d[0] i[] m[]"])
        let loose = catchMisuse { _ = PersonView(projecting: Person()).friendNames.observe { _ in } }
        #expect(loose?.contains("Change notifications are only supported on managed collections.") == true)
    }

    @Test("Projections are observed on another queue, and their results and sections by key paths")
    func elsewhere() throws {
        let (stage, diary) = try stage()
        let realm = try Realm(configuration: stage.configuration)
        let names = try ann(realm).friendNames.observe(on: stage.queue) { change in
            if case .update(let names, _, _, let modifications) = change {
                diary.lines.append("\(names.count) \(modifications)")
            }
        }
        let token = try ann(realm).observe(on: stage.queue) { diary.lines.append(Self.line($0)) }
        try stage.on { realm in
            let views = realm.objects(PersonView.self)
            diary.tokens = [
                views.observe(keyPaths: [\.title]) { diary.note($0) },
                views.sectioned(by: \.title).observe(keyPaths: [\.years]) { change in
                    if case .update(_, _, _, let modifications, _, _) = change {
                        diary.lines.append("sections \(modifications)")
                    }
                },
            ]
        }
        stage.settle()
        #expect(diaryLines(stage, diary) == ["initial 3"])
        try stage.write { try ann($0).rootObject.age = 31 }
        #expect(diaryLines(stage, diary).sorted() == ["sections [[0, 0]]", "years ->31"])
        try stage.write { try ann($0).rootObject.friends[0].name = "Bib" }
        #expect(
            diaryLines(stage, diary).sorted() == [
                "2 [0]", "d[] i[] m[1]", "friendNames ->[Bib, Cid]", "sections []",
            ])
        token.invalidate()
        names.invalidate()
    }

    @Test("Projections, their collections and sections are observed on actors", .timeLimit(.minutes(240)))
    func onActors() async throws {
        let configuration = Realm.Configuration(
            inMemoryIdentifier: UUID().uuidString, objectTypes: [ProjectionModels.City.self, Person.self])
        let watcher = ProjectionWatcher()
        try await watcher.fill(configuration)
        let tokens = try await watcher.observe()
        await watcher.waitFor(4)
        #expect(await watcher.lines.sorted() == ["names initial", "rows initial", "sections initial", "views initial"])
        try await watcher.rename()
        await watcher.waitFor(9)
        #expect(
            await watcher.lines.dropFirst(4).sorted() == [
                "names update", "rows update", "sections update", "title", "views update",
            ])
        for token in tokens { #expect(token.invalidate()) }
    }

    @Test("Sequences of changes of projections and sections end with their objects")
    @MainActor func sequences() async throws {
        let configuration = Realm.Configuration(
            inMemoryIdentifier: UUID().uuidString, objectTypes: [ProjectionModels.City.self, Person.self])
        let realm = try await Realm.open(configuration: configuration)
        try realm.write { realm.add(Person(value: ["id": 1, "name": "Ann"])) }
        let view = try ann(realm)
        let changes = view.changes()
        let sections = realm.objects(Person.self).sectioned(by: \.name).changes()
        try realm.write { view.title = "Bea" }
        var lines: [String] = []
        for await change in changes {
            lines.append(Self.line(change))
            if lines.count == 1 { try realm.write { realm.delete(view.rootObject) } }
        }
        #expect(lines == ["title ->Bea, shouted ->BEA", "deleted"])
        for await change in sections {
            if case .update(let now, _, _, _, _, _) = change, now.isEmpty { break }
        }
    }
}

/// An actor that observes projections.
private actor ProjectionWatcher: NotingActor {
    private typealias PersonView = ProjectionModels.PersonView
    private var realm: Realm?
    var lines: [String] = []
    var waiting: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []

    func fill(_ configuration: Realm.Configuration) async throws {
        let realm = try await Realm.open(configuration: configuration)
        try realm.write {
            let bob = ProjectionModels.Person(value: ["id": 2, "name": "Bob"])
            realm.add(ProjectionModels.Person(value: ["id": 1, "name": "Ann", "friends": [bob]]))
        }
        self.realm = realm
    }

    private static func kind<C>(_ change: RealmCollectionChange<C>) -> String {
        if case .initial = change { "initial" } else { "update" }
    }

    func observe() async throws -> [NotificationToken] {
        let realm = try #require(realm)
        let views = realm.objects(PersonView.self)
        let ann = try #require(views.filter("id == 1").first)
        return [
            await ann.observe(keyPaths: [\PersonView.title], on: self) { watcher, change in
                if case .change(_, let properties) = change { watcher.note(properties[0].name) }
            },
            await ann.friendNames.observe(on: self) { watcher, change in watcher.note("names " + Self.kind(change)) },
            await views.observe(keyPaths: [\.title], on: self) { watcher, change in
                watcher.note("views " + Self.kind(change))
            },
            await realm.objects(ProjectionModels.Person.self).observe(on: self) { watcher, change in
                watcher.note("rows " + Self.kind(change))
            },
            await realm.objects(ProjectionModels.Person.self).sectioned(by: \.id).observe(
                keyPaths: [\.name], on: self
            ) { watcher, change in
                if case .initial = change { watcher.note("sections initial") } else { watcher.note("sections update") }
            },
        ]
    }

    func rename() async throws {
        let realm = try #require(realm)
        try await realm.asyncWrite {
            for person in realm.objects(ProjectionModels.Person.self) { person.name += "!" }
        }
    }
}
