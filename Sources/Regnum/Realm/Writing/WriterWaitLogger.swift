// SPDX-License-Identifier: Apache-2.0
// Logs that a write has been waiting a long time for the writer lock, and which thread or process holds it. Reports
// the wait to the observer of operations too.

internal import Dispatch
internal import RegnumEngine
internal import RegnumSystem
internal import Synchronization

package enum WriterWaitLogger {
    /// The waiting time in milliseconds before the first log message; then twice that, four times, and so on.
    package static var patience: Int {
        get { limit.load(ordering: .relaxed) }
        set { limit.store(newValue, ordering: .relaxed) }
    }
    private static let limit = Atomic(5000)

    private static let started: Void = WriterWait.shared.set { database, origin in
        let wait = Wait(database)
        wait.tellLater(after: patience)
        let operation =
            OperationHook.isOn
            ? OperationHook.begin(
                .waiting(since: database.blockedWriters.ownBeginning), at: OperationPlace(database, origin)) : nil
        return {
            wait.isOver.store(true, ordering: .relaxed)
            operation?.end(.waited)
        }
    }

    /// Call before the first write.
    static func start() { _ = started }

    /// One thread's wait for the writer lock. Does not keep the database open.
    private final class Wait: Sendable {
        let isOver = Atomic(false)
        private let database: WeakDatabase
        private let path: String
        private let beginning = MonotonicClock.now()

        private struct WeakDatabase: Sendable { weak var database: Database? }

        init(_ database: Database) {
            self.database = WeakDatabase(database: database)
            path = database.path
        }

        func tellLater(after milliseconds: Int) {
            DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(milliseconds)) { [self] in
                if isOver.load(ordering: .relaxed) { return }
                guard let database = database.database else { return }
                Logger.log(
                    .warn,
                    "DB: A write has waited \(WriterWaitLogger.seconds(since: beginning)) for the writer lock: "
                        + "\(path). \(WriterWaitLogger.holder(of: database)). Only one write runs at a time, among "
                        + "threads and processes: keep transactions short.")
                tellLater(after: milliseconds &* 2)
            }
        }
    }

    private static func seconds(since time: UInt64) -> String {
        let tenths = (MonotonicClock.now() &- time) / 100_000_000
        return "\(tenths / 10).\(tenths % 10) s"
    }

    private static func holder(of database: Database) -> String {
        guard let note = database.writerNote else { return "The holder of the lock is unknown" }
        let time = seconds(since: note.since)
        switch note.holder {
        case .process(let id): return "Process \(id) has it, for \(time)"
        case .offered: return "It has been offered to an asynchronous write for \(time)"
        case .thread(let id):
            let place = note.origin.map { ", in the Realm opened at \($0.fileID):\($0.line)" } ?? ""
            return "Thread 0x\(String(id, radix: 16)) has it\(place), for \(time)"
        }
    }
}
