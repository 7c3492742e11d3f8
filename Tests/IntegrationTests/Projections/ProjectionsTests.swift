// SPDX-License-Identifier: Apache-2.0
// Projections of objects: reading and setting properties, results of projections, and collections of one property.

import Foundation
import RealmSwift
import Testing

enum ProjectionModels {
    class City: Object {
        @Persisted var name: String
    }

    class Person: Object {
        @Persisted(primaryKey: true) var id: Int
        @Persisted var name: String
        @Persisted var age: Int?
        @Persisted var city: City?
        @Persisted var friends: List<Person>
        @Persisted(originProperty: "friends") var fans: LinkingObjects<Person>
    }

    class PersonView: Projection<Person> {
        @Projected(\Person.name) var title
        @Projected(\Person.name.localizedUppercase) var shouted
        @Projected(\Person.age) var years
        @Projected(\Person.city?.name) var home
        @Projected(\Person.friends.projectTo.name) var friendNames: ProjectedCollection<String>
        @Projected(\Person.fans.projectTo.id) var fanKeys: ProjectedCollection<Int>
        var plain = 5
    }

    class NamesOnly: Projection<Person> {
        @Projected(\Person.name) var name
    }

    class Wrong: Object {
        @Persisted var views: List<NamesOnly>
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }

    /// 1 Ann (30, in Graz) with friends 2 and 3; 2 Bob (20), 3 Cid (nil).
    static func realm() throws -> Realm {
        let realm = try memoryRealm(City.self, Person.self)
        try realm.write {
            let bob = Person(value: ["id": 2, "name": "Bob", "age": 20])
            let cid = Person(value: ["id": 3, "name": "Cid"])
            realm.add(
                Person(value: ["id": 1, "name": "Ann", "age": 30, "city": ["name": "Graz"], "friends": [bob, cid]]))
        }
        return realm
    }
}

@Suite("Projections")
struct ProjectionsTests {
    private typealias Person = ProjectionModels.Person
    private typealias PersonView = ProjectionModels.PersonView

    @Test("A projection reads and sets the properties of its object, managed or unmanaged", arguments: [true, false])
    func properties(isManaged: Bool) throws {
        let realm = try ProjectionModels.realm()
        let found = realm.objects(Person.self).filter("id == 1")[0]
        let loose = Person(value: ["id": 9, "name": "Ann", "age": 30, "city": ["name": "Graz"]])
        loose.friends.append(objectsIn: [Person(value: ["name": "Bob"]), Person(value: ["name": "Cid"])])
        let view = PersonView(projecting: isManaged ? found : loose)
        #expect(view.title == "Ann" && view.shouted == "ANN" && view.years == 30 && view.home == "Graz")
        #expect(Array(view.friendNames) == ["Bob", "Cid"] && view.friendNames.index(of: "Cid") == 1)
        #expect((view.realm == nil) == !isManaged && !view.isInvalidated && view.plain == 5)
        realm.beginWrite()
        view.title = "Anna"
        view.years = nil
        view.friendNames[1] = "Sid"
        try realm.commitWrite()
        #expect(view.rootObject.name == "Anna" && view.rootObject.age == nil)
        #expect(view.rootObject.friends[1].name == "Sid" && view.friendNames.last == "Sid")
    }

    @Test("Results of projections are live, filtered, sorted and aggregated by names of the root or key paths")
    func results() throws {
        let realm = try ProjectionModels.realm()
        let views = realm.objects(PersonView.self)
        #expect(views.count == 3 && views.first?.title == views[0].title)
        #expect(views.sorted(byKeyPath: "name").map(\.title) == ["Ann", "Bob", "Cid"])
        #expect(views.sorted(by: \.title, ascending: false).map(\.title) == ["Cid", "Bob", "Ann"])
        #expect(views.filter("age > 25").map(\.title) == ["Ann"])
        #expect(views.where { $0.years > 15 && $0.title != "Ann" }.map(\.title) == ["Bob"])
        #expect(views.where { $0.home == "Graz" }.first?.title == "Ann")
        #expect(views.sum(of: \.years) == 50 && views.max(ofProperty: "age") == 30)
        #expect(views.value(forKey: "name") as? [String] == views.map(\.title))
        let ann = try #require(views.filter("id == 1").first)
        #expect(views.index(of: ann).map { views[$0].title } == "Ann")
        #expect(views.objects(at: [0, 2]).count == 2)
        var titles: [String] = []
        for view in views { titles.append(view.title) }
        #expect(titles.sorted() == ["Ann", "Bob", "Cid"])
        try realm.write { realm.delete(ann.rootObject) }
        #expect(views.count == 2 && ann.isInvalidated)
        #expect(views.allSatisfy { $0.fanKeys.isEmpty })
    }

