// SPDX-License-Identifier: Apache-2.0
// Positions of list elements: strings of bytes whose order is the order of the list. They are the positions of Fugue
// (Weidner and Kleppmann, "The Art of the Fugue"), written as sorted strings: unique, and without interleaving.
//
//     position := step* waypoint index self        step := waypoint index side
//     waypoint := replica counter                  side := 0 (left) | 2 (right), self := 1
//
// A waypoint is a run of positions of one author, numbered by the index: upwards for elements that are appended,
// downwards for those that are put before the first one. Numbers are written so that their bytes sort as the numbers
// do. Those of waypoints up to 247, and indices from -120 to 119, are one byte; others are a byte that gives their
// length, then their bytes from the highest on. Below the position `P 1`, everything that begins with `P 0` comes
// before it, and everything that begins with `P 2` comes after it and before the next index. Appending extends no
// string; only its index grows.

/// The place of an element in its list. Positions are never reused. Equal ones, which only damage could produce, are
/// ordered by the ids of their elements (rule 15).
public struct Position: Hashable, Comparable, Sendable {
    public let bytes: [UInt8]

    /// A position as it was stored. Any bytes are a position; `isWellFormed` tells those of `PositionSource`.
    public init(bytes: [UInt8]) { self.bytes = bytes }

    public static func < (left: Position, right: Position) -> Bool {
        left.bytes.lexicographicallyPrecedes(right.bytes)
    }

    /// The place of an element of an adopted list: the same on each device (rule 21).
    static func adopted(at index: Int) -> Position {
        var bytes: [UInt8] = []
        append(ElementID(.adopted, 0), to: &bytes)
        append(index: Int64(index), to: &bytes)
        return Position(bytes: bytes + [here])
    }

    static let left: UInt8 = 0
    static let here: UInt8 = 1
    static let right: UInt8 = 2

    /// Appends a number so that longer ones sort after shorter ones.
    static func append(_ number: UInt64, to bytes: inout [UInt8]) {
        if number < 248 {
            bytes.append(UInt8(number))
            return
        }
        let count = (71 - number.leadingZeroBitCount) / 8
        bytes.append(UInt8(247 + count))
        for byte in (0..<count).reversed() { bytes.append(UInt8(truncatingIfNeeded: number >> (UInt64(byte) * 8))) }
    }

    /// Appends an index so that larger ones sort after smaller ones.
    static func append(index: Int64, to bytes: inout [UInt8]) {
        if (-120..<120).contains(index) {
            bytes.append(UInt8(index + 128))
            return
        }
        let count = (71 - (index < 0 ? ~index : index).leadingZeroBitCount) / 8
        bytes.append(UInt8(index < 0 ? 8 - count : 247 + count))
        for byte in (0..<count).reversed() { bytes.append(UInt8(truncatingIfNeeded: index >> (Int64(byte) * 8))) }
    }

    static func append(_ waypoint: ElementID, to bytes: inout [UInt8]) {
        append(UInt64(waypoint.replica.number), to: &bytes)
        append(waypoint.counter, to: &bytes)
    }

    /// The number at `offset`, which moves past it; nil if the bytes end before.
    private func number(at offset: inout Int) -> UInt64? {
        guard offset < bytes.count else { return nil }
        let first = bytes[offset]
        offset += 1
        return first < 248 ? UInt64(first) : number(ofBytes: Int(first) - 247, at: &offset)
    }

    private func index(at offset: inout Int) -> Int64? {
        guard offset < bytes.count else { return nil }
        let first = Int(bytes[offset])
        offset += 1
        if (8..<248).contains(first) { return Int64(first - 128) }
        let count = first < 8 ? 8 - first : first - 247
        guard let value = number(ofBytes: count, at: &offset) else { return nil }
        return Int64(bitPattern: first < 8 ? value | UInt64.max << UInt64(count * 8) : value)
    }

    private func number(ofBytes count: Int, at offset: inout Int) -> UInt64? {
        guard offset + count <= bytes.count else { return nil }
        defer { offset += count }
        return bytes[offset..<offset + count].reduce(0) { $0 << 8 | UInt64($1) }
    }

    struct Step {
        var waypoint: ElementID
        var index: Int64
        var side: UInt8
        /// The number of bytes before the index, which all positions of the run begin with.
        var runLength: Int
    }

    /// The steps of a position, from the first on; nil if the bytes are not those of a `PositionSource`.
    var steps: [Step]? {
        var result: [Step] = []
        var offset = 0
        while offset < bytes.count {
            guard let replica = number(at: &offset), replica <= UInt32.max, let counter = number(at: &offset)
            else { return nil }
            let runLength = offset
            guard let index = self.index(at: &offset), offset < bytes.count else { return nil }
            let waypoint = ElementID(Replica(UInt32(replica)), counter)
            result.append(Step(waypoint: waypoint, index: index, side: bytes[offset], runLength: runLength))
            offset += 1
        }
        return result
    }

