// SPDX-License-Identifier: Apache-2.0
// Migrations as a list of steps: a file of any version runs those that it has not run yet, in order.

/// What brings files to one schema version. Steps are never changed once they have been shipped.
///
/// ```swift
/// let configuration = Realm.Configuration(
///     schemaVersion: 3,
///     migrationBlock: MigrationStep.block([
///         MigrationStep(to: 2) { $0.renameProperty(onType: "Person", from: "name", to: "fullName") },
///         MigrationStep(to: 3) { $0.renameClass(from: "Car", to: "Vehicle") },
///     ]))
/// ```
public struct MigrationStep: Sendable {
    /// The version that files have after the step.
    public let version: UInt64
    private let run: @Sendable (_ migration: Migration) -> Void

    /// A step that files of all versions below `version` run.
    public init(to version: UInt64, _ run: @escaping @Sendable (_ migration: Migration) -> Void) {
        self.version = version
        self.run = run
    }

    /// A migration block that runs the steps which a file has not run yet. All steps see the same old objects, those of
    /// the file, and the same new classes. Misuse, at once, where the versions do not ascend.
    public static func block(_ steps: [MigrationStep]) -> MigrationBlock {
        for (step, next) in zip(steps, steps.dropFirst()) where step.version >= next.version {
            misuse(
                "Migration steps must ascend: the step to version \(next.version) comes after the one to version "
                    + "\(step.version).")
        }
        if let first = steps.first, first.version == 0 {
            misuse("Migration steps begin with version 1: no file is older than version 0.")
        }
        return { migration, oldVersion in
            for step in steps where step.version > oldVersion { step.run(migration) }
        }
    }
}
