// SPDX-License-Identifier: Apache-2.0
// "Realm iOS Testing: In-Memory Databases and Mocking Realm Objects in Swift", as the article writes it. Only the time
// limits are longer, because this runs on loaded machines, and the migration has a file to migrate.

import Foundation
import RealmSwift
import XCTest

extension Realm.Configuration {
    static func makeTestConfiguration(identifier: String = UUID().uuidString) -> Realm.Configuration {
        Realm.Configuration(
            inMemoryIdentifier: identifier,
            schemaVersion: 1  // match your production schema version
        )
    }
}

class Task: Object {
    @Persisted(primaryKey: true) var id: String = UUID().uuidString
    @Persisted var title: String = ""
    @Persisted var isCompleted: Bool = false
    @Persisted var createdAt: Date = Date()
}

class TaskRepository {
    private let realm: Realm

    init(realm: Realm) {
        self.realm = realm
    }

    func save(_ task: Task) throws {
        try realm.write {
            realm.add(task, update: .modified)
        }
    }

    func fetchAll() -> Results<Task> {
        realm.objects(Task.self)
    }

    func fetchCompleted() -> Results<Task> {
        realm.objects(Task.self).where { $0.isCompleted == true }
    }

    func update(taskId: String, title: String) throws {
        guard let task = realm.object(ofType: Task.self, forPrimaryKey: taskId) else { return }
        try realm.write {
            task.title = title
        }
    }

    func delete(taskId: String) throws {
        guard let task = realm.object(ofType: Task.self, forPrimaryKey: taskId) else { return }
        try realm.write {
            realm.delete(task)
        }
    }
}

protocol RealmProtocol {
    func objects<Element: Object>(_ type: Element.Type) -> Results<Element>
    func add(_ object: Object, update: Realm.UpdatePolicy)
    func delete(_ object: Object)
    func write(_ block: () throws -> Void) throws
}

extension Realm: RealmProtocol {}

class MockRealm: RealmProtocol {
    var savedObjects: [Object] = []
    var deletedObjects: [Object] = []

    func objects<Element: Object>(_ type: Element.Type) -> Results<Element> {
        // Results<T> is hard to mock directly — use in-memory Realm instead
        fatalError("Use in-memory Realm for query testing")
    }

    func add(_ object: Object, update: Realm.UpdatePolicy) {
        savedObjects.append(object)
    }

    func delete(_ object: Object) {
        deletedObjects.append(object)
    }

    func write(_ block: () throws -> Void) throws {
        try block()
    }
}

final class TaskRepositoryTests: XCTestCase {
    var realm: Realm!
    var repository: TaskRepository!

    override func setUp() {
        super.setUp()
        realm = try! Realm(configuration: .makeTestConfiguration())
        repository = TaskRepository(realm: realm)
    }

    override func tearDown() {
        try! realm.write { realm.deleteAll() }
        realm = nil
        repository = nil
        super.tearDown()
    }

    // MARK: Testing CRUD Operations

    func testCreateTask() throws {
        let task = Task()
        task.title = "Write unit tests"

        try repository.save(task)

        let saved = realm.object(ofType: Task.self, forPrimaryKey: task.id)
        XCTAssertNotNil(saved)
        XCTAssertEqual(saved?.title, "Write unit tests")
        XCTAssertFalse(saved?.isCompleted ?? true)
    }

    func testUpdateTask() throws {
        let task = Task()
        task.title = "Initial title"
        try repository.save(task)

        try repository.update(taskId: task.id, title: "Updated title")

        let updated = realm.object(ofType: Task.self, forPrimaryKey: task.id)
        XCTAssertEqual(updated?.title, "Updated title")
    }

    func testDeleteTask() throws {
        let task = Task()
        try repository.save(task)
        XCTAssertNotNil(realm.object(ofType: Task.self, forPrimaryKey: task.id))
        // The article reads the id of the deleted object, which ends the program in RealmSwift too.
        let id = task.id

        try repository.delete(taskId: task.id)

        XCTAssertNil(realm.object(ofType: Task.self, forPrimaryKey: id))
    }

    func testFetchAllReturnsAllTasks() throws {
        let titles = ["Task A", "Task B", "Task C"]
        for title in titles {
            let task = Task()
            task.title = title
            try repository.save(task)
        }

        let all = repository.fetchAll()
        XCTAssertEqual(all.count, 3)
    }

    func testFetchCompletedOnlyReturnsCompleted() throws {
        let completed = Task(); completed.title = "Done"; completed.isCompleted = true
        let pending = Task(); pending.title = "Pending"; pending.isCompleted = false
        try repository.save(completed)
        try repository.save(pending)

        let results = repository.fetchCompleted()
        XCTAssertEqual(results.count, 1)
        XCTAssertEqual(results.first?.title, "Done")
    }

    // MARK: Mocking Realm with a Protocol

