// SPDX-License-Identifier: Apache-2.0
// Where the callbacks of a Realm run: the queue, the actor or the run loop that it is confined to.

internal import Dispatch
internal import Foundation
internal import RegnumSystem

/// Any thread may ask for work to be done there.
enum DeliveryPlace: Sendable {
    case main
    case queue(DispatchQueue)
    case actor(ActorMailbox)
    case runLoop(WakeableLoop)
    /// A thread that has no turns: calls come only where the test kit asks for them.
    case none

    /// That of the calling thread; nil where no run loop runs that could call back.
    static func ofCaller(_ queue: DispatchQueue?) -> DeliveryPlace? {
        if let queue { return QueueConfinement.isMain(queue) ? .main : .queue(queue) }
        if QueueConfinement.isMain { return .main }
        return RunLoop.current.currentMode == nil ? nil : .runLoop(WakeableLoop())
    }

    /// False where work that is asked for is never done.
    var hasTurns: Bool { if case .none = self { false } else { true } }

    /// In the order of the calls.
    func perform(_ work: @escaping @Sendable () -> Void) {
        switch self {
        case .main: MainTurns.perform(work)
        case .queue(let queue): queue.async(execute: work)
        case .actor(let mailbox): mailbox.perform(work)
        case .runLoop(let loop): loop.perform(work)
        case .none: break
        }
    }
}

extension RealmCore {
    /// Where its callbacks run; nil where nothing could call back.
    var deliveryPlace: DeliveryPlace? {
        if let notifier { return notifier.place }
        if let mailbox = settings.mailbox { return .actor(mailbox) }
        return .ofCaller(settings.queue)
    }
}

/// Work for the main thread. The main queue does it, or the main run loop: that goes on while a block of the main queue
/// waits in it, and then no other block of the queue can run.
private enum MainTurns {
    private struct State {
        /// In the order of the calls; those before `done` have been taken.
        var work: [(@Sendable () -> Void)?] = []
        var done = 0
        /// True where the run loop has been asked for a turn. Many programs never run it: so it is asked once only.
        var isLoopAsked = false
    }
    private static let state = Lock(State())

    static func perform(_ work: @escaping @Sendable () -> Void) {
        let asksLoop = state.withLock { state in
            state.work.append(work)
            defer { state.isLoopAsked = true }
            return !state.isLoopAsked
        }
        DispatchQueue.main.async { runNext() }
        if asksLoop {
            WakeableLoop.main.perform {
                // What comes from now on asks for another turn.
                var left = state.withLock { state in
                    state.isLoopAsked = false
                    return state.work.count - state.done
                }
                while left > 0 {
                    runNext()
                    left -= 1
                }
            }
        }
    }

    /// The first one who comes does it.
    private static func runNext() {
        let work = state.withLock { state -> (@Sendable () -> Void)? in
            guard state.done < state.work.count else { return nil }
            let next = state.work[state.done].take()
            state.done += 1
            if 2 * state.done >= state.work.count {
                state.work.removeFirst(state.done)
                state.done = 0
            }
            return next
        }
        work?()
    }
}

/// A run loop to be woken by other threads: `RunLoop.perform` alone does not wake it (tried: the block came a second
/// later).
struct WakeableLoop: @unchecked Sendable {
    // Sendable: a loop is only asked to perform blocks and to wake up, which any thread may do.
    private let loop: RunLoop
    private let handle: UnsafeRawPointer

    /// The calling thread's.
    init() {
        loop = .current
        handle = currentRunLoopHandle()
    }

    /// The main thread's.
    static let main = WakeableLoop(.main, mainRunLoopHandle())

    private init(_ loop: RunLoop, _ handle: UnsafeRawPointer) {
        self.loop = loop
        self.handle = handle
    }

    func perform(_ work: @escaping @Sendable () -> Void) {
        loop.perform(work)
        wakeRunLoop(handle)
    }
}

// Foundation exports them on every system, without a declaration on Linux.
@_silgen_name("CFRunLoopGetCurrent") private func currentRunLoopHandle() -> UnsafeRawPointer
@_silgen_name("CFRunLoopGetMain") private func mainRunLoopHandle() -> UnsafeRawPointer
@_silgen_name("CFRunLoopWakeUp") private func wakeRunLoop(_ handle: UnsafeRawPointer)
