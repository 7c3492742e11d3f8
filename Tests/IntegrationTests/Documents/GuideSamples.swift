// SPDX-License-Identifier: Apache-2.0
// The code samples of the guides in Sources/Regnum/Regnum.docc, word for word, so that the compiler checks them.
// GuideSamplesTests.swift compares them with the guides and runs them.

import Dispatch
import Foundation
import RealmSwift
import RegnumBackup
import RegnumTestKit
import Testing

enum Guide {
    static func show(_ values: Any...) {}
    class Dog: Object {
        @Persisted(primaryKey: true) var id: ObjectId
        @Persisted var name = ""
        @Persisted var age = 0
    }
    class Book: Object {
        @Persisted(primaryKey: true) var isbn = ""
        @Persisted(indexed: true) var title = ""
        @Persisted var pages: Int?
        @Persisted var price: Decimal128
        @Persisted var published: Date?
        @Persisted var cover: Data?
        @Persisted var kind = Kind.novel
        @Persisted var keywords: MutableSet<String>
        @Persisted var ratings: Map<String, Int>
        @Persisted var extra: AnyRealmValue
        var isOpen = false

        enum Kind: String, PersistableEnum { case novel, manual, poetry }
    }
    class Person: Object {
        @Persisted var name = ""
        @Persisted var favourite: Dog?
        @Persisted var dogs: List<Dog>
        @Persisted var address: Address?
    }

    class Address: EmbeddedObject {
        @Persisted var street = ""
        @Persisted var city = ""
    }

    class Walk: Object {
        @Persisted var day = Date()
        @Persisted var dog: Walker?
    }

    class Walker: Object {
        @Persisted var name = ""
        @Persisted(originProperty: "dog") var walks: LinkingObjects<Walk>
    }

    class Pup: Object {
        @Persisted(primaryKey: true) var id = 0
        @Persisted var name = ""
        @Persisted var owner: Breeder?
    }

    class Breeder: Object {
        @Persisted(primaryKey: true) var id = 0
        @Persisted var name = "unknown"
    }
}

// GettingStarted
extension Guide {
    static func firstSteps() throws {
        let realm = try Realm()
        let dog = Dog()
        dog.name = "Rex"
        dog.age = 3
        try realm.write {
            realm.add(dog)
        }
        for puppy in realm.objects(Dog.self).where({ $0.age < 4 }) {
            show(puppy.name)
        }
    }

    static func places() throws {
        let inFolder = try Realm(fileURL: URL(fileURLWithPath: "/var/lib/app/dogs.realm"))
        let inMemory = try Realm(configuration: Realm.Configuration(inMemoryIdentifier: "scratch"))
        show(inFolder.isEmpty, inMemory.isEmpty)
    }
}

// Models
extension Guide {
    static func keys(_ realm: Realm) throws {
        try realm.write {
            realm.create(Book.self, value: ["isbn": "978-0", "title": "Trees", "pages": 312] as [String: Any])
        }
        let book = realm.object(ofType: Book.self, forPrimaryKey: "978-0")
        show(book?.title ?? "no such book")
    }
}

// JSONAndValues
extension Guide {
    static func decoding(_ realm: Realm) throws -> [Pup] {
        let json = Data(#"[{"id": 1, "name": "Rex", "owner": 7}]"#.utf8)
        let dogs = try realm.decode(json, as: Pup.self)
        return dogs
    }

    static func values(_ realm: Realm) throws -> [String?] {
        struct PupValue: Codable, Sendable {
            struct Owner: Codable, Sendable { var name: String }
            var name: String
            var owner: Owner?
        }
        let values = try realm.objects(Pup.self).snapshots(as: PupValue.self)
        return values.flatMap { [$0.name, $0.owner?.name] }
    }
}

// Relationships
extension Guide {
    static func linking(_ realm: Realm) throws {
        let person = Person()
        person.name = "Ann"
        let dog = Dog()
        dog.name = "Rex"
        person.favourite = dog
        person.dogs.append(dog)
        try realm.write {
            realm.add(person)
        }
        show(person.dogs.count, person.favourite?.name ?? "none")
    }

    static func linkingBack(_ realm: Realm) throws {
        let walker = Walker()
        let walk = Walk()
        walk.dog = walker
        try realm.write {
            realm.add(walk)
        }
        show(walker.walks.count)
    }

    static func embedding(_ realm: Realm) throws {
        let person = Person(
            value: ["name": "Bea", "address": ["street": "Long Lane", "city": "Bath"]] as [String: Any])
        try realm.write {
            realm.add(person)
        }
        try realm.write {
            person.address?.city = "Wells"
        }
    }
}

// Queries
extension Guide {
    static func spellings(_ realm: Realm) throws {
        let people = realm.objects(Person.self)
        let checked = people.where { $0.name.starts(with: "A") && $0.favourite.age > 2 }
        let format = people.filter("name BEGINSWITH %@ AND favourite.age > %d", "A", 2)
        let predicate = people.filter(NSPredicate(format: "ANY dogs.name == %@", "Rex"))
        show(checked.count, format.count, predicate.count)
    }

