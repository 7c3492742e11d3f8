// SPDX-License-Identifier: Apache-2.0
// Expectations on the cost of queries.

import Foundation
import Regnum
import RegnumTestKit
import Testing

@Suite("Expecting cheap queries")
struct ExpectQueryTests {
    private let test: TestRealm

    init() throws {
        test = try TestRealm(KitKeeper.self, KitPet.self, KitHome.self)
        try test.realm.seed {
            for id in 0..<500 { KitKeeper(value: ["id": id, "name": "keeper \(id)"]) }
            for age in 0..<500 { KitPet(value: ["name": "pet \(age)", "age": age]) }
        }
    }

    @Test("A query with an index is within its budget")
    func indexed() {
        let query = test.realm.objects(KitKeeper.self).where { $0.name == "keeper 77" }
        let run = expectQuery(query, usesIndexOn: "name", examinesAtMost: 1, findsAtLeast: 1)
        #expect(run.foundRows == 1)
    }

    @Test("A query that scans all objects exceeds its budget, and the failure shows the plan")
    func scanning() {
        let query = test.realm.objects(KitPet.self).where { $0.name == "pet 77" }
        let texts = issues { expectQuery(query, usesIndexOn: "name", examinesAtMost: 10, findsAtLeast: 0.5) }
        #expect(texts.count == 3)
        #expect(texts.allSatisfy { $0.contains("KitPet where name == \"pet 77\": scan, ") }, "\(texts)")
    }
}
