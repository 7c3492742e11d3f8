// SPDX-License-Identifier: Apache-2.0
// Progress and cancellation of a long migration, from a thread other than the one that runs it.

public import Foundation
internal import RegnumEngine
package import RegnumSystem
internal import Synchronization

/// The progress of a migration. A value; any thread.
public struct MigrationProgress: Sendable, Equatable {
    /// The phases of a migration.
    public enum Phase: Sendable {
        /// The write transaction has begun; a backup is made if one is requested.
        case preparing
        /// The block is enumerating objects.
        case objects
        /// Whole tables are processed before, between or after the work of the block: indexes are built, nulls become
        /// values, the storage of dropped properties is freed, objects are embedded, keys are checked.
        case building
        /// The block has ended: columns and tables that are no longer needed are dropped, keys are checked.
        case finishing
        /// Everything is being written. The migration can no longer be cancelled.
        case committing
    }

    public let phase: Phase
    /// The class whose objects are enumerated, under the name passed to `enumerateObjects`, or whose table is
    /// processed, under the name that it has in the file at that moment; nil in other phases.
    public let className: String?
    /// The number of objects that this enumeration or pass has processed.
    public let completed: Int
    /// The total number of objects of this enumeration or pass.
    public let total: Int

    /// The fraction of objects processed, 0 to 1; 1 if there are none.
    public var fraction: Double { total == 0 ? 1 : Double(completed) / Double(total) }
}

/// Connects the thread that runs a migration with the code that waits for it. Any thread.
final class MigrationControl: Sendable {
    /// `running` changes to one of the others, which are final.
    private enum State {
        static let running: UInt8 = 0
        static let cancelled: UInt8 = 1
        static let committing: UInt8 = 2
    }
    private let progress: (@Sendable (MigrationProgress) -> Void)?
    private let state = Atomic<UInt8>(State.running)

    init(_ progress: (@Sendable (MigrationProgress) -> Void)? = nil) { self.progress = progress }

    /// Cancels the migration, which then throws `CancellationError` at the next opportunity. Returns false, and has no
    /// effect, if its commit has begun: the file is then migrated.
    @discardableResult
    func cancel() -> Bool { become(State.cancelled) }

    /// Marks the beginning of the commit. Returns false if the migration has been cancelled.
    func beginCommit() -> Bool { become(State.committing) }

    var isCancelled: Bool { state.load(ordering: .relaxed) == State.cancelled }
    var hasBegunCommit: Bool { state.load(ordering: .acquiring) == State.committing }

    /// Changes the state, if it is `running`. True if the state is then `wanted`.
    private func become(_ wanted: UInt8) -> Bool {
        let (isDone, before) = state.compareExchange(
            expected: State.running, desired: wanted, ordering: .acquiringAndReleasing)
        return isDone || before == wanted
    }

    func report(
        _ phase: MigrationProgress.Phase, _ className: String? = nil, _ completed: Int = 0, _ total: Int = 0
    ) {
        progress?(MigrationProgress(phase: phase, className: className, completed: completed, total: total))
    }
}

/// Reports the progress of one enumeration, and checks whether the migration has been cancelled.
struct EnumerationWatch {
    private let control: MigrationControl?
    private let className: String
    private let total: Int
    /// The number of objects between two reports: a hundredth of all.
    private let reportStep: Int
    /// The number of objects between two checks for cancellation: small enough for a prompt reaction.
    private let lookStep: Int
    private var nextReport = 0
    private var nextLook = 0

    init(_ control: MigrationControl?, _ className: String, total: Int) {
        self.control = control
        self.className = className
        self.total = total
        reportStep = max((total + 99) / 100, 1)
        lookStep = min(reportStep, 4096)
        if control == nil { nextLook = .max }
    }

    /// Call with each number of processed objects in ascending order, and finally with the total. Returns false if the
    /// migration has been cancelled.
    mutating func goesOn(_ completed: Int) -> Bool {
        if completed < nextLook, completed < total { return true }
        guard let control else { return true }
        nextLook = completed + lookStep
        if completed >= nextReport || completed == total {
            nextReport = completed + reportStep
            control.report(.objects, className, completed, total)
        }
        return !control.isCancelled
    }
}

/// Reports the progress of a migration's work on whole tables, outside its block: at most 101 times for each pass over
/// a table. An index, a property or a check may take several passes. Also checks whether the migration has been
/// cancelled. Confined to the migration.
final class BuildingWatch {
    private let control: MigrationControl
    /// The hundredths of the current pass that have been reported.
    private var told = -1

    init(_ control: MigrationControl) { self.control = control }

    /// Call with 0 first. Returns false if the migration has been cancelled.
    func goesOn(_ table: String, _ completed: Int, _ total: Int) -> Bool {
        if completed == 0 { told = -1 }
        let hundredths = total == 0 ? 100 : completed * 100 / total
        if hundredths > told {
            told = hundredths
            control.report(.building, table, completed, total)
        }
        return !control.isCancelled
    }
}

/// Settings of a configuration that RealmSwift does not have.
package struct InternalMigrationSettings: Sendable {
    var backsUp = false
    var control: MigrationControl?
    /// The memory that writes may take before they spill; nil for the default. Tests set less.
    var spillLimits: SpillLimits?
    /// Converts a file in Realm's own format when it is opened; see `LegacyFile`.
    var legacyFile: LegacyFile?
    /// The file system of the file; nil for the operating system's. Tests set one that fails and crashes on demand.
    package var fileSystem: (any FileSystem)?
}