    static func results(_ realm: Realm) throws {
        let dogs = realm.objects(Dog.self).sorted(byKeyPath: "name")
        try realm.write {
            realm.add(Dog())
        }
        show(dogs.count, dogs.first?.name ?? "", dogs.max(of: \.age) ?? 0)
        let total: Int = dogs.sum(of: \.age)
        let names = Array(dogs.map(\.name))
        show(total, names)
    }

    static func sections(_ realm: Realm) throws {
        let byName = realm.objects(Dog.self).sectioned(by: \.name, ascending: true)
        for section in byName {
            show(section.key, section.count)
        }
    }
}

// WritesAndThreads
extension Guide {
    static func transactions(_ realm: Realm, _ dog: Dog) throws {
        try realm.write {
            dog.age += 1
            realm.add(Dog())
        }
        try realm.write {
            realm.delete(dog)
        }
    }

    static func upserting(_ realm: Realm, _ id: ObjectId) throws {
        try realm.write {
            realm.create(Dog.self, value: ["id": id, "age": 4] as [String: Any], update: .modified)
        }
    }

    static func background(_ dog: Dog) throws {
        let reference = ThreadSafeReference(to: dog)
        DispatchQueue(label: "background").async {
            guard let realm = try? Realm(), let dog = realm.resolve(reference) else { return }
            try? realm.write { dog.age += 1 }
        }
    }

    actor Kennel {
        var realm: Realm?

        func open() async throws {
            realm = try await Realm.open()
        }

        func rename(_ id: ObjectId, to name: String) async throws {
            try await realm?.asyncWrite {
                realm?.object(ofType: Dog.self, forPrimaryKey: id)?.name = name
            }
        }
    }

    static func freezing(_ realm: Realm) throws {
        let snapshot = FrozenResults(realm.objects(Dog.self))
        DispatchQueue.global().async {
            show(snapshot.count)
        }
    }
}

// Notifications
extension Guide {
    static func observing(_ realm: Realm) throws -> NotificationToken {
        let token = realm.objects(Dog.self).observe { change in
            switch change {
            case .initial(let dogs): show("all", dogs.count)
            case .update(_, let deletions, let insertions, let modifications):
                show(deletions, insertions, modifications)
            case .error(let error): show(error)
            }
        }
        return token
    }

    static func observingObjects(_ dog: Dog, _ queue: DispatchQueue) -> NotificationToken {
        let token = dog.observe(keyPaths: ["name"], on: queue) { change in
            if case .change(_, let properties) = change { show(properties.map(\.name)) }
        }
        return token
    }

    static func looping(_ realm: Realm) async {
        for await change in realm.objects(Dog.self).changes() {
            if case .update(let dogs, _, _, _) = change { show(dogs.count) }
        }
    }
}

// Migrations
extension Guide {
    static func raising() -> Realm.Configuration {
        let configuration = Realm.Configuration(schemaVersion: 2)
        return configuration
    }

    static func migrating() -> Realm.Configuration {
        let configuration = Realm.Configuration(
            schemaVersion: 3,
            migrationBlock: { migration, oldVersion in
                if oldVersion < 3 {
                    migration.renameProperty(onType: "Person", from: "fullName", to: "name")
                    migration.enumerateObjects(ofType: "Dog") { old, new in
                        new?["age"] = Int(old?["ageText"] as? String ?? "") ?? 0
                    }
                }
            })
        return configuration
    }

    static func rehearsing(_ configuration: Realm.Configuration) throws {
        show(try Realm.migrationPlan(for: configuration))
        show(try Realm.rehearseMigration(for: configuration))
    }
}

// Testing
extension Guide {
    static func ownRealm() throws -> Realm {
        let configuration = Realm.Configuration(
            inMemoryIdentifier: UUID().uuidString, objectTypes: [Dog.self])
        let realm = try Realm(configuration: configuration)
        return realm
    }

    static func misusing(_ realm: Realm) throws {
        let message = catchMisuse {
            realm.add(Dog())
        }
        #expect(message?.contains("write transaction") == true)
    }

    static func checking(_ configuration: Realm.Configuration) throws {
        expectIntegrity(of: configuration)
    }
}

// MovingFromRealmSwift
extension Guide {
    static func same(_ realm: Realm) throws {
        let dogs = realm.objects(Dog.self).filter("age > 3").sorted(byKeyPath: "name", ascending: false)
        let token = dogs.observe { _ in }
        try realm.write(withoutNotifying: [token]) {
            dogs.setValue(5, forKeyPath: "age")
        }
    }
}

// History
extension Guide {
    static func openHistory() throws {
        var configuration = Realm.Configuration.defaultConfiguration
        configuration.history = .keep(for: .days(7), atMost: .megabytes(200))
        let realm = try Realm(configuration: configuration)
        show(realm)
    }

