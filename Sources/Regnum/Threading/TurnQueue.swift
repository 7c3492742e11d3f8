// SPDX-License-Identifier: Apache-2.0
// Who is to write next without waiting for it: one line for each database of the process, first come first served.
//
//     request ──▶ waiting ──▶ current: a worker waits for the gate ──▶ offered, `granted` ──▶ finished
//                    ▲                                                  │
//                    └──────────── in front ◀── a synchronous write has taken the turn

internal import Dispatch
internal import RegnumEngine
internal import Synchronization

/// Any thread. State: `waiting`, `current` and `cancelled`, guarded by the mutex, which is never held while others'
/// code runs.
final class TurnQueue: Sendable {
    private struct Request: Sendable {
        let number: UInt64
        let granted: @Sendable (EngineError?) -> Void
    }
    private struct State {
        var last: UInt64 = 0
        var waiting: [Request] = []
        var current: Request?
        /// The current request was cancelled before it had its turn.
        var isCancelled = false
    }
    private let state = Mutex(State())
    private let database: Database
    /// Its one thread waits for the gate.
    private let worker = DispatchQueue(label: "regnum.turns")

    private struct Weak: Sendable { weak var queue: TurnQueue? }
    private static let queues = Mutex<[ObjectIdentifier: Weak]>([:])

    /// The one of the database; lives as long as somebody holds it.
    static func of(_ database: Database) -> TurnQueue {
        let key = ObjectIdentifier(database)
        return queues.withLock { queues in
            if let queue = queues[key]?.queue { return queue }
            queues = queues.filter { $0.value.queue != nil }
            let made = TurnQueue(database)
            queues[key] = Weak(queue: made)
            return made
        }
    }

    private init(_ database: Database) { self.database = database }

    /// Asks for a turn. `granted` is called on any thread, and again where the turn was taken by somebody else
    /// meanwhile: `beginWrite(acceptingTurn:)` tells. With an error there is no turn, and `finished` is not due.
    func request(_ granted: @escaping @Sendable (EngineError?) -> Void) -> UInt64 {
        let number = state.withLock { state in
            state.last += 1
            state.waiting.append(Request(number: state.last, granted: granted))
            return state.last
        }
        serveNext()
        return number
    }

    /// To be called when the turn was used.
    func finished(_ number: UInt64) {
        state.withLock { state in
            if state.current?.number == number { state.current = nil }
        }
        serveNext()
    }

    /// The request will have no turn, unless it has it already.
    func cancel(_ number: UInt64) {
        let isCurrent = state.withLock { state -> Bool in
            state.waiting.removeAll { $0.number == number }
            guard state.current?.number == number else { return false }
            state.isCancelled = true
            return true
        }
        if isCurrent, database.declineTurn(number) { finished(number) }
    }

    private func serveNext() {
        let next = state.withLock { state -> Request? in
            guard state.current == nil, !state.waiting.isEmpty else { return nil }
            state.current = state.waiting.removeFirst()
            state.isCancelled = false
            return state.current
        }
        if let next { worker.async { self.serve(next) } }
    }

    private func serve(_ request: Request) {
        do throws(EngineError) {
            try database.offerTurn(request.number) { [weak self] in self?.wasTaken(request) }
        } catch {
            request.granted(error)
            finished(request.number)
            return
        }
        let isCancelled = state.withLock { $0.isCancelled && $0.current?.number == request.number }
        if isCancelled {
            if database.declineTurn(request.number) { finished(request.number) }
        } else {
            request.granted(nil)
        }
    }

    private func wasTaken(_ request: Request) {
        state.withLock { state in
            guard state.current?.number == request.number else { return }
            state.current = nil
            if !state.isCancelled { state.waiting.insert(request, at: 0) }
        }
        serveNext()
    }
}
