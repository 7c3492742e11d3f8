// SPDX-License-Identifier: Apache-2.0
// The version that observers were last notified of: the next delivery compares it with the version that the Realm
// shows.
//
//     none ──begin──▶ at a version ──advanced──▶ at a later one
//      ▲                   └──end: no observer is left──┐
//      └────────────────────────────────────────────────┘
//
// An observer that is added while the others are behind has a version of its own until its first delivery.
//
// Confined to the Realm.

internal import RegnumEngine

final class DeliveredVersion {
    /// Nil while there are no observers.
    private(set) var session: Session?
    /// True if all changes since then were made through this Realm.
    private(set) var isLocal = true
    /// True if an observer began at a version of its own.
    private(set) var hasLatecomer = false
    /// The version that such observers share.
    private var lateStart: Session?

    /// Begins with the version that `shown` shows.
    func begin(_ shown: Session) {
        Invariants.require("delivered version", session == nil ? [] : ["observers have a version already"])
        session = shown
        assertState()
    }

    /// Call when no observer is left. Also forgets that changes were made elsewhere.
    func end() {
        session = nil
        isLocal = true
        assertState()
    }

    /// Records that the Realm shows changes that were made elsewhere.
    func noteForeignChanges() { isLocal = false }

    /// Records a delivery: later changes count as local until foreign ones are noted.
    func noteDelivery() { isLocal = true }

    /// True if the Realm, at the version of `shown`, has moved since the last delivery.
    func isBehind(_ shown: Session) -> Bool { session.map { $0.version != shown.version } ?? false }

    /// Returns the version of an observer that begins at the version of `shown` while the others are behind. `make`
    /// opens a session at that version.
    func latecomerStart(
        _ shown: Session, _ make: () throws(EngineError) -> Session
    ) throws(EngineError) -> Session? {
        if lateStart?.shows(versionOf: shown) != true { lateStart = try make() }
        hasLatecomer = true
        assertState()
        return lateStart
    }

    /// Records that an observer has a version of its own.
    func noteLatecomer() {
        hasLatecomer = true
        assertState()
    }

    /// Records that the delivery that asks observers with a version of their own has begun. Returns whether there were
    /// any.
    func takeLatecomers() -> Bool {
        defer {
            (hasLatecomer, lateStart) = (false, nil)
            assertState()
        }
        return hasLatecomer
    }

    private func assertState() { Invariants.require("delivered version", findings) }

    /// Returns a description of each violated invariant; empty if all hold. O(1).
    private var findings: [String] {
        guard let lateStart else { return [] }
        var findings: [String] = []
        if !hasLatecomer { findings.append("an observer has a version of its own and will not be asked") }
        if lateStart === session { findings.append("an observer with a version of its own moves with the others") }
        return findings
    }
}
