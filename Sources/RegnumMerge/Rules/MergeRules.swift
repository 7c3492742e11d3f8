// SPDX-License-Identifier: Apache-2.0
// The rules of merging, in the order of a specification. Each default implementation is the rule. `ExchangeRules.swift`
// has the rules of what clients and the hub send to each other; the code that applies both decides nothing else.

/// The decisions of `Merge`. The default implementations are the rules: `StandardRules` takes all of them, and is the
/// only conformance outside the tests. Tests replace single rules by mistakes, to show that the model notices.
public protocol MergeRules: Sendable {
    func time(after newest: Timestamp, wallClock: Timestamp) -> Timestamp
    func time(_ newest: Timestamp, raisedBy received: Timestamp) -> Timestamp
    func time(_ time: Timestamp, clampedTo limit: Timestamp, newest: Timestamp, author: Timestamp) -> Timestamp
    func isLater(_ stamp: Stamp, than other: Stamp) -> Bool
    func isAlive(created: Stamp, deleted: Stamp) -> Bool
    func admits(_ edit: Stamp, isAlive: Bool, deleted: Stamp) -> Bool
    func survives(_ written: Stamp, deleted: Stamp, isAlive: Bool) -> Bool
    func startsEmpty(wasAlive: Bool) -> Bool
    func replaces(_ new: Register, _ old: Register) -> Bool
    func admits(_ inner: Stamp, owner: Stamp) -> Bool
    func replacesEntry(_ new: Stamp, _ old: Stamp) -> Bool
    func removes(_ removal: Stamp, value: Stamp?) -> Bool
    func moves(_ new: Stamp, _ old: Stamp) -> Bool
    func replacesElement(_ new: Stamp, _ old: Stamp) -> Bool
    func precedes(_ left: (Position, ElementID), _ right: (Position, ElementID)) -> Bool
    func position(
        between left: Position?, and right: Position?, name: ElementID, source: inout PositionSource
    ) -> Position
    func removedByAssignment(_ visible: [ElementID]) -> ArraySlice<ElementID>
    func sum(_ counter: Int64, _ increment: Int64) -> Int64
    func assigns(_ edit: Stamp, isCounted: Bool) -> Bool
    func adoptedStamp(drawn: Stamp) -> Stamp
    func adoptedID(at index: Int, drawn: ElementID) -> ElementID
    func keeps(isKnown: Bool) -> Bool
}

/// The rules as they are specified.
public struct StandardRules: MergeRules, ExchangeRules {
    public init() {}
}

// MARK: Times

extension MergeRules {
    /// **Rule 1.** A new edit is later than everything that its client has issued or seen, and not earlier than the
    /// hub's time as the client knows it.
    public func time(after newest: Timestamp, wallClock: Timestamp) -> Timestamp { max(newest.next, wallClock) }

    /// **Rule 2.** A clock is raised by each time that it receives, and never goes backwards.
    public func time(_ newest: Timestamp, raisedBy received: Timestamp) -> Timestamp { max(newest, received) }

    /// **Rule 3.** The hub clamps times after `limit`, its own time and five seconds, so that a wrong clock does not
    /// own the future. A clamped time is still later than everything its author can have seen, which is nothing after
    /// `newest`, the newest time of the space. `author` is the last time that was accepted from the same replica: edits
    /// keep their order. Times of other replicas, which are offered again after a reset, have no author (`zero`).
    public func time(
        _ time: Timestamp, clampedTo limit: Timestamp, newest: Timestamp, author: Timestamp
    ) -> Timestamp {
        let clamped = time <= limit ? time : max(limit, newest).next
        return author == .zero ? clamped : max(clamped, author.next)
    }

    /// **Rule 4.** Writes are ordered by time, and at the same time by replica number.
    public func isLater(_ stamp: Stamp, than other: Stamp) -> Bool {
        stamp.time == other.time ? stamp.replica > other.replica : stamp.time > other.time
    }
}

// MARK: The life of an object

extension MergeRules {
    /// **Rule 5.** An object is alive if its newest create is later than its newest delete. So a later create lives
    /// again. Creates of the same primary key by several devices are one object.
    public func isAlive(created: Stamp, deleted: Stamp) -> Bool { isLater(created, than: deleted) }

    /// **Rule 6.** A delete beats concurrent edits: an edit never revives an object, and an edit that is earlier than
    /// the newest delete belongs to an object of the past.
    public func admits(_ edit: Stamp, isAlive: Bool, deleted: Stamp) -> Bool {
        isAlive && isLater(edit, than: deleted)
    }