/// Additions of Regnum to `Realm.Configuration`. A program's own members of the same names take precedence.
public protocol MigrationSettings {}

extension Realm.Configuration: MigrationSettings {}

extension MigrationSettings where Self == Realm.Configuration {
    /// True if the file is copied before it is migrated, which takes the time and space of a copy. The copy is stored
    /// beside the file. It is deleted when the file is next opened for writing and needs no migration, by any process
    /// and whatever its setting, but not while a Realm from the migration is open. A migration that fails before its
    /// commit leaves no copy. `Realm.migrationBackup(for:)` returns the copy's location. False by default; has no
    /// effect in memory.
    public var backsUpBeforeMigration: Bool {
        get { self.extras.backsUp }
        set { self.extras.backsUp = newValue }
    }
}

/// A copy of a file from before a migration.
struct MigrationBackup {
    let path: String
    let files: any FileSystem
    private struct Weak: Sendable { weak var database: Database? }
    /// The databases that have migrated files in this process: a file must be reopened successfully before its backup
    /// is deleted.
    private static let migrated = Lock<[String: Weak]>([:])

    static func path(of file: String) -> String { file + ".before-migration" }

    /// Makes the copy within the write of the migration. Returns nil if no copy is requested. Throws `EngineError`, for
    /// example if the disk is full.
    static func make(
        of session: Session, _ configuration: Realm.Configuration, _ place: Realm.Configuration.Place
    ) throws -> MigrationBackup? {
        guard configuration.extras.backsUp, case .file(let file) = place else { return nil }
        let path = path(of: file)
        let files = configuration.files
        // Replaces the copy of an attempt that was killed: it has the same content, because the file was never changed.
        try session.writeCopy(to: path, in: files, key: configuration.engineKey, replacing: true)
        migrated.withLock { $0[file] = Weak(database: session.database) }
        return MigrationBackup(path: path, files: files)
    }

    func remove() { try? files.remove(path) }

    /// Deletes the copy after the file was opened without anything to migrate to `version`: the file no longer needs
    /// it, even if the program no longer makes copies. A copy of the same version belongs to a migration that another
    /// process, with a newer program, is about to run. Costs one file-system call if there is no copy.
    static func removeAfterGoodOpening(
        _ configuration: Realm.Configuration, _ place: Realm.Configuration.Place, version: UInt64
    ) {
        guard case .file(let file) = place, migrated.withLock({ $0[file]?.database }) == nil else { return }
        migrated.withLock { $0[file] = nil }
        let backup = MigrationBackup(path: path(of: file), files: configuration.files)
        guard let found = backup.status, let older = backup.schemaVersion(configuration), older < version else {
            return
        }
        // Another process, running a still newer program, may have put its own copy there in the meantime.
        if backup.status == found { backup.remove() }
    }

    /// Nil if there is no copy.
    private var status: FileStatus? { try? files.status(path) }

    /// Nil if the copy cannot be read.
    private func schemaVersion(_ configuration: Realm.Configuration) -> UInt64? {
        try? Database.openToRead(path: path, fileSystem: files, encryptionKey: configuration.engineKey)
            .makeSession().schemaVersion
    }
}

extension RealmAdditions where Self == Realm {
    /// The copy of the configuration's file from before its last migration, made if `backsUpBeforeMigration` is set;
    /// nil if there is none. To go back, close all Realms of the file and replace it with the copy.
    public static func migrationBackup(for configuration: Realm.Configuration) -> URL? {
        guard let file = configuration.fileURL?.standardizedFileURL.path else { return nil }
        let path = MigrationBackup.path(of: file)
        return FileManager.default.fileExists(atPath: path) ? URL(fileURLWithPath: path) : nil
    }

    /// Like `performMigration(for:)`, but reports its progress to `progress`: at most 101 times for each enumeration
    /// and for each pass over a table, on the migrating thread, within the write transaction. An index, a property or a
    /// check may take several passes, each starting at 0; for example, one pass finds the nulls of a property and
    /// another replaces them. `progress` is not called if there is nothing to migrate.
    public static func performMigration(
        for configuration: Realm.Configuration = .defaultConfiguration,
        progress: @escaping @Sendable (MigrationProgress) -> Void
    ) throws {
        var watched = configuration
        watched.extras.control = MigrationControl(progress)
        try Realm.performMigration(for: watched)
    }

    /// Like `open(configuration:)`, but reports the progress of a migration to `progress`, on the migrating thread.
    ///
    /// Cancelling the task stops the migration: `CancellationError` is thrown, and the file is left unchanged.
    /// Cancellation is checked every few thousand objects, within enumerations and wherever the migration passes over a
    /// table. It is not checked while the entries of a new index are sorted and stored at the end of the pass over its
    /// table, O(n log n). Once the migration commits, cancelling has no effect: the file is migrated, and the Realm is
    /// opened.
    public static func open(
        configuration: Realm.Configuration = .defaultConfiguration, _isolation actor: isolated any Actor = #isolation,
        fileID: StaticString = #fileID, line: UInt = #line, progress: @escaping @Sendable (MigrationProgress) -> Void
    ) async throws -> Realm {
        var watched = configuration
        watched.extras.control = MigrationControl(progress)
        return try await Realm.open(configuration: watched, _isolation: actor, fileID: fileID, line: line)
    }
}
