// SPDX-License-Identifier: Apache-2.0
// An array of the first keys of all groups of a tree: the lookup of a random key interpolates the position of its group
// instead of descending through the nodes. Built from the nodes once many keys have been looked up, without reading a
// group; discarded when groups are added or removed.

struct GroupDirectory {
    /// The group if it has been decoded or changed, otherwise the block to decode.
    private struct Place {
        var group: UnsafeMutablePointer<GroupView>?
        var ref: BlockRef
    }

    /// Lower bounds of the groups' keys, ascending.
    private let firstKeys: UnsafeMutablePointer<UInt64>
    private let places: UnsafeMutablePointer<Place>
    private let count: Int
    /// For each stretch of `1 << shift` keys, the last group that begins before it, which narrows the search to a few
    /// groups. `stretches + 1` elements.
    private let starts: UnsafeMutablePointer<UInt32>
    private let stretches: Int
    private let shift: UInt64
    /// True if it refers to a group that a write transaction has changed.
    private(set) var hasChanges = false

    /// `groups`: in key order, each with its block or the changed group. Must not be empty.
    init(_ groups: [(firstKey: UInt64, ref: BlockRef, changed: UnsafeMutablePointer<GroupView>?)]) {
        count = groups.count
        firstKeys = .allocate(capacity: count)
        places = .allocate(capacity: count)
        for (index, group) in groups.enumerated() {
            (firstKeys + index).initialize(to: group.firstKey)
            (places + index).initialize(to: Place(group: group.changed, ref: group.ref))
            if group.changed != nil { hasChanges = true }
        }
        let span = firstKeys[count - 1] &- firstKeys[0]
        var shift: UInt64 = 0
        while span &>> shift >= UInt64(2 * count) { shift += 1 }
        self.shift = shift
        stretches = Int(span &>> shift) + 1
        starts = .allocate(capacity: stretches + 1)
        var group = 0
        for stretch in 0...stretches {
            let (distance, overflows) = UInt64(stretch).multipliedReportingOverflow(by: 1 &<< shift)
            while group + 1 < count, overflows || firstKeys[group + 1] &- firstKeys[0] < distance { group += 1 }
            (starts + stretch).initialize(to: UInt32(group))
        }
    }

    func deallocate() {
        firstKeys.deallocate()
        places.deallocate()
        starts.deallocate()
    }

    /// The group that contains `key` if any does. O(1) if keys are spread evenly, otherwise O(log groups).
    @inline(__always)
    func index(of key: UInt64) -> Int {
        guard key > firstKeys[0] else { return 0 }
        let stretch = Int(min((key &- firstKeys[0]) &>> shift, UInt64(stretches &- 1)))
        var low = Int(starts[stretch])
        // The last stretch has no end.
        var high = stretch &+ 1 == stretches ? count : min(Int(starts[stretch &+ 1]) &+ 2, count)
        while high &- low > 1 {
            let middle = (low &+ high) &>> 1
            if firstKeys[middle] <= key { low = middle } else { high = middle }
        }
        return low
    }

    /// Returns the group that may contain `key`; calls `decode` once per group.
    @inline(__always)
    func group(
        for key: UInt64, _ decode: (BlockRef) throws(EngineError) -> UnsafeMutablePointer<GroupView>
    ) throws(EngineError) -> UnsafeMutablePointer<GroupView> {
        let index = index(of: key)
        if let group = places[index].group { return group }
        let group = try decode(places[index].ref)
        places[index].group = group
        return group
    }

    /// Like `group(for:_:)`, but nil if the group has been neither decoded nor changed.
    @inline(__always)
    func knownGroup(for key: UInt64) -> UnsafeMutablePointer<GroupView>? { places[index(of: key)].group }

    /// Records the changed group that contains `key`.
    mutating func setChanged(_ group: UnsafeMutablePointer<GroupView>, for key: UInt64) {
        places[index(of: key)].group = group
        hasChanges = true
    }
}

extension GroupTree {
    /// Call on each lookup that descends through the nodes.
    func considerDirectory() throws(EngineError) {
        if lookupsLeft < 0 { lookupsLeft = directoryPrice }
        lookupsLeft -= 1
        if lookupsLeft == 0 { directory = try makeDirectory() }
    }

    /// The number of lookups after which building a directory pays off: a quarter of the groups that the tree may have.
    private var directoryPrice: Int {
        switch root {
        case nil, .group: return .max
        case .node(let node): return Self.price(children: node.entries.count, level: node.level)
        case .ref(let ref):
            guard ref.kind == BlockKind.groupNode.rawValue, let bytes = try? space.bytes(ref) else { return .max }
            return Self.price(children: GroupNodeLayout.count(bytes), level: GroupNodeLayout.level(bytes))
        }
    }

    private static func price(children: Int, level: Int) -> Int {
        guard level <= 4 else { return .max }
        var groups = children
        for _ in 1..<level { groups *= FormatLimits.nodeFanOut }
        return groups / 4 + 16
    }

    /// Lists all groups in key order. Reads nodes only.
    private func makeDirectory() throws(EngineError) -> GroupDirectory? {
        guard let root else { return nil }
        var groups: [(firstKey: UInt64, ref: BlockRef, changed: UnsafeMutablePointer<GroupView>?)] = []
        var left = blockLimit
        try list(root, 0, depth: 0, &left, &groups)
        // Damage may have put groups out of order; then there is no directory.
        guard !groups.isEmpty, zip(groups, groups.dropFirst()).allSatisfy({ $0.firstKey < $1.firstKey }) else {
            return nil
        }
        return GroupDirectory(groups)
    }

    private func list(
        _ child: Child, _ firstKey: UInt64, depth: Int, _ left: inout Int,
        _ groups: inout [(firstKey: UInt64, ref: BlockRef, changed: UnsafeMutablePointer<GroupView>?)]
    ) throws(EngineError) {
        left -= 1
        guard depth <= 2 * FormatLimits.treeDepth, left >= 0 else {
            throw corrupted("a tree is too deep or too large")
        }
        switch child {
        case .group(let group): groups.append((firstKey, .none, group.view))
        case .node(let node):
            for i in 0..<node.count {
                try list(node.child(i), node.entries[i].firstKey, depth: depth + 1, &left, &groups)
            }
        case .ref(let ref):
            guard ref.kind == BlockKind.groupNode.rawValue else { return groups.append((firstKey, ref, nil)) }
            let bytes = try space.bytes(ref)
            for i in 0..<GroupNodeLayout.count(bytes) {
                try list(
                    .ref(GroupNodeLayout.ref(bytes, i)), GroupNodeLayout.firstKey(bytes, i), depth: depth + 1, &left,
                    &groups)
            }
        }
    }
}
