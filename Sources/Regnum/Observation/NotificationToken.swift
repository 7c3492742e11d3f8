// SPDX-License-Identifier: Apache-2.0
// The token that keeps an observation alive and ends it.

internal import RegnumSystem

/// Keeps an observation alive. The observation ends when the last reference to the token is released or `invalidate` is
/// called.
///
/// The token also keeps the observed Realm open. Any thread may end the observation; a call that is already running on
/// another thread completes, and no later call is made.
public class NotificationToken: @unchecked Sendable {
    // Sendable: the state is only replaced under the lock.
    private enum State {
        /// The queue or actor has not attached an entry yet. On a queue, the stored value begins the observation.
        case waiting(Beginning?)
        case active(ObservationEntry)
        case ended
    }
    private let state: Lock<State>

    /// Begins the observation on the queue it was requested for.
    struct Beginning: @unchecked Sendable {
        // Sendable: runs only on the queue, as the caller requested.
        let run: () -> ObservationEntry?
    }

    /// Creates a token to be attached later. Only the token retains `beginning`: the work item on the queue must not
    /// retain a user's block, which may retain the Realm that the work item waits for.
    init(_ beginning: Beginning?) { state = Lock(State.waiting(beginning)) }

    /// Creates a token without an observation, for a variable that is assigned a real one later.
    public init() { state = Lock(State.waiting(nil)) }

    /// Returns a token that has already ended.
    static func ended() -> NotificationToken {
        let token = NotificationToken()
        token.invalidate()
        return token
    }

    /// Ends the observation. Returns false if it had already ended.
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

    /// Attaches the entry; ends the entry instead if the token has been invalidated in the meantime.
    func attach(_ entry: ObservationEntry) {
        let isEnded = state.withLock { state -> Bool in
            guard case .waiting = state else { return true }
            state = .active(entry)
            return false
        }
        if isEnded { entry.end() }
    }

    /// Begins the observation on the queue, unless the token has been invalidated.
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

    /// The entry of the running observation; nil if the observation has ended or not begun.
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
                    "A Realm's notification token was released without `invalidate()`: hold it as long as you "
                        + "want notifications.")
            }
            entry.end()
        }
    }
}

extension NotificationToken: Hashable {
    /// True only for the same token.
    public static func == (left: NotificationToken, right: NotificationToken) -> Bool { left === right }
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
