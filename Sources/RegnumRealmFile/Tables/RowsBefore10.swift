// SPDX-License-Identifier: Apache-2.0
// Rows of tables in formats 2 to 9, where each column is a separate tree and a row is identified by its number.
//
// Rows are returned in runs in which every column stays within one leaf, so that at most one leaf of each column is in
// memory.

/// Iterates over the rows of one table in order.
struct RowsBefore10 {
    /// Consecutive rows.
    struct Run {
        let start: Int
        let count: Int
        fileprivate var columns: [LegacyColumn]

        /// The value of a column in row `row` of the run.
        func value(_ reader: NodeReader, _ column: Int, _ row: Int) throws(RealmFileError) -> RealmFileValue {
            try columns[column].value(reader, row)
        }
    }

    private let reader: NodeReader
    private var columns: [LegacyColumn]
    private var nextRow = 0

    init(_ reader: NodeReader, _ columns: [FileColumn], _ roots: [Int64], _ node: Node) throws(RealmFileError) {
        self.reader = reader
        var cursors: [LegacyColumn] = []
        for column in columns {
            guard column.index < roots.count else { throw .damaged(node.ref, "a table lacks a column") }
            guard let root = try reader.ref(roots[column.index], of: node) else {
                throw .damaged(node.ref, "a column has no values")
            }
            cursors.append(try LegacyColumn(reader, column, root: root))
        }
        self.columns = cursors
    }

    /// Moves to row `row`: the next run begins with it. The table must have that row, and the iteration must not have
    /// begun.
    mutating func seek(_ row: Int) throws(RealmFileError) {
        for index in columns.indices { try columns[index].seek(reader, row) }
        nextRow = row
    }

    /// The next run, or nil after the last row.
    mutating func next() throws(RealmFileError) -> Run? {
        guard !columns.isEmpty else { return nil }
        var count = Int.max
        for index in columns.indices {
            try columns[index].fill(reader)
            count = min(count, columns[index].left)
        }
        guard count > 0 else {
            guard columns.allSatisfy({ $0.left == 0 }) else {
                throw RealmFileError(.damaged, "the columns of a table differ in length after \(nextRow) rows")
            }
            return nil
        }
        let run = Run(start: nextRow, count: count, columns: columns)
        for index in columns.indices { columns[index].skip(count) }
        nextRow += count
        return run
    }

    /// The number of rows: the length of the first column whose length can be read quickly.
    static func count(
        _ reader: NodeReader, _ columns: [FileColumn], _ roots: [Int64], _ node: Node
    ) throws(RealmFileError) -> Int {
        guard !columns.isEmpty else { return 0 }
        guard let column = columns.first(where: { $0.type != .mixed }) ?? columns.first, column.index < roots.count,
            let root = try reader.ref(roots[column.index], of: node)
        else { throw .damaged(node.ref, "a column has no values") }
        var cursor = try LegacyColumn(reader, column, root: root)
        if let count = cursor.declaredCount { return count }
        var count = 0
        while true {
            try cursor.fill(reader)
            guard cursor.left > 0 else { return count }
            count += cursor.left
            cursor.skip(cursor.left)
        }
    }
}

/// The values of one column, leaf by leaf.
struct LegacyColumn {
    private enum Leaf {
        case values([RealmFileValue])
        case decoded(DecodedTexts)
        case texts(ByteLeaf)
        case binaries(ByteLeaf)
        /// The roots of lists of links, or of tables within the table.
        case roots([Int64], Node)

        var count: Int {
            switch self {
            case .values(let values): values.count
            case .decoded(let texts): texts.values.count
            case .texts(let leaf), .binaries(let leaf): leaf.count
            case .roots(let refs, _): refs.count
            }
        }
    }

    private let column: FileColumn
    private var leaves: LeafCursor?
    /// The nanoseconds of dates, whose leaves need not end at the same elements as those of the seconds.
    private var nanoseconds: LeafCursor?
    private var pendingNanoseconds: [Int64] = []
    private let interned: DecodedTexts
    private var leaf = Leaf.values([])
    private var offset = 0
    /// The number of elements in the column according to its root, if it has one.
    private(set) var declaredCount: Int?
    /// The number of elements in the leaves that were read.
    private var readCount = 0
    private let root: Int

    /// The number of values of the leaf that were not skipped.
    var left: Int { leaf.count - offset }

    init(_ reader: NodeReader, _ column: FileColumn, root: Int) throws(RealmFileError) {
        self.column = column
        self.root = root
        var interned = DecodedTexts()
        if column.type == .internedString {
            guard let ref = column.internedRef else { throw .damaged(root, "a column of interned texts has no texts") }
            let nullable = column.attributes.contains(.nullable)
            interned = try reader.internedTexts(root: ref, nullable: nullable, isLegacy: true)
        }
        self.interned = interned
        switch column.type {
        case .date:
            let node = try reader.node(root)
            let parts = try reader.refs(node)
            guard parts.count >= 2, let seconds = try reader.ref(parts[0], of: node),
                let rest = try reader.ref(parts[1], of: node)
            else { throw .damaged(root, "a column of dates lacks a part") }
            leaves = try LeafCursor(reader, root: seconds)
            nanoseconds = try LeafCursor(reader, root: rest)
        case .mixed:
            leaf = .decoded(try reader.oldMixedValues(root))
        default:
            leaves = try LeafCursor(reader, root: root)
        }
        declaredCount = leaves?.declaredCount
    }

