// SPDX-License-Identifier: Apache-2.0
// Example 2 of the page TenExamples.md in RegnumTestKit.docc.

import Regnum
import RegnumTestKit
import XCTest

final class CatTests: RealmTestCase {
    override class var realmTypes: [ObjectBase.Type] { [Cat.self] }

    func testTaking() throws {
        try Shelter(realm: realm).take(1, "Tom")
        XCTAssertEqual(try Realm().objects(Cat.self).count, 1)
    }
}
