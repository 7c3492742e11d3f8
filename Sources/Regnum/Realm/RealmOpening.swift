// SPDX-License-Identifier: Apache-2.0
// From a configuration to an open Realm: checks the settings, finds the instance or opens the file, compares the
// schema, and binds the classes. Nothing is cached until all of this has succeeded.

internal import Dispatch
internal import Foundation
internal import RegnumEngine
internal import RegnumSystem

enum RealmOpening {
    /// Opens a Realm, or returns the one already open on this thread, queue or actor; the call must run there. Throws
    /// `Realm.Error`, for example if the Realm is open elsewhere with different settings. It is a programmer error if
    /// the settings contradict each other or those of the Realm open here.
    static func open(
        _ configuration: Realm.Configuration, queue: DispatchQueue?, actor: (any Actor)? = nil,
        origin: SessionOrigin? = nil, poolRole: PoolRole? = nil
    ) throws -> RealmCore {
        let place = try configuration.validated()
        let confinement =
            actor.map { Confinement.of($0) } ?? queue.map { QueueConfinement.enter($0) } ?? .current
        switch RealmCache.shared.conflict(place, confinement, configuration) {
        case .here(let setting): misuse(setting.words(place.name))
        case .elsewhere(let setting): throw setting.error(place.name)
        case nil: break
        }
        let types = configuration.objectTypes.map { Set($0.map { ObjectIdentifier($0) }) }
        let key = RealmCache.Key(place: place, confinement: confinement, types: types)
        if let open = RealmCache.shared.core(at: key), open.settings.serves(actor) {
            open.check()
            try open.settings.verify(configuration)
            // Its thread may have started a run loop since then.
            open.listen()
            return open
        }
        OpeningMigration.refuseOwnMigration(place)
        func make(_ opening: (any RunningOperation)?) throws -> RealmCore {
            try openNew(
                configuration, key, queue: queue, actor: actor, origin: origin, poolRole: poolRole, opening: opening)
        }
        guard OperationHook.isOn else { return try make(nil) }
        let opening = OperationHook.begin(.opening, at: OperationPlace(place, origin))
        do {
            let core = try make(opening)
            opening?.end(.opened(schemaVersion: core.session.schemaVersion, OpenFile(core.session.database)))
            return core
        } catch {
            opening?.end(.failed(error))
            throw error
        }
    }

    /// Opens a Realm that is not open under the key. `opening` is the observed opening.
    private static func openNew(
        _ configuration: Realm.Configuration, _ key: RealmCache.Key, queue: DispatchQueue?, actor: (any Actor)?,
        origin: SessionOrigin?, poolRole: PoolRole?, opening: (any RunningOperation)?
    ) throws -> RealmCore {
        let (place, confinement) = (key.place, key.confinement)
        let schema = configuration.objectTypes.map { SchemaSet.of($0) } ?? SchemaSet.all()
        Logger.log(.detail, "DB: Open \(configuration.readOnly ? "read-only " : "")Realm: \(place.name)")
        try DispatchDescriptors.require(for: place.name, isOpen: RealmCache.shared.isOpen(place))
        let write = OrphanedWrites.take(key)
        if let write, let setting = RealmCache.Setting.difference(write.configuration, configuration) {
            misuse(setting.words(place.name))
        }
        let database = try write?.session.database ?? openDatabase(configuration, place)
        let settings = RealmSettings(
            configuration: configuration, place: place, database: database, schema: schema, queue: queue)
        settings.poolRole = poolRole
        if write == nil { try settings.verify(configuration) }
        let session: Session
        if let write {
            session = write.session
        } else {
            do { session = try database.makeSession(origin: origin) } catch {
                throw Realm.Error(opening: place.name, readOnly: configuration.readOnly, error)
            }
        }
        let core = RealmCore(session: session, isReadOnly: configuration.readOnly)
        core.session.durability = configuration.durability.level
        core.openedWith = settings
        if case .actor = confinement { settings.mailbox = actor.map { ActorMailbox($0) } }
        settings.home = confinement.description(queue, actor)
        if let origin { settings.home += " at \(origin.fileID):\(origin.line)" }
        WriterWaitLogger.start()
        confine(core, to: confinement, executor: actor?.unownedExecutor)
        settings.operation = opening
        if write == nil { try OpeningMigration(core: core, settings: settings, confinement: confinement).run() }
        settings.operation = nil
        settings.forgetControl()
        core.bind(schema.classes)
        settings.key = key
        if let write { core.resume(write) }
        RealmCache.shared.insert(core, at: key, configuration)
        core.listen()
        Logger.log(.trace, "DB: Begin read of version \(core.session.version): \(place.name)")
        return core
    }

