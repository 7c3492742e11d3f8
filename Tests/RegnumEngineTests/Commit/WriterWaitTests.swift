// SPDX-License-Identifier: Apache-2.0
// The report of a thread that waits for the writer lock.

@testable import RegnumEngine
import RegnumSystem
import Synchronization
import Testing

@Suite struct WriterWaitTests {
    /// The function was once wrapped again each time it was read: threads that had waited 10,000 times for each other
    /// had no stack left, and each wait took longer.
    @Test("Each wait uses as much stack as the one before")
    func stack() throws {
        let database = try Database.openInMemory(identifier: "writer-wait-stack")
        let wait = WriterWait()
        let places = Mutex<[UInt]>([])
        wait.set { _, _ in
            var local = 0
            let place = withUnsafeMutablePointer(to: &local) { UInt(bitPattern: $0) }
            places.withLock { $0.append(place) }
            return {}
        }
        for _ in 0..<500 { wait.during(database) {} }
        let found = places.withLock { $0 }
        #expect(found.count == 500)
        #expect(Set(found).count == 1)
    }

    @Test("The beginning and the end of a wait are reported, and the result of the wait is returned")
    func end() throws {
        let database = try Database.openInMemory(identifier: "writer-wait-end")
        let wait = WriterWait()
        let told = Mutex<[String]>([])
        wait.set { database, _ in
            told.withLock { $0.append("begin \(database.path)") }
            return { told.withLock { $0.append("end") } }
        }
        #expect(wait.during(database) { 7 } == 7)
        #expect(throws: EngineError.self) {
            try wait.during(database) { () throws(EngineError) in throw .limit("") }
        }
        #expect(told.withLock { $0 } == ["begin \(database.path)", "end", "begin \(database.path)", "end"])
    }
}
