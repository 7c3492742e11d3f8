// SPDX-License-Identifier: Apache-2.0
// What tests ask about deliveries to observers, and turns that they make themselves.

internal import RegnumEngine

/// What deliveries have done, for tests that hold what observers cost of commits that do not concern them.
package struct DeliveryWork: Equatable, Sendable {
    /// Observers that were looked at, to be asked or passed over.
    package var visited = 0
    /// Tables of which something had changed for an observer.
    package var comparedTables = 0
    /// Observers that were asked what they make of a version.
    package var asked = 0
    /// Looks that were left to another thread.
    package var lookedElsewhere = 0
}

extension Realm {
    /// Confined to the Realm.
    package var deliveryWork: DeliveryWork { core.notifier?.work ?? DeliveryWork() }

    /// What happens at a turn of the place of delivery, for tests. Confined to the Realm.
    package func startTurn() { core.notifier?.turn() }

    /// Turns of the place of delivery so far, for tests. Confined to the Realm.
    package var turnCount: Int { core.notifier?.turns ?? 0 }

    /// Delivers by turns as the place of delivery makes them, where what takes longer than `limits` allow is left to
    /// another thread, from now on; waits for that. For tests. Confined to the Realm.
    package func deliverByTurns(_ limits: LookLimits) {
        core.notifier?.limits = limits
        startTurn()
        if core.notifier?.waitForBackground() == true { core.notifier?.turn() }
    }
}
