// SPDX-License-Identifier: Apache-2.0
// Realms confined to a queue. A serial queue runs on whatever thread it gets, and the main queue on a worker where
// no run loop serves it, so the thread that owns the Realm is adopted anew when the queue's mark is found.

internal import Dispatch
internal import Foundation
internal import RegnumEngine
internal import RegnumSystem

/// Where a Realm may be used.
enum Confinement: Hashable {
    /// The thread with that `CurrentThread.id`.
    case thread(UInt)
    /// The queue with that identity.
    case queue(UInt)
    /// That actor.
    case actor(ObjectIdentifier)

    /// That of an actor; the main actor's is the main queue.
    static func of(_ actor: any Actor) -> Confinement {
        actor === MainActor.shared ? .queue(QueueConfinement.mainIdentity) : .actor(ObjectIdentifier(actor))
    }

    /// That of the calling code: the main queue where it runs there, else the thread.
    static var current: Confinement {
        QueueConfinement.isMain ? .queue(QueueConfinement.mainIdentity) : .thread(CurrentThread.id)
    }
}

extension Confinement {
    /// For messages.
    func description(_ queue: DispatchQueue?, _ actor: (any Actor)?) -> String {
        switch self {
        case .thread(let id): "thread 0x\(String(id, radix: 16))"
        case .queue(QueueConfinement.mainIdentity): "the main queue"
        case .queue: "the queue '\(queue?.label ?? "")'"
        case .actor: "the actor \(actor.map { "\(type(of: $0))" } ?? "")"
        }
    }

    /// Where the caller runs, as far as the system tells: of actors only those that a Realm was opened on are known.
    /// O(Realms open in the process).
    static var callerDescription: String {
        if case .queue = current { return "the main queue" }
        if let actor = RealmCache.shared.callersActor() { return "the actor \(type(of: actor))" }
        var words = "thread 0x\(String(CurrentThread.id, radix: 16))"
        if let name = Thread.current.name, !name.isEmpty { words += " ('\(name)')" }
        if let label = QueueConfinement.callersLabel { words += " in the queue '\(label)'" }
        if withUnsafeCurrentTask(body: { $0 != nil }) { words += " in a task" }
        return words
    }
}

enum QueueConfinement {
    /// The mark that queues get; its value tells which queue it is. A queue keeps its mark while it lives.
    private static let mark = DispatchSpecificKey<UInt>()

    /// The main queue's identity; it is marked by the first use.
    static let mainIdentity: UInt = {
        let identity = Self.identity(of: .main)
        DispatchQueue.main.setSpecific(key: mark, value: identity)
        return identity
    }()

    /// Checks that `queue` is serial and that the call runs on it, and marks it. Misuse where it is not.
    static func enter(_ queue: DispatchQueue) -> Confinement {
        let main = mainIdentity
        let identity = Self.identity(of: queue)
        if identity != main {
            requireSerial(queue)
            if queue.getSpecific(key: mark) != identity { queue.setSpecific(key: mark, value: identity) }
        }
        guard identity == main ? isMain : isCurrent(identity) else {
            misuse(
                "Realm opened from incorrect dispatch queue. The call must run on '\(queue.label)', and runs on "
                    + "\(Confinement.callerDescription): open the Realm in a block of that queue.")
        }
        return .queue(identity)
    }

    /// Misuse for a queue that runs several blocks at a time.
    static func requireSerial(_ queue: DispatchQueue) {
        if identity(of: queue) == mainIdentity || !runsConcurrently(queue) { return }
        misuse(
            "Invalid queue '\(queue.label)' (\(type(of: queue))): Realms can only be confined to serial queues or the "
                + "main queue.")
    }

    /// True on the main queue, and on the main thread whatever it runs: a block of another queue's `sync` holds it up.
    static var isMain: Bool { isCurrent(mainIdentity) || Thread.isMainThread }

    static func isMain(_ queue: DispatchQueue) -> Bool { identity(of: queue) == mainIdentity }

    /// True where the caller runs on the marked queue. About 17 ns.
    static func isCurrent(_ identity: UInt) -> Bool { DispatchQueue.getSpecific(key: mark) == identity }

    /// True where the caller runs on a queue that a Realm was opened on.
    static func isCurrent(_ queue: DispatchQueue) -> Bool { isCurrent(identity(of: queue)) }

    /// The label of the program's own queue that the caller runs on; nil where it runs on none that has one.
    fileprivate static var callersLabel: String? {
        guard let bytes = currentQueueLabel(nil) else { return nil }
        let label = String(cString: bytes)
        // Plain threads are shown the system's queue, and so are tasks, or the runtime's.
        let isOwn = !label.isEmpty && !label.hasPrefix("com.apple.root.") && label != "Swift global concurrent queue"
        return isOwn ? label : nil
    }

    /// Each `DispatchQueue.main` is another Swift object on Linux: the queue itself is the C object in it.
    private static func identity(of queue: DispatchQueue) -> UInt {
        #if canImport(ObjectiveC)
            return UInt(bitPattern: Unmanaged.passUnretained(queue).toOpaque())
        #else
            // The one stored property of the class, behind the two words of the object's header.
            return Unmanaged.passUnretained(queue).toOpaque().load(fromByteOffset: 16, as: UInt.self)
        #endif
    }

    /// dispatch does not tell how many blocks a queue runs at a time. The first word of the C object names its kind,
    /// which is compared with queues of known kinds.
    private static func runsConcurrently(_ queue: DispatchQueue) -> Bool {
        let kind = Self.kind(of: queue)
        return kind == concurrentKind || kind == globalKind
    }

    private static let concurrentKind = kind(of: DispatchQueue(label: "kind", attributes: .concurrent))
    private static let globalKind = kind(of: .global())

    private static func kind(of queue: DispatchQueue) -> UInt {
        withExtendedLifetime(queue) {
            UnsafeRawPointer(bitPattern: identity(of: queue))?.load(as: UInt.self) ?? 0
        }
    }
}

/// Of the queue that the caller runs on, where nil is given. dispatch has it on every system, Swift without a name on
/// Linux.
@_silgen_name("dispatch_queue_get_label") private func currentQueueLabel(
    _ queue: UnsafeRawPointer?
) -> UnsafePointer<CChar>?
