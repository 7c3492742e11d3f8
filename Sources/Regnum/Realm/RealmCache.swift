// SPDX-License-Identifier: Apache-2.0
// Weak references to the Realms open in this process: opening a Realm again on the same thread, queue or actor returns
// the same instance.

internal import Dispatch
internal import Foundation
internal import RegnumEngine
internal import RegnumSystem

/// Mutable state: `entries`, guarded by its mutex and accessed whenever a Realm is opened. The mutex is never held
/// while engine or user code runs.
final class RealmCache: Sendable {
    static let shared = RealmCache()

    struct Key: Hashable {
        var place: Realm.Configuration.Place
        var confinement: Confinement
        /// The listed classes; nil for all. Different classes need different bindings, and so another instance.
        var types: Set<ObjectIdentifier>?
    }

    private struct Entry: @unchecked Sendable {
        // Sendable: the core is only returned to its own thread or queue; others read the constants beside it.
        weak var core: RealmCore?
        let isReadOnly: Bool
        let schemaVersion: UInt64
        /// The user's own bytes, not a copy.
        let encryptionKey: Data?

        init(core: RealmCore, _ configuration: Realm.Configuration) {
            self.core = core
            isReadOnly = core.isReadOnly
            schemaVersion = configuration.schemaVersion
            encryptionKey = configuration.encryptionKey
        }

        /// The first setting that differs, if any.
        func difference(_ configuration: Realm.Configuration) -> Setting? {
            if isReadOnly != configuration.readOnly { return .readOnly }
            if encryptionKey != configuration.encryptionKey { return .key }
            return schemaVersion == configuration.schemaVersion ? nil : .schemaVersion
        }
    }
    private let entries = Lock<[Key: Entry]>([:])

    /// Identifies a frozen Realm by its database, version and classes.
    struct FrozenKey: Hashable {
        var database: ObjectIdentifier
        var version: UInt64
        var types: Set<ObjectIdentifier>?
    }

    private struct WeakCore: @unchecked Sendable {
        // Sendable: frozen cores may be used on any thread.
        weak var core: RealmCore?
        let place: Realm.Configuration.Place
    }
    private let frozen = Lock<[FrozenKey: WeakCore]>([:])

    /// The frozen instance of that version, or nil. An invalidated instance can no longer be read and is not returned.
    func frozenCore(at key: FrozenKey) -> RealmCore? {
        guard let core = frozen.withLock({ $0[key] })?.core, !core.isClosed else { return nil }
        return core
    }

    /// Stores a frozen instance and returns it, or the one that another thread has stored in the meantime. Removes
    /// entries of released instances.
    func insert(frozen core: RealmCore, at key: FrozenKey) -> RealmCore {
        let entry = WeakCore(core: core, place: core.settings.place)
        let (kept, ended) = frozen.withLock { frozen -> (WeakCore, [WeakCore]) in
            if let other = frozen[key], let core = other.core, !core.isClosed { return (other, []) }
            let ended = frozen.filter { $0.value.core == nil }
            for key in ended.keys { frozen[key] = nil }
            frozen[key] = entry
            return (entry, Array(ended.values))
        }
        _ = ended
        return kept.core ?? core
    }

    /// The instance open under the key, or nil.
    func core(at key: Key) -> RealmCore? {
        let entry = entries.withLock { $0[key] }
        guard let core = entry?.core, !core.session.database.isForked else { return nil }
        return core
    }

    /// Stores an instance. Removes entries of released instances.
    func insert(_ core: RealmCore, at key: Key, _ configuration: Realm.Configuration) {
        let entry = Entry(core: core, configuration)
        let ended = entries.withLock { entries -> [Entry] in
            let ended = entries.filter { $0.value.core == nil }
            for key in ended.keys { entries[key] = nil }
            entries[key] = entry
            return Array(ended.values)
        }
        _ = ended
    }

    /// The instances open at the location, including frozen ones. Their constants can be read on any thread. Instances
    /// at other locations are not referenced, because even a brief reference keeps an instance open.
    func cores(at place: Realm.Configuration.Place) -> [RealmCore] {
        let open = entries.withLock { $0.filter { $0.key.place == place }.map(\.value) }.compactMap(\.core)
        return open + frozen.withLock { $0.values.filter { $0.place == place } }.compactMap(\.core)
    }

    /// The locations of the Realms that the calling thread has open, or whose queue or actor the call may be running
    /// on.
    func placesHere() -> Set<Realm.Configuration.Place> {
        let here = Confinement.current
        return entries.withLock { entries in
            Set(
                entries.keys.filter { key in
                    switch key.confinement {
                    case .thread: key.confinement == here
                    case .queue(let identity): QueueConfinement.isCurrent(identity)
                    case .actor: true
                    }
                }.map(\.place))
        }
    }

