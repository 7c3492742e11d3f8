// SPDX-License-Identifier: Apache-2.0
// The examples of `Regnum.docc/Threads.md`: they compile, do what the page says, and are identical here and there.

import Dispatch
import Foundation
import Observation
import RealmSwift
import Regnum
import Testing

enum ThreadsPage {
    class Dog: Object, Observable {
        @Persisted var name = ""
        @Persisted var age = 0
    }

    actor Kennel {
        private var realm: Realm?

        func open(_ configuration: Realm.Configuration) async throws {
            realm = try await Realm.open(configuration: configuration)
        }

        func add(_ name: String) async throws {
            guard let realm else { return }
            try await realm.asyncWrite { realm.add(Dog(value: ["name": name])) }
        }
    }
}

@Suite("Examples of Threads.md")
struct ThreadsPageTests {
    private typealias Dog = ThreadsPage.Dog

    private func memory() -> Realm.Configuration {
        Realm.Configuration(inMemoryIdentifier: UUID().uuidString, objectTypes: [ThreadsPage.Dog.self])
    }

    /// A Realm that contains Rex.
    private func kennel(_ configuration: Realm.Configuration) throws -> (Realm, ThreadsPage.Dog) {
        let realm = try Realm(configuration: configuration)
        let dog = try realm.write { realm.create(Dog.self, value: ["name": "Rex", "age": 3]) }
        return (realm, dog)
    }

    /// The value that `body` passes to its argument, on any thread.
    private func given<Value: Sendable>(_ body: (@escaping @Sendable (Value) -> Void) throws -> Void) rethrows -> Value?
    {
        let came = DispatchSemaphore(value: 0)
        nonisolated(unsafe) var value: Value?
        try body {
            value = $0
            came.signal()
        }
        return came.wait(timeout: .now() + 14_400) == .success ? value : nil
    }

    @Test("Opening on a thread returns the thread's Realm")
    func thread() throws {
        let configuration = memory()
        let realm = try Realm(configuration: configuration)
        try realm.write { realm.add(Dog(value: ["name": "Rex"])) }
        let again = try Realm(configuration: configuration)
        #expect(realm == again)
    }

    @Test("A Realm can be opened for a queue")
    func queue() throws {
        let configuration = memory()
        let queue = DispatchQueue(label: "dogs")
        try queue.sync {
            let realm = try Realm(configuration: configuration, queue: queue)
            try realm.write { realm.add(Dog(value: ["name": "Rex"])) }
        }
    }

    @Test("A Realm can be opened on the main actor")
    @MainActor func mainActor() async throws {
        let configuration = memory()
        let realm = try await Realm.open(configuration: configuration)
        try realm.write { realm.add(Dog(value: ["name": "Rex"])) }
        #expect(realm.objects(Dog.self).count == 1)
    }

    @Test("An actor opens and keeps its Realm")
    func actor() async throws {
        let configuration = memory()
        let kennel = ThreadsPage.Kennel()
        try await kennel.open(configuration)
        try await kennel.add("Rex")
    }

    @Test("Unmanaged objects and detached copies can be used anywhere")
    func unmanaged() throws {
        let (_, dog) = try kennel(memory())
        let draft = Dog(value: ["name": "Rex"])
        let copy = dog.detached()
        #expect(draft.name == copy.name)
    }

