// SPDX-License-Identifier: Apache-2.0
// Programmer errors end the process; each test runs one in a separate process.

import Foundation
import Testing

@testable import Regnum

@Suite("Programmer errors with objects")
struct MisuseTests {
    /// The message that a process wrote before it ended.
    static func words(_ result: ExitTest.Result?) -> String {
        String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    }

    @Test("Setting a property outside a write ends the process")
    func outsideWrite() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let realm = try makeRealm()
            let keeper = Keeper()
            try realm.write { realm.add(keeper) }
            keeper.name = "x"
        }
        #expect(Self.words(result).contains("Cannot modify managed objects outside of a write transaction."))
    }

    @Test("Reading a deleted object ends the process")
    func deleted() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let realm = try makeRealm()
            let keeper = Keeper()
            try realm.write { realm.add(keeper) }
            try realm.write { realm.delete(keeper) }
            _ = keeper.name
        }
        #expect(Self.words(result).contains("Object has been deleted or invalidated."))
    }

    @Test("Reading on another thread ends the process")
    func wrongThread() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let realm = try makeRealm()
            let keeper = Keeper()
            try realm.write { realm.add(keeper) }
            nonisolated(unsafe) let shared = keeper
            Thread { _ = shared.name }.start()
            try await Task.sleep(for: .seconds(1800))
        }
        #expect(Self.words(result).contains("Realm accessed from incorrect thread."))
    }

    @Test("An index out of bounds ends the process")
    func bounds() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = List<Int>()[3]
        }
        #expect(Self.words(result).contains("Index 3 is out of bounds (must be less than 0)."))
    }

    @Test("Adding an object of another Realm, or changing a primary key, ends the process")
    func otherRealm() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let realm = try makeRealm()
            let other = try makeRealm()
            let keeper = Keeper()
            try realm.write { realm.add(keeper) }
            try other.write { other.add(keeper) }
        }
        #expect(Self.words(result).contains("Object is already managed by another Realm."))
        let key = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let realm = try makeRealm()
            let hound = Hound(value: ["id": 1])
            try realm.write {
                realm.add(hound)
                hound.id = 2
            }
        }
        #expect(Self.words(key).contains("Primary key can't be changed to '2' after an object is inserted."))
    }

    @Test("A value of the wrong type ends the process")
    func badValue() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = Hound(value: ["id": "one"])
        }
        #expect(
            Self.words(result).contains("Invalid value 'one' of type 'String' for 'int' property 'Hound.id'.")
        )
    }
}
