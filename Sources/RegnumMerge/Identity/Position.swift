// SPDX-License-Identifier: Apache-2.0
// Positions of list elements: strings of bytes whose order is the order of the list. They are the positions of Fugue
// (Weidner and Kleppmann, "The Art of the Fugue"), written as sorted strings: unique, and without interleaving.
//
//     position := step* waypoint index self        step := waypoint index side
//     waypoint := replica counter                  side := 0 (left) | 2 (right), self := 1
//
// A waypoint is a run of positions of one author, numbered forwards by the index. Numbers are written so that their
// bytes sort as the numbers do: up to 247 as one byte, larger ones as 247 plus their length, then their bytes from the
// highest on. Below the position `P 1`, everything that begins with `P 0` comes before it, and everything that begins
// with `P 2` comes after it and before the next index. Appending elements extends no string; only its index grows.

/// The place of an element in its list. Positions are never reused. Equal ones, which only damage could produce, are
/// ordered by the ids of their elements (rule 15).
public struct Position: Hashable, Comparable, Sendable {
    public let bytes: [UInt8]

    /// A position as it was stored. Any bytes are a position: only those of `PositionSource` have neighbours.
    public init(bytes: [UInt8]) { self.bytes = bytes }

    public static func < (left: Position, right: Position) -> Bool {
        left.bytes.lexicographicallyPrecedes(right.bytes)
    }

    /// The place of an element of an adopted list: the same on each device (rule 21).
    static func adopted(at index: Int) -> Position {
        var bytes: [UInt8] = []
        append(ElementID(.adopted, 0), to: &bytes)
        append(UInt64(index), to: &bytes)
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

    static func append(_ waypoint: ElementID, to bytes: inout [UInt8]) {
        append(UInt64(waypoint.replica.number), to: &bytes)
        append(waypoint.counter, to: &bytes)
    }

    /// The number at `offset`, which moves past it; nil if the bytes end before.
    private func number(at offset: inout Int) -> UInt64? {
        guard offset < bytes.count else { return nil }
        let first = bytes[offset]
        offset += 1
        if first < 248 { return UInt64(first) }
        let count = Int(first) - 247
        guard offset + count <= bytes.count else { return nil }
        defer { offset += count }
        return bytes[offset..<offset + count].reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// The waypoints of a position, from the first on, with the index and the side after each; nil if the bytes are not
    /// those of a `PositionSource`.
    private var steps: [(waypoint: ElementID, index: UInt64, side: UInt8)]? {
        var result: [(waypoint: ElementID, index: UInt64, side: UInt8)] = []
        var offset = 0
        while offset < bytes.count {
            guard let replica = number(at: &offset), replica <= UInt32.max, let counter = number(at: &offset),
                let index = number(at: &offset), offset < bytes.count
            else { return nil }
            result.append((ElementID(Replica(UInt32(replica)), counter), index, bytes[offset]))
            offset += 1
        }
        return result
    }

    /// The bytes up to the index of the last step, which positions of the same run have in common.
    var run: ArraySlice<UInt8>? {
        guard let last = steps?.last else { return nil }
        var index: [UInt8] = []
        Self.append(last.index, to: &index)
        return bytes.dropLast(index.count + 1)
    }

    /// The same position with other names for waypoints.
    func renaming(_ rename: (ElementID) -> ElementID) -> Position {
        guard let steps else { return self }
        var result: [UInt8] = []
        for step in steps {
            Self.append(rename(step.waypoint), to: &result)
            Self.append(step.index, to: &result)
            result.append(step.side)
        }
        return Position(bytes: result)
    }
}

/// Makes positions for one file. It remembers the runs that it has extended last, so that elements that are appended
/// one after the other share a run. It need not be stored: without it, the next element begins a new run.
public struct PositionSource: Sendable {
    private var runs: [(bytes: [UInt8], last: UInt64)] = []

    private static let limit = 64

    public init() {}

    /// A new position between two others; nil stands for the start and the end of the list. `name` is an id that was
    /// used for no other position: that of the new element, or for a move a new one.
    /// - Complexity: proportional to the length of the positions, about four bytes for each time that an author
    ///   continued between the elements of another one.
    public mutating func position(
        between left: Position?, and right: Position?, name: ElementID
    ) -> Position {
        if let right, left.map({ right.bytes.starts(with: $0.bytes.dropLast()) }) ?? true {
            return begin(name, in: right.bytes.dropLast() + [Position.left])
        }
        guard let left else { return begin(name, in: []) }
        if let run = left.run, let known = runs.firstIndex(where: { $0.bytes.elementsEqual(run) }),
            right.map({ !$0.bytes.starts(with: run) }) ?? true
        {
            runs[known].last += 1
            return position(in: runs[known].bytes, at: runs[known].last)
        }
        return begin(name, in: left.bytes.dropLast() + [Position.right])
    }

    private mutating func begin(_ name: ElementID, in ancestor: [UInt8]) -> Position {
        var run = ancestor
        Position.append(name, to: &run)
        if runs.count == Self.limit { runs.removeFirst() }
        runs.append((run, 0))
        return position(in: run, at: 0)
    }

    private func position(in run: [UInt8], at index: UInt64) -> Position {
        var bytes = run
        Position.append(index, to: &bytes)
        bytes.append(Position.here)
        return Position(bytes: bytes)
    }
}
