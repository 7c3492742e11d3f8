// SPDX-License-Identifier: Apache-2.0
// Watching a long migration and calling it off, from another thread than the one that runs it.

public import Foundation
internal import RegnumEngine
package import RegnumSystem
internal import Synchronization

/// How far a migration is. A value; any thread.
public struct MigrationProgress: Sendable, Equatable {
    /// What is being done.
    public enum Phase: Sendable {
        /// The write transaction has begun; a backup is made where one is wanted.
        case preparing
        /// The block enumerates objects.
        case objects
        /// Whole tables are gone through, before, between or after what the block does: indexes are filled, nulls
        /// become values, what hangs on dropped properties is freed, objects are embedded, keys are proved.
        case building
        /// The block has ended: what nothing wants any more is dropped, keys are proved.
        case finishing
        /// Everything is written. From here on it cannot be cancelled.
        case committing
    }

    public let phase: Phase
    /// The class whose objects are enumerated, by the name given to `enumerateObjects`, or built, by the name that it
    /// has in the file at that moment; nil in other phases.
    public let className: String?
    /// Objects that this enumeration or building is done with.
    public let completed: Int
    /// Objects of this enumeration or building.
    public let total: Int

    /// Of the objects of this enumeration or building those that are done, 0 to 1; 1 where there are none.
    public var fraction: Double { total == 0 ? 1 : Double(completed) / Double(total) }
}

/// Between who waits for a migration and who runs it. Any thread.
final class MigrationControl: Sendable {
    /// `running` becomes one of the others, which stay.
    private enum State {
        static let running: UInt8 = 0
        static let cancelled: UInt8 = 1
        static let committing: UInt8 = 2
    }
    private let progress: (@Sendable (MigrationProgress) -> Void)?
    private let state = Atomic<UInt8>(State.running)

    init(_ progress: (@Sendable (MigrationProgress) -> Void)? = nil) { self.progress = progress }

    /// The migration throws `CancellationError` at the next opportunity. False, and of no effect, where its commit has
    /// begun: then the file is migrated.
    @discardableResult
    func cancel() -> Bool { become(State.cancelled) }

    /// The commit begins. False where the migration was cancelled before.
    func beginCommit() -> Bool { become(State.committing) }

    var isCancelled: Bool { state.load(ordering: .relaxed) == State.cancelled }
    var hasBegunCommit: Bool { state.load(ordering: .acquiring) == State.committing }

    /// True where that is the state now.
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

/// One enumeration on its way: tells how far it is, and asks whether it goes on.
struct EnumerationWatch {
    private let control: MigrationControl?
    private let className: String
    private let total: Int
    /// Objects between two reports: a hundredth of all.
    private let reportStep: Int
    /// Objects between two looks at whether it goes on: not so many that cancelling would take long.
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

    /// To be called with each number of objects that are done, in order, and with all of them. False where the
    /// migration was cancelled.
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

/// What a migration does to whole tables besides its block: tells how far that is, at most 101 times for each pass over
/// a table, of which an index, a property or a check may take several, and asks whether it goes on. Confined to the
/// migration.
final class BuildingWatch {
    private let control: MigrationControl
    /// Hundredths that were told of the work under way.
    private var told = -1

    init(_ control: MigrationControl) { self.control = control }

    /// To be called with 0 first. False where the migration was cancelled.
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

/// What a configuration carries besides RealmSwift's settings.
package struct MigrationExtras: Sendable {
    var backsUp = false
    var control: MigrationControl?
    /// How much memory writes may take before they write ahead; nil for the usual. Tests have less.
    var spillLimits: SpillLimits?
    /// What brings a file in Realm's own format into Regnum's; see `LegacyFile`.
    var legacyFile: LegacyFile?
    /// Where the file lies; nil for the system's files. Tests have others that fail and crash on demand.
    package var fileSystem: (any FileSystem)?
}

/// What Regnum adds to `Realm.Configuration`. Members of your own with these names win.
public protocol MigrationSettings {}

extension Realm.Configuration: MigrationSettings {}

extension MigrationSettings where Self == Realm.Configuration {
    /// True where a copy of the file is made beside it before it is migrated, in the time and space of a copy. The copy
    /// goes when the file is next opened to write, here or elsewhere, whether this is set there or not, and nothing is
    /// to be migrated: not while a Realm from the migration is open. A migration that fails leaves none.
    /// `Realm.migrationBackup(for:)` tells where it is. False unless set; of no effect in memory.
    public var backsUpBeforeMigration: Bool {
        get { self.extras.backsUp }
        set { self.extras.backsUp = newValue }
    }
}

/// A copy of the file as it was before a migration.
struct MigrationBackup {
    let path: String
    let files: any FileSystem
    private struct Weak: Sendable { weak var database: Database? }
    /// What migrated the files of this process: they have to be opened anew, and well, before their backups go.
    private static let migrated = Lock<[String: Weak]>([:])

