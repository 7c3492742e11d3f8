// SPDX-License-Identifier: Apache-2.0
// Regnum through its public API, as a user writes it: no access to lower layers.

import Foundation
import RealmSwift
import Synchronization

final class RegnumEngine: Engine {
    let name = EngineName.ours
    let inputs: Inputs
    /// The encryption key of files opened from now on; nil for plain files.
    var encryptionKey: Data?
    private var realm: Realm?
    /// The file that was opened last.
    private(set) var path: String?
    private var isIndexed = false
    private var isSearchable = false

    init(inputs: Inputs) { self.inputs = inputs }

    func opened() throws -> Realm {
        guard let realm else { throw Failure("ours: no database is open") }
        return realm
    }

    func open(_ path: String, indexed: Bool) throws {
        isIndexed = indexed
        isSearchable = false
        self.path = path
        realm = try Realm(configuration: configuration(path, indexed: indexed))
    }

    private func configuration(_ path: String, indexed: Bool) -> Realm.Configuration {
        Realm.Configuration(
            fileURL: URL(fileURLWithPath: path), encryptionKey: encryptionKey,
            objectTypes: indexed ? [IndexedPerson.self, Unrelated.self] : [Person.self, Unrelated.self])
    }

    func openMemory(_ people: People) throws -> Bool {
        try openMemory(people, indexed: false)
        return true
    }

    /// With `indexed`, names have an index.
    func openMemory(_ people: People, indexed: Bool) throws {
        isIndexed = indexed
        realm = try Realm(
            configuration: Realm.Configuration(
                inMemoryIdentifier: "bench",
                objectTypes: [indexed ? IndexedPerson.self : Person.self, Unrelated.self]))
        try insert(people.rows[..<inputs.rows])
    }

    func close() throws { realm = nil }

    func openAndCount(_ path: String) throws -> Int? {
        let realm = try Realm(configuration: configuration(path, indexed: false))
        self.realm = realm
        return realm.objects(Person.self).count
    }

    func commitUnrelated() throws {
        let realm = try opened()
        try realm.write { realm.add(Unrelated()) }
    }

    // MARK: Writing

    func insert(_ rows: ArraySlice<PersonRow>) throws {
        let realm = try opened()
        try realm.write {
            if isIndexed {
                for row in rows { realm.add(IndexedPerson(row)) }
            } else {
                for row in rows { realm.add(Person(row)) }
            }
        }
    }

    /// The program's own part of `insert`: the same objects, created, filled and dropped.
    func makeAndDrop(_ rows: ArraySlice<PersonRow>) {
        for row in rows { sink(object: Person(row)) }
    }

    func insertOneByOne(_ rows: [PersonRow]) throws {
        let realm = try opened()
        for row in rows { try realm.write { realm.add(Person(row)) } }
    }

