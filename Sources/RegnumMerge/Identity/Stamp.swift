// SPDX-License-Identifier: Apache-2.0
// When and where a value was written: times of the hybrid logical clock, replica numbers, and both together.

/// A time of the hybrid logical clock: 48 bits of milliseconds since 1970 and a counter of 16 bits. Times are compared
/// as integers, so a counter that overflows carries into the milliseconds.
public struct Timestamp: Hashable, Comparable, Sendable {
    public var bits: UInt64

    public init(bits: UInt64) { self.bits = bits }

    /// Times before 1970 are zero, and those after `latest` are `latest`.
    public init(milliseconds: Int64) {
        self = milliseconds > Self.latest.milliseconds ? .latest : Timestamp(bits: UInt64(max(0, milliseconds)) << 16)
    }

    /// Before every time that is given to an edit.
    public static let zero = Timestamp(bits: 0)

    /// The time of data that existed before its file was synchronised: earlier than every edit (rule 20).
    public static let adopted = Timestamp(bits: 1)

    /// The latest time that a clock accepts, in the year 6429. `next` of it and of its successors does not overflow.
    public static let latest = Timestamp(bits: 1 << 63)

    public var milliseconds: Int64 { Int64(bits >> 16) }

    /// The earliest time after this one.
    public var next: Timestamp { Timestamp(bits: bits &+ 1) }

    public static func < (left: Timestamp, right: Timestamp) -> Bool { left.bits < right.bits }
}

/// The number that the hub gives to one identity of a client in one space. The hub never issues a number twice, not
/// even after it was restored from a backup.
public struct Replica: Hashable, Comparable, Sendable {
    public var number: UInt32

    public init(_ number: UInt32) { self.number = number }

    /// Stands for the number of a client that has none yet. The client replaces it before its first upload
    /// (`Edit.replacing`), and the hub refuses it.
    public static let unregistered = Replica(0)

    /// The author of element ids in adopted data, on every device.
    public static let adopted = Replica(1)

    /// The first number that a hub issues.
    public static let first = Replica(2)

    public static func < (left: Replica, right: Replica) -> Bool { left.number < right.number }
}

/// The time of a write and its author: 12 bytes. `MergeRules.isLater` compares two of them.
public struct Stamp: Hashable, Sendable {
    public var time: Timestamp
    public var replica: Replica

    public init(_ time: Timestamp, _ replica: Replica) {
        self.time = time
        self.replica = replica
    }

    /// The stamp of an event that has not happened.
    public static let none = Stamp(.zero, .unregistered)
}

extension Stamp: CustomStringConvertible {
    public var description: String { "\(time.milliseconds).\(time.bits & 0xFFFF)@\(replica.number)" }
}
