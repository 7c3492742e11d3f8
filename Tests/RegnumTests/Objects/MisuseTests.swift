// SPDX-License-Identifier: Apache-2.0
// Misuse ends the process; here each in a process of its own.

import Foundation
import Testing

@testable import Regnum

@Suite("Misuse of objects")
struct MisuseTests {
    /// The words that a process wrote before it ended.
    static func words(_ result: ExitTest.Result?) -> String {
        String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    }

    @Test("setting a property outside of a write")
    func outsideWrite() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let realm = try makeRealm()
            let keeper = Keeper()
            try realm.write { realm.add(keeper) }
            keeper.name = "x"
        }
        #expect(Self.words(result).contains("Cannot modify managed objects outside of a write transaction."))
    }

    @Test("reading a deleted object")
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

    @Test("reading on another thread")
    func wrongThread() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let realm = try makeRealm()
            let keeper = Keeper()
            try realm.write { realm.add(keeper) }
            nonisolated(unsafe) let shared = keeper
            Thread { _ = shared.name }.start()
            try await Task.sleep(for: .seconds(5))
        }
        #expect(Self.words(result).contains("Realm accessed from incorrect thread."))
    }

    @Test("an element out of bounds")
    func bounds() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = List<Int>()[3]
        }
        #expect(Self.words(result).contains("Index 3 is out of bounds (must be less than 0)."))
    }

    @Test("adding an object of another Realm, and changing a primary key")
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

    @Test("a value that does not fit")
    func badValue() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = Hound(value: ["id": "one"])
        }
        #expect(
            Self.words(result).contains("Invalid value 'one' of type 'String' for 'int' property 'Hound.id'.")
        )
    }
}
