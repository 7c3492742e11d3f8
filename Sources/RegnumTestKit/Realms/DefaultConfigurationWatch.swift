// SPDX-License-Identifier: Apache-2.0
// Two tests that run at once and set the one default configuration of the process read each other's data. This tells
// the test that reads what another has set.

internal import Regnum
internal import Synchronization
internal import Testing

enum KitHooks {
    /// Connects the kit with the library, once. To be called by whatever a test may call first.
    static func begin() { _ = installed }

    private static let installed: Void = {
        DefaultConfiguration.watch { isWrite in DefaultConfigurationWatch.note(isWrite: isWrite) }
    }()
}

package enum DefaultConfigurationWatch {
    private struct State {
        /// Names of tests: who has set it last, and who has set it and was not told of another's setting yet.
        var lastSetter: String?
        var setters: Set<String> = []
    }
    private static let state = Mutex(State())

    /// Only uses of the process's own configuration come here, not those under the trait `.realm`.
    static func note(isWrite: Bool) {
        guard let test = Test.current else { return }
        guard let other = note(isWrite: isWrite, by: name(of: test)) else { return }
        Report.issue(
            "Realm.Configuration.defaultConfiguration was set by this test, and by \(other) while it ran. There is "
                + "one for the process, and tests of Swift Testing run at once: give each test its own with "
                + "@Test(.realm()), or put both into one suite that is .serialized.", at: test.sourceLocation)
    }

    private static func name(of test: Test) -> String { "'\(test.name)' (\(test.sourceLocation))" }

    /// Who has replaced what the reader has set; once for each replacement.
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
