// SPDX-License-Identifier: Apache-2.0
// Tells how far an import is, and asks whether it goes on.

internal import Foundation

final class ImportWatch {
    private let progress: ((RealmFileImportProgress) throws -> Void)?
    /// Objects of all passes.
    private let total: Int
    private var done = 0
    private let step: Int
    private var next = 0

    /// `passes`: how often each object is visited.
    init(objects: Int, passes: Int, _ progress: ((RealmFileImportProgress) throws -> Void)?) {
        total = max(objects * passes, 1)
        step = max(objects * passes / 200, 1)
        self.progress = progress
    }

    /// To be called after each object. Throws what the progress function throws, and `CancellationError`.
    func report(_ phase: RealmFileImportProgress.Phase, _ className: String, _ completed: Int, _ count: Int) throws {
        done += 1
        if done & 255 == 0, Task.isCancelled { throw CancellationError() }
        guard done >= next else { return }
        next = done + step
        try progress?(
            RealmFileImportProgress(
                phase: phase, className: className, completed: completed, total: count, fraction: fraction))
    }

    /// Objects that need no visit.
    func skip(_ count: Int) { done += count }

    func finish() throws {
        if Task.isCancelled { throw CancellationError() }
        try progress?(
            RealmFileImportProgress(phase: .finishing, className: nil, completed: 0, total: 0, fraction: fraction))
    }

    private var fraction: Double { min(Double(done) / Double(total), 1) }
}
