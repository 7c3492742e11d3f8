// SPDX-License-Identifier: Apache-2.0
// The queue for the writer lock of writers that do not block a thread: one for each database of the process, first
// come, first served.
//
//     request ──▶ waiting ──▶ current: a worker waits for the lock ──▶ offered, `granted` ──▶ finished
//                    ▲                                                  │
//                    ├──────────── in front ◀── a synchronous write has taken the lock
//                    └── in front, absent until it responds ◀── it did not respond within `patience`
//
// An offered lock keeps others from writing. A request that does not respond, because its queue is busy or its run loop
// has ended, loses the lock to the next requests; later requests with the same origin wait with it.

internal import Dispatch
internal import RegnumEngine
internal import RegnumSystem

/// Any thread. State: `waiting`, `current`, `isCancelled` and `absent`, guarded by the mutex, which is never held while
/// others' code runs.
final class WriterLockQueue: Sendable {
    private struct Request: Sendable {
        let number: UInt64
        /// Requests of one origin are served in order.
        let origin: ObjectIdentifier?
        let granted: @Sendable (EngineError?) -> Void
    }
    private struct State {
        var last: UInt64 = 0
        var waiting: [Request] = []
        var current: Request?
        /// True if the current request was cancelled before it had the lock.
        var isCancelled = false
        /// Requests that have lost their offer and have not responded since.
        var absent: [UInt64: ObjectIdentifier?] = [:]

        /// The first request that may be offered the lock.
        var next: Int? {
            waiting.firstIndex { request in
                absent[request.number] == nil
                    && (request.origin == nil || !absent.values.contains { $0 == request.origin })
            }
        }
    }
    /// How long an offered lock waits for its requester.
    private static let patience = DispatchTimeInterval.milliseconds(500)
    private let state = Lock(State())
    private let database: Database
    /// Its single thread waits for the writer lock.
    private let worker = DispatchQueue(label: "regnum.turns")

    private struct Weak: Sendable { weak var queue: WriterLockQueue? }
    private static let queues = Lock<[ObjectIdentifier: Weak]>([:])

    /// The queue of the database; lives as long as it is referenced.
    static func of(_ database: Database) -> WriterLockQueue {
        let key = ObjectIdentifier(database)
        return queues.withLock { queues in
            if let queue = queues[key]?.queue { return queue }
            queues = queues.filter { $0.value.queue != nil }
            let made = WriterLockQueue(database)
            queues[key] = Weak(queue: made)
            return made
        }
    }

    private init(_ database: Database) { self.database = database }

    /// Requests the writer lock. `granted` is called on any thread, and again if another writer has taken the lock in
    /// the meantime: `beginWrite(acceptingTurn:)` reports that, and `missed` must then be called. If `granted` receives
    /// an error, there is no lock, and `finished` must not be called. Requests with the same `origin` are served in
    /// order even if one has missed its offer.
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

    /// Call when the lock has been used.
    func finished(_ number: UInt64) {
        state.withLock { state in
            if state.current?.number == number { state.current = nil }
        }
        serveNext()
    }

    /// Call if a granted request has ended with an error, whether or not it took the lock.
    func end(_ number: UInt64) {
        cancel(number)
        finished(number)
    }

    /// Call if the lock that was granted was no longer available.
    func missed(_ number: UInt64) {
        let wasAbsent = state.withLock { $0.absent.removeValue(forKey: number) != nil }
        if wasAbsent { serveNext() }
    }

    /// Cancels the request, unless it already has the lock.
    func cancel(_ number: UInt64) {
        let isCurrent = state.withLock { state -> Bool in
            state.waiting.removeAll { $0.number == number }
            state.absent[number] = nil
            guard state.current?.number == number else { return false }
            state.isCancelled = true
            return true
        }
        if isCurrent, database.declineTurn(number) { finished(number) }
        // Others may have waited for this request, which was absent.
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
        // False if it was cancelled, or has finished without taking the lock.
        let isWanted = state.withLock { !$0.isCancelled && $0.current?.number == request.number }
        if !isWanted {
            if database.declineTurn(request.number) { finished(request.number) }
        } else {
            request.granted(nil)
            worker.asyncAfter(deadline: .now() + Self.patience) { [weak self] in self?.expire(request) }
        }
    }

    /// Takes the lock back from a request that has not responded.
    private func expire(_ request: Request) {
        let isWaited = state.withLock { state -> Bool in
            guard state.current?.number == request.number else { return false }
            // Set first: the request may respond at any moment from here on.
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
