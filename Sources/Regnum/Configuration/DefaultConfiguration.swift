// SPDX-License-Identifier: Apache-2.0
// The default configuration: one for the process, or one for a task and its child tasks, set by a test kit.

internal import RegnumEngine
internal import RegnumSystem
internal import Synchronization

/// A default configuration, and the in-memory data that it keeps alive as long as it names it.
package final class DefaultConfiguration: Sendable {
    /// The default configuration of the process.
    package static let shared = DefaultConfiguration()
    /// Replaces the default of the process within a task and its child tasks; nil outside tests.
    @TaskLocal package static var scoped: DefaultConfiguration?

    static var current: DefaultConfiguration { scoped ?? shared }

    /// Called at each use of the process's configuration: before a read and after a write.
    private struct Watcher: Sendable {
        // A struct, because a function read from a lock through `inout` gets another wrapper at each read.
        let call: @Sendable (_ isWrite: Bool) -> Void
    }
    private static let watcher = Lock<Watcher?>(nil)
    private static let isWatched = Atomic(false)

    /// Sets the watcher; the process has only one.
    package static func watch(_ body: @escaping @Sendable (_ isWrite: Bool) -> Void) {
        watcher.withLock { $0 = Watcher(call: body) }
        isWatched.store(true, ordering: .releasing)
    }

    private func tell(isWrite: Bool) {
        guard self === Self.shared, Self.isWatched.load(ordering: .acquiring) else { return }
        // Called after the lock is released: the watcher may use the configuration itself.
        Self.watcher.withLock { $0 }?.call(isWrite)
    }

    private struct State {
        var configuration: Realm.Configuration?
        /// The database of the identifier that `configuration` names, once it has been opened.
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
            // A database that is already open is kept from now on.
            let open = newValue.inMemoryIdentifier.flatMap { Database.openedInMemory(identifier: $0) }
            // Freed after the lock is released.
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

    /// Keeps the data of an in-memory Realm alive while the default configuration names it.
    func keep(_ database: Database, identifier: String) {
        state.withLock { state in
            if state.configuration?.inMemoryIdentifier == identifier { state.kept = database }
        }
    }
}
