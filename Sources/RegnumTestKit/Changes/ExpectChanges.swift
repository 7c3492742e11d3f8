// SPDX-License-Identifier: Apache-2.0
// Records the notifications that a piece of code causes, without waiting: they are delivered immediately.

public import Regnum
public import Testing

/// The notifications that an observer of a collection or an object received.
///
/// ```swift
/// #expect(try expectChanges(on: dogs) { try realm.write { realm.add(Dog()) } } == .update(insertions: [1]))
/// ```
public struct RecordedChanges: Equatable, Sendable, CustomStringConvertible {
    /// One call of an observer.
    public enum Call: Equatable, Sendable, CustomStringConvertible {
        /// Indices in the collection: of deletions and modifications before the change, of insertions after it.
        case update(deletions: [Int], insertions: [Int], modifications: [Int])
        /// The keys of a map.
        case keys(deletions: [String], insertions: [String], modifications: [String])
        /// The names of an object's properties, in alphabetical order.
        case properties([String])
        /// The object was deleted.
        case deleted
        /// The observer was notified of an error.
        case error(String)

        public var description: String {
            func list<T>(_ name: String, _ values: [T]) -> String { values.isEmpty ? "" : " \(name) \(values)" }
            switch self {
            case .update(let deletions, let insertions, let modifications):
                return "update:" + list("deletions", deletions) + list("insertions", insertions)
                    + list("modifications", modifications)
            case .keys(let deletions, let insertions, let modifications):
                return "keys:" + list("deletions", deletions) + list("insertions", insertions)
                    + list("modifications", modifications)
            case .properties(let names): return "properties: \(names.joined(separator: ", "))"
            case .deleted: return "deleted"
            case .error(let text): return "error: \(text)"
            }
        }
    }

    /// The calls, in order.
    public var calls: [Call]

    /// Creates a record of these calls, in order.
    public init(_ calls: [Call]) { self.calls = calls }

    /// The observer was not called.
    public static let nothing = RecordedChanges([])
    /// The object was deleted.
    public static let deleted = RecordedChanges([.deleted])

    /// One call for a collection.
    public static func update(
        deletions: [Int] = [], insertions: [Int] = [], modifications: [Int] = []
    ) -> RecordedChanges {
        RecordedChanges([.update(deletions: deletions, insertions: insertions, modifications: modifications)])
    }

    /// One call for a map.
    public static func keys(
        deletions: [String] = [], insertions: [String] = [], modifications: [String] = []
    ) -> RecordedChanges {
        RecordedChanges([.keys(deletions: deletions, insertions: insertions, modifications: modifications)])
    }

    /// One call for an object, with these properties in any order.
    public static func properties(_ names: String...) -> RecordedChanges {
        RecordedChanges([.properties(names.sorted())])
    }

    public var description: String {
        calls.isEmpty ? "nothing" : calls.map(\.description).joined(separator: "; ")
    }
}

extension RealmAdditions where Self == Realm {
    /// Advances the realm to the newest version, unless its `autorefresh` is off, and immediately delivers the
    /// notifications that would otherwise be delivered in the next cycle of the run loop, queue or actor. Called on the
    /// realm's own thread; does nothing inside a write transaction.
    public func deliverNotifications() {
        let realm: Realm = self
        realm.core.deliverChanges()
    }
}

/// Runs `body` and returns the notifications that an observer of `collection` received because of it. It does not wait:
/// when `body` has ended, the realm advances to the newest version, which includes commits by other threads, and the
/// observer is called.
///
/// Works on every thread, including those without the run loop that observers otherwise need.
///
/// - Parameters:
///   - collection: The collection to observe.
///   - expected: If given, any other result is a failure of the running test.
///   - keyPaths: The key paths to observe, as in `observe`.
///   - sourceLocation: The location of failures.
///   - body: Changes the collection.
/// - Throws: The error that `body` throws.
/// - Thread: The collection's thread. It is a programmer error if the collection cannot be observed, or if this is
///   called inside a write transaction.
@discardableResult
public func expectChanges<C: RealmCollection>(
    on collection: C, _ expected: RecordedChanges? = nil, keyPaths: [String]? = nil,
    sourceLocation: SourceLocation = #_sourceLocation, _ body: () throws -> Void
) throws -> RecordedChanges {
    let recorder = ChangeRecorder()
    return try recorder.record(collection.realm, expected, sourceLocation, body) {
        collection.observe(keyPaths: keyPaths) { change in
            switch change {
            case .initial: break
            case .update(_, let deletions, let insertions, let modifications):
                recorder.calls.append(
                    .update(deletions: deletions, insertions: insertions, modifications: modifications))
            case .error(let error): recorder.calls.append(.error("\(error)"))
            }
        }
    }
}

/// Same as `expectChanges(on:)` for a collection, but for an object: records the names of the changed properties, or
/// the deletion of the object.
@discardableResult
public func expectChanges<Element: ObjectBase & ThreadConfined>(
    on object: Element, _ expected: RecordedChanges? = nil, keyPaths: [String]? = nil,
    sourceLocation: SourceLocation = #_sourceLocation, _ body: () throws -> Void
) throws -> RecordedChanges {
    let recorder = ChangeRecorder()
    return try recorder.record(object.realm, expected, sourceLocation, body) {
        object.observe(keyPaths: keyPaths) { change in
            switch change {
            case .change(_, let properties): recorder.calls.append(.properties(properties.map(\.name).sorted()))
            case .deleted: recorder.calls.append(.deleted)
            case .error(let error): recorder.calls.append(.error("\(error)"))
            }
        }
    }
}

/// Same as `expectChanges(on:)` for a collection, but for a map: records the keys that changed.
@discardableResult
public func expectChanges<Key, Value>(
    on map: Map<Key, Value>, _ expected: RecordedChanges? = nil, keyPaths: [String]? = nil,
    sourceLocation: SourceLocation = #_sourceLocation, _ body: () throws -> Void
) throws -> RecordedChanges {
    let recorder = ChangeRecorder()
    return try recorder.record(map.realm, expected, sourceLocation, body) {
        map.observe(keyPaths: keyPaths) { change in
            switch change {
            case .initial: break
            case .update(_, let deletions, let insertions, let modifications):
                recorder.calls.append(
                    .keys(
                        deletions: deletions.map { "\($0)" }.sorted(),
                        insertions: insertions.map { "\($0)" }.sorted(),
                        modifications: modifications.map { "\($0)" }.sorted()))
            case .error(let error): recorder.calls.append(.error("\(error)"))
            }
        }
    }
}

/// Records the calls of one observer. Confined to one call.
private final class ChangeRecorder {
    var calls: [RecordedChanges.Call] = []

    func record(
        _ realm: Realm?, _ expected: RecordedChanges?, _ location: SourceLocation, _ body: () throws -> Void,
        observe: () -> NotificationToken
    ) throws -> RecordedChanges {
        realm?.core.listenWithoutTurns()
        let token = observe()
        defer { token.invalidate() }
        // Delivers the initial call, which is not recorded.
        realm?.core.deliverChanges()
        calls = []
        try body()
        realm?.core.deliverChanges()
        let result = RecordedChanges(calls)
        if let expected, expected != result {
            Report.issue("Expected the changes \(expected), got \(result).", at: location)
        }
        return result
    }
}
