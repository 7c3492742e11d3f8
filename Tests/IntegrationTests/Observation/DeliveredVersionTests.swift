// SPDX-License-Identifier: Apache-2.0
// The version of the last notification, broken on purpose: the check at the end of the transition finds the break.

import Foundation
import Testing

@testable import Regnum
@testable import RegnumEngine

@Suite("The version that observers were last notified of", .enabled(if: Invariants.areChecked))
struct DeliveredVersionTests {
    private func makeSession() throws -> Session {
        try Database.openInMemory(identifier: "delivered \(UUID().uuidString)").makeSession()
    }

    @Test("A second beginning is found")
    func begunTwice() throws {
        let (delivered, session) = (DeliveredVersion(), try makeSession())
        #expect(Invariants.collect { delivered.begin(session) } == [])
        #expect(
            Invariants.collect { delivered.begin(session) } == [
                "delivered version: observers have a version already"
            ])
    }

    @Test("An observer whose own version moves with that of the others is found")
    func shared() throws {
        let (delivered, session) = (DeliveredVersion(), try makeSession())
        delivered.begin(session)
        let found = try Invariants.collect {
            _ = try delivered.latecomerStart(session) { () throws(EngineError) in session }
        }
        #expect(found == ["delivered version: an observer with a version of its own moves with the others"])
        #expect(Invariants.collect { _ = delivered.takeLatecomers() } == [])
    }
}