    @Test("Frozen objects can be used on any thread")
    func frozen() throws {
        let configuration = memory()
        let (realm, dog) = try kennel(configuration)
        let queue = DispatchQueue(label: "dogs")
        let frozen = dog.freeze()
        queue.sync { #expect(frozen.name == "Rex") }
        let live = frozen.thaw()
        #expect(live?.isFrozen == false)
        let pins = realm.pins()
        #expect(!pins.isEmpty)
    }

    @Test("Thread-safe references pass objects to other threads")
    func references() throws {
        let configuration = memory()
        let (realm, dog) = try kennel(configuration)
        let queue = DispatchQueue(label: "dogs")
        let reference = ThreadSafeReference(to: dog)
        try queue.sync {
            let realm = try Realm(configuration: configuration, queue: queue)
            let dog = realm.resolve(reference)
            #expect(dog?.name == "Rex")
        }
        let name = given { (done: @escaping @Sendable (String?) -> Void) in
            let shared = ThreadSafe(wrappedValue: dog)
            Thread.detachNewThread { done(shared.wrappedValue?.name) }
        }
        #expect(name == "Rex" && !realm.isEmpty)
    }

    @Test("Snapshots are plain values")
    func snapshots() throws {
        let (realm, dog) = try kennel(memory())
        struct DogValue: Codable, Sendable { let name: String; let age: Int }
        let value = try dog.snapshot(as: DogValue.self)
        let before = dog.snapshot()
        try realm.write { dog.age += 1 }
        let changes = dog.snapshot().changes(since: before)
        #expect(value.age == 3 && changes.map(\.path) == ["age"])
    }

    @Test("A Realm can be refreshed explicitly")
    func versions() throws {
        let (realm, _) = try kennel(memory())
        realm.autorefresh = false
        realm.refresh()
    }

    @Test("Observers can be called on a queue")
    func observers() throws {
        let configuration = memory()
        let queue = DispatchQueue(label: "dogs")
        let (realm, dog) = try kennel(configuration)
        let name = try given { (done: @escaping @Sendable (String) -> Void) in
            let token = realm.objects(Dog.self).observe(on: queue) { change in
                if case .update(let dogs, _, let insertions, _) = change { done(dogs[insertions[0]].name) }
            }
            queue.sync {}
            queue.sync {}
            try realm.write { realm.add(Dog(value: ["name": "Bo"])) }
            queue.sync {}
            queue.sync {}
            token.invalidate()
        }
        #expect(name == "Bo")
        let token = dog.observe(on: queue) { change in
            guard case .change(let dog, _) = change, let realm = dog.realm else { return }
            if realm.isInWriteTransaction { dog.age = 0 } else { try? realm.write { dog.age = 0 } }
        }
        queue.sync {}
        queue.sync {}
        try realm.write { dog.name = "Max" }
        for _ in 0..<3 { queue.sync {} }
        realm.refresh()
        #expect(dog.age == 0)
        try queue.sync {
            let own = try Realm(configuration: configuration, queue: queue)
            let dog = own.objects(Dog.self)[0]
            try own.write { dog.age = 7 }
            // The block is called as this one begins.
            try own.write { #expect(dog.age == 0) }
        }
        token.invalidate()
    }

    @Test("Changes can be read as an asynchronous sequence")
    @MainActor func sequences() async throws {
        let realm = try await Realm.open(configuration: memory())
        let task = Task { @MainActor in
            for await change in realm.objects(Dog.self).changes() {
                if case .update(let dogs, _, _, _) = change { return dogs.count }
            }
            return -1
        }
        while !task.isCancelled, realm.isEmpty || realm.objects(Dog.self).count < 3 {
            try realm.write { realm.add(Dog()) }
            await Task.yield()
        }
        try realm.write { realm.add(Dog()) }
        #expect(await task.value >= 1)
    }

    private final class Label: @unchecked Sendable {
        // Sendable: used on the test's thread.
        var text = ""
        var isStale = false
    }

    @Test("Reads of observable objects are tracked")
    func tracked() throws {
        let (realm, dog) = try kennel(memory())
        let label = Label()
        withObservationTracking {
            label.text = dog.name
        } onChange: {
            label.isStale = true
        }
        try realm.write { dog.name = "Max" }
        #expect(label.isStale && label.text == "Rex")
    }

    @Test("Writes can be asynchronous and log their waiting")
    func writes() throws {
        let (realm, dog) = try kennel(memory())
        let record: @Sendable (String) -> Void = { _ in }
        func log() throws {
            Logger.shared = Logger(level: .warn) { _, line in record(line) }
            try realm.write { dog.age += 1 }
        }
        // Not called: other tests log too.
        _ = log
        let configuration = memory()
        let queue = DispatchQueue(label: "dogs")
        let end = try given { (done: @escaping @Sendable (String) -> Void) in
            try queue.sync {
                let realm = try Realm(configuration: configuration, queue: queue)
                realm.writeAsync {
                    realm.add(Dog(value: ["name": "Rex"]))
                } onComplete: { error in
                    done(error == nil ? "written" : "failed")
                }
            }
        }
        #expect(end == "written")
    }

    @Test("A write on an unreferenced Realm continues")
    func keptWrite() throws {
        let configuration = memory()
        let queue = DispatchQueue(label: "keeper")
        let keeper = try queue.sync { try Realm(configuration: configuration, queue: queue) }
        // Kept for longer than the seconds that may pass between two statements on a busy machine.
        try OrphanedWrites.$scopedPatience.withValue(14_400_000_000_000) {
            try Realm(configuration: configuration).beginWrite()
            try Realm(configuration: configuration).add(Dog(value: ["name": "Rex"]))
            try Realm(configuration: configuration).commitWrite()
        }
        queue.sync {
            keeper.refresh()
            #expect(keeper.objects(Dog.self).count == 1)
        }
    }

    @Test("This file contains each example of the page")
    func page() throws {
        let here = URL(fileURLWithPath: #filePath)
        let folder = here.deletingLastPathComponent()
        let root = folder.deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        let page = try String(
            contentsOf: root.appendingPathComponent("Sources/Regnum/Regnum.docc/Threads.md"), encoding: .utf8)
        let source = lines(try String(contentsOf: here, encoding: .utf8)[...])
        let blocks = page.components(separatedBy: "```")
        var count = 0
        for (number, block) in blocks.enumerated() where number % 2 == 1 {
            guard block.hasPrefix("swift\n") else { continue }
            count += 1
            let example = lines(block.dropFirst(6))
            let isThere = source.indices.contains { start in
                source.count - start >= example.count && Array(source[start..<start + example.count]) == example
            }
            #expect(isThere, "\(example.joined(separator: "\n"))")
        }
        #expect(count == 19)
    }

    /// The lines without indentation, comments after code, and empty lines at the end.
    private func lines(_ text: Substring) -> [String] {
        var lines = text.split(separator: "\n", omittingEmptySubsequences: false).map { line -> String in
            let code = line.components(separatedBy: "   // ")[0]
            return code.trimmingCharacters(in: .whitespaces)
        }
        while lines.last == "" { lines.removeLast() }
        return lines
    }
}
