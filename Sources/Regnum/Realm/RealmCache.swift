// SPDX-License-Identifier: Apache-2.0
// The Realms open in this process, weakly: opening one again where it is open gives the same instance.

internal import Dispatch
internal import Foundation
internal import RegnumEngine
internal import RegnumSystem

/// Mutable state: `entries`, guarded by its mutex, touched by every opening. The mutex is never held while the
/// engine or a user's code runs.
final class RealmCache: Sendable {
    static let shared = RealmCache()

    struct Key: Hashable {
        var place: Realm.Configuration.Place
        var confinement: Confinement
        /// The classes listed; nil for all. Other classes need other bindings, so another instance.
        var types: Set<ObjectIdentifier>?
    }

    private struct Entry: @unchecked Sendable {
        // Sendable: the core is only handed to its own thread or queue; others read the constants beside it.
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

        /// The setting in which it differs, if any.
        func difference(_ configuration: Realm.Configuration) -> Setting? {
            if isReadOnly != configuration.readOnly { return .readOnly }
            if encryptionKey != configuration.encryptionKey { return .key }
            return schemaVersion == configuration.schemaVersion ? nil : .schemaVersion
        }
    }
    private let entries = Lock<[Key: Entry]>([:])

    /// A frozen Realm: the version and the classes of what was frozen.
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

    /// The frozen instance of that version, or nil. One that was invalidated cannot be read any more.
    func frozenCore(at key: FrozenKey) -> RealmCore? {
        guard let core = frozen.withLock({ $0[key] })?.core, !core.isClosed else { return nil }
        return core
    }

    /// Remembers a frozen instance; the one that another thread has made meanwhile wins. Drops what has ended.
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

    /// The instance open at the key, or nil.
    func core(at key: Key) -> RealmCore? {
        let entry = entries.withLock { $0[key] }
        guard let core = entry?.core, !core.session.database.isForked else { return nil }
        return core
    }

    /// Remembers an instance. Drops what has ended.
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

    /// The instances that are open at the place, frozen ones too. Their constants may be read on any thread. Others are
    /// not touched: to hold one for a moment is to keep it open for a moment.
    func cores(at place: Realm.Configuration.Place) -> [RealmCore] {
        let open = entries.withLock { $0.filter { $0.key.place == place }.map(\.value) }.compactMap(\.core)
        return open + frozen.withLock { $0.values.filter { $0.place == place } }.compactMap(\.core)
    }

    /// The places of the Realms that the calling thread has open, or whose queue or actor it may be on.
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

    /// The actor that the caller runs on, where a Realm was opened on it. Others are not touched, but kept open for a
    /// moment.
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

    /// The actor or the queue that the caller runs on, where a Realm of the place is open on it; neither on a thread, and
    /// on the main queue. An actor goes before the queue that it may run on. O(Realms open in the process).
    func callersHome(of place: Realm.Configuration.Place) -> (queue: DispatchQueue?, actor: (any Actor)?) {
        let others = entries.withLock { entries in
            var others: [Entry] = []
            for (key, entry) in entries {
                let mayBeHere =
                    switch key.confinement {
                    case .thread, .queue(QueueConfinement.mainIdentity): false
                    case .queue(let identity): QueueConfinement.isCurrent(identity)
                    // Asked below.
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

    /// An instance of the database with a write open, for whose end the caller would wait in vain: it goes on only
    /// where the caller is, on the same thread, queue or actor. To be called there. Where the runtime cannot be asked
    /// about actors, only the one of `confinement` counts.
    func writerHere(_ database: Database, _ confinement: Confinement) -> RealmCore? {
        let here = Confinement.current
        let near = entries.withLock { entries in
            entries.filter { entry in
                switch entry.key.confinement {
                case .thread: entry.key.confinement == here
                case .queue(let identity): entry.key.confinement == here || QueueConfinement.isCurrent(identity)
                // Asked below.
                case .actor: true
                }
            }.map(\.value)
        }
        return near.compactMap(\.core).first { core in
            guard core.session.database === database else { return false }
            if let mailbox = core.settings.mailbox {
                // First: whether it writes is its actor's to know.
                guard let actor = mailbox.actor,
                    CurrentExecutor.isCurrent(actor.unownedExecutor) ?? (confinement == .of(actor))
                else { return false }
            }
            return core.isWriting
        }
    }

    /// True where any instance is open at the place.
    func isOpen(_ place: Realm.Configuration.Place) -> Bool {
        entries.withLock { entries in entries.contains { $0.key.place == place && $0.value.core != nil } }
    }

    /// Why a place that is open cannot be opened with other settings as well.
    enum Conflict {
        /// The caller's own thread, queue or actor has it open.
        case here(Setting)
        /// Another one has.
        case elsewhere(Setting)
    }

    /// What all Realms of a place have in common.
    enum Setting: String {
        case readOnly = "different read permissions"
        case key = "different encryption key"
        case schemaVersion = "different schema version"
    }

    /// Nil where nothing prevents the opening. What the caller has open itself goes before what others have.
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
    /// The one in which two configurations differ, if any.
    static func difference(_ open: Realm.Configuration, _ other: Realm.Configuration) -> Self? {
        if open.readOnly != other.readOnly { return .readOnly }
        if open.encryptionKey != other.encryptionKey { return .key }
        return open.schemaVersion == other.schemaVersion ? nil : .schemaVersion
    }

    /// In RealmSwift's words for the caller's own Realm.
    func words(_ path: String) -> String { "Realm at path '\(path)' already opened with \(rawValue)" }

    /// With those for the Realm of somebody else.
    func error(_ path: String) -> Realm.Error {
        let article = self == .key ? "a " : ""
        return Realm.Error(
            .fail, .inUse,
            "Realm at path '\(path)' already opened with \(article)\(rawValue). Open it with the same settings, or "
                + "release all Realms, objects and collections of it first.", fileURL: URL(fileURLWithPath: path))
    }
}
