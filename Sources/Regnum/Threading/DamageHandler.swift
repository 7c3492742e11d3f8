// SPDX-License-Identifier: Apache-2.0
// The program's own handler for damage where nothing can be thrown: `Realm.onDamage`.

internal import RegnumEngine
internal import RegnumSystem

package enum DamageHandler {
    package typealias Handler = @Sendable (Realm.Error) -> Void

    private struct State: Sendable {
        var handler: Handler?
        /// Threads that the handler runs on, by `CurrentThread.id`: damage that it meets itself is not reported to it.
        var callers: Set<UInt> = []
    }

    private static let state = Lock(State())

    static var current: Handler? {
        get { state.withLock { $0.handler } }
        set { state.withLock { $0.handler = newValue } }
    }

    /// Found in the background: the program goes on.
    static func report(_ error: Realm.Error) {
        Logger.log(.error, "DB: \(error.localizedDescription)")
        if error.isDamage { call(error) }
    }

    /// Before the program ends with `error`, where that is damage.
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
            // The program, or the test that has met this, goes no further on this thread.
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

extension RealmCare where Self == Realm {
    /// Called when damage is found where nothing can be thrown; nil, the default: nobody is told.
    ///
    /// ```swift
    /// Realm.onDamage = { error in
    ///     log.critical("\(error.localizedDescription)")
    ///     exit(70)
    /// }
    /// ```
    ///
    /// Where a property, a collection, a query or an observer meets a damaged block, the handler is called and the
    /// program ends behind it, as it does without a handler. Where the verification in the background
    /// (`Configuration.verify`) finds one, the handler is called and the program goes on. The error has the code
    /// `.invalidDatabase`, the reason `.damaged` or `.truncated`, the file, where it is known, and a message that says
    /// what to do. What throws an error does not call it.
    ///
    /// Thread: may be set on any thread. It is called on the thread that has met the damage, with what that thread holds,
    /// a write transaction for example, and on several at once where several meet damage. It must not wait for other
    /// threads that use the file, nor open or write to the file. Damage that it meets itself ends the program.
    public static var onDamage: (@Sendable (Realm.Error) -> Void)? {
        get { DamageHandler.current }
        set { DamageHandler.current = newValue }
    }
}
