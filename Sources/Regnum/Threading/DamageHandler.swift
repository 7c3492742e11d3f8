// SPDX-License-Identifier: Apache-2.0
// The program's handler for damage found by calls that cannot throw: `Realm.onDamage`.

internal import RegnumEngine
internal import RegnumSystem

package enum DamageHandler {
    package typealias Handler = @Sendable (Realm.Error) -> Void

    private struct State: Sendable {
        var handler: Handler?
        /// The threads that the handler is running on, by `CurrentThread.id`: it is not called again for damage that it
        /// encounters itself.
        var callers: Set<UInt> = []
    }

    private static let state = Lock(State())

    static var current: Handler? {
        get { state.withLock { $0.handler } }
        set { state.withLock { $0.handler = newValue } }
    }

    /// Reports damage found in the background: the program continues.
    static func report(_ error: Realm.Error) {
        Logger.log(.error, "DB: \(error.localizedDescription)")
        if error.isDamage { call(error) }
    }

    /// Called before the program ends with `error`; calls the handler if the error is damage.
    package static func beforeEnd(_ error: any Error) {
        if let error = error as? EngineError {
            if case .corrupted(let damage) = error { call(Realm.Error(reading: damage, error.lastWords)) }
        } else if let error = error as? Realm.Error, error.isDamage {
            call(error)
        }
    }

    private static func call(_ error: Realm.Error) {
        let thread = CurrentThread.id
        let handler = state.withLock { state -> Handler? in
            guard let handler = state.handler else { return nil }
            if state.callers.insert(thread).inserted { return handler }
            // The program, or the test that has encountered this, does not continue on this thread.
            state.callers.remove(thread)
            return nil
        }
        guard let handler else { return }
        handler(error)
        state.withLock { _ = $0.callers.remove(thread) }
    }
}

extension Realm.Error {
    fileprivate var isDamage: Bool { reason == .damaged || reason == .truncated }
}

extension RealmAdditions where Self == Realm {
    /// Called when damage is found by a call that cannot throw, or in the background. Nil, the default: nothing is
    /// called.
    ///
    /// ```swift
    /// Realm.onDamage = { error in
    ///     log.critical("\(error.localizedDescription)")
    ///     exit(70)
    /// }
    /// ```
    ///
    /// If a property, a collection, a query or an observer encounters a damaged block, the handler is called, and the
    /// program then ends, as it does without a handler. If the background verification (`Configuration.verify`) finds
    /// one, the handler is called and the program continues. The error has the code `.invalidDatabase`, the reason
    /// `.damaged` or `.truncated`, the file, if known, and a message that says what to do. Operations that throw do not
    /// call the handler.
    ///
    /// Thread: can be set on any thread. It is called on the thread that has encountered the damage, which may hold a
    /// write transaction, for example, and on several threads at once if several encounter damage. It must not wait for
    /// other threads that use the file, and must not open or write to the file. Damage that the handler itself
    /// encounters ends the program.
    public static var onDamage: (@Sendable (Realm.Error) -> Void)? {
        get { DamageHandler.current }
        set { DamageHandler.current = newValue }
    }
}
