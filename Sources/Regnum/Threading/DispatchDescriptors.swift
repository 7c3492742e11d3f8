// SPDX-License-Identifier: Apache-2.0
// Dispatch and Foundation open file descriptors of their own for the main queue, for timers and for the run loop of
// each thread when they first need them, and end the program if that fails. Opening a Realm therefore has them created
// in advance, or throws an error.

internal import Dispatch
internal import RegnumEngine
internal import RegnumSystem

enum DispatchDescriptors {
    /// The maximum number of descriptors for a run loop, the main queue, timers and opening a file.
    private static let count = 12
    /// The number for the run loop of a further thread, if the Realm is already open in the process.
    private static let countOfThread = 4

    /// Creates Dispatch's descriptors, once. Succeeds because it is evaluated only after `require` has found enough
    /// spare descriptors.
    private static let isReady: Bool = {
        // The block is empty: it is submitted only so that Dispatch creates the queue's descriptor.
        DispatchQueue.main.async {}
        let timer = DispatchSemaphore(value: 0)
        DispatchQueue.global().asyncAfter(deadline: .now()) { timer.signal() }
        _ = timer.wait(timeout: .now() + 1)
        return true
    }()

    /// Throws if there are too few spare file descriptors for using a Realm.
    static func require(for path: String, isOpen: Bool) throws(Realm.Error) {
        guard SpareDescriptors.has(isOpen ? countOfThread : count), isReady else {
            throw Realm.Error(
                opening: path, readOnly: false, .system(SystemError(.tooManyFiles, "open", path, code: 24)))
        }
    }
}
