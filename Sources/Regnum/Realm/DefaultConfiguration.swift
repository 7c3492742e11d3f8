// SPDX-License-Identifier: Apache-2.0
// The default configuration: one for the process, or one for a task and its children, which a test kit sets.

internal import RegnumEngine
internal import RegnumSystem
internal import Synchronization

/// A default configuration, and the in-memory data that it keeps alive while it names it.
package final class DefaultConfiguration: Sendable {
    /// That of the process.
    package static let shared = DefaultConfiguration()
    /// Stands for that of the process in a task and its child tasks; nil outside of tests.
    @TaskLocal package static var scoped: DefaultConfiguration?

    static var current: DefaultConfiguration { scoped ?? shared }

    /// Told of each use of the configuration of the process, before a read and after a write.
    private struct Watcher: Sendable {
        // A struct: a function that is read from a lock through `inout` is wrapped once more at each reading.
        let call: @Sendable (_ isWrite: Bool) -> Void
    }
    private static let watcher = Lock<Watcher?>(nil)
    private static let isWatched = Atomic(false)

    /// Sets the watcher; there is one for the process.
    package static func watch(_ body: @escaping @Sendable (_ isWrite: Bool) -> Void) {
        watcher.withLock { $0 = Watcher(call: body) }
        isWatched.store(true, ordering: .releasing)
    }

    private func tell(isWrite: Bool) {
        guard self === Self.shared, Self.isWatched.load(ordering: .acquiring) else { return }
        // Called after the lock is given back: it may use the configuration itself.
        Self.watcher.withLock { $0 }?.call(isWrite)
    }

    private struct State {
        var configuration: Realm.Configuration?
        /// The database under the identifier that `configuration` names, once it was opened.
        var kept: Database?
    }
    private let state: Lock<State>

    package init(_ configuration: Realm.Configuration? = nil) {
        state = Lock(State(configuration: configuration))
    }

    package var value: Realm.Configuration {
        get {
            tell(isWrite: false)
            if let set = state.withLock({ $0.configuration }) { return set }
            return Realm.Configuration()
        }
        set {
            // What is open already is kept from now on.
            let open = newValue.inMemoryIdentifier.flatMap { Database.openedInMemory(identifier: $0) }
            // Freed after the lock is given back.
            let old = state.withLock { state -> Database? in
                let same = state.configuration?.inMemoryIdentifier == newValue.inMemoryIdentifier
                state.configuration = newValue
                if same { return nil }
                defer { state.kept = open }
                return state.kept
            }
            _ = old
            tell(isWrite: true)
        }
    }

    /// Keeps the data of an in-memory Realm while the default configuration names it.
    func keep(_ database: Database, identifier: String) {
        state.withLock { state in
            if state.configuration?.inMemoryIdentifier == identifier { state.kept = database }
        }
    }
}