    @Test("Projections of one class and one object are equal")
    func equality() throws {
        let realm = try ProjectionModels.realm()
        let views = realm.objects(PersonView.self)
        #expect(views[0] == views[0] && views[0] != views[1] && Set([views[0], views[0]]).count == 1)
        let other = ProjectionModels.NamesOnly(projecting: views[0].rootObject)
        #expect(other as Projection<Person> != views[0] as Projection<Person>)
        #expect(_name(for: \PersonView.friendNames) == "friends.name" && _name(for: \PersonView.home) == "city.name")
    }

    @Test("Descriptions of a projection and a projected collection contain their values")
    func descriptions() throws {
        let realm = try ProjectionModels.realm()
        let ann = try #require(realm.objects(PersonView.self).filter("id == 1").first)
        let text = ann.description
        #expect(text.hasPrefix("PersonView<Person> <0x"))
        #expect(text.contains("{\n\t\ttitle(\\.name) = Ann;\n\t\tshouted(\\.name) = ANN;\n"))
        #expect(text.contains("\t\thome(\\.city.name) = Graz;\n"))
        #expect(ann.friendNames.description == "ProjectedCollection<String> {\n\t[0] Bob\n\t[1] Cid\n}")
        #expect(ann.friendNames.realm == realm && !ann.friendNames.isInvalidated && !ann.friendNames.isFrozen)
        #expect(ann.friendNames.index(matching: NSPredicate(format: "age == 20")) == 0)
        try realm.write { realm.delete(ann.rootObject) }
        #expect(ann.description.contains("[invalid object]"))
    }

    @Test("A frozen projection keeps its values, and thaws to the live projection")
    func freezing() throws {
        let realm = try ProjectionModels.realm()
        let ann = try #require(realm.objects(PersonView.self).filter("id == 1").first)
        let frozen = ann.freeze()
        let names = ann.friendNames.freeze()
        try realm.write {
            ann.title = "Anna"
            ann.friendNames[0] = "Rob"
        }
        #expect(frozen.title == "Ann" && frozen.isFrozen && !ann.isFrozen && frozen.thaw()?.title == "Anna")
        #expect(names[0] == "Bob" && names.thaw()?[0] == "Rob" && names.isFrozen)
        #expect(realm.objects(PersonView.self).freeze().count == 3)
    }

    private static let misuses = [
        MisuseCase("KeyPath is not writable") {
            let view = ProjectionModels.PersonView(projecting: ProjectionModels.Person())
            view.shouted = "X"
        },
        MisuseCase("Cannot modify managed objects outside of a write transaction.") {
            let realm = try ProjectionModels.realm()
            realm.objects(ProjectionModels.PersonView.self)[0].title = "X"
        },
        MisuseCase("Collections of projections must be used with @Projected.") {
            _ = try memoryRealm(ProjectionModels.Wrong.self)
        },
        MisuseCase("@Projected property") {
            _ = try ProjectionModels.realm().objects(ProjectionModels.PersonView.self).max(of: \.plain)
        },
        MisuseCase("Index 3 is out of bounds (must be less than 3).") {
            _ = try ProjectionModels.realm().objects(ProjectionModels.PersonView.self)[3]
        },
    ]

    @Test("Invalid projections and assignments are refused", arguments: misuses)
    func refusals(_ misuse: MisuseCase) throws {
        #expect(try misuse.message().contains(misuse.words))
    }
}