    private static func openDatabase(
        _ configuration: Realm.Configuration, _ place: Realm.Configuration.Place
    ) throws -> Database {
        switch place {
        case .memory(let identifier):
            let database: Database
            do { database = try Database.openInMemory(identifier: identifier) } catch {
                throw Realm.Error(opening: identifier, readOnly: false, error)
            }
            DefaultConfiguration.current.keep(database, identifier: identifier)
            return database
        case .file(let path):
            // The seed is copied for read-only Realms too.
            let mayMakeFile = !configuration.readOnly || configuration.seedFilePath != nil
            if mayMakeFile, configuration.extras.fileSystem == nil { try configuration.prepareFile(path) }
            try compactIfWanted(configuration, path)
            let database: Database
            do {
                database = try openFile(configuration, path)
            } catch let error as EngineError {
                throw Realm.Error(opening: path, readOnly: configuration.readOnly, error)
            }
            // Another path may lead to a file that is open with other settings.
            if database.options.isReadOnly != configuration.readOnly {
                throw RealmCache.Setting.readOnly.error(path)
            }
            return database
        }
    }

    /// Opens the file; a file in Realm's own format is imported first if the configuration says so. Throws
    /// `EngineError`, and the errors of the import.
    private static func openFile(_ configuration: Realm.Configuration, _ path: String) throws -> Database {
        let options = options(configuration)
        let refusal: EngineError
        do throws(EngineError) {
            return try Database.open(path: path, fileSystem: configuration.files, options: options)
        } catch { refusal = error }
        // Read-only configurations write nothing, and simulated disks hold no such files.
        guard case .notADatabase(_, let why) = refusal, why != .directory,
            let legacyFile = configuration.extras.legacyFile, !configuration.readOnly,
            configuration.extras.fileSystem == nil, try legacyFile.run(path, configuration)
        else { throw refusal }
        Logger.log(.info, "DB: A file in Realm's own format was imported: \(path)")
        return try Database.open(path: path, fileSystem: configuration.files, options: options)
    }

    /// Called before the file is first opened in the process: asks whether to compact the file, and compacts it if no
    /// other process has it open. An error of the operating system does not prevent opening the file as it is; damage
    /// is found when it is opened.
    private static func compactIfWanted(_ configuration: Realm.Configuration, _ path: String) throws {
        guard let isWanted = configuration.shouldCompactOnLaunch, !RealmCache.shared.isOpen(.file(path: path)) else {
            return
        }
        let files = configuration.files
        guard let sizes = try? Database.measure(path: path, fileSystem: files, options: options(configuration)),
            isWanted(sizes.total, sizes.used)
        else { return }
        _ = try? Database.compact(path: path, fileSystem: files, options: options(configuration))
    }

    static func options(_ configuration: Realm.Configuration) -> Database.OpenOptions {
        var options = Database.OpenOptions(isReadOnly: configuration.readOnly)
        options.encryptionKey = configuration.engineKey
        options.busyTimeout = configuration.busyNanoseconds
        if let limits = configuration.extras.spillLimits { options.spillLimits = limits }
        return options
    }

    /// Sets the owner to the opening thread. A queue or an actor may move to another thread; each call then checks
    /// whether it runs on the queue or actor. The inlined property getters check the thread only. In debug builds such
    /// a Realm is therefore owned by no thread, so that the getters check this too. The main queue has its own thread.
    private static func confine(_ core: RealmCore, to confinement: Confinement, executor: UnownedSerialExecutor?) {
        let state = core.session.state
        state.pointee.owner = CurrentThread.id
        let isRightful: () -> Bool
        switch confinement {
        case .thread: return
        case .queue(let identity):
            isRightful = { QueueConfinement.isCurrent(identity) }
            core.asksAlways = identity != QueueConfinement.mainIdentity
        case .actor:
            // If the runtime cannot determine this, rely on the compiler's isolation checks.
            isRightful = { executor.flatMap { CurrentExecutor.isCurrent($0) } ?? true }
            core.asksAlways = true
        }
        #if DEBUG
            let hasOwner = !core.asksAlways
            if !hasOwner { state.pointee.owner = 0 }
            core.adoptsCaller = {
                guard isRightful() else { return false }
                if hasOwner { state.pointee.owner = CurrentThread.id }
                return true
            }
        #else
            core.adoptsCaller = {
                guard isRightful() else { return false }
                state.pointee.owner = CurrentThread.id
                return true
            }
        #endif
    }
}
