// SPDX-License-Identifier: Apache-2.0
// Results: live, lazy, ordered, filtered and aggregated.

import Foundation
import Testing

@testable import Regnum

private class Dog: Object {
    @Persisted var name = ""
    @Persisted var age = 0
    @Persisted var weight: Double?
    @Persisted var born = Date(timeIntervalSince1970: 0)
    @Persisted var owner: Owner?
    // The seeds' tests have a Dog of their own in the default schema.
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

private class Owner: Object {
    @Persisted var name = ""
    @Persisted var dogs: List<Dog>
    @Persisted(originProperty: "owner") var owned: LinkingObjects<Dog>
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

struct ResultsTests {
    private let realm: Realm
    private var dogs: Results<Dog> { realm.objects(Dog.self) }

    init() throws {
        realm = try Realm(
            configuration: .init(
                inMemoryIdentifier: UUID().uuidString, objectTypes: [Dog.self, Owner.self]))
        try realm.write {
            let ann = realm.create(Owner.self, value: ["name": "Ann"])
            for (index, name) in ["Rex", "Bello", "Fido", "Waldi"].enumerated() {
                let dog = realm.create(
                    Dog.self, value: ["name": name, "age": index * 2, "owner": index < 3 ? ann : nil])
                dog.weight = index == 1 ? nil : Double(index)
                dog.born = Date(timeIntervalSince1970: Double(index))
                ann.dogs.insert(dog, at: 0)
            }
        }
    }

    private func names(_ dogs: Results<Dog>) -> [String] { Array(dogs.map(\.name)) }

    @Test("Filters of all forms find the same objects")
    func filters() {
        #expect(names(dogs.filter("age > 2")) == ["Fido", "Waldi"])
        #expect(names(dogs.filter("age > %@", 2)) == ["Fido", "Waldi"])
        #expect(names(dogs.filter(NSPredicate(format: "age > %d", 2))) == ["Fido", "Waldi"])
        #expect(names(dogs.where { $0.age > 2 }) == ["Fido", "Waldi"])
        let compound = NSCompoundPredicate(andPredicateWithSubpredicates: [
            NSPredicate(format: "age > 0"),
            NSCompoundPredicate(notPredicateWithSubpredicate: NSPredicate(format: "age = 4")),
        ])
        #expect(names(dogs.filter(compound)) == ["Bello", "Waldi"])
        #expect(dogs.filter(NSPredicate(value: true)).count == 4)
        #expect(dogs.filter(NSPredicate(value: false)).count == 0)
        #expect(names(dogs.filter("age > 0").filter("age < 6")) == ["Bello", "Fido"])
    }

    @Test("Conditions follow links and lists, with objects and nil as arguments")
    func links() throws {
        let ann = try #require(realm.objects(Owner.self).first)
        #expect(dogs.filter("owner.name == 'Ann'").count == 3)
        #expect(dogs.where { $0.owner.name == "Ann" }.count == 3)
        #expect(dogs.filter("owner == %@", ann).count == 3)
        #expect(dogs.where { $0.owner == ann }.count == 3)
        #expect(names(dogs.filter("owner == %@", nil as Owner? as Any)) == ["Waldi"])
        #expect(names(dogs.where { $0.weight == nil }) == ["Bello"])
        #expect(realm.objects(Owner.self).filter("ANY dogs.age == 6").count == 1)
        #expect(realm.objects(Owner.self).where { $0.dogs.age > 6 }.count == 0)
        #expect(realm.objects(Owner.self).where { ($0.dogs.age > 2).count == 2 }.count == 1)
        #expect(realm.objects(Owner.self).filter("dogs.@count == 4 AND owned.@count == 3").count == 1)
        #expect(names(dogs.filter("name IN %@", ["Rex", "Fido"])) == ["Rex", "Fido"])
        #expect(names(dogs.where { $0.age.in([2, 4]) }) == ["Bello", "Fido"])
        #expect(names(dogs.where { !$0.age.contains(2...4) }) == ["Rex", "Waldi"])
    }

    @Test("Results can be sorted, sorted again, and made distinct")
    func order() {
        #expect(names(dogs.sorted(byKeyPath: "name")) == ["Bello", "Fido", "Rex", "Waldi"])
        #expect(names(dogs.sorted(by: \.name, ascending: false)) == ["Waldi", "Rex", "Fido", "Bello"])
        #expect(names(dogs.sorted(by: [SortDescriptor(keyPath: "age", ascending: false)])).first == "Waldi")
        #expect(names(dogs.sorted(byKeyPath: "weight")) == ["Bello", "Rex", "Fido", "Waldi"])
        #expect(names(dogs.sorted(byKeyPath: "name", ascending: false).distinct(by: ["owner.name"])) == ["Rex"])
        #expect(dogs.sorted(by: [Regnum.SortDescriptor]()).count == 4)
    }

