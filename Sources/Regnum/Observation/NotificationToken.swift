// SPDX-License-Identifier: Apache-2.0
// The name under which an observation is kept alive and ended.

internal import RegnumSystem

/// Keeps an observation alive; ends it with its last reference or by `invalidate`.
///
/// It also keeps the Realm of the observed thing open. Any thread may end it; a call that has begun elsewhere comes
/// to its end, later ones do not come.
public class NotificationToken: @unchecked Sendable {
    // Sendable: what it holds is exchanged under the mutex.
    private enum State {
        /// To be attached once the queue or actor has come round to it; a queue finds here what it is to begin.
        case waiting(Beginning?)
        case active(ObservationEntry)
        case ended
    }
    private let state: Lock<State>

    /// How an observation begins on the queue that it is wanted on.
    struct Beginning: @unchecked Sendable {
        // Sendable: runs on the queue only, which is what the caller has asked for.
        let run: () -> ObservationEntry?
    }

    /// One that is to be attached. Only the token keeps `beginning`: what the queue waits for must not keep a user's
    /// block, which may hold the Realm that is waited for.
    init(_ beginning: Beginning?) { state = Lock(State.waiting(beginning)) }

    /// A token of no observation, for a variable that gets a real one later.
    public init() { state = Lock(State.waiting(nil)) }

    /// One that has ended.
    static func ended() -> NotificationToken {
        let token = NotificationToken()
        token.invalidate()
        return token
    }

    /// Ends the observation; false where it had ended.
    @discardableResult
    public func invalidate() -> Bool {
        let last = state.withLock { state -> State in
            defer { state = .ended }
            return state
        }
        switch last {
        case .ended: return false
        case .waiting: return true
        case .active(let entry):
            entry.end()
            return true
        }
    }

    /// Starts it; where it was ended meanwhile ends the entry.
    func attach(_ entry: ObservationEntry) {
        let isEnded = state.withLock { state -> Bool in
            guard case .waiting = state else { return true }
            state = .active(entry)
            return false
        }
        if isEnded { entry.end() }
    }

    /// On the queue: begins the observation, unless it has ended.
    func begin() {
        let beginning = state.withLock { state -> Beginning? in
            guard case .waiting(let beginning) = state else { return nil }
            state = .waiting(nil)
            return beginning
        }
        if let entry = beginning?.run() { attach(entry) }
    }

    /// True until `invalidate`.
    var isActive: Bool {
        state.withLock { state in
            if case .ended = state { return false }
            return true
        }
    }

    /// What it stands for; nil where it has ended or not begun.
    var entry: ObservationEntry? {
        state.withLock { state in
            if case .active(let entry) = state { return entry }
            return nil
        }
    }

    deinit {
        if case .active(let entry) = state.withLock({ $0 }) {
            if entry.warnsWhenDropped {
                Logger.log(
                    .warn,
                    "A Realm's notification token was released without `invalidate()`: hold it as long as "
                        + "notifications are wanted.")
            }
            entry.end()
        }
    }
}

extension NotificationToken: Hashable {
    /// Equal to itself alone.
    public static func == (left: NotificationToken, right: NotificationToken) -> Bool { left === right }
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
