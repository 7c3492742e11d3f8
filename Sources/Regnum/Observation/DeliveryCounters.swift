// SPDX-License-Identifier: Apache-2.0
// Counters of deliveries to observers, and turns started by tests.

internal import RegnumEngine

/// Counters of the work of deliveries, for tests that bound the cost of commits that do not concern an observer.
package struct DeliveryCounters: Equatable, Sendable {
    /// The number of observers visited, whether they were asked or skipped.
    package var visited = 0
    /// The number of tables in which something had changed for an observer.
    package var comparedTables = 0
    /// The number of observers asked for their change set.
    package var asked = 0
    /// The number of diffs handed to another thread.
    package var lookedElsewhere = 0
}

extension Realm {
    /// The counters so far. Confined to the Realm.
    package var deliveryWork: DeliveryCounters { core.notifier?.work ?? DeliveryCounters() }

    /// Performs a turn of the callback scheduler, for tests. Confined to the Realm.
    package func startTurn() { core.notifier?.turn() }

    /// The number of turns of the callback scheduler so far, for tests. Confined to the Realm.
    package var turnCount: Int { core.notifier?.turns ?? 0 }

    /// Delivers in turns, as the callback scheduler does, with `limits` from now on: diffs that exceed them are handed
    /// to another thread, and this call waits for the result. For tests. Confined to the Realm.
    package func deliverByTurns(_ limits: DiffLimits) {
        core.notifier?.limits = limits
        startTurn()
        if core.notifier?.waitForBackground() == true { core.notifier?.turn() }
    }
}
