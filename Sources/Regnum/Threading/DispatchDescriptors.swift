// SPDX-License-Identifier: Apache-2.0
// Dispatch and Foundation open files of the system's for the main queue, for timers, and for the run loop of each thread,
// when they first need them, and end the program where that is refused. So who opens a Realm has them made, or gets an
// error.

internal import Dispatch
internal import RegnumEngine
internal import RegnumSystem

enum DispatchDescriptors {
    /// What a run loop, the main queue and timers need at most, and the opening of a file.
    private static let count = 12
    /// What another thread needs for its run loop, where the Realm is open in the process.
    private static let countOfThread = 4

    /// The files of Dispatch, made once: as it has been asked for that before there are none left, it succeeds.
    private static let isReady: Bool = {
        // Not in a block that waits for the main thread: only to have the queue's file made.
        DispatchQueue.main.async {}
        let timer = DispatchSemaphore(value: 0)
        DispatchQueue.global().asyncAfter(deadline: .now()) { timer.signal() }
        _ = timer.wait(timeout: .now() + 1)
        return true
    }()

    /// Throws where too few files can be opened for a Realm to be used.
    static func require(for path: String, isOpen: Bool) throws(Realm.Error) {
        guard SpareDescriptors.has(isOpen ? countOfThread : count), isReady else {
            throw Realm.Error(
                opening: path, readOnly: false, .system(SystemError(.tooManyFiles, "open", path, code: 24)))
        }
    }
}