    static func path(of file: String) -> String { file + ".before-migration" }

    /// In the write of the migration. Nil where none is wanted. Throws `EngineError`, of a full disk for example.
    static func make(
        of session: Session, _ configuration: Realm.Configuration, _ place: Realm.Configuration.Place
    ) throws -> MigrationBackup? {
        guard configuration.extras.backsUp, case .file(let file) = place else { return nil }
        let path = path(of: file)
        let files = configuration.files
        // One of an attempt that was killed is replaced: it says the same, the file was never changed.
        try session.writeCopy(to: path, in: files, key: configuration.engineKey, replacing: true)
        migrated.withLock { $0[file] = Weak(database: session.database) }
        return MigrationBackup(path: path, files: files)
    }

    func remove() { try? files.remove(path) }

    /// Nothing was to be migrated to `version`: the file is well without its backup, also where the program does not
    /// make any more of them. One of the same version belongs to a migration that another process, of a newer program,
    /// is about to do. Asks the file system once where there is none.
    static func removeAfterGoodOpening(
        _ configuration: Realm.Configuration, _ place: Realm.Configuration.Place, version: UInt64
    ) {
        guard case .file(let file) = place, migrated.withLock({ $0[file]?.database }) == nil else { return }
        migrated.withLock { $0[file] = nil }
        let backup = MigrationBackup(path: path(of: file), files: configuration.files)
        guard let found = backup.status, let older = backup.schemaVersion(configuration), older < version else {
            return
        }
        // Another process, of a newer program still, may have put its own backup in the place meanwhile.
        if backup.status == found { backup.remove() }
    }

    /// Nil where there is none.
    private var status: FileStatus? { try? files.status(path) }

    /// Nil where it cannot be read.
    private func schemaVersion(_ configuration: Realm.Configuration) -> UInt64? {
        try? Database.openToRead(path: path, fileSystem: files, encryptionKey: configuration.engineKey)
            .makeSession().schemaVersion
    }
}

extension RealmCare where Self == Realm {
    /// The copy of the configuration's file from before its last migration, as `backsUpBeforeMigration` has made it;
    /// nil where there is none. To go back, close all Realms of the file and put the copy in its place.
    public static func migrationBackup(for configuration: Realm.Configuration) -> URL? {
        guard let file = configuration.fileURL?.standardizedFileURL.path else { return nil }
        let path = MigrationBackup.path(of: file)
        return FileManager.default.fileExists(atPath: path) ? URL(fileURLWithPath: path) : nil
    }

    /// As `performMigration(for:)`, telling `progress` how far it is: at most 101 times for each enumeration and for
    /// each pass over a table, on the thread that migrates, inside of the write transaction. An index, a property or a
    /// check may take several passes, each from 0 on: the nulls of a property are found in one and replaced in another.
    /// It is not called where nothing is to be migrated.
    public static func performMigration(
        for configuration: Realm.Configuration = .defaultConfiguration,
        progress: @escaping @Sendable (MigrationProgress) -> Void
    ) throws {
        var watched = configuration
        watched.extras.control = MigrationControl(progress)
        try Realm.performMigration(for: watched)
    }

    /// As `open(configuration:)`, telling `progress` how far a migration is, on the thread that migrates. Cancelling
    /// the task stops the migration: `CancellationError` is thrown, and the file is as it was. It is asked for within
    /// enumerations and wherever the migration goes through a table, every few thousand objects; not while what was
    /// collected for a new index is sorted and stored, at the end of its table, O(n log n). Once the migration commits,
    /// cancelling has no effect: the file is migrated, and the Realm is opened.
    public static func open(
        configuration: Realm.Configuration = .defaultConfiguration, _isolation actor: isolated any Actor = #isolation,
        fileID: StaticString = #fileID, line: UInt = #line, progress: @escaping @Sendable (MigrationProgress) -> Void
    ) async throws -> Realm {
        var watched = configuration
        watched.extras.control = MigrationControl(progress)
        return try await Realm.open(configuration: watched, _isolation: actor, fileID: fileID, line: line)
    }
}