    func testMockAndRealmGoThroughOneProtocol() throws {
        func save(_ task: Task, to realm: any RealmProtocol) throws {
            try realm.write { realm.add(task, update: .modified) }
        }
        let mock = MockRealm()
        try save(Task(), to: mock)
        XCTAssertEqual(mock.savedObjects.count, 1)
        mock.delete(mock.savedObjects[0])
        XCTAssertEqual(mock.deletedObjects.count, 1)

        let same: any RealmProtocol = realm
        try save(Task(), to: same)
        XCTAssertEqual(same.objects(Task.self).count, 1)
        try same.write { same.delete(same.objects(Task.self)[0]) }
        XCTAssertTrue(realm.objects(Task.self).isEmpty)
    }

    // MARK: Testing Realm Queries

    func testSortedByCreationDate() throws {
        let old = Task(); old.title = "Old"; old.createdAt = Date(timeIntervalSince1970: 1000)
        let new = Task(); new.title = "New"; new.createdAt = Date()
        try repository.save(old)
        try repository.save(new)

        let sorted = realm.objects(Task.self).sorted(byKeyPath: "createdAt", ascending: false)
        XCTAssertEqual(sorted.first?.title, "New")
    }

    func testFilterByTitle() throws {
        let task = Task()
        task.title = "Buy groceries"
        try repository.save(task)

        let results = realm.objects(Task.self).where { $0.title.contains("grocery") }
        XCTAssertEqual(results.count, 0)

        let caseless = realm.objects(Task.self).filter("title CONTAINS[c] %@", "groceries")
        XCTAssertEqual(caseless.count, 1)
    }

    // MARK: Testing Migrations

    func testMigrationAddsDefaultPriority() throws {
        // Simulate schema version 0 data
        let oldConfig = Realm.Configuration(
            inMemoryIdentifier: "migration-test",
            schemaVersion: 0
        )
        XCTAssertEqual(oldConfig.schemaVersion, 0)

        let newConfig = Realm.Configuration(
            inMemoryIdentifier: "migration-test",
            schemaVersion: 1,
            migrationBlock: { migration, oldSchemaVersion in
                if oldSchemaVersion < 1 {
                    migration.enumerateObjects(ofType: Task.className()) { _, newObject in
                        newObject?["priority"] = "normal"  // default value for new field
                    }
                }
            }
        )

        let realm = try Realm(configuration: newConfig)
        XCTAssertNotNil(realm)
        // Migration ran without throwing — success
    }

    /// "In real migration tests, you'd use a pre-seeded .realm file": the same block, with a file that needs it.
    func testMigrationOfAFileAddsDefaultPriority() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("seed-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let url = folder.appendingPathComponent("old.realm")
        try autoreleasepool {
            let old = try Realm(configuration: .init(fileURL: url, objectTypes: [OldTask.self]))
            try old.write { old.add(OldTask(value: ["id": "1", "title": "Old"])) }
        }
        let realm = try Realm(
            configuration: .init(
                fileURL: url, schemaVersion: 1,
                migrationBlock: { migration, oldSchemaVersion in
                    if oldSchemaVersion < 1 {
                        migration.enumerateObjects(ofType: "RankedTask") { _, newObject in
                            newObject?["priority"] = "normal"
                        }
                    }
                }, objectTypes: [RankedTask.self]))
        XCTAssertEqual(realm.objects(RankedTask.self).first?.priority, "normal")
        XCTAssertEqual(realm.objects(RankedTask.self).first?.title, "Old")
    }

    // MARK: Testing Async Realm (Swift Concurrency)

    @MainActor
    func testAsyncFetch() async throws {
        let config = Realm.Configuration.makeTestConfiguration()
        // The article omits `downloadBeforeOpen`: that compiles too, with a warning that nothing is awaited.
        let realm = try await Realm(configuration: config, downloadBeforeOpen: .never)

        try await realm.asyncWrite {
            let task = Task()
            task.title = "Async task"
            realm.add(task)
        }

        let tasks = realm.objects(Task.self)
        XCTAssertEqual(tasks.count, 1)
        XCTAssertEqual(tasks.first?.title, "Async task")
    }

    // MARK: Testing Realm Notifications

    func testTaskChangeNotification() throws {
        let task = Task()
        task.title = "Original"
        try realm.write { realm.add(task) }

        let expectation = XCTestExpectation(description: "Change notification received")
        var token: NotificationToken?

        token = task.observe { change in
            if case .change(_, let properties) = change {
                let titleChange = properties.first { $0.name == "title" }
                XCTAssertNotNil(titleChange)
                XCTAssertEqual(titleChange?.newValue as? String, "Updated")
                expectation.fulfill()
            }
        }

        try realm.write { task.title = "Updated" }
        wait(for: [expectation], timeout: 1800)
        token?.invalidate()
    }
}

/// Versions of a class that only the migration of a file uses.
class OldTask: Object {
    @Persisted(primaryKey: true) var id = ""
    @Persisted var title = ""
    override class func _realmObjectName() -> String? { "RankedTask" }
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

class RankedTask: Object {
    @Persisted(primaryKey: true) var id = ""
    @Persisted var title = ""
    @Persisted var priority = ""
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}
