// SPDX-License-Identifier: Apache-2.0
// Storage faults under a user's code.

import Foundation
import Regnum
import RegnumTestKit
import Testing

@Suite("Expecting survival")
struct ExpectSurvivalTests {
    private func prepare(_ realm: Realm) throws {
        try realm.seed {
            KitAccount(value: ["id": 1, "sum": 100])
            KitAccount(value: ["id": 2, "sum": 0])
        }
    }

    private func move(_ sum: Int, _ realm: Realm, inOneWrite: Bool) throws {
        func change(_ id: Int, by difference: Int) {
            let account = realm.object(ofType: KitAccount.self, forPrimaryKey: id)
            account?.sum += difference
            account?.log.append("moved \(difference)")
        }
        if inOneWrite {
            try realm.write {
                change(1, by: -sum)
                change(2, by: sum)
            }
        } else {
            try realm.write { change(1, by: -sum) }
            try realm.write { change(2, by: sum) }
        }
    }

    private struct Lost: Error {}

    private func checkSum(_ realm: Realm) throws {
        let sum: Int = realm.objects(KitAccount.self).sum(ofProperty: "sum")
        if sum != 100 { throw Lost() }
    }

    @Test("Code that changes everything in one transaction survives every fault", arguments: StorageFault.allCases)
    func one(_ fault: StorageFault) throws {
        let runs = try expectSurvival(KitAccount.self, of: [fault], limit: 24, prepare: prepare) { realm in
            try move(30, realm, inOneWrite: true)
            try move(5, realm, inOneWrite: true)
        } invariant: {
            try checkSum($0)
        }
        #expect(runs >= 2)
    }

    @Test("Code that needs two transactions fails, and the failure names the fault and the call")
    func two() throws {
        for fault in StorageFault.allCases {
            let texts = issues {
                try expectSurvival(KitAccount.self, of: [fault], prepare: prepare) { realm in
                    try move(30, realm, inOneWrite: false)
                } invariant: {
                    try checkSum($0)
                }
            }
            #expect(!texts.isEmpty)
            #expect(
                texts.allSatisfy {
                    $0.hasPrefix("After \(fault.rawValue) at call ") && $0.contains("does not hold: Lost()")
                        || $0 == "More failures are not shown."
                }, "\(texts)")
        }
    }

    @Test("A disk that fails on demand returns the errors of a real one, and works again afterwards")
    func faulty() throws {
        let faulty = try FaultyRealm(KitAccount.self)
        try prepare(faulty.realm)
        for (failure, code) in [
            (FaultyRealm.Failure.diskFull, Realm.Error.Code.outOfDiskSpace), (.ioError, .fileAccess),
        ] {
            faulty.fail(failure)
            let error = #expect(throws: Realm.Error.self) { try move(30, faulty.realm, inOneWrite: true) }
            #expect(error?.code == code, "\(failure): \(error?.description ?? "")")
            faulty.heal()
            try checkSum(faulty.realm)
        }
    }

    @Test("A provider fails at the calls that a test names")
    func provider() throws {
        let configuration = Realm.Configuration(
            inMemoryIdentifier: UUID().uuidString, objectTypes: [KitAccount.self])
        let provider = FailingProvider(Realm.Error(.fileAccess), failing: [0], configuration: configuration)
        #expect(throws: Realm.Error.self) { try provider.realm() }
        #expect(try provider.realm().isEmpty)
        #expect(provider.callCount == 2)
        #expect(throws: Realm.Error.self) { try FailingProvider().realm() }
    }
}
