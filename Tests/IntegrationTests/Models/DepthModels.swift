// SPDX-License-Identifier: Apache-2.0
// Classes whose objects form long chains by each kind of link, and a thread whose stack is too small for recursion
// along such a chain.

import Foundation
import RealmSwift

class DepthNode: Object {
    @Persisted(primaryKey: true) var id = 0
    @Persisted var next: DepthNode?
    @Persisted var list: List<DepthNode>
    @Persisted var set: MutableSet<DepthNode>
    @Persisted var map: Map<String, DepthNode?>
    @Persisted var any: AnyRealmValue
    @Persisted var anys: List<AnyRealmValue>
    @Persisted var part: DepthPart?
}

/// Has no primary key, and declares its fields in the style of older code.
class DepthOldNode: Object {
    let list = List<DepthOldNode>()
    let any = RealmProperty<AnyRealmValue>()
    @Persisted var name = ""
}

class DepthPart: EmbeddedObject {
    @Persisted var number = 0
    @Persisted var next: DepthPart?
    @Persisted var parts: List<DepthPart>
}

class DepthRule: Object, DeleteRules {
    @Persisted(primaryKey: true) var id = 0
    @Persisted var next: DepthRule?
    static var deleteRules: [String: DeleteRule] { ["next": .cascade] }
}

class DepthCoded: Object, Codable {
    @Persisted var id = 0
    @Persisted var next: DepthCoded?
}

/// The way in which one object of a chain refers to the next.
enum DepthKind: String, CaseIterable, Sendable {
    case link, list, set, map, any, anyList, anyDictionary

    func hold(_ next: DepthNode, by node: DepthNode) {
        switch self {
        case .link: node.next = next
        case .list: node.list.append(next)
        case .set: node.set.insert(next)
        case .map: node.map["a"] = next
        case .any: node.any = .object(next)
        case .anyList: node.any = .fromArray([.int(1), .fromArray([.object(next)])])
        case .anyDictionary: node.anys.append(.fromDictionary(["a": .object(next)]))
        }
    }

    func next(of node: DepthNode) -> DepthNode? {
        switch self {
        case .link: return node.next
        case .list: return node.list.first
        case .set: return node.set.first
        case .map: return node.map["a"] ?? nil
        case .any: return node.any.object(DepthNode.self)
        case .anyList: return node.any.listValue?.last?.listValue?.first?.object(DepthNode.self)
        case .anyDictionary: return node.anys.first?.dictionaryValue?["a"]?.object(DepthNode.self)
        }
    }

    /// The head of a chain of unmanaged objects with keys from 0.
    func chain(_ count: Int) -> DepthNode {
        var head = DepthNode()
        head.id = count - 1
        for id in (0..<count - 1).reversed() {
            let node = DepthNode()
            node.id = id
            hold(head, by: node)
            head = node
        }
        return head
    }

    /// The number of objects in the chain from `head`, whose keys increase by one.
    func length(from head: DepthNode) -> Int {
        var (length, node) = (1, head)
        while let next = next(of: node), next.id == node.id + 1 { (length, node) = (length + 1, next) }
        return length
    }
}

/// Nested values of type Any, too deep for a small stack to release. They are never released.
enum DepthValues {
    nonisolated(unsafe) private static var kept: [Any] = []
    private static let lock = NSLock()

    static func keep<Value>(_ value: Value) -> Value {
        lock.withLock {
            kept.append(value); return value
        }
    }

    /// Nested dictionaries; `level` makes one from the one inside it.
    static func nested(_ count: Int, _ level: (Int, Any?) -> Any) -> Any {
        var value: Any?
        for id in (0..<count).reversed() { value = level(id, value) }
        return keep(value as Any)
    }
}

/// Runs `body` on a thread with a stack of 512 KiB, which is the size for pool threads on some systems, and waits for
/// it.
func onSmallStack<Result>(_ body: @escaping () throws -> Result) throws -> Result {
    nonisolated(unsafe) let body = body
    nonisolated(unsafe) var result: Swift.Result<Result, any Error>?
    let isDone = DispatchSemaphore(value: 0)
    let thread = Thread {
        result = Swift.Result { try body() }
        isDone.signal()
    }
    thread.stackSize = 512 << 10
    thread.start()
    isDone.wait()
    return try result!.get()
}
