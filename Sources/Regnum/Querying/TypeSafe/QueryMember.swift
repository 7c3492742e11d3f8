// SPDX-License-Identifier: Apache-2.0
// Properties of key paths in type-safe queries. A program queries with the same few key paths repeatedly, so the
// properties of the most recent ones are cached by the identity of the key path, which is faster than hashing it.

internal import RegnumSystem

/// A property as a component of a query path.
final class QueryMember {
    /// The property's name; several names for a projected property that leads through links.
    let names: [String]
    let isCollection: Bool
    /// The property as a complete path, starting at the queried element.
    let path: QueryPath

    /// `name`: one or more names joined by dots.
    init(_ name: String, isCollection: Bool) {
        names = name.utf8.contains(UInt8(ascii: ".")) ? name.split(separator: ".").map(String.init) : [name]
        self.isCollection = isCollection
        var path = QueryPath(names: []).appending(names, isCollection: isCollection)
        path.lowered = path.operand
        self.path = path
    }

    /// Returns whether a property of this type is a collection.
    static func isOfMany<V>(_ type: V.Type) -> Bool {
        type is any RealmCollectionBase.Type || type is any RealmKeyedCollection.Type
    }

    /// Returns the property that a key path leads to.
    static func of<Root: ObjectBase, V>(_ keyPath: KeyPath<Root, V>) -> QueryMember {
        let place = RecentMember.place(of: keyPath)
        if let known = recentMembers.withLock({ $0[place].member(of: keyPath) }) { return known }
        let made = QueryMember(_name(for: keyPath), isCollection: isOfMany(V.self))
        // Releasing the old key path's captured values may run any code, so it must not happen while the lock is held.
        let old = recentMembers.withLock { members in
            let old = members[place]
            members[place] = RecentMember(keyPath: keyPath, member: made)
            return old
        }
        withExtendedLifetime(old) {}
        return made
    }
}

/// A key path and its property. While the key path is retained, no other one can have its address.
private struct RecentMember {
    var keyPath: AnyKeyPath?
    var member: QueryMember?

    static let count = 256

    /// Returns the slot for the key path.
    static func place(of keyPath: AnyKeyPath) -> Int {
        let address = UInt(bitPattern: ObjectIdentifier(keyPath))
        // Multiply, so that all bits of the address contribute.
        return Int(truncatingIfNeeded: (UInt64(address) &* 0x9E37_79B9_7F4A_7C15) &>> 56)
    }

    func member(of keyPath: AnyKeyPath) -> QueryMember? { self.keyPath === keyPath ? member : nil }
}

private let recentMembers = Lock<[RecentMember]>(Array(repeating: RecentMember(), count: RecentMember.count))
