// SPDX-License-Identifier: Apache-2.0
// Schedules the callbacks of a Realm on the queue, actor or run loop that it is confined to.

internal import Dispatch
internal import Foundation
internal import RegnumSystem

/// A callback scheduler. Any thread may schedule work.
enum CallbackScheduler: Sendable {
    case main
    case queue(DispatchQueue)
    /// A queue of a pool: its Realms are refreshed before each use, so between uses they advance only now and then, to
    /// release old versions.
    case idleQueue(DispatchQueue)
    case actor(ActorMailbox)
    case runLoop(WakeableLoop)
    /// A thread without a scheduler: callbacks run only when the test kit asks for them.
    case none

    /// How long a Realm of a pool may keep an old version while it is not used.
    private static let idleDelay = DispatchTimeInterval.milliseconds(10)

    /// The scheduler of the calling thread; nil if it runs no run loop that could call back.
    static func ofCaller(_ queue: DispatchQueue?) -> CallbackScheduler? {
        if let queue { return QueueConfinement.isMain(queue) ? .main : .queue(queue) }
        if QueueConfinement.isMain { return .main }
        return RunLoop.current.currentMode == nil ? nil : .runLoop(WakeableLoop())
    }

    /// False if scheduled work never runs.
    var hasTurns: Bool { if case .none = self { false } else { true } }

    /// Schedules the work. Work runs in the order of the calls.
    func perform(_ work: @escaping @Sendable () -> Void) {
        switch self {
        case .main: MainTurns.perform(work)
        case .queue(let queue): queue.async(execute: work)
        case .idleQueue(let queue): queue.asyncAfter(deadline: .now() + Self.idleDelay, execute: work)
        case .actor(let mailbox): mailbox.perform(work)
        case .runLoop(let loop): loop.perform(work)
        case .none: break
        }
    }
}

extension RealmCore {
    /// The scheduler of this Realm's callbacks; nil if none could run.
    var deliveryPlace: CallbackScheduler? {
        if let notifier { return notifier.place }
        if let mailbox = settings.mailbox { return .actor(mailbox) }
        if let role = settings.poolRole, role.isRefreshedWhenUsed, let queue = settings.queue {
            return .idleQueue(queue)
        }
        return .ofCaller(settings.queue)
    }
}

/// Schedules work on the main thread. Either the main queue or the main run loop runs it: the run loop keeps running
/// while a block of the main queue waits in it, and no other block of that queue can run then.
private enum MainTurns {
    private struct State {
        /// The scheduled work, in the order of the calls; entries before `done` have been taken.
        var work: [(@Sendable () -> Void)?] = []
        var done = 0
        /// True if the run loop has been asked for a turn. Many programs never run it, so it is asked only once.
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
                // Work scheduled from now on asks for another turn.
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

    /// Runs the next piece of work, whether the queue or the run loop got here first.
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

/// A run loop that other threads can wake. `RunLoop.perform` alone does not wake it (measured: the block ran a second
/// later).
struct WakeableLoop: @unchecked Sendable {
    // Sendable: the loop is only asked to perform blocks and to wake up, which any thread may do.
    private let loop: RunLoop
    private let handle: UnsafeRawPointer

    /// The run loop of the calling thread.
    init() {
        loop = .current
        handle = currentRunLoopHandle()
    }

    /// The run loop of the main thread.
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

// Exported by Foundation on every platform, but not declared on Linux.
@_silgen_name("CFRunLoopGetCurrent") private func currentRunLoopHandle() -> UnsafeRawPointer
@_silgen_name("CFRunLoopGetMain") private func mainRunLoopHandle() -> UnsafeRawPointer
@_silgen_name("CFRunLoopWakeUp") private func wakeRunLoop(_ handle: UnsafeRawPointer)
