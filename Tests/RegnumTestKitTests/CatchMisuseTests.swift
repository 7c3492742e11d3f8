// SPDX-License-Identifier: Apache-2.0
// `catchMisuse` returns the message of a programmer error, and the Realm stays usable.

import Foundation
import Regnum
import RegnumTestKit
import Testing

final class Pup: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var name = ""
}

/// A separate in-memory database for each call.
func makeRealm(_ identifier: String = UUID().uuidString) throws -> Realm {
    try Realm(configuration: Realm.Configuration(inMemoryIdentifier: identifier, objectTypes: [Pup.self]))
}

struct Refusal: Error {}

@Suite("Catching misuse")
struct CatchMisuseTests {
    /// True for the message of a change outside of a write.
    static func isOutsideWrite(_ words: String?) -> Bool {
        words?.hasPrefix(Kind.outsideWrite.rawValue) == true
    }

    let realm: Realm
    let pup: Pup

    init() throws {
        let realm = try makeRealm()
        let pup = Pup(value: ["id": 1, "name": "Rex"])
        try realm.write { realm.add(pup) }
        self.realm = realm
        self.pup = pup
    }

    /// Each kind of misuse with a part of its message.
    enum Kind: String, CaseIterable {
        case outsideWrite = "Cannot modify managed objects outside of a write transaction."
        case addOutsideWrite = "Can only add, remove, or create objects in a Realm in a write transaction"
        case deleted = "Object has been deleted or invalidated."
        case badPredicate = "Unable to parse the format string"
        case unknownProperty = "nothing"
        case duplicateKey = "existing primary key value '1'"
        case outOfBounds = "Index 5 is out of bounds (must be less than 1)."
        case secondWrite = "The Realm is already in a write transaction"
        case noWrite = "Can't commit a non-existing write transaction"
    }

    private func commit(_ kind: Kind) throws {
        switch kind {
        case .outsideWrite: pup.name = "x"
        case .addOutsideWrite: realm.add(Pup(value: ["id": 2]))
        case .deleted:
            try realm.write { realm.delete(pup) }
            _ = pup.name
        case .badPredicate: _ = realm.objects(Pup.self).filter("name ==").count
        case .unknownProperty: _ = realm.objects(Pup.self).filter("nothing == 1").count
        case .duplicateKey: try realm.write { realm.add(Pup(value: ["id": 1])) }
        case .outOfBounds: _ = realm.objects(Pup.self)[5]
        case .secondWrite: try realm.write { realm.beginWrite() }
        case .noWrite: try realm.commitWrite()
        }
    }

    @Test(
        "`catchMisuse` returns the message of each kind of misuse, and the Realm stays usable",
        arguments: Kind.allCases)
    func kinds(_ kind: Kind) throws {
        let words = try catchMisuse { try commit(kind) }
        #expect(words?.contains(kind.rawValue) == true, "\(words ?? "nil")")
        #expect(!realm.isInWriteTransaction)
        try realm.write { realm.add(Pup(value: ["id": 7])) }
        #expect(realm.object(ofType: Pup.self, forPrimaryKey: 7) != nil)
    }

