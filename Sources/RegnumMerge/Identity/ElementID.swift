// SPDX-License-Identifier: Apache-2.0
// The identity of a list element, which survives moves, and the path to a property.

/// The identity of one element of a list: the replica that inserted it, and the count of ids of that replica.
public struct ElementID: Hashable, Comparable, Sendable {
    public var replica: Replica
    public var counter: UInt64

    public init(_ replica: Replica, _ counter: UInt64) {
        self.replica = replica
        self.counter = counter
    }

    public static func < (left: ElementID, right: ElementID) -> Bool {
        if left.replica != right.replica { return left.replica < right.replica }
        return left.counter < right.counter
    }
}

/// A property of an object, or of an embedded object in it. Numbers of properties are stable and never reused, so a
/// renamed property keeps its number.
public struct PropertyPath: Hashable, Comparable, Sendable {
    public var property: UInt32
    /// The properties below it, for embedded objects. Usually empty.
    public var inner: [UInt32]

    public init(_ property: UInt32, _ inner: [UInt32] = []) {
        self.property = property
        self.inner = inner
    }

    /// True if this path leads through the embedded object at `owner`.
    public func isInside(_ owner: PropertyPath) -> Bool {
        property == owner.property && inner.count > owner.inner.count && inner.starts(with: owner.inner)
    }

    /// The embedded objects that the path leads through, from the outermost one on.
    var owners: [PropertyPath] { inner.indices.map { PropertyPath(property, Array(inner[..<$0])) } }

    public static func < (left: PropertyPath, right: PropertyPath) -> Bool {
        if left.property != right.property { return left.property < right.property }
        return left.inner.lexicographicallyPrecedes(right.inner)
    }
}

extension ElementID: CustomStringConvertible {
    public var description: String { "\(replica.number):\(counter)" }
}

extension PropertyPath: CustomStringConvertible {
    public var description: String { ([property] + inner).map { String($0) }.joined(separator: "/") }
}
