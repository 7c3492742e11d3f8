// SPDX-License-Identifier: Apache-2.0
// What the clients and the hub of the model exchange, and the properties of its one class.

import RegnumMerge

/// The properties of the model's class.
enum Property {
    /// Subscriptions choose objects by its value, 0 to 2.
    static let group = PropertyPath(0)
    static let plain = PropertyPath(1)
    static let other = PropertyPath(2)
    /// Values of bytes, as nested values of `AnyRealmValue` are.
    static let mixed = PropertyPath(3)
    static let list = PropertyPath(4)
    static let set = PropertyPath(5)
    static let map = PropertyPath(6)
    static let counter = PropertyPath(7)
    static let embedded = PropertyPath(8)
    static let inner = [PropertyPath(8, [0]), PropertyPath(8, [1]), newInner]
    /// Properties that only the newer schema has.
    static let added = PropertyPath(9)
    static let newInner = PropertyPath(8, [2])

    static func isKnown(_ path: PropertyPath, toNewSchema isNew: Bool) -> Bool {
        isNew || (path != added && path != newInner)
    }
}

/// An edit on its way. The token identifies what a user did, whatever identity uploads it.
struct Item {
    enum Origin {
        case user, adoption
        /// Offered again after a reset.
        case offer
    }
    var object: Int
    var edit: Edit
    var token: Int
    var origin = Origin.user
    /// The newest time of the object in the version that the author had received.
    var seen = Timestamp.zero
    /// The version that the author had received; 0 for an offer, and after a reset.
    var base: Int64 = 0
    /// The hash of this edit and those before it of the same identity.
    var hash: UInt64 = 0

    mutating func chain(after hash: UInt64) {
        self.hash = (hash ^ 0xCBF2_9CE4_8422_2325 ^ UInt64(token)) &* 0x100_0000_01B3
    }
}

struct Batch {
    var mark: BatchMark
    var items: [Item]
}

/// A page, or the request to begin again.
struct Answer {
    var state: ExchangeState
    var epoch: Int64
    var mustReset = false
    var page: [(object: Int, state: ObjectState?)] = []
    var cursor: Int64 = 0
    var hasMore = false
    var acknowledged = BatchMark.start
    var firstHead: Int64 = 0
    var hubTime = Timestamp.zero
    var newest = Timestamp.zero
    var collected: Int64 = 0
    var rejected: [Int] = []
}

/// What a new identity learns.
struct Registration {
    var replica: Replica
    var epoch: Int64
    /// The hashes of the last edits of the identity before it that the hub has applied.
    var applied: [UInt64]
    /// The newest version that the client's view and the hub have in common.
    var base: Int64
    var rejected: [Int]
}

/// A law that a schedule broke.
struct Violation: Error, CustomStringConvertible {
    var description: String

    init(_ description: String) { self.description = description }
}
