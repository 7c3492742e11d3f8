// SPDX-License-Identifier: Apache-2.0
// Migrations as a list of steps: a file of any version runs those that it has not run yet, in order.

internal import RegnumEngine

/// What brings files from one schema version to another. Steps are never changed once they have been shipped.
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
/// Steps know files, not classes: names are those of columns, on both sides, and what a step does not give to a new
/// object is zero, empty or nil. So a step means the same wherever in the list it stands.
///
/// A step that is given its old schema does not know what came after it: it finds the old objects of that schema, and
/// new objects of the next such step's, or of the classes of today where there is none.
public struct MigrationStep: Sendable {
    /// The version that files have after the step.
    public let version: UInt64
    /// The version that files have before it; nil for a step that begins where the one before it ends, the first one
    /// with version 0.
    public let startVersion: UInt64?
    let oldClasses: [ClassSchema]?
    private let block: @Sendable (_ migration: Migration) -> Void

    /// A step that files of versions from `startVersion` up and below `version` run; without `startVersion` from where
    /// the step before ends, the first one from version 0, so that nothing is missing in between. It sees the columns
    /// of the classes of today until a step with an old schema of its own follows. Misuse where it does not lead to a
    /// higher version.
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

    /// A step that begins with `oldSchema`, the `goldenText` of the classes as they were in version `startVersion`.
    /// Files of that version must have just that schema in the classes that it names; older files are brought to it by
    /// the steps before. Files between both versions run the step as they are. Misuse where the text is none.
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
            misuse("A migration step leads to a higher version: from \(startVersion) to \(version) is none.")
        }
    }

    func run(_ migration: Migration) { block(migration) }

    /// A migration block that runs the steps which a file has not run yet. Steps without an old schema of their own see
    /// the old objects of the file, or of the last step before that has one, and new objects of the next step's that
    /// has one, or of the classes of today. All of them are one write transaction.
    ///
    /// Misuse, at once, where the versions do not ascend, where a step does not begin where the one before it ends, and
    /// where a text is no schema. What depends on the file and the configuration is found before the first step runs:
    /// opening an older file throws `.fail` where the last step does not lead to `schemaVersion`, where the file is
    /// older than the first step's start, and where its schema is not that of its version. The file stays as it was.
    public static func block(_ steps: [MigrationStep]) -> MigrationBlock {
        for (step, next) in zip(steps, steps.dropFirst()) {
            if step.version >= next.version {
                misuse(
                    "Migration steps must ascend: the step to version \(next.version) comes after the one to version "
                        + "\(step.version).")
            }
            if let start = next.startVersion, start != step.version {
                misuse(
                    "Migration steps must join: the step from version \(start) to \(next.version) comes after the one "
                        + "to version \(step.version). "
                        + (start > step.version
                            ? "Files of version \(step.version) would find no step." : "Both want to run."))
            }
        }
        if let first = steps.first, first.version == 0 {
            misuse("Migration steps begin with version 1: no file is older than version 0.")
        }
        return { migration, oldVersion in migration.run(steps, from: oldVersion) }
    }
}

extension Migration {
    /// Runs the steps beyond the version of the file. Steps that are followed by one with an old schema of its own run
    /// in a migration to that schema; the last ones in this one, to the classes of today.
    func run(_ steps: [MigrationStep], from version: UInt64) {
        // Also for files that have run all of them: the step to `schemaVersion` may have been forgotten.
        let wanted = settings.configuration.schemaVersion
        if let last = steps.last, last.version != wanted {
            return refuse(
                "The last migration step leads to version \(last.version), and `schemaVersion` is \(wanted)."
                    + (last.version < wanted
                        ? " Add a step to version \(wanted), an empty one where it has nothing to do." : ""))
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
                if isUnderWay { misuse("Migration steps with an `oldSchema` must be all that the block does first.") }
                guard run(stage, to: classes) else { return }
                stage = []
            }
            stage.append(step)
        }
        goingByColumns { for step in stage where !hasFailed { step.run(self) } }
    }

    /// The classes named, compared with the file. Constraints and delete rules are not: older texts do not have them.
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

    /// Brings the tables to classes that are known from a text, and goes on from there. False where it failed.
    private func run(_ steps: [MigrationStep], to classes: [ClassSchema]) -> Bool {
        let session = work.session
        do {
            let schema = SchemaSet.described(classes)
            let stage = SchemaWork(session: session, classes: classes)
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