    /// One durable write for each row, by `count` tasks at once, through a pool.
    func insertFromTasks(_ count: Int, _ rows: [PersonRow], _ path: String) throws {
        let settings = configuration(path, indexed: false)
        let failures = Mutex<[String]>([])
        let done = DispatchSemaphore(value: 0)
        Task.detached {
            do {
                let pool = try await RealmPool(configuration: settings, readers: 1)
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for first in 0..<count {
                        let own = stride(from: first, to: rows.count, by: count).map { rows[$0] }
                        group.addTask {
                            for row in own { try await pool.write { realm in realm.add(Person(row)) } }
                        }
                    }
                    try await group.waitForAll()
                }
                await pool.close()
            } catch { failures.withLock { $0.append("\(error)") } }
            done.signal()
        }
        done.wait()
        if let first = failures.withLock({ $0.first }) { throw Failure(first) }
    }

    func setAges(_ changes: [(row: Int, age: Int)]) throws -> Bool {
        let realm = try opened()
        let people = realm.objects(Person.self)
        try realm.write {
            for change in changes { people[change.row].age = change.age }
        }
        return true
    }

    func linkAll(_ friends: [Int]) throws -> Bool {
        let realm = try opened()
        let people = realm.objects(Person.self)
        try realm.write {
            for (row, friend) in friends.enumerated() { people[row].friend = people[friend] }
        }
        return true
    }

    /// An index needs no migration: the next version of the program opens the file.
    func indexNames(_ path: String) throws -> Bool {
        realm = nil
        realm = try Realm(
            configuration: Realm.Configuration(
                fileURL: URL(fileURLWithPath: path), encryptionKey: encryptionKey,
                objectTypes: [SearchablePerson.self, Unrelated.self]))
        isSearchable = true
        return true
    }

    func deleteYoung() throws -> Bool {
        let realm = try opened()
        try realm.write {
            if isIndexed {
                realm.delete(realm.objects(IndexedPerson.self).where { $0.age < 10 })
            } else {
                realm.delete(realm.objects(Person.self).where { $0.age < 10 })
            }
        }
        return true
    }

    func delete(from id: Int) throws {
        let realm = try opened()
        try realm.write { realm.delete(realm.objects(Person.self).where { $0.id >= id }) }
    }

    // MARK: Reading

    func sumAges(of keys: [Int]) throws -> Int? {
        let realm = try opened()
        var sum = 0
        for key in keys { sum &+= realm.object(ofType: Person.self, forPrimaryKey: key)?.age ?? 0 }
        return sum
    }

    func sumAllAges() throws -> Int? {
        let realm = try opened()
        var sum = 0
        if isIndexed {
            for person in realm.objects(IndexedPerson.self) { sum &+= person.age }
        } else {
            for person in realm.objects(Person.self) { sum &+= person.age }
        }
        return sum
    }

    func sumAllNameLengths() throws -> Int? {
        var sum = 0
        for person in try opened().objects(Person.self) { sum &+= person.name.utf8.count }
        return sum
    }

    func readOneObject(times: Int) throws -> Int? {
        guard let person = try opened().object(ofType: Person.self, forPrimaryKey: inputs.rows / 2) else {
            return nil
        }
        for _ in 0..<times { sink(person.age) }
        return person.age
    }

    func count(_ query: CountQuery) throws -> Int? {
        let people = try opened().objects(Person.self)
        return switch query {
        case .age: people.where { $0.age >= 18 }.count
        case .ageActiveScore: people.where { $0.age >= 18 && $0.active == true && $0.score < 0.5 }.count
        case .namePrefix: people.where { $0.name.starts(with: "Alice") }.count
        case .nameContains: people.filter("name CONTAINS[c] %@", "aNNah").count
        case .nameEquals: people.where { $0.name == "Alice 123" }.count
        case .created: people.filter("created > %@", CountAnswers.asDate).count
        case .friendAge: people.where { $0.friend.age > 50 }.count
        case .hasBacklink: people.filter("friendOf.@count > 0").count
        }
    }

    func countByIndex(_ names: [String]) throws -> Int? {
        var sum = 0
        if isSearchable {
            let people = try opened().objects(SearchablePerson.self)
            for name in names { sum &+= people.where { $0.name == name }.count }
            return sum
        }
        let people = try opened().objects(IndexedPerson.self)
        for name in names { sum &+= people.where { $0.name == name }.count }
        return sum
    }

    func sumOfScores() throws -> Double? { try opened().objects(Person.self).sum(of: \.score) }
    func averageAge() throws -> Double? { try opened().objects(Person.self).average(ofProperty: "age") }

    func sortedByAgeAndName(first: Int?) throws -> Int? {
        let people = try opened().objects(Person.self).where { $0.age >= 18 }.sorted(by: [
            SortDescriptor(keyPath: "age", ascending: false), SortDescriptor(keyPath: "name"),
        ])
        var hash = 0
        if let first {
            for person in people.prefix(first) { hash = keyHash(hash, person.id) }
        } else {
            for person in people { hash = keyHash(hash, person.id) }
        }
        return hash
    }

    func sortedByScore() throws -> Int? {
        var hash = 0
        for person in try opened().objects(Person.self).sorted(byKeyPath: "score") {
            hash = keyHash(hash, person.id)
        }
        return hash
    }

    func sumOfFriendAges() throws -> Int {
        var sum = 0
        for person in try opened().objects(Person.self) { sum &+= person.friend?.age ?? 0 }
        return sum
    }

    func refresh(times: Int) throws -> Bool {
        let realm = try opened()
        for _ in 0..<times { sink(realm.refresh() ? 1 : 0) }
        return true
    }
}
