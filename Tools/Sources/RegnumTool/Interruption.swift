// SPDX-License-Identifier: Apache-2.0
// Ends a command in an orderly way when the user or the system asks it to stop: it removes its unfinished files.

import ArgumentParser
import Dispatch
import Foundation
import RegnumInspect
import Synchronization

/// Stop signals. Call `watch` once, and `check` or `isRequested` often.
enum Interruption {
    /// The command was asked to stop.
    struct Stop: Error { let signal: Int32 }

    /// The signal that was caught; 0 for none.
    private static let caught = Atomic<Int32>(0)

    /// True after the first stop signal since `watch`.
    static var isRequested: Bool { caught.load(ordering: .relaxed) != 0 }

    /// From now on, the first stop signal makes `check` throw. The second one ends the process immediately. Can be
    /// called again, which forgets a signal.
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

    /// Runs the body with a stop that the first stop signal sets within a moment.
    static func stopping<R>(_ body: (InspectionStop) throws -> R) rethrows -> R {
        let stop = InspectionStop()
        let timer = DispatchSource.makeTimerSource(queue: .global())
        timer.schedule(deadline: .now(), repeating: .milliseconds(20))
        timer.setEventHandler { if isRequested { stop.stop() } }
        timer.resume()
        defer { timer.cancel() }
        return try body(stop)
    }

    /// Ends the process as the signal would have done.
    static func end(_ stop: Stop) -> ExitCode {
        signal(stop.signal, SIG_DFL)
        raise(stop.signal)
        return ExitCode(128 + stop.signal)
    }
}
