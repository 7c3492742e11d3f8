// SPDX-License-Identifier: Apache-2.0
// What a key path says in a type-safe query. A program asks with the same few key paths over and over: what is known of
// the last ones is kept by the identity of the key path, which is faster than hashing it.

internal import RegnumSystem

/// A property as a step of a query.
final class QueryMember {
    /// Several for a projected property that leads through links.
    let names: [String]
    let isCollection: Bool
    /// As the whole of a path: the property of the element that is asked about.
    let path: QueryPath

    /// `name`: names joined by dots.
    init(_ name: String, isCollection: Bool) {
        names = name.utf8.contains(UInt8(ascii: ".")) ? name.split(separator: ".").map(String.init) : [name]
        self.isCollection = isCollection
        var path = QueryPath(names: []).appending(names, isCollection: isCollection)
        path.lowered = path.operand
        self.path = path
    }

    /// Whether properties of the type hold many values.
    static func isOfMany<V>(_ type: V.Type) -> Bool {
        type is any RealmCollectionBase.Type || type is any RealmKeyedCollection.Type
    }

    /// The property that a key path leads to.
    static func of<Root: ObjectBase, V>(_ keyPath: KeyPath<Root, V>) -> QueryMember {
        let place = RecentMember.place(of: keyPath)
        if let known = recentMembers.withLock({ $0[place].member(of: keyPath) }) { return known }
        let made = QueryMember(_name(for: keyPath), isCollection: isOfMany(V.self))
        // What the old key path has captured may do anything when it ends: not while the lock is held.
        let old = recentMembers.withLock { members in
            let old = members[place]
            members[place] = RecentMember(keyPath: keyPath, member: made)
            return old
        }
        withExtendedLifetime(old) {}
        return made
    }
}

/// A key path and what it says. As long as it is held, no other one can have its address.
private struct RecentMember {
    var keyPath: AnyKeyPath?
    var member: QueryMember?

    static let count = 256

    /// Where it is kept, if it is.
    static func place(of keyPath: AnyKeyPath) -> Int {
        let address = UInt(bitPattern: ObjectIdentifier(keyPath))
        // Multiplied, so that all bits of the address decide.
        return Int(truncatingIfNeeded: (UInt64(address) &* 0x9E37_79B9_7F4A_7C15) &>> 56)
    }

    func member(of keyPath: AnyKeyPath) -> QueryMember? { self.keyPath === keyPath ? member : nil }
}

private let recentMembers = Lock<[RecentMember]>(Array(repeating: RecentMember(), count: RecentMember.count))
