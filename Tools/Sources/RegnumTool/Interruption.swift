// SPDX-License-Identifier: Apache-2.0
// Ends a command with an error when the user or the system asks it to stop, so that it removes its unfinished files.

import ArgumentParser
import Foundation
import Synchronization

/// Stop signals while a command writes a new file. Call `watch` once, and `check` often.
enum Interruption {
    /// The command was asked to stop.
    struct Stop: Error { let signal: Int32 }

    /// The signal that was caught; 0 for none.
    private static let caught = Atomic<Int32>(0)

    /// From now on, the first stop signal makes `check` throw. The second one ends the process immediately.
    static func watch() {
        // Creates the variable now: a signal handler must not.
        caught.store(0, ordering: .relaxed)
        for number in [SIGINT, SIGTERM, SIGHUP] {
            // A signal that the parent process ignores stays ignored, as under `nohup`.
            let before = signal(number) { number in
                signal(number, SIG_DFL)
                Interruption.caught.store(number, ordering: .relaxed)
            }
            if let before, unsafeBitCast(before, to: Int.self) == 1 { signal(number, SIG_IGN) }
        }
    }

    /// Throws `Stop` if a stop signal was caught.
    static func check() throws {
        let number = caught.load(ordering: .relaxed)
        if number != 0 { throw Stop(signal: number) }
    }

    /// Ends the process as the signal would have done.
    static func end(_ stop: Stop) -> ExitCode {
        signal(stop.signal, SIG_DFL)
        raise(stop.signal)
        return ExitCode(128 + stop.signal)
    }
}