    /// **Rule 7.** A dead object holds nothing. If an object is alive when a delete arrives that is earlier than its
    /// create, the values from before the delete go. Counters have no stamps and stay.
    public func survives(_ written: Stamp, deleted: Stamp, isAlive: Bool) -> Bool {
        isAlive && isLater(written, than: deleted)
    }

    /// **Rule 8.** A create of a dead object begins with no values; one of a living object is merged with it.
    public func startsEmpty(wasAlive: Bool) -> Bool { !wasAlive }
}

// MARK: Properties

extension MergeRules {
    /// **Rule 9.** Of two writes of a property the later one wins, but a default that was only set by creating the
    /// object loses to any explicit write. Links, and nested values of `AnyRealmValue`, are properties with one value.
    public func replaces(_ new: Register, _ old: Register) -> Bool {
        if new.isDefault != old.isDefault { return old.isDefault }
        return isLater(new.stamp, than: old.stamp)
    }

    /// **Rule 10.** Each property of an embedded object is merged for itself. Assigning an embedded object replaces all
    /// of the one before: values inside that are earlier than the assignment go, whatever client wrote them, and those
    /// with the same stamp belong to it. This also holds for properties that the assigning client does not know.
    public func admits(_ inner: Stamp, owner: Stamp) -> Bool { !isLater(owner, than: inner) }
}

// MARK: Collections

extension MergeRules {
    /// **Rule 11.** Elements of sets and maps are merged one by one. Of two writes or removals of the same element or
    /// key the later one wins.
    public func replacesEntry(_ new: Stamp, _ old: Stamp) -> Bool { isLater(new, than: old) }

    /// **Rule 12.** Elements of lists have identities. Removing one wins over all other edits of it, earlier and later
    /// ones, and is remembered even if the insertion is not known yet (`value` is nil then).
    public func removes(_ removal: Stamp, value: Stamp?) -> Bool { true }

    /// **Rule 13.** The position of an element is a property of it: of two moves the later one wins, so a move never
    /// duplicates an element. Edits of an element that the hub does not know have no effect: after a reset, the element
    /// itself is offered (rule 35).
    public func moves(_ new: Stamp, _ old: Stamp) -> Bool { isLater(new, than: old) }

    /// **Rule 14.** So is its value. An embedded object in a list is one value.
    public func replacesElement(_ new: Stamp, _ old: Stamp) -> Bool { isLater(new, than: old) }

    /// **Rule 15.** The order of a list is that of the positions of its elements; equal ones, by their ids.
    public func precedes(_ left: (Position, ElementID), _ right: (Position, ElementID)) -> Bool {
        left.0 == right.0 ? left.1 < right.1 : left.0 < right.0
    }

    /// **Rule 16.** A position between two others is new, and everything that one author inserts in one place stays
    /// together.
    public func position(
        between left: Position?, and right: Position?, name: ElementID, source: inout PositionSource
    ) -> Position {
        source.position(between: left, and: right, name: name)
    }

    /// **Rule 17.** Assigning a whole list removes the elements that the client sees, and inserts new ones. Elements
    /// that others insert meanwhile stay.
    public func removedByAssignment(_ visible: [ElementID]) -> ArraySlice<ElementID> { visible[...] }
}

// MARK: Counters

extension MergeRules {
    /// **Rule 18.** Increments add up, in any order, each exactly once (rule 23). A client shows the hub's number and
    /// its own increments that the hub has not acknowledged.
    public func sum(_ counter: Int64, _ increment: Int64) -> Int64 { counter &+ increment }

    /// **Rule 19.** Assigning a number replaces the counter at the moment when the hub receives it. A number from
    /// adopted data does so only if the hub has none.
    public func assigns(_ edit: Stamp, isCounted: Bool) -> Bool { edit.time != .adopted || !isCounted }
}

// MARK: Adopted data and other schemas

extension MergeRules {
    /// **Rule 20.** Data that existed before its file was synchronised is earlier than every edit. So it neither
    /// overwrites the edits of other devices nor revives what they deleted. Of two devices the one with the higher
    /// replica number wins.
    public func adoptedStamp(drawn: Stamp) -> Stamp { Stamp(.adopted, drawn.replica) }

    /// **Rule 21.** Elements of adopted lists have the ids of their indexes, the same on each device, so that devices
    /// that adopt the same data do not double it.
    public func adoptedID(at index: Int, drawn: ElementID) -> ElementID {
        ElementID(.adopted, UInt64(index) + 1)
    }

    /// **Rule 22.** A client keeps the properties that its schema does not know, and offers them again like all others.
    /// A property that an object does not have shows the default of the class.
    public func keeps(isKnown: Bool) -> Bool { true }
}
