// SPDX-License-Identifier: Apache-2.0
// Migrations as a list of steps: a file of any version runs the steps that it has not run yet, in order.

internal import RegnumEngine

/// One step of a migration, from one schema version to another. Never change a step that has been shipped.
///
/// ```swift
/// let configuration = Realm.Configuration(
///     schemaVersion: 3,
///     migrationBlock: MigrationStep.block([
///         MigrationStep(from: 1, to: 2) { $0.renameProperty(onType: "Person", from: "name", to: "fullName") },
///         MigrationStep(from: 2, to: 3) { $0.renameClass(from: "Car", to: "Vehicle") },
///     ]))
/// ```
///
/// Steps work on files, not on classes: old and new properties have the names of their columns, and a new object has
/// zero, empty or nil in every property that the step does not set. A step therefore has the same effect wherever it is
/// in the list.
///
/// A step with an old schema of its own is independent of later changes: it sees old objects of that schema, and new
/// objects of the schema of the next such step, or of the current classes if there is none.
public struct MigrationStep: Sendable {
    /// The schema version of a file after the step.
    public let version: UInt64
    /// The schema version of a file before the step; nil for a step that starts where the previous one ends, or at
    /// version 0 if it is the first.
    public let startVersion: UInt64?
    let oldClasses: [ClassSchema]?
    private let block: @Sendable (_ migration: Migration) -> Void

    /// Creates a step for files of versions from `startVersion` up to but not including `version`. Without
    /// `startVersion` the step starts where the previous one ends, or at version 0 if it is the first, so that there is
    /// no gap. It sees the columns of the current classes unless a step with an old schema of its own follows. It is a
    /// programmer error if the step does not lead to a higher version.
    public init(
        from startVersion: UInt64? = nil, to version: UInt64,
        _ run: @escaping @Sendable (_ migration: Migration) -> Void
    ) {
        if let startVersion { Self.check(startVersion, version) }
        self.version = version
        self.startVersion = startVersion
        oldClasses = nil
        block = run
    }

    /// Creates a step that starts with `oldSchema`, the `goldenText` of the classes in version `startVersion`. Files of
    /// that version must have exactly that schema in the classes that it names; the previous steps bring older files to
    /// it. A file between the two versions runs the step on the schema that it has. It is a programmer error if the
    /// text is not a schema.
    public init(
        from startVersion: UInt64, to version: UInt64, oldSchema: String,
        _ run: @escaping @Sendable (_ migration: Migration) -> Void
    ) {
        Self.check(startVersion, version)
        do { oldClasses = try GoldenText.parse(oldSchema) } catch {
            misuse("The step from version \(startVersion) has no schema: \(error)")
        }
        self.version = version
        self.startVersion = startVersion
        block = run
    }

    private static func check(_ startVersion: UInt64, _ version: UInt64) {
        if startVersion >= version {
            misuse("A migration step must lead to a higher version: from \(startVersion) to \(version) does not.")
        }
    }

    func run(_ migration: Migration) { block(migration) }

    /// Returns a migration block that runs the steps which a file has not run yet. Steps without an old schema of their
    /// own see the old objects of the file, or those of the last previous step that has one, and the new objects of the
    /// next step that has one, or of the current classes. All steps form one write transaction.
    ///
    /// It is a programmer error, reported immediately, if the versions do not ascend, if a step does not start where
    /// the previous one ends, or if a text is not a schema. Conditions that depend on the file and the configuration
    /// are checked before the first step runs: opening an older file throws `.fail` if the last step does not lead to
    /// `schemaVersion`, if the file is older than the start of the first step, or if its schema is not that of its
    /// version. The file is then left unchanged.
    public static func block(_ steps: [MigrationStep]) -> MigrationBlock {
        for (step, next) in zip(steps, steps.dropFirst()) {
            if step.version >= next.version {
                misuse(
                    "Migration steps must ascend: the step to version \(next.version) comes after the one to version "
                        + "\(step.version).")
            }
            if let start = next.startVersion, start != step.version {
                misuse(
                    "Migration steps must be contiguous: the step from version \(start) to \(next.version) comes after "
                        + "the one to version \(step.version). "
                        + (start > step.version
                            ? "Files of version \(step.version) would find no step." : "The two steps overlap."))
            }
        }
        if let first = steps.first, first.version == 0 {
            misuse("Migration steps begin with version 1: no file is older than version 0.")
        }
        return { migration, oldVersion in migration.run(steps, from: oldVersion) }
    }
}

extension Migration {
    /// Runs the steps above the version of the file. Steps that precede one with an old schema of its own run in a
    /// migration to that schema; the last ones run in this migration, to the current classes.
    func run(_ steps: [MigrationStep], from version: UInt64) {
        // Checked even if the file has run all steps: the step to `schemaVersion` may be missing.
        let wanted = settings.configuration.schemaVersion
        if let last = steps.last, last.version != wanted {
            return refuse(
                "The last migration step leads to version \(last.version), and `schemaVersion` is \(wanted)."
                    + (last.version < wanted
                        ? " Add a step to version \(wanted) (an empty one if there is nothing to do)." : ""))
        }
        let left = steps.filter { $0.version > version }
        guard let first = left.first else { return }
        if let start = first.startVersion, version < start {
            return refuse(
                "The file has schema version \(version), and the first migration step for it begins with version "
                    + "\(start).")
        }
        if first.startVersion == version, let classes = first.oldClasses {
            let lines = differences(classes)
            if !lines.isEmpty {
                return refuse(
                    "The file has schema version \(version), and differs from the `oldSchema` of the migration step "
                        + "that begins with it:\n" + lines.map { "- \($0)\n" }.joined())
            }
        }
        var stage: [MigrationStep] = []
        for step in left {
            if let classes = step.oldClasses, !stage.isEmpty {
                if isUnderWay {
                    misuse("Migration steps with an `oldSchema` must come before any other change in the block.")
                }
                guard run(stage, to: classes) else { return }
                stage = []
            }
            stage.append(step)
        }
        goingByColumns { for step in stage where !hasFailed { step.run(self) } }
    }

    /// The differences between the named classes and the file. Constraints and delete rules are not compared: older
    /// texts lack them.
    private func differences(_ classes: [ClassSchema]) -> [String] {
        classes.flatMap { schema -> [String] in
            guard let table = old.session.table(named: schema.name) else {
                return ["Class '\(schema.name)' has been added."]
            }
            return SchemaDifferences(
                schema: schema, table: table.definition, session: old.session, classes: nil
            ).list(toleratingColumns: false)
        }
    }

    /// Migrates the tables to classes known from a text, and continues from there. Returns false on failure.
    private func run(_ steps: [MigrationStep], to classes: [ClassSchema]) -> Bool {
        let session = work.session
        do {
            let schema = SchemaSet.described(classes)
            let stage = SchemaMigrator(session: session, classes: classes)
            stage.goesByColumns = true
            let between = RealmSettings(
                configuration: settings.configuration, place: settings.place, database: settings.database,
                schema: schema, queue: settings.queue)
            let migration = Migration(stage, before: old.session, settings: between)
            for step in steps where !migration.hasFailed { step.run(migration) }
            try migration.end()
            try stage.finish()
            start(from: try session.snapshot())
            return true
        } catch {
            fail(error)
            return false
        }
    }
}
