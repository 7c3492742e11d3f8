// SPDX-License-Identifier: Apache-2.0
// The values of one leaf of a column. Numbers are decoded immediately; strings, collections and values of any type are
// decoded on access.

internal import Foundation

/// The values of one column. It holds refs and decoded values, never pointers.
enum ColumnValues {
    case values([RealmFileValue])
    case texts(ByteLeaf)
    case binaries(ByteLeaf)
    case mixed(MixedLeaf)
    /// The keys of linked objects plus 1, and the index of their table.
    case links([Int64], target: Int)
    /// For each value the key of a table plus 1, 0 for null, and the key of an object plus 1.
    case typedLinks([Int64])
    /// The roots of collections.
    case collections([Int64], Node)

    var count: Int {
        switch self {
        case .values(let values): values.count
        case .texts(let leaf), .binaries(let leaf): leaf.count
        case .mixed(let leaf): leaf.count
        case .links(let keys, _): keys.count
        case .typedLinks(let pairs): pairs.count / 2
        case .collections(let refs, _): refs.count
        }
    }
}

/// Decodes columns of format 10 and later.
struct ColumnReader {
    let reader: NodeReader
    let tables: any TableKeys

    init(_ reader: NodeReader, _ tables: any TableKeys) {
        self.reader = reader
        self.tables = tables
    }

    /// The values in the leaf of a cluster.
    func values(_ column: FileColumn, _ node: Node) throws(RealmFileError) -> ColumnValues {
        if !column.attributes.isDisjoint(with: [.list, .set, .dictionary]) {
            return .collections(try reader.refs(node), node)
        }
        switch column.type {
        case .link: return .links(try reader.integers(node), target: try target(column, node))
        case .string:
            var texts: DecodedTexts?
            if let ref = column.internedRef {
                texts = try reader.internedTexts(root: ref, nullable: true, isLegacy: false)
            }
            return .texts(try reader.textLeaf(node, nullable: true, isLegacy: false, interned: texts))
        case .data: return .binaries(try reader.binaryLeaf(node))
        case .mixed: return .mixed(try reader.mixedLeaf(node))
        case .typedLink: return .typedLinks(try reader.integers(node))
        default: return .values(try elements(column, node))
        }
    }

    /// Value `index` of a column.
    func value(_ values: inout ColumnValues, _ index: Int, _ column: FileColumn) throws(RealmFileError)
        -> RealmFileValue
    {
        switch values {
        case .values(let values): return values[index]
        case .texts(let leaf): return try reader.text(leaf, index)
        case .binaries(let leaf): return try reader.binary(leaf, index)
        case .links(let keys, let target):
            // 0 is null. A negative value is a link to an object that another device deleted.
            if keys[index] < 0 { reader.deletedLinks += 1 }
            return keys[index] > 0 ? .link(RealmFileLink(tableIndex: target, key: keys[index] - 1)) : .null
        case .typedLinks(let pairs): return typedLink(pairs, index)
        case .mixed(var leaf):
            let value = try reader.mixed(&leaf, index, tables, depth: 0)
            // Keeps the parts of the leaf that were read.
            values = .mixed(leaf)
            return value
        case .collections(let refs, let node):
            return try collection(column, reader.ref(refs[index], of: node))
        }
    }

    private func collection(_ column: FileColumn, _ root: Int?) throws(RealmFileError) -> RealmFileValue {
        if column.attributes.contains(.dictionary) {
            return .dictionary(
                try root.map { root throws(RealmFileError) in
                    try reader.dictionary(root, keyType: column.keyType, tables, depth: 0)
                } ?? [])
        }
        var values =
            try root.map { root throws(RealmFileError) in
                try reader.tree(root) { node throws(RealmFileError) in try elements(column, node) }
            } ?? []
        if column.type == .link {
            // The tree counts links to deleted objects, too.
            let count = values.count
            values.removeAll { $0 == .null }
            reader.deletedLinks += count - values.count
        }
        return column.attributes.contains(.set) ? .set(values) : .list(values)
    }