    /// True for the positions of a `PositionSource`, of registered replicas. Only these have room on both sides, so the
    /// hub refuses others (`Edit.check`).
    public var isWellFormed: Bool {
        guard let steps, let last = steps.last else { return false }
        return last.side == Self.here
            && steps.dropLast().allSatisfy { $0.side == Self.left || $0.side == Self.right }
            && steps.allSatisfy { $0.waypoint.replica != .unregistered }
            && renaming { $0 } == self
    }

    /// The same position with other names for waypoints.
    func renaming(_ rename: (ElementID) -> ElementID) -> Position {
        guard let steps else { return self }
        var result: [UInt8] = []
        for step in steps {
            Self.append(rename(step.waypoint), to: &result)
            Self.append(index: step.index, to: &result)
            result.append(step.side)
        }
        return Position(bytes: result)
    }
}

/// Makes positions for one file. It remembers the runs that it has begun or extended last. It need not be stored.
public struct PositionSource: Sendable {
    private struct Run {
        var bytes: [UInt8]
        /// The least and the greatest index; nil if this source has not extended the run on that side.
        var first: Int64?
        var last: Int64?
    }

    private var runs: [Run] = []

    private static let limit = 64

    public init() {}

    /// A new position between two others; nil stands for the start and the end of the list. `name` is an id of
    /// `ElementSource` that was used for no other position: that of the new element, or for a move a new one.
    /// - Complexity: proportional to the length of the positions, up to 24 bytes for each step. Appending, also in
    ///   turns with other authors and after the file was opened again, and putting before take no more steps than there
    ///   are authors; inserting at random places takes about the logarithm of the number of elements. Only inserting
    ///   each element between the last two takes a step for every second one.
    public mutating func position(
        between left: Position?, and right: Position?, name: ElementID
    ) -> Position {
        if let right, left.map({ isBeside(right, notBeside: $0, name.replica) }) ?? true {
            return extend(right, by: -1, without: left, name)
                ?? begin(name, in: right.bytes.dropLast() + [Position.left])
        }
        guard let left else { return begin(name, in: []) }
        return extend(left, by: 1, without: right, name)
            ?? begin(name, in: left.bytes.dropLast() + [Position.right])
    }

    /// Whether a position between the two begins beside `right`; otherwise it begins beside `left`. If neither is below
    /// the other, both are possible: an author stays beside its own elements, and all others choose the same side.
    private func isBeside(_ right: Position, notBeside left: Position, _ author: Replica) -> Bool {
        if right.bytes.starts(with: left.bytes.dropLast()) { return true }
        if left.bytes.starts(with: right.bytes.dropLast()) { return false }
        guard let before = left.steps, let last = before.last, let after = right.steps, let next = after.last
        else { return false }
        let isOwn = next.waypoint.replica == author
        if isOwn != (last.waypoint.replica == author) { return isOwn }
        // Upwards in a run, each position is thought of as below the one before it.
        return right.bytes.starts(with: left.bytes[..<last.runLength]) && after[before.count - 1].index > 0
    }

    /// The next position of the innermost run of this author that contains `near` or what `near` is below; nil if there
    /// is none, or if it also contains `other`, so that the position would not be between the two.
    private mutating func extend(
        _ near: Position, by direction: Int64, without other: Position?, _ name: ElementID
    ) -> Position? {
        guard let step = near.steps?.last(where: { $0.waypoint.replica == name.replica }),
            step.index.magnitude < 1 << 62
        else { return nil }
        let bytes = Array(near.bytes[..<step.runLength])
        if let other, other.bytes.starts(with: bytes) { return nil }
        // A run grows away from 0: others may have inserted between a new position and one on the other side of 0.
        if step.index.signum() * direction < 0 { return nil }
        let known = runs.firstIndex { $0.bytes == bytes }
        var run = known.map { runs.remove(at: $0) } ?? Run(bytes: bytes)
        // Elements that were removed, or those of a copy of the file, may have the indices that follow. The low bits of
        // the name begin at a random number at each opening (rule 36).
        let gap = Int64(name.counter & (1 << ElementSource.openingShift - 1))
        let index: Int64
        if direction > 0 {
            index = max(run.last ?? step.index + gap, step.index) + 1
            run.last = index
        } else {
            index = min(run.first ?? step.index - gap, step.index) - 1
            run.first = index
        }
        remember(run)
        return position(in: bytes, at: index)
    }

    private mutating func begin(_ name: ElementID, in ancestor: [UInt8]) -> Position {
        var bytes = ancestor
        Position.append(name, to: &bytes)
        remember(Run(bytes: bytes, first: 0, last: 0))
        return position(in: bytes, at: 0)
    }

    private mutating func remember(_ run: Run) {
        if runs.count == Self.limit { runs.removeFirst() }
        runs.append(run)
    }

    private func position(in run: [UInt8], at index: Int64) -> Position {
        var bytes = run
        Position.append(index: index, to: &bytes)
        bytes.append(Position.here)
        return Position(bytes: bytes)
    }
}
