// SPDX-License-Identifier: Apache-2.0
// Runs an actor on a dispatch queue of its own, so that a Realm confined to the queue belongs to the actor too.

internal import Dispatch

/// The executor of a pool's actor. Long queries and writes occupy a thread of the queue, never one of the few threads
/// that run all tasks of the program.
final class QueueExecutor: SerialExecutor {
    let queue: DispatchQueue

    init(label: String) { queue = DispatchQueue(label: label) }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }

    func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }

    func checkIsolated() { dispatchPrecondition(condition: .onQueue(queue)) }
}
