// SPDX-License-Identifier: Apache-2.0
// "Realm iOS Testing: In-Memory Databases and Mocking Realm Objects": the repository pattern, a protocol that `Realm`
// satisfies, and queries, as the article writes them.

import Foundation
import RealmSwift
import Testing

extension Realm.Configuration {
    static func makeTestConfiguration(identifier: String = UUID().uuidString) -> Realm.Configuration {
        Realm.Configuration(
            inMemoryIdentifier: identifier,
            schemaVersion: 1  // match your production schema version
        )
    }
}

enum InMemoryArticle {
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

struct InMemoryArticleTests {
    typealias Task = InMemoryArticle.Task
    let realm: Realm
    let repository: InMemoryArticle.TaskRepository

    init() throws {
        realm = try Realm(configuration: .makeTestConfiguration())
        repository = InMemoryArticle.TaskRepository(realm: realm)
    }

    @Test("a task is created")
    func createTask() throws {
        let task = Task()
        task.title = "Write unit tests"
        try repository.save(task)
        let saved = realm.object(ofType: Task.self, forPrimaryKey: task.id)
        #expect(saved != nil)
        #expect(saved?.title == "Write unit tests")
        #expect(!(saved?.isCompleted ?? true))
    }

    @Test("a task is updated")
    func updateTask() throws {
        let task = Task()
        task.title = "Initial title"
        try repository.save(task)
        try repository.update(taskId: task.id, title: "Updated title")
        let updated = realm.object(ofType: Task.self, forPrimaryKey: task.id)
        #expect(updated?.title == "Updated title")
    }

    @Test("a task is deleted")
    func deleteTask() throws {
        let task = Task()
        try repository.save(task)
        let id = task.id
        #expect(realm.object(ofType: Task.self, forPrimaryKey: id) != nil)
        try repository.delete(taskId: id)
        #expect(realm.object(ofType: Task.self, forPrimaryKey: id) == nil)
    }

    @Test("all tasks are fetched")
    func fetchAllReturnsAllTasks() throws {
        for title in ["Task A", "Task B", "Task C"] {
            let task = Task()
            task.title = title
            try repository.save(task)
        }
        #expect(repository.fetchAll().count == 3)
    }

    @Test("only completed tasks are fetched")
    func fetchCompletedOnlyReturnsCompleted() throws {
        let completed = Task(); completed.title = "Done"; completed.isCompleted = true
        let pending = Task(); pending.title = "Pending"; pending.isCompleted = false
        try repository.save(completed)
        try repository.save(pending)
        let results = repository.fetchCompleted()
        #expect(results.count == 1)
        #expect(results.first?.title == "Done")
    }

    @Test("tasks are sorted by date")
    func sortedByCreationDate() throws {
        let old = Task(); old.title = "Old"; old.createdAt = Date(timeIntervalSince1970: 1000)
        let new = Task(); new.title = "New"; new.createdAt = Date()
        try repository.save(old)
        try repository.save(new)
        let sorted = realm.objects(Task.self).sorted(byKeyPath: "createdAt", ascending: false)
        #expect(sorted.first?.title == "New")
    }

    @Test("tasks are filtered by title")
    func filterByTitle() throws {
        let task = Task(); task.title = "Buy groceries"
        try repository.save(task)
        let results = realm.objects(Task.self).where { $0.title.contains("grocery") }
        #expect(results.count == 0)
        let caseless = realm.objects(Task.self).filter("title CONTAINS[c] %@", "groceries")
        #expect(caseless.count == 1)
    }

    @Test("a Realm and a mock go through one protocol")
    func mocking() throws {
        func save(_ task: Task, to realm: any RealmProtocol) throws {
            try realm.write { realm.add(task, update: .modified) }
        }
        let mock = MockRealm()
        try save(Task(), to: mock)
        #expect(mock.savedObjects.count == 1)
        try save(Task(), to: realm)
        #expect(realm.objects(Task.self).count == 1)
        let same: any RealmProtocol = realm
        try same.write { same.delete(realm.objects(Task.self)[0]) }
        #expect(realm.objects(Task.self).isEmpty)
    }

    @Test("a Realm with a migration block opens where nothing is to migrate")
    func migrationBlock() throws {
        let configuration = Realm.Configuration(
            inMemoryIdentifier: "migration-test-\(UUID())", schemaVersion: 1, migrationBlock: { _, _ in })
        #expect(throws: Never.self) { try Realm(configuration: configuration) }
    }
}