    @Test("Lists and linking objects can be filtered and sorted in their order")
    func otherSources() throws {
        let ann = try #require(realm.objects(Owner.self).first)
        #expect(names(ann.dogs.filter("age > 0")) == ["Waldi", "Fido", "Bello"])
        #expect(names(ann.dogs.sorted(byKeyPath: "age")) == ["Rex", "Bello", "Fido", "Waldi"])
        #expect(ann.owned.count == 3)
        #expect(names(ann.owned.filter("age == 2")) == ["Bello"])
        #expect(ann.owned.map(\.name) == ["Rex", "Bello", "Fido"])
        #expect(ann.owned.max(ofProperty: "age") == 4)
        let any = AnyRealmCollection(ann.dogs)
        #expect(any.count == 4 && any.last?.name == "Rex" && any.filter("age > 4").count == 1)
        try realm.write { realm.delete(dogs.filter("name == 'Fido'")) }
        #expect(ann.owned.count == 2)
    }

    @Test("Aggregates over a property skip nulls")
    func figures() {
        #expect(dogs.sum(ofProperty: "age") as Int == 12)
        #expect(dogs.sum(of: \.age) == 12)
        #expect(dogs.min(of: \.age) == 0)
        #expect(dogs.max(ofProperty: "age") == 6)
        #expect(dogs.average(ofProperty: "age") == 3.0)
        #expect(dogs.average(of: \.weight) == 5.0 / 3)
        #expect(dogs.max(of: \.born) == Date(timeIntervalSince1970: 3))
        #expect(dogs.filter("age > 100").max(of: \.age) == nil)
        #expect(dogs.filter("age > 100").sum(of: \.age) == 0)
        #expect(dogs.value(forKeyPath: "@sum.age") as? Int == 12)
        #expect(dogs.value(forKeyPath: "@count") as? Int == 4)
        #expect(dogs.value(forKey: "name") as? [String] == ["Rex", "Bello", "Fido", "Waldi"])
    }

    @Test("Results return positions, elements by index set, and a description")
    func positions() throws {
        let old = dogs.filter("age > 0")
        let fido = try #require(dogs.first { $0.name == "Fido" })
        #expect(dogs.index(of: fido) == 2)
        #expect(old.index(of: fido) == 1)
        #expect(old.index(of: dogs[0]) == nil)
        #expect(dogs.index(of: Dog()) == nil)
        #expect(old.index(matching: "name BEGINSWITH 'W'") == 2)
        #expect(dogs.objects(at: [0, 3]).map(\.name) == ["Rex", "Waldi"])
        #expect(dogs.description.hasPrefix("Results<Dog> <0x"))
        #expect(dogs.description.contains("\t[3] Dog {\n\t\tname = Waldi;"))
    }

    @Test("A property is set on all elements, even if that removes them from the results")
    func setValue() throws {
        let young = dogs.filter("age < 4")
        try realm.write { young.setValue(50, forKey: "age") }
        #expect(young.count == 0)
        #expect(dogs.filter("age == 50").count == 2)
    }

    @Test(
        "User text that cannot be parsed throws",
        arguments: [
            ("age >", true), ("", true), ("age === 25", true), ("agee > 5", false), ("name > 5", false),
        ])
    func people(text: String, isSyntax: Bool) throws {
        if isSyntax {
            let error = #expect(throws: ParsedPredicate.Error.self) { try ParsedPredicate(parsing: text) }
            #expect(
                error?.description.contains("Unable to parse the format string") == true, "\(String(describing: error))"
            )
        } else {
            let parsed = try ParsedPredicate(parsing: text)
            let error = #expect(throws: ParsedPredicate.Error.self) { try dogs.filter(parsed) }
            #expect(
                text != "agee > 5"
                    || error?.message.contains("Property 'agee' not found in object of type 'Dog'") == true)
            #expect(text != "agee > 5" || error?.description.contains("age") == true)
        }
    }

    @Test("User text with arguments finds objects")
    func parsed() throws {
        #expect(try dogs.filter(ParsedPredicate(parsing: "age > %@", arguments: [2])).count == 2)
    }

    @Test("A format predicate evaluates a managed object")
    func evaluate() {
        let predicate = NSPredicate(format: "age > 2")
        #expect(predicate.evaluate(with: dogs[3]))
        #expect(!predicate.evaluate(with: dogs[0]))
    }
}
