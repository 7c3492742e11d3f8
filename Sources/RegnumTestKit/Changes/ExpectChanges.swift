// SPDX-License-Identifier: Apache-2.0
// What observers are told of a piece of code, without waiting: the kit delivers at once.

public import Regnum
public import Testing

/// What observers of a collection or an object were told.
///
/// ```swift
/// #expect(try expectChanges(on: dogs) { try realm.write { realm.add(Dog()) } } == .update(insertions: [1]))
/// ```
public struct RecordedChanges: Equatable, Sendable, CustomStringConvertible {
    /// One call of an observer.
    public enum Call: Equatable, Sendable, CustomStringConvertible {
        /// Indices into the collection: deletions and modifications before the change, insertions after it.
        case update(deletions: [Int], insertions: [Int], modifications: [Int])
        /// Keys of a map.
        case keys(deletions: [String], insertions: [String], modifications: [String])
        /// Names of an object's properties, in alphabetical order.
        case properties([String])
        /// The object was deleted.
        case deleted
        /// The observer was told of an error.
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

    /// The calls in their order.
    public var calls: [Call]

    /// The calls in their order.
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

    /// One call for an object, for these properties in any order.
    public static func properties(_ names: String...) -> RecordedChanges {
        RecordedChanges([.properties(names.sorted())])
    }

    public var description: String {
        calls.isEmpty ? "nothing" : calls.map(\.description).joined(separator: "; ")
    }
}

extension RealmCare where Self == Realm {
    /// Moves the realm on to the newest version, unless its `autorefresh` is off, and calls observers now that would be
    /// called at the next turn of the run loop, queue or actor. On the realm's own thread; does nothing inside a write.
    public func deliverNotifications() {
        let realm: Realm = self
        realm.core.deliverChanges()
    }
}

/// Runs `body` and returns what an observer of `collection` was told of it. There is no waiting: what other threads
/// have committed meanwhile is seen, and the observer called, when `body` has ended.
///
/// Works on every thread, also where observers need a run loop and there is none.
///
/// - Parameters:
///   - collection: what is observed.
///   - expected: where it is given, anything else is a failure of the running test.
///   - keyPaths: as of `observe`.
///   - sourceLocation: where a failure is shown.
///   - body: changes the collection.
/// - Throws: what `body` throws.
/// - Thread: that of the collection. Misuse for a collection that cannot be observed, and inside a write.
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

/// As `expectChanges(on:)` of a collection, for an object: names of properties, or its deletion.
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

/// As `expectChanges(on:)` of a collection, for a map: its keys.
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

/// Confined to one call.
private final class ChangeRecorder {
    var calls: [RecordedChanges.Call] = []

    func record(
        _ realm: Realm?, _ expected: RecordedChanges?, _ location: SourceLocation, _ body: () throws -> Void,
        observe: () -> NotificationToken
    ) throws -> RecordedChanges {
        realm?.core.listenWithoutTurns()
        let token = observe()
        defer { token.invalidate() }
        // The call with the state as it is.
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
