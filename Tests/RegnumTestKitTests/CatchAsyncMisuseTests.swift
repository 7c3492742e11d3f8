// SPDX-License-Identifier: Apache-2.0
// `catchAsyncMisuse` returns the message of a programmer error in asynchronous code, and the process continues.

import Foundation
import Regnum
import RegnumTestKit
import Synchronization
import Testing

/// Has a Realm of its own.
private actor PupKeeper {
    private let identifier: String
    private var realm: Realm?

    init(_ identifier: String) { self.identifier = identifier }

    func open() async throws {
        realm = try await Realm.open(
            configuration: Realm.Configuration(inMemoryIdentifier: identifier, objectTypes: [Pup.self]))
    }

    func add(_ id: Int) throws {
        let realm = try #require(realm)
        try realm.write { realm.add(Pup(value: ["id": id])) }
    }

    func addInAsyncWrite(_ id: Int) async throws {
        let realm = try #require(realm)
        try await realm.asyncWrite { realm.add(Pup(value: ["id": id])) }
    }

    func addOutsideWrite() throws { try #require(realm).add(Pup(value: ["id": 9])) }

    func count() throws -> Int { try #require(realm).objects(Pup.self).count }

    func object() throws -> Leaked { Leaked(pup: try #require(realm?.objects(Pup.self).first)) }
}

private struct Leaked: @unchecked Sendable {
    // Sendable: tests use it on the wrong thread on purpose.
    let pup: Pup
}

private enum Flag { @TaskLocal static var isSet = false }

@Suite("Catching misuse of asynchronous calls", .timeLimit(.minutes(240)))
struct CatchAsyncMisuseTests {
    private let identifier = UUID().uuidString
    private let keeper: PupKeeper

    init() async throws {
        keeper = PupKeeper(identifier)
        try await keeper.open()
        try await keeper.add(1)
    }

    @Test("A body without misuse runs to its end, across actors and awaits")
    func clean() async throws {
        let words = try await catchAsyncMisuse { [keeper] in
            try await keeper.add(2)
            await Task.yield()
            try await keeper.addInAsyncWrite(3)
            async let count = keeper.count()
            #expect(try await count == 3)
        }
        #expect(words == nil)
        #expect(try await keeper.count() == 3)
    }

    @Test("Misuse of an actor's object on another thread is caught, even after an await")
    func wrongPlace() async throws {
        let words = try await catchAsyncMisuse { [keeper] in
            let leaked = try await keeper.object()
            await Task.yield()
            _ = leaked.pup.name
        }
        #expect(words?.hasPrefix("Realm accessed from incorrect thread.") == true, "\(words ?? "nil")")
        // Nothing is suspended: the misuse did not run on this actor.
        #expect(try await keeper.count() == 1)
    }

    @Test("Misuse in a child task is caught")
    func children() async throws {
        let words = try await catchAsyncMisuse { [keeper] in
            let leaked = try await keeper.object()
            await withTaskGroup(of: Void.self) { group in
                group.addTask { leaked.pup.name = "x" }
            }
        }
        #expect(words?.isEmpty == false)
    }

    @Test("Misuse on an actor is caught, and others can write")
    func onActor() async throws {
        let other = PupKeeper(identifier)
        let words = try await catchAsyncMisuse {
            try await other.open()
            try await other.addOutsideWrite()
        }
        #expect(words?.contains("in a write transaction") == true, "\(words ?? "nil")")
        try await keeper.add(5)
        #expect(try await keeper.count() == 2)
    }

    @Test("A write begun in the body is cancelled")
    func writes() async throws {
        let words = try await catchAsyncMisuse { [identifier] in
            let realm = try makeRealm(identifier)
            realm.beginWrite()
            realm.add(Pup(value: ["id": 7]))
            await Task.yield()
            realm.add(Pup(value: ["id": 7]))
        }
        #expect(words?.contains("existing primary key value '7'") == true, "\(words ?? "nil")")
        try await keeper.add(8)
        #expect(try await keeper.count() == 2)
    }

    @Test("An error of the body is rethrown")
    func thrown() async {
        await #expect(throws: Refusal.self) {
            try await catchAsyncMisuse {
                await Task.yield()
                throw Refusal()
            }
        }
    }

    @Test("Task-local values and cancellation reach the body")
    func context() async {
        await Flag.$isSet.withValue(true) {
            let words = await catchAsyncMisuse { #expect(Flag.isSet) }
            #expect(words == nil)
        }
        let began = AsyncStream<Void>.makeStream()
        let task = Task {
            await catchAsyncMisuse {
                began.continuation.yield()
                while !Task.isCancelled { await Task.yield() }
            }
        }
        for await _ in began.stream { break }
        task.cancel()
        #expect(await task.value == nil)
    }

    @Test("`catchMisuse` can be nested inside, and many bodies run at once", arguments: [64])
    func many(_ count: Int) async {
        let texts = await withTaskGroup(of: String?.self) { group in
            for i in 0..<count {
                group.addTask {
                    await catchAsyncMisuse {
                        let inner = catchMisuse { _ = try? makeRealm().objects(Pup.self)[5] }
                        #expect(inner?.hasPrefix("Index 5 is out of bounds") == true)
                        await Task.yield()
                        if i.isMultiple(of: 2) { _ = try? makeRealm().objects(Pup.self)[i] }
                    }
                }
            }
            return await group.reduce(into: [String]()) { if let text = $1 { $0.append(text) } }
        }
        #expect(texts.count == count / 2)
        #expect(Set(texts).count == count / 2)
    }
}
