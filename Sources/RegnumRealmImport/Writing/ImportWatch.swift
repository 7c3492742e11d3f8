// SPDX-License-Identifier: Apache-2.0
// Reports the progress of an import, and ends it if the task is cancelled or the progress function throws.

internal import Foundation

final class ImportWatch {
    private let progress: ((RealmFileImportProgress) throws -> Void)?
    /// The number of visits of objects, in all passes; at least 1.
    private let total: Int
    private(set) var done = 0
    private let step: Int
    private var next = 0
    private var elements = 0

    /// `passes` is the number of visits of each object. `progress` is called about 200 times.
    init(objects: Int, passes: Int, _ progress: ((RealmFileImportProgress) throws -> Void)?) {
        total = max(objects * passes, 1)
        step = max(objects * passes / 200, 1)
        self.progress = progress
    }

    /// Call after each object. Throws the errors of the progress function, and `CancellationError`, for which it checks
    /// every 256 objects.
    func report(_ phase: RealmFileImportProgress.Phase, _ className: String, _ completed: Int, _ count: Int) throws {
        done += 1
        if done & 255 == 0 { try checkCancellation() }
        guard done >= next else { return }
        next = done + step
        try progress?(
            RealmFileImportProgress(
                phase: phase, className: className, completed: completed, total: count, fraction: fraction))
    }

    /// Call for each element of a collection: an object may have millions. Checks for cancellation every 1,024
    /// elements.
    func countElement() throws {
        elements &+= 1
        if elements & 1023 == 0 { try checkCancellation() }
    }

    /// Throws `CancellationError` if the task is cancelled.
    func checkCancellation() throws { if Task.isCancelled { throw CancellationError() } }

    /// Counts visits of objects that a pass does not need.
    func skip(_ count: Int) { done += count }

    /// Reports the phase `finishing`. Throws like `report`.
    func finish() throws {
        try checkCancellation()
        try progress?(
            RealmFileImportProgress(phase: .finishing, className: nil, completed: 0, total: 0, fraction: fraction))
    }

    private var fraction: Double { min(Double(done) / Double(total), 1) }
}
