// SPDX-License-Identifier: Apache-2.0
// The counts of the operations on a file.

@testable import RegnumEngine
import RegnumSystem
import Synchronization
import Testing

private final class Finished: Sendable {
    let count = Atomic(0)
}

@Suite("Counts of operations") struct OperationCountersTests {
    /// All threads once changed the same two words. Now each changes those of its group, and a reading adds them up.
    @Test("Queries of many threads are counted together")
    func threads() {
        let counters = OperationCounters()
        let finished = Finished()
        let threadCount = 48
        for _ in 0..<threadCount {
            let isStarted = DetachedThread.start {
                for _ in 0..<100 {
                    counters.noteQuery()
                    counters.noteExamined(3)
                }
                finished.count.add(1, ordering: .releasing)
            }
            #expect(isStarted)
        }
        while finished.count.load(ordering: .acquiring) < threadCount {
            CurrentThread.sleep(nanoseconds: 10_000_000)
        }
        #expect(counters.counts.queries == 4800)
        #expect(counters.counts.examinedObjects == 14_400)
    }

    @Test("The counts of a closed file say that they are final")
    func closing() throws {
        var database: Database? = try Database.openInMemory(identifier: "operation-counters")
        let counters = try #require(database?.counters)
        #expect(!counters.isClosed)
        counters.noteQuery()
        database = nil
        #expect(counters.isClosed)
        #expect(counters.counts.queries == 1)
    }
}
