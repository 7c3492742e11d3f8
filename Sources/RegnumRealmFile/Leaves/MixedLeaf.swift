// SPDX-License-Identifier: Apache-2.0
// Leaves of values of any type, from format 21 on: refs of
//
//   0 composites   an integer c for each value. 0: null. Otherwise the type is (c & 31) - 1, the part that holds the
//                  value is (c >> 5) & 7 (0: the value is c >> 8), and c >> 8 is the index in that part
//   1 integers     2 pairs of integers     3 bytes, in the layouts of strings     4 refs of collections
//   5 not needed by a reader

internal import Foundation

/// The parts of a leaf, each read when a value first needs it. It holds refs only.
struct MixedLeaf {
    fileprivate let node: Node
    fileprivate let parts: [Int64]
    fileprivate let composites: [Int64]
    fileprivate var integers: [Int64]?
    fileprivate var pairs: [Int64]?
    fileprivate var bytes: ByteLeaf?
    fileprivate var collections: [Int64]?

    var count: Int { composites.count }

    fileprivate enum Part: Int { case integers = 1, pairs, bytes, collections }
}

/// Finds tables by their keys, for links in values of any type.
protocol TableKeys: AnyObject {
    /// The index in `RealmFile.tables`; nil if there is no such table.
    func tableIndex(forKey key: Int64) -> Int?
}

extension NodeReader {
    func mixedLeaf(_ node: Node) throws(RealmFileError) -> MixedLeaf {
        let parts = try refs(node)
        guard parts.count >= 4 else { throw .damaged(node.ref, "a leaf of values of any type lacks a part") }
        return try MixedLeaf(node: node, parts: parts, composites: integers(self.node(parts[0], of: node)))
    }

    func mixedValues(_ node: Node, _ tables: any TableKeys, depth: Int) throws(RealmFileError) -> [RealmFileValue] {
        var leaf = try mixedLeaf(node)
        var values: [RealmFileValue] = []
        values.reserveCapacity(leaf.count)
        for index in 0..<leaf.count { values.append(try mixed(&leaf, index, tables, depth: depth)) }
        return values
    }

    /// Value `index` of the leaf, which is nested in `depth` collections.
    func mixed(
        _ leaf: inout MixedLeaf, _ index: Int, _ tables: any TableKeys, depth: Int
    ) throws(RealmFileError) -> RealmFileValue {
        let composite = leaf.composites[index]
        guard composite != 0 else { return .null }
        let number = composite >> 8
        let isInline = (composite >> 5) & 7 == 0
        guard let type = FileType(rawValue: (composite & 31) - 1) else {
            throw .damaged(leaf.node.ref, "a value has the unknown type \((composite & 31) - 1)")
        }
        switch type {
        case .int: return .int(isInline ? number : try integer(&leaf, number))
        case .bool: return .bool(number != 0)
        case .float:
            return .float(Float(bitPattern: UInt32(truncatingIfNeeded: try integer(&leaf, number))))
        case .double: return .double(Double(bitPattern: UInt64(bitPattern: try integer(&leaf, number))))
        case .date:
            let (seconds, nanoseconds) = try pair(&leaf, number)
            return try date(seconds, nanoseconds, leaf.node)
        case .decimal:
            let (low, high) = try pair(&leaf, number)
            let coding = DecimalCoding.of(byteCount: 16)
            return coding?.decode(high: UInt64(bitPattern: high), low: UInt64(bitPattern: low)).map { .decimal($0) }
                ?? .null
        case .typedLink:
            let (table, key) = try pair(&leaf, number)
            return typedLink(table: table, key: key, tables)
        // A link without a table. It leads nowhere, and the rest of the file can be read.
        case .link: return .link(RealmFileLink(tableIndex: -1, key: try integer(&leaf, number)))
        case .string, .data, .objectId, .uuid:
            return try byteValue(&leaf, number, type)
        case .list, .dictionary:
            return try collection(&leaf, number, type, tables, depth)
        default: throw .damaged(leaf.node.ref, "a value has type \(type.rawValue), which only columns have")
        }
    }