    static func readHistory(_ realm: Realm, _ cursor: ChangeCursor) throws {
        let yesterday = try realm.asOf(Date(timeIntervalSinceNow: -86_400))
        show(yesterday.objects(Dog.self).count)
        for version in try realm.versions(in: Date(timeIntervalSinceNow: -3_600)...Date()) {
            show(version.date, try realm.asOf(version).objects(Dog.self).count)
        }

        let batch = try realm.changes(since: cursor)
        if let dogs = batch["Dog"] {
            show(dogs.inserted, dogs.modified.map(\.properties), dogs.deleted)
        }
        let stored = batch.cursor.description
        show(stored)
    }

    static func followChanges(_ realm: Realm, _ cursor: ChangeCursor) async throws {
        for try await batch in try realm.changeFeed(since: cursor) {
            show(batch.cursor)
        }
    }
}

// Servers
extension Guide {
    static func copying(_ realm: Realm, _ backupURL: URL) throws {
        try realm.backup(to: backupURL, rate: 20_000_000) { progress in
            show("\(Int(progress.fraction * 100)) %")
        }
    }

    static func backingUp(_ realmURL: URL, _ folder: URL) throws {
        let repository = try BackupRepository(DirectoryStore(folder), creating: true)
        try repository.backUp(realmURL)
        for backup in try repository.backups() {
            show(backup.date, backup.version, backup.storedByteCount)
        }
    }

    static func protecting(_ realmURL: URL, _ folder: URL, _ repositoryKey: Data) throws {
        let store = DirectoryStore(folder)
        _ = try BackupRepository(store, creating: true, encryptionKey: repositoryKey, isCompressed: true)
        let repository = try BackupRepository(store, encryptionKey: repositoryKey)
        try repository.backUp(realmURL)
    }

    static func following(_ repository: BackupRepository, _ realmURL: URL, _ isStopped: () -> Bool) throws {
        let policy = RetentionPolicy(hourly: 24, daily: 30)
        try repository.follow(realmURL, retention: policy, isEnded: { isStopped() }) { event in
            if case .backedUp(let backup) = event { show(backup.version) }
        }
    }

    static func restoring(
        _ repository: BackupRepository, _ otherRepository: BackupRepository, _ restoredURL: URL
    ) throws {
        let plan = try repository.plan(.date(Date(timeIntervalSinceNow: -3_600)))
        try repository.restore(.number(plan.backup.number), to: restoredURL)
        let result = try repository.verify(healing: true, from: [otherRepository])
        show(result.isRestorable, result.findings)
        try repository.prune(RetentionPolicy(hourly: 24, daily: 30, monthly: 12))
    }
}

extension Guide {
    static func serving(_ configuration: Realm.Configuration) async throws {
        let pool = try await RealmPool(configuration: configuration, readers: 4)
        let id = try await pool.write { realm in
            realm.create(Dog.self, value: ["name": "Rex", "age": 3] as [String: Any]).id
        }
        let name = try await pool.read { realm in
            realm.object(ofType: Dog.self, forPrimaryKey: id)?.name
        }
        #expect(name == "Rex")
        let dogs = try await pool.read { realm in
            FrozenResults(realm.objects(Dog.self).where { $0.age > 2 }.sorted(byKeyPath: "name"))
        }
        for dog in dogs.prefix(10) { show(dog.name, dog.age) }
        #expect(dogs.map(\.name) == ["Rex"])
        try await stopping(pool)
        let metrics = pool.metrics
        show(metrics.writes.waiting, metrics.writes.completed, metrics.writes.timeWaited, metrics.syncs)
        #expect(metrics.writes.completed == 1)
    }

    static func counting(_ realm: Realm) {
        let statistics = realm.statistics
        show(statistics.commits, statistics.committedBytes, statistics.syncTime)
        show(statistics.queries, statistics.examinedObjects)
        show(statistics.fileSize, statistics.freeSpace ?? 0)
        if let pin = statistics.oldestPin { show("\(pin)") }
        for blocked in statistics.blockedWriters { show(blocked.duration, blocked.fileID ?? "") }
        if let writer = statistics.writer { show("\(writer)") }
    }

    static func passingOn(_ pool: RealmPool) async throws {
        let changes = pool.changes(snapshots: true) { realm in realm.objects(Dog.self).where { $0.age > 2 } }
        for try await change in changes {
            switch change {
            case .contents(let contents): show("all", contents.version, contents.objects)
            case .update(let update):
                show("change", update.version, update.deletions.map(\.primaryKey), update.insertions)
            }
        }
    }

    static func passingValuesOn(_ pool: RealmPool) async throws {
        struct DogName: Codable, Sendable { var name: String }
        for try await change in pool.changes(as: DogName.self, { realm in realm.objects(Dog.self) }) {
            switch change {
            case .contents(let contents): show("all", contents.values.map(\.name))
            case .update(let update): show("new", update.insertions.map(\.value.name))
            }
        }
    }

    static func serve(_ pool: RealmPool) async throws {}

    static func stopping(_ pool: RealmPool) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await pool.runUntilCancelled() }
            group.addTask { try await serve(pool) }
            _ = try await group.next()
            group.cancelAll()
        }
    }
}