    /// The actor that the caller runs on, if a Realm was opened on it. Realms of other actors are not accessed, but
    /// they are referenced, and so kept open briefly.
    func callersActor() -> (any Actor)? {
        let ofActors = entries.withLock { entries in
            entries.filter { entry in
                if case .actor = entry.key.confinement { true } else { false }
            }.map(\.value)
        }
        return ofActors.lazy.compactMap { $0.core?.settings.mailbox?.actor }.first { actor in
            CurrentExecutor.isCurrent(actor.unownedExecutor) == true
        }
    }

    /// The actor or the queue that the caller runs on, if a Realm of the location is open on it; both nil on a thread
    /// or on the main queue. An actor takes precedence over the queue that it may run on. O(Realms open in the
    /// process).
    func callersHome(of place: Realm.Configuration.Place) -> (queue: DispatchQueue?, actor: (any Actor)?) {
        let others = entries.withLock { entries in
            var others: [Entry] = []
            for (key, entry) in entries {
                let mayBeHere =
                    switch key.confinement {
                    case .thread, .queue(QueueConfinement.mainIdentity): false
                    case .queue(let identity): QueueConfinement.isCurrent(identity)
                    // Checked below.
                    case .actor: true
                    }
                if mayBeHere, key.place == place { others.append(entry) }
            }
            return others
        }
        var queue: DispatchQueue?
        for core in others.lazy.compactMap(\.core) {
            if let actor = core.settings.mailbox?.actor {
                if CurrentExecutor.isCurrent(actor.unownedExecutor) == true { return (nil, actor) }
            } else if let own = core.settings.queue {
                queue = own
            }
        }
        return (queue, nil)
    }

    /// An instance of the database with an open write that the caller would wait for forever, because the write can
    /// only continue on the caller's thread, queue or actor. Call it there. If the runtime cannot determine which actor
    /// is running, only the actor of `confinement` counts.
    func writerHere(_ database: Database, _ confinement: Confinement) -> RealmCore? {
        let here = Confinement.current
        let near = entries.withLock { entries in
            entries.filter { entry in
                switch entry.key.confinement {
                case .thread: entry.key.confinement == here
                case .queue(let identity): entry.key.confinement == here || QueueConfinement.isCurrent(identity)
                // Checked below.
                case .actor: true
                }
            }.map(\.value)
        }
        return near.compactMap(\.core).first { core in
            guard core.session.database === database else { return false }
            if let mailbox = core.settings.mailbox {
                // Checked first: only its actor may ask the core whether it is writing.
                guard let actor = mailbox.actor,
                    CurrentExecutor.isCurrent(actor.unownedExecutor) ?? (confinement == .of(actor))
                else { return false }
            }
            return core.isWriting
        }
    }

    /// True if any instance is open at the location.
    func isOpen(_ place: Realm.Configuration.Place) -> Bool {
        entries.withLock { entries in entries.contains { $0.key.place == place && $0.value.core != nil } }
    }

    /// The reason why a location that is open cannot also be opened with other settings.
    enum Conflict {
        /// The caller's own thread, queue or actor has it open with another setting.
        case here(Setting)
        /// Another thread, queue or actor has it open with another setting.
        case elsewhere(Setting)
    }

    /// The settings that all Realms of a location must share.
    enum Setting: String {
        case readOnly = "different read permissions"
        case key = "different encryption key"
        case schemaVersion = "different schema version"
    }

    /// The conflict that prevents opening the Realm, or nil. A conflict with the caller's own Realm takes precedence
    /// over others.
    func conflict(
        _ place: Realm.Configuration.Place, _ confinement: Confinement, _ configuration: Realm.Configuration
    ) -> Conflict? {
        entries.withLock { entries in
            var others: Setting?
            for (key, entry) in entries where key.place == place {
                guard let core = entry.core, !core.session.database.isForked,
                    let setting = entry.difference(configuration)
                else { continue }
                if key.confinement == confinement { return .here(setting) }
                others = setting
            }
            return others.map { .elsewhere($0) }
        }
    }
}

extension RealmCache.Setting {
    /// The first setting in which two configurations differ, if any.
    static func difference(_ open: Realm.Configuration, _ other: Realm.Configuration) -> Self? {
        if open.readOnly != other.readOnly { return .readOnly }
        if open.encryptionKey != other.encryptionKey { return .key }
        return open.schemaVersion == other.schemaVersion ? nil : .schemaVersion
    }

    /// RealmSwift's message for a conflict with the caller's own Realm.
    func words(_ path: String) -> String { "Realm at path '\(path)' already opened with \(rawValue)" }

    /// The error for a conflict with a Realm open elsewhere, with the same wording.
    func error(_ path: String) -> Realm.Error {
        let article = self == .key ? "a " : ""
        return Realm.Error(
            .fail, .inUse,
            "Realm at path '\(path)' already opened with \(article)\(rawValue). Open it with the same settings, or "
                + "release all Realms, objects and collections of it first.", fileURL: URL(fileURLWithPath: path))
    }
}