    @Test("Misuse on another thread is caught on that thread")
    func wrongThread() {
        nonisolated(unsafe) let realm = realm
        nonisolated(unsafe) var words: String?
        let done = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            words = catchMisuse { _ = realm.objects(Pup.self).count }
            done.signal()
        }
        done.wait()
        #expect(words?.hasPrefix("Realm accessed from incorrect thread.") == true)
    }

    @Test("A body without misuse runs to its end")
    func noMisuse() {
        var count = 0
        #expect(catchMisuse { count = realm.objects(Pup.self).count } == nil)
        #expect(count == 1)
    }

    @Test("An error of the body is rethrown")
    func throwing() throws {
        #expect(throws: Refusal.self) { _ = try catchMisuse { try realm.write { throw Refusal() } } }
        #expect(!realm.isInWriteTransaction)
    }

    // MARK: Writes

    @Test("A write begun in the body is cancelled and its changes are gone")
    func cancelled() throws {
        let words = try catchMisuse {
            try realm.write {
                pup.name = "changed"
                realm.add(Pup(value: ["id": 2]))
                _ = realm.objects(Pup.self)[9]
            }
        }
        #expect(words == "Index 9 is out of bounds (must be less than 2).")
        #expect(!realm.isInWriteTransaction)
        #expect(pup.name == "Rex")
        #expect(realm.objects(Pup.self).count == 1)
    }

    @Test("A write begun before the body stays open")
    func kept() throws {
        realm.beginWrite()
        pup.name = "changed"
        #expect(catchMisuse { realm.beginWrite() } == "The Realm is already in a write transaction")
        #expect(realm.isInWriteTransaction)
        try realm.commitWrite()
        #expect(pup.name == "changed")
    }

    @Test(
        "A write that a body without misuse leaves open stays open, and misuse in the outer body cancels it"
    )
    func leftOpen() {
        #expect(catchMisuse { realm.beginWrite() } == nil)
        #expect(realm.isInWriteTransaction)
        realm.cancelWrite()
        let words = catchMisuse {
            #expect(catchMisuse { realm.beginWrite() } == nil)
            _ = realm.objects(Pup.self)[5]
        }
        #expect(words?.hasPrefix("Index 5") == true)
        #expect(!realm.isInWriteTransaction)
    }

    @Test("Open writes on several Realms are all cancelled, and another thread can write immediately")
    func severalRealms() throws {
        let identifier = UUID().uuidString
        let other = try makeRealm(identifier)
        let words = catchMisuse {
            realm.beginWrite()
            other.beginWrite()
            other.add(Pup(value: ["id": 1]))
            realm.beginWrite()
        }
        #expect(words == "The Realm is already in a write transaction")
        let done = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            try? makeRealm(identifier).write {}
            done.signal()
        }
        #expect(done.wait(timeout: .now() + 1800) == .success)
        #expect(other.isEmpty)
    }

    // MARK: Nesting and repetition

    @Test("The innermost call receives the message")
    func nested() {
        let outer = catchMisuse {
            #expect(Self.isOutsideWrite(catchMisuse { pup.name = "x" }))
            #expect(catchMisuse { _ = pup.name } == nil)
            realm.cancelWrite()
        }
        #expect(outer == "Can't cancel a non-existing write transaction")
    }

    @Test("Hundreds of misuses are caught, inside and outside of writes", arguments: 0..<4)
    func hundreds(_ lane: Int) throws {
        for i in 0..<75 {
            #expect(Self.isOutsideWrite(catchMisuse { pup.name = "\(lane) \(i)" }))
            let words = try catchMisuse {
                try realm.write {
                    pup.name = "x"
                    realm.beginWrite()
                }
            }
            #expect(words == "The Realm is already in a write transaction")
        }
        #expect(pup.name == "Rex")
    }

    @Test("Variables that an abandoned body was changing can be changed again")
    func accesses() {
        for i in 0..<200 {
            #expect(Self.isOutsideWrite(catchMisuse { change(&Self.counter) }))
            Self.counter += 1
            #expect(Self.counter == i + 1)
        }
    }

    nonisolated(unsafe) static var counter = 0
    private func change(_ counter: inout Int) { pup.name = "\(counter)" }

    // MARK: Executors

    @MainActor
    @Test("On the main actor the body runs on the main actor")
    func mainActor() async throws {
        let realm = try makeRealm()
        let pup = Pup(value: ["id": 1])
        try realm.write { realm.add(pup) }
        for i in 0..<250 {
            let words = catchMisuse {
                MainActor.assertIsolated()
                pup.name = "x"
            }
            #expect(Self.isOutsideWrite(words))
            if i % 100 == 0 { await Task.yield() }
        }
    }

    @Test("On an actor the body runs on the actor")
    func actor() async {
        #expect(await Kennel().misuse(times: 250) == 250)
    }

    private actor Kennel {
        func misuse(times: Int) async -> Int {
            var caught = 0
            for i in 0..<times {
                if catchMisuse({ _ = List<Int>()[3] }) != nil { caught += 1 }
                if i % 100 == 0 { await Task.yield() }
            }
            return caught
        }
    }

    @Test("Outside catchMisuse a misuse still ends the process")
    func uncaught() async {
        await #expect(processExitsWith: .failure) {
            _ = catchMisuse { _ = List<Int>()[3] }
            _ = List<Int>()[3]
        }
    }
}
