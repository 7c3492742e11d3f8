// SPDX-License-Identifier: Apache-2.0
// Concurrent tests that set the process's only default configuration read each other's data. This reports it to the
// test that reads a configuration set by another one.

internal import Regnum
internal import Synchronization
internal import Testing

enum KitHooks {
    /// Installs the kit's hooks in the library, once. Called by every function that a test may call first.
    static func begin() { _ = installed }

    private static let installed: Void = {
        DefaultConfiguration.watch { isWrite in DefaultConfigurationWatch.note(isWrite: isWrite) }
    }()
}

package enum DefaultConfigurationWatch {
    private struct State {
        /// Names of tests: the last one that set the configuration, and those that have set it and have not yet been
        /// notified that another test replaced it.
        var lastSetter: String?
        var setters: Set<String> = []
    }
    private static let state = Mutex(State())

    /// Called only for the process's own configuration, not for configurations of the trait `.realm`.
    static func note(isWrite: Bool) {
        guard let test = Test.current else { return }
        guard let other = note(isWrite: isWrite, by: name(of: test)) else { return }
        Report.issue(
            "Realm.Configuration.defaultConfiguration was set by this test, and by \(other) while it ran. There is "
                + "one for the process, and tests of Swift Testing run at once: give each test its own with "
                + "@Test(.realm()), or put both into one suite that is .serialized.", at: test.sourceLocation)
    }

    private static func name(of test: Test) -> String { "'\(test.name)' (\(test.sourceLocation))" }

    /// The test that has replaced the configuration which the reading test had set; once for each replacement.
    @discardableResult
    package static func note(isWrite: Bool, by name: String) -> String? {
        state.withLock { state in
            if isWrite {
                state.lastSetter = name
                state.setters.insert(name)
                return nil
            }
            guard let last = state.lastSetter, last != name, state.setters.remove(name) != nil else { return nil }
            return last
        }
    }
}
