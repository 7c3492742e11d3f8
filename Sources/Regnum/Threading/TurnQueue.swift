// SPDX-License-Identifier: Apache-2.0
// Who is to write next without waiting for it: one line for each database of the process, first come first served.
//
//     request ──▶ waiting ──▶ current: a worker waits for the gate ──▶ offered, `granted` ──▶ finished
//                    ▲                                                  │
//                    ├──────────── in front ◀── a synchronous write has taken the turn
//                    └── in front, absent until it comes ◀── it did not come within `patience`
//
// An offered turn keeps others from writing. Whoever does not come for it, because its queue is busy or its run loop
// has ended, loses it to the next ones, and with it what was asked for behind it at the same place.

internal import Dispatch
internal import RegnumEngine
internal import RegnumSystem

/// Any thread. State: `waiting`, `current` and `cancelled`, guarded by the mutex, which is never held while others'
/// code runs.
final class TurnQueue: Sendable {
    private struct Request: Sendable {
        let number: UInt64
        /// Requests of one origin are served in their order.
        let origin: ObjectIdentifier?
        let granted: @Sendable (EngineError?) -> Void
    }
    private struct State {
        var last: UInt64 = 0
        var waiting: [Request] = []
        var current: Request?
        /// The current request was cancelled before it had its turn.
        var isCancelled = false
        /// Requests that have lost their turn and were not heard of since.
        var absent: [UInt64: ObjectIdentifier?] = [:]

        /// The first one that may have a turn.
        var next: Int? {
            waiting.firstIndex { request in
                absent[request.number] == nil
                    && (request.origin == nil || !absent.values.contains { $0 == request.origin })
            }
        }
    }
    /// How long an offered turn waits for its owner.
    private static let patience = DispatchTimeInterval.milliseconds(500)
    private let state = Lock(State())
    private let database: Database
    /// Its one thread waits for the gate.
    private let worker = DispatchQueue(label: "regnum.turns")

    private struct Weak: Sendable { weak var queue: TurnQueue? }
    private static let queues = Lock<[ObjectIdentifier: Weak]>([:])

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
    /// meanwhile: `beginWrite(acceptingTurn:)` tells, and `missed` is due. With an error there is no turn, and `finished`
    /// is not due. `origin`: whose requests come in their order also where one was missed.
    func request(
        from origin: ObjectIdentifier? = nil, _ granted: @escaping @Sendable (EngineError?) -> Void
    ) -> UInt64 {
        let number = state.withLock { state in
            state.last += 1
            state.waiting.append(Request(number: state.last, origin: origin, granted: granted))
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

    /// To be called where a granted turn ended with an error, whether it was taken or not.
    func end(_ number: UInt64) {
        cancel(number)
        finished(number)
    }

    /// To be called where the turn that was granted was gone.
    func missed(_ number: UInt64) {
        let wasAbsent = state.withLock { $0.absent.removeValue(forKey: number) != nil }
        if wasAbsent { serveNext() }
    }

    /// The request will have no turn, unless it has it already.
    func cancel(_ number: UInt64) {
        let isCurrent = state.withLock { state -> Bool in
            state.waiting.removeAll { $0.number == number }
            state.absent[number] = nil
            guard state.current?.number == number else { return false }
            state.isCancelled = true
            return true
        }
        if isCurrent, database.declineTurn(number) { finished(number) }
        // Others may have waited for this one, as it was absent.
        if !isCurrent { serveNext() }
    }

    private func serveNext() {
        let next = state.withLock { state -> Request? in
            guard state.current == nil, let next = state.next else { return nil }
            state.current = state.waiting.remove(at: next)
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
        // Cancelled, or finished without having come for it.
        let isWanted = state.withLock { !$0.isCancelled && $0.current?.number == request.number }
        if !isWanted {
            if database.declineTurn(request.number) { finished(request.number) }
        } else {
            request.granted(nil)
            worker.asyncAfter(deadline: .now() + Self.patience) { [weak self] in self?.expire(request) }
        }
    }

    /// Takes back the turn of a request that has not come for it.
    private func expire(_ request: Request) {
        let isWaited = state.withLock { state -> Bool in
            guard state.current?.number == request.number else { return false }
            // First: it may come at any moment from here on.
            state.absent[request.number] = .some(request.origin)
            return true
        }
        guard isWaited else { return }
        guard database.declineTurn(request.number) else {
            _ = state.withLock { $0.absent.removeValue(forKey: request.number) }
            return
        }
        state.withLock { state in
            guard state.current?.number == request.number else { return }
            state.current = nil
            if state.isCancelled { state.absent[request.number] = nil } else { state.waiting.insert(request, at: 0) }
        }
        serveNext()
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