    /// Reads the next leaf if all values of the current one were skipped. `left` stays 0 at the end of the column.
    /// Throws if the number of elements in the column then differs from the number in its root.
    mutating func fill(_ reader: NodeReader) throws(RealmFileError) {
        while left == 0, let node = try leaves?.next() {
            leaf = try decode(reader, node)
            offset = 0
            readCount += leaf.count
        }
        if left == 0, let declaredCount, declaredCount != readCount {
            throw .damaged(root, "a column has \(readCount) elements, but its root names \(declaredCount)")
        }
    }

    mutating func skip(_ count: Int) { offset += count }

    /// Skips the elements before `row`, without reading their leaves. The column must be new.
    mutating func seek(_ reader: NodeReader, _ row: Int) throws(RealmFileError) {
        if let before = try leaves?.seek(row) {
            readCount = before
            if let count = try nanoseconds?.seek(before) {
                try fillNanoseconds(reader, before - count)
                guard pendingNanoseconds.count >= before - count else {
                    throw .damaged(root, "a column of dates lacks nanoseconds")
                }
                pendingNanoseconds.removeFirst(before - count)
            }
            try fill(reader)
            offset = row - before
        } else {
            offset = row
        }
        guard left > 0 else { throw .damaged(root, "a column lacks row \(row)") }
    }

    func value(_ reader: NodeReader, _ row: Int) throws(RealmFileError) -> RealmFileValue {
        switch leaf {
        case .values(let values): return values[offset + row]
        case .decoded(let texts):
            if texts.replaced.contains(offset + row) { reader.replacedTexts += 1 }
            return texts.values[offset + row]
        case .texts(let leaf): return try reader.text(leaf, offset + row)
        case .binaries(let leaf): return try reader.binary(leaf, offset + row)
        case .roots(let refs, let node):
            let root = try reader.ref(refs[offset + row], of: node)
            if column.type == .linkList {
                let target = column.targetTable ?? 0
                return .list(
                    try root.map { root throws(RealmFileError) in
                        try reader.tree(root) { node throws(RealmFileError) in
                            try reader.integers(node).map { .link(RealmFileLink(tableIndex: target, key: $0)) }
                        }
                    } ?? [])
            }
            return try root.map { root throws(RealmFileError) in try rows(reader, root) }
                ?? (column.rowColumns.count == 1 ? .list([]) : .rows([]))
        }
    }

    private mutating func decode(_ reader: NodeReader, _ node: Node) throws(RealmFileError) -> Leaf {
        let nullable = column.attributes.contains(.nullable)
        switch column.type {
        case .int: return .values(try reader.integerValues(node, nullable: nullable))
        case .bool:
            guard nullable else { return .values(try reader.integers(node).map { .bool($0 != 0) }) }
            return .values(try reader.integersOrNull(node).map { $0.map { .bool($0 != 0) } ?? .null })
        case .oldDate:
            let seconds = try nullable ? reader.integersOrNull(node) : reader.integers(node).map { $0 }
            return .values(seconds.map { $0.map { .date(RealmFileDate(seconds: $0, nanoseconds: 0)) } ?? .null })
        case .float: return .values(try reader.floatValues(node))
        case .double: return .values(try reader.doubleValues(node))
        case .string: return .texts(try reader.textLeaf(node, nullable: nullable, isLegacy: true))
        case .data: return .binaries(try reader.binaryLeaf(node))
        case .date: return try dates(reader, node)
        case .internedString:
            return .texts(.interned(try reader.integers(node), texts: interned))
        case .link:
            let target = column.targetTable ?? 0
            return .values(
                try reader.integers(node).map { $0 > 0 ? .link(RealmFileLink(tableIndex: target, key: $0 - 1)) : .null }
            )
        case .linkList, .subtable: return .roots(try reader.refs(node), node)
        default: throw .damaged(node.ref, "a column has a type that its format does not have")
        }
    }

    private mutating func dates(_ reader: NodeReader, _ node: Node) throws(RealmFileError) -> Leaf {
        let seconds = try reader.integersOrNull(node)
        try fillNanoseconds(reader, seconds.count)
        let taken = Array(pendingNanoseconds.prefix(seconds.count))
        pendingNanoseconds.removeFirst(taken.count)
        return .values(try reader.dates(seconds, taken, node))
    }

    /// Reads leaves until at least `count` nanoseconds are pending, or all are read.
    private mutating func fillNanoseconds(_ reader: NodeReader, _ count: Int) throws(RealmFileError) {
        while pendingNanoseconds.count < count, let next = try nanoseconds?.next() {
            pendingNanoseconds += try reader.integers(next)
        }
    }

    /// The value of a table within a table: a list if it has one column.
    private func rows(_ reader: NodeReader, _ root: Int) throws(RealmFileError) -> RealmFileValue {
        let node = try reader.node(root)
        var cursor = try RowsBefore10(reader, column.rowColumns, reader.refs(node), node)
        var rows: [[RealmFileValue]] = []
        while let run = try cursor.next() {
            for row in 0..<run.count {
                var values: [RealmFileValue] = []
                for index in column.rowColumns.indices { values.append(try run.value(reader, index, row)) }
                rows.append(values)
            }
        }
        return column.rowColumns.count == 1 ? .list(rows.map { $0[0] }) : .rows(rows)
    }
}
