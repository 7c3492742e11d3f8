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
        /// What nothing wants any more is dropped, keys are proved.
        case finishing
        /// Everything is written. From here on it cannot be cancelled.
        case committing
    }

    public let phase: Phase
    /// The class whose objects are enumerated, by the name given to `enumerateObjects`; nil in other phases.
    public let className: String?
    /// Objects that this enumeration is done with.
    public let completed: Int
    /// Objects of this enumeration.
    public let total: Int

    /// Of the objects of this enumeration those that are done, 0 to 1; 1 where there are none.
    public var fraction: Double { total == 0 ? 1 : Double(completed) / Double(total) }
}

/// Between who waits for a migration and who runs it. Any thread.
final class MigrationControl: Sendable {
    private let progress: (@Sendable (MigrationProgress) -> Void)?
    private let cancelled = Atomic(false)

    init(_ progress: (@Sendable (MigrationProgress) -> Void)? = nil) { self.progress = progress }

    /// The migration throws `CancellationError` at the next opportunity, unless its commit has begun.
    func cancel() { cancelled.store(true, ordering: .relaxed) }
    var isCancelled: Bool { cancelled.load(ordering: .relaxed) }

    func report(
        _ phase: MigrationProgress.Phase, _ className: String? = nil, _ completed: Int = 0, _ total: Int = 0
    ) {
        progress?(MigrationProgress(phase: phase, className: className, completed: completed, total: total))
    }

    /// Objects between two reports: a hundredth of all, and not so many that cancelling would take long.
    static func step(_ count: Int) -> Int { min(max(count / 100, 1), 4096) }
}

/// What a configuration carries besides RealmSwift's settings.
package struct MigrationExtras: Sendable {
    var backsUp = false
    var control: MigrationControl?
    /// Where the file lies; nil for the system's files. Tests have others that fail and crash on demand.
    package var fileSystem: (any FileSystem)?
}

/// What Regnum adds to `Realm.Configuration`. Members of your own with these names win.
public protocol MigrationSettings {}

extension Realm.Configuration: MigrationSettings {}

extension MigrationSettings where Self == Realm.Configuration {
    /// True where a copy of the file is made beside it before it is migrated, in the time and space of a copy. The copy
    /// goes with the first opening in another process that finds nothing to migrate; a migration that fails leaves
    /// none. `Realm.migrationBackup(for:)` tells where it is. False unless set; of no effect in memory.
    public var backsUpBeforeMigration: Bool {
        get { self.extras.backsUp }
        set { self.extras.backsUp = newValue }
    }
}

/// A copy of the file as it was before a migration.
struct MigrationBackup {
    let path: String
    let files: any FileSystem
    /// Files migrated by this process: another one has to open them well before their backups go.
    private static let migrated = Lock<Set<String>>([])

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
        migrated.withLock { _ = $0.insert(file) }
        return MigrationBackup(path: path, files: files)
    }

    func remove() { try? files.remove(path) }

    /// Nothing was to be migrated: the file is well without its backup.
    static func removeAfterGoodOpening(_ configuration: Realm.Configuration, _ place: Realm.Configuration.Place) {
        guard configuration.extras.backsUp, case .file(let file) = place,
            !migrated.withLock({ $0.contains(file) })
        else { return }
        MigrationBackup(path: path(of: file), files: configuration.files).remove()
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

    /// As `performMigration(for:)`, telling `progress` how far it is: at most about a hundred times for each
    /// enumeration, on the thread that migrates, inside of the write transaction. It is not called where nothing is to
    /// be migrated.
    public static func performMigration(
        for configuration: Realm.Configuration = .defaultConfiguration,
        progress: @escaping @Sendable (MigrationProgress) -> Void
    ) throws {
        var watched = configuration
        watched.extras.control = MigrationControl(progress)
        try Realm.performMigration(for: watched)
    }

    /// As `open(configuration:)`, telling `progress` how far a migration is, on the thread that migrates. Cancelling
    /// the task stops the migration: `CancellationError` is thrown, and the file is as it was.
    public static func open(
        configuration: Realm.Configuration = .defaultConfiguration, _isolation actor: isolated any Actor = #isolation,
        progress: @escaping @Sendable (MigrationProgress) -> Void
    ) async throws -> Realm {
        var watched = configuration
        watched.extras.control = MigrationControl(progress)
        return try await Realm.open(configuration: watched, _isolation: actor)
    }
}
