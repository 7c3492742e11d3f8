// SPDX-License-Identifier: Apache-2.0
// Realms confined to a queue. A serial queue runs on any thread, and the main queue runs on a worker thread if no run
// loop serves it, so the owning thread is updated whenever a call arrives on the queue that carries the Realm's mark.

internal import Dispatch
internal import Foundation
internal import RegnumEngine
internal import RegnumSystem

/// Where a Realm can be used.
enum Confinement: Hashable {
    /// The thread with that `CurrentThread.id`.
    case thread(UInt)
    /// The queue with that identity.
    case queue(UInt)
    /// The actor with that identity.
    case actor(ObjectIdentifier)

    /// The confinement of an actor; for the main actor, the main queue.
    static func of(_ actor: any Actor) -> Confinement {
        actor === MainActor.shared ? .queue(QueueConfinement.mainIdentity) : .actor(ObjectIdentifier(actor))
    }

    /// The confinement of the calling code: the main queue if it runs there, otherwise the thread.
    static var current: Confinement {
        QueueConfinement.isMain ? .queue(QueueConfinement.mainIdentity) : .thread(CurrentThread.id)
    }
}

extension Confinement {
    /// A name for messages.
    func description(_ queue: DispatchQueue?, _ actor: (any Actor)?) -> String {
        switch self {
        case .thread(let id): "thread 0x\(String(id, radix: 16))"
        case .queue(QueueConfinement.mainIdentity): "the main queue"
        case .queue: "the queue '\(queue?.label ?? "")'"
        case .actor: "the actor \(actor.map { "\(type(of: $0))" } ?? "")"
        }
    }

    /// Where the caller runs, as far as the system reveals it; only actors that a Realm was opened on are known.
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
    /// Marks queues; the value identifies the queue. A queue keeps its mark as long as it lives.
    private static let mark = DispatchSpecificKey<UInt>()

    /// The identity of the main queue, which is marked at the first use.
    static let mainIdentity: UInt = {
        let identity = Self.identity(of: .main)
        DispatchQueue.main.setSpecific(key: mark, value: identity)
        return identity
    }()

    /// Marks `queue`, after checking that it is serial and that the call runs on it. It is a programmer error if either
    /// check fails.
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

    /// Requires a queue that runs one block at a time; any other queue is a programmer error.
    static func requireSerial(_ queue: DispatchQueue) {
        if identity(of: queue) == mainIdentity || !runsConcurrently(queue) { return }
        misuse(
            "Invalid queue '\(queue.label)' (\(type(of: queue))): Realms can only be confined to serial queues or the "
                + "main queue.")
    }

    /// True on the main queue, and on the main thread even while it runs a block of another queue's `sync`, because the
    /// main queue waits for that block.
    static var isMain: Bool { isCurrent(mainIdentity) || Thread.isMainThread }

    static func isMain(_ queue: DispatchQueue) -> Bool { identity(of: queue) == mainIdentity }

    /// True if the caller runs on the marked queue. About 17 ns.
    static func isCurrent(_ identity: UInt) -> Bool { DispatchQueue.getSpecific(key: mark) == identity }

    /// True if the caller runs on the given queue, which a Realm was opened on.
    static func isCurrent(_ queue: DispatchQueue) -> Bool { isCurrent(identity(of: queue)) }

    /// The label of the program's own queue that the caller runs on; nil if there is none with a label.
    fileprivate static var callersLabel: String? {
        guard let bytes = currentQueueLabel(nil) else { return nil }
        let label = String(cString: bytes)
        // Plain threads and tasks report the system's queue, or the runtime's.
        let isOwn = !label.isEmpty && !label.hasPrefix("com.apple.root.") && label != "Swift global concurrent queue"
        return isOwn ? label : nil
    }

    /// On Linux each `DispatchQueue.main` is a different Swift object; the queue itself is the C object in it.
    private static func identity(of queue: DispatchQueue) -> UInt {
        #if canImport(ObjectiveC)
            return UInt(bitPattern: Unmanaged.passUnretained(queue).toOpaque())
        #else
            // The only stored property of the class, after the object header of two words.
            return Unmanaged.passUnretained(queue).toOpaque().load(fromByteOffset: 16, as: UInt.self)
        #endif
    }

    /// Dispatch does not reveal how many blocks a queue runs at a time. The first word of the C object identifies its
    /// kind, and is compared with that of queues of known kinds.
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

/// The label of a queue, or of the queue that the caller runs on if it is nil. Dispatch exports it on every system, but
/// on Linux Swift gives it no name.
@_silgen_name("dispatch_queue_get_label") private func currentQueueLabel(
    _ queue: UnsafeRawPointer?
) -> UnsafePointer<CChar>?