    /// The elements in a leaf of a list or set, or the values in a leaf of numbers.
    private func elements(_ column: FileColumn, _ node: Node) throws(RealmFileError) -> [RealmFileValue] {
        switch column.type {
        case .int: return try reader.integerValues(node, nullable: column.attributes.contains(.nullable))
        case .bool: return try reader.boolValues(node)
        case .float: return try reader.floatValues(node)
        case .double: return try reader.doubleValues(node)
        case .date: return try reader.dateValues(node)
        case .decimal: return try reader.decimalValues(node)
        case .objectId: return try reader.objectIdValues(node)
        case .uuid: return try reader.uuidValues(node)
        case .string: return try reader.textValues(reader.textLeaf(node, nullable: true, isLegacy: false))
        case .data: return try reader.binaryValues(reader.binaryLeaf(node))
        case .mixed: return try reader.mixedValues(node, tables, depth: 0)
        case .link:
            // An element is a key. A negative key is a link to an object that another device deleted; `collection`
            // removes it.
            let target = try target(column, node)
            return try reader.integers(node).map {
                $0 >= 0 ? .link(RealmFileLink(tableIndex: target, key: $0)) : .null
            }
        case .typedLink:
            let pairs = try reader.integers(node)
            return (0..<pairs.count / 2).map { typedLink(pairs, $0) }
        default: throw .damaged(node.ref, "a column has a type that its format does not have")
        }
    }

    private func typedLink(_ pairs: [Int64], _ index: Int) -> RealmFileValue {
        let (table, key) = (pairs[2 * index], pairs[2 * index + 1])
        guard table > 0, key != 0 else { return .null }
        return reader.typedLink(table: table - 1, key: key &- 1, tables)
    }

    private func target(_ column: FileColumn, _ node: Node) throws(RealmFileError) -> Int {
        guard let target = column.targetTable else { throw .damaged(node.ref, "a link leads to no table") }
        return target
    }
}

extension NodeReader {
    /// The entries of a dictionary: two trees, of keys and of values (from format 23 on), or a tree of clusters with a
    /// column for each (formats 21 and 22).
    func dictionary(
        _ ref: Int, keyType: FileType, _ tables: any TableKeys, depth: Int
    ) throws(RealmFileError) -> [RealmFileEntry] {
        let root = try node(ref)
        var keys: [RealmFileValue] = []
        var values: [RealmFileValue] = []
        if !root.isInner, root.count == 2 {
            let parts = try refs(root)
            guard let keyRoot = try self.ref(parts[0], of: root), let valueRoot = try self.ref(parts[1], of: root)
            else { return [] }
            keys = try tree(keyRoot) { node throws(RealmFileError) in try dictionaryKeys(node, keyType) }
            values = try tree(valueRoot) { node throws(RealmFileError) in try mixedValues(node, tables, depth: depth) }
        } else {
            var cursor = ClusterCursor(self, root: ref, shift: 8)
            while let cluster = try cursor.next() {
                if cluster.keys.isEmpty { continue }
                guard cluster.columns.count >= 2 else {
                    throw .damaged(cluster.node.ref, "a dictionary lacks keys or values")
                }
                keys += try dictionaryKeys(node(cluster.columns[0], of: cluster.node), keyType)
                values += try mixedValues(node(cluster.columns[1], of: cluster.node), tables, depth: depth)
            }
        }
        guard keys.count == values.count else {
            throw .damaged(ref, "a dictionary has \(keys.count) keys and \(values.count) values")
        }
        return zip(keys, values).map { RealmFileEntry(key: $0, value: $1) }
    }

    private func dictionaryKeys(_ node: Node, _ type: FileType) throws(RealmFileError) -> [RealmFileValue] {
        if type == .int { return try integers(node).map { .int($0) } }
        return try textValues(textLeaf(node, nullable: false, isLegacy: false))
    }
}
