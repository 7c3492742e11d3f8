// SPDX-License-Identifier: Apache-2.0
// The clock of a client, or of a space at the hub. It reads no clock of the system: the caller passes the time.

/// A hybrid logical clock. It never goes backwards, and no time is issued twice.
public struct HybridClock<Rules: MergeRules>: Sendable {
    /// The newest time that was issued or received. It is stored with the file.
    public private(set) var newest: Timestamp
    /// Milliseconds that the hub's clock is ahead of this device's.
    public private(set) var offset: Int64

    private let rules: Rules

    public init(rules: Rules, newest: Timestamp = .zero, offset: Int64 = 0) {
        self.rules = rules
        self.newest = newest
        self.offset = offset
    }

    /// The time of a new edit. `now` is the device's time in milliseconds since 1970.
    public mutating func next(now: Int64) -> Timestamp {
        newest = rules.time(after: newest, wallClock: Timestamp(milliseconds: now &+ offset))
        return newest
    }

    /// Notes the times that each of the hub's answers contains: its own, and the newest one of the space, which is not
    /// before any stamp in the answer. Call it before the answer is applied.
    /// - Throws: `RefusedTime` if one of them is after `Timestamp.latest`: edits could not be later. The clock is
    ///   unchanged, and the answer must not be applied.
    public mutating func receive(hub: Timestamp, newest received: Timestamp, now: Int64) throws(RefusedTime) {
        if max(hub, received) > .latest { throw RefusedTime(time: max(hub, received)) }
        offset = hub.milliseconds &- now
        newest = rules.time(newest, raisedBy: max(hub, received))
    }
}

/// A time from outside that no clock can follow.
public struct RefusedTime: Error, Hashable {
    public var time: Timestamp

    public init(time: Timestamp) { self.time = time }
}