    /// The link to the object with `key` in the table with the key `table`. Negative keys are those of objects that
    /// another device deleted. A table that the file does not have leaves a link that leads nowhere.
    func typedLink(table: Int64, key: Int64, _ tables: any TableKeys) -> RealmFileValue {
        guard key >= 0 else {
            deletedLinks += 1
            return .null
        }
        return .link(RealmFileLink(tableIndex: tables.tableIndex(forKey: table) ?? -1, key: key))
    }

    private func byteValue(_ leaf: inout MixedLeaf, _ number: Int64, _ type: FileType) throws(RealmFileError)
        -> RealmFileValue
    {
        if leaf.bytes == nil {
            leaf.bytes = try textLeaf(part(leaf, .bytes), nullable: true, isLegacy: false)
        }
        guard let bytes = leaf.bytes, let index = Int(exactly: number), index >= 0, index < bytes.count else {
            throw .damaged(leaf.node.ref, "a value lies outside of its leaf")
        }
        var byteCount = 0
        let value: RealmFileValue? = try withBytes(bytes, index, isText: true) { bytes in
            byteCount = bytes?.count ?? 0
            // A leaf of short strings cannot distinguish an empty value from null.
            let bytes = bytes ?? UnsafeRawBufferPointer(start: nil, count: 0)
            switch type {
            case .string: return .string(string(bytes))
            case .data: return .data(Data(bytes))
            case .objectId: return bytes.count == 12 ? .objectId(RealmFileObjectId(bytes.baseAddress!)) : nil
            default: return bytes.count == 16 ? .uuid(Self.uuid(bytes.baseAddress!)) : nil
            }
        }
        // Many values of a hostile leaf can name the same bytes.
        try budget.charge(byteCount, leaf.node.ref)
        guard let value else { throw .damaged(leaf.node.ref, "an identifier has the wrong number of bytes") }
        return value
    }

    private func collection(
        _ leaf: inout MixedLeaf, _ number: Int64, _ type: FileType, _ tables: any TableKeys, _ depth: Int
    ) throws(RealmFileError) -> RealmFileValue {
        guard depth < FileType.nestingLimit else {
            throw .damaged(leaf.node.ref, "collections are nested more than \(FileType.nestingLimit) deep")
        }
        if leaf.collections == nil { leaf.collections = try refs(part(leaf, .collections)) }
        guard let refs = leaf.collections, let index = Int(exactly: number), refs.indices.contains(index) else {
            throw .damaged(leaf.node.ref, "a collection lies outside of its leaf")
        }
        let root = try ref(refs[index], of: leaf.node)
        if type == .dictionary {
            return .dictionary(
                try root.map { root throws(RealmFileError) in
                    try dictionary(root, keyType: .string, tables, depth: depth + 1)
                } ?? [])
        }
        return .list(
            try root.map { root throws(RealmFileError) in
                try tree(root) { node throws(RealmFileError) in try mixedValues(node, tables, depth: depth + 1) }
            } ?? [])
    }

    private func integer(_ leaf: inout MixedLeaf, _ number: Int64) throws(RealmFileError) -> Int64 {
        if leaf.integers == nil { leaf.integers = try integers(part(leaf, .integers)) }
        guard let integers = leaf.integers, let index = Int(exactly: number), integers.indices.contains(index) else {
            throw .damaged(leaf.node.ref, "a value lies outside of its leaf")
        }
        return integers[index]
    }

    private func pair(_ leaf: inout MixedLeaf, _ number: Int64) throws(RealmFileError) -> (Int64, Int64) {
        if leaf.pairs == nil { leaf.pairs = try integers(part(leaf, .pairs)) }
        guard let pairs = leaf.pairs, number >= 0, number < Int64(pairs.count / 2) else {
            throw .damaged(leaf.node.ref, "a value lies outside of its leaf")
        }
        return (pairs[Int(number) * 2], pairs[Int(number) * 2 + 1])
    }

    private func part(_ leaf: MixedLeaf, _ part: MixedLeaf.Part) throws(RealmFileError) -> Node {
        guard leaf.parts.indices.contains(part.rawValue) else {
            throw .damaged(leaf.node.ref, "a leaf of values of any type lacks a part")
        }
        return try node(leaf.parts[part.rawValue], of: leaf.node)
    }
}
