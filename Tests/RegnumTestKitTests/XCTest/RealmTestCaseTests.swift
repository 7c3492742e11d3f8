// SPDX-License-Identifier: Apache-2.0
// Tests the base class for XCTest with XCTest.

import Foundation
import Regnum
import RegnumTestKit
import XCTest

final class RealmTestCaseTests: RealmTestCase {
    override class var realmTypes: [ObjectBase.Type] { [Pup.self] }

    var pups: Results<Pup>?

    override func setUp() {
        super.setUp()
        pups = realm.objects(Pup.self)
    }

    override func tearDown() {
        pups = nil
        super.tearDown()
    }

    private func addAndCount() throws {
        XCTAssertEqual(pups?.count, 0)
        try Realm().seed { Pup(value: ["id": 1]) }
        XCTAssertEqual(pups?.count, 1)
        XCTAssertEqual(Realm.Configuration.defaultConfiguration, testRealm.configuration)
    }

    func testTheDefaultRealmIsTheTestsOwn() throws { try addAndCount() }

    func testTheNextTestHasAnotherOne() throws { try addAndCount() }

    func testMisuseIsCaughtOnTheMainThread() throws {
        let words = catchMisuse { realm.add(Pup()) }
        XCTAssertEqual(words?.hasPrefix("Can only add, remove, or create objects"), true)
    }

    func testChangesAreDeliveredAtOnce() throws {
        let pups = try XCTUnwrap(pups)
        let changes = try expectChanges(on: pups) { try realm.seed { Pup(value: ["id": 1]) } }
        XCTAssertEqual(changes, .update(insertions: [0]))
    }
}
