// SPDX-License-Identifier: Apache-2.0
// The collections of a table that the running transaction has changed and not yet written back. A program that adds to
// many collections in turn, for example one that assigns children to their parents, would otherwise decode and encode a
// collection for each element. Confined to the session.

package struct OpenCollections {
    private struct Place: Hashable {
        var column: Int
        var key: ObjectKey
    }

    /// The maximum number of collections that are held. Opening one more writes all of them back, so the cost is shared
    /// by that many openings.
    package static let limit = 4096
    /// The approximate bytes of decoded elements that may be held in addition to the collection in use.
    package static let byteLimit = 16 << 20

    /// The collection that was changed last.
    private(set) var last: OpenCollection?
    /// In the order in which they were opened.
    private var all: [OpenCollection] = []
    /// Indexes into `all`, if there is more than one.
    private var numbers: [Place: Int] = [:]
    /// Bytes that all collections except the last one have decoded.
    private var heldByteCount = 0

    @inline(__always)
    var isEmpty: Bool { last == nil }

    /// Returns the collection if it is open. O(1).
    @inline(__always)
    func find(_ column: Int, _ key: ObjectKey) -> OpenCollection? {
        if let last, last.key == key, last.column == column { return last }
        return all.count > 1 ? findAmongOthers(column, key) : nil
    }

    @inline(never)
    private func findAmongOthers(_ column: Int, _ key: ObjectKey) -> OpenCollection? {
        numbers[Place(column: column, key: key)].map { all[$0] }
    }

    /// Returns the collection for a change if it is open, and makes it the last one.
    mutating func use(_ column: Int, _ key: ObjectKey) -> OpenCollection? {
        guard let last, let found = find(column, key) else { return nil }
        heldByteCount += last.decodedByteCount - found.decodedByteCount
        self.last = found
        return found
    }

    /// Adds a collection that is not open yet, as the last one.
    mutating func add(_ open: OpenCollection) {
        if all.count == 1 { numbers[Place(column: all[0].column, key: all[0].key)] = 0 }
        if !all.isEmpty { numbers[Place(column: open.column, key: open.key)] = all.count }
        all.append(open)
        heldByteCount += last?.decodedByteCount ?? 0
        last = open
    }

    package var count: Int { all.count }
    /// The approximate bytes of decoded elements.
    package var decodedByteCount: Int { heldByteCount + (last?.decodedByteCount ?? 0) }

    /// True if all must be written back before another one is changed.
    var isLarge: Bool { decodedByteCount > Self.byteLimit }

    /// Returns all collections in the order in which they were opened, and removes them.
    mutating func takeAll() -> [OpenCollection] {
        let taken = all
        removeAll()
        return taken
    }

    mutating func removeAll() {
        if isEmpty { return }
        (last, heldByteCount) = (nil, 0)
        all.removeAll()
        numbers.removeAll()
    }

    func contains(where matches: (OpenCollection) -> Bool) -> Bool { all.contains(where: matches) }

    func sum(_ figure: (OpenCollection) -> Int) -> Int { all.reduce(0) { $0 + figure($1) } }
}
