// SPDX-License-Identifier: Apache-2.0
// Iterates over the objects of a file, and reads their values.

/// An object of a file. It is valid until its cursor moves on.
///
/// Thread: the same as for its file.
public struct RealmFileObject {
    let batch: ObjectBatch
    let row: Int
    fileprivate let generation: Int

    /// The class of the object.
    public var table: RealmFileTable { batch.table }

    /// The object's key, to which links refer. In formats up to 9 it is the row number.
    public var key: Int64 { batch.key(row) }

    /// The value of the property with that index in `table.properties`.
    ///
    /// - Throws: `RealmFileError` with code `.damaged`.
    /// - Complexity: O(size of the value); a collection is read as a whole.
    public func value(at index: Int) throws(RealmFileError) -> RealmFileValue {
        precondition(
            generation == batch.generation, "the cursor has moved on: an object is valid until its cursor's next call")
        do throws(RealmFileError) { return try batch.value(index, row) } catch { throw error.of(batch.path) }
    }

    /// The value of the property with that name.
    ///
    /// - Throws: `RealmFileError` with code `.unknownName` or `.damaged`.
    public func value(_ name: String) throws(RealmFileError) -> RealmFileValue {
        guard let index = table.index(of: name) else {
            throw RealmFileError(
                .unknownName,
                "class '\(table.name)' has no property '\(name)'; it has "
                    + table.properties.map { "'\($0.name)'" }.joined(separator: ", "))
        }
        return try value(at: index)
    }

    /// The values of all properties, in the order of `table.properties`.
    public func values() throws(RealmFileError) -> [RealmFileValue] {
        var values: [RealmFileValue] = []
        values.reserveCapacity(table.properties.count)
        for index in table.properties.indices { values.append(try value(at: index)) }
        return values
    }
}

/// Iterates over the objects of one class in the order of their keys.
///
/// Thread: the same as for its file.
public final class RealmFileCursor {
    private enum Source {
        case empty
        case notBegun
        case clusters(ClusterCursor)
        case rows(RowsBefore10)
    }

    private let batch: ObjectBatch
    private let clusterShift: Int
    private var source = Source.notBegun
    private var row = 0

    init(_ file: RealmFile, _ table: RealmFileTable, _ names: TableNames, clusterShift: Int) {
        batch = ObjectBatch(file.reader, table, names, file.path)
        self.clusterShift = clusterShift
    }

    init(_ reader: NodeReader, _ table: RealmFileTable, _ names: TableNames, clusterShift: Int) {
        batch = ObjectBatch(reader, table, names, "")
        self.clusterShift = clusterShift
    }

    /// The next object, or nil after the last one. Objects returned before are no longer valid.
    ///
    /// - Throws: `RealmFileError` with code `.damaged`. The cursor is then at its end.
    public func next() throws(RealmFileError) -> RealmFileObject? {
        do throws(RealmFileError) {
            return try advance()
        } catch {
            source = .empty
            throw error.of(batch.path)
        }
    }

    private func advance() throws(RealmFileError) -> RealmFileObject? {
        try begin()
        batch.reader.bytes.trim()
        while row >= batch.count {
            guard try nextBatch() else { return nil }
            row = 0
        }
        batch.generation += 1
        row += 1
        return RealmFileObject(batch: batch, row: row - 1, generation: batch.generation)
    }

    /// The object with that key, or nil. The cursor must be new.
    func seek(_ key: Int64) throws(RealmFileError) -> RealmFileObject? {
        do throws(RealmFileError) {
            try begin()
            if case .clusters(var cursor) = source {
                guard let cluster = try cursor.seek(key), let row = cluster.keys.firstIndex(of: key) else { return nil }
                source = .clusters(cursor)
                batch.show(cluster)
                self.row = row
            } else if case .rows(var rows) = source {
                guard key >= 0, key < batch.table.objectCount else { return nil }
                try rows.seek(Int(key))
                source = .rows(rows)
            } else {
                return nil
            }
            return try advance()
        } catch {
            throw error.of(batch.path)
        }
    }

    private func begin() throws(RealmFileError) {
        guard case .notBegun = source else { return }
        batch.reader.budget = batch.budget
        if let damage = batch.table.damage { throw damage }
        switch batch.table.layout {
        case .clusters(_, let root, _):
            source = root.map { .clusters(ClusterCursor(batch.reader, root: $0, shift: clusterShift)) } ?? .empty
        case .columns(let columns, let roots, let node):
            source = try .rows(RowsBefore10(batch.reader, columns, roots, batch.reader.node(node)))
        }
    }

    private func nextBatch() throws(RealmFileError) -> Bool {
        batch.reader.budget = batch.budget
        switch source {
        case .empty, .notBegun: return false
        case .clusters(var cursor):
            let cluster = try locating(batch.table.name) { () throws(RealmFileError) in try cursor.next() }
            guard let cluster else { return false }
            source = .clusters(cursor)
            batch.show(cluster)
        case .rows(var rows):
            let run = try locating(batch.table.name) { () throws(RealmFileError) in try rows.next() }
            guard let run else { return false }
            source = .rows(rows)
            batch.show(run)
        }
        return true
    }
}

/// The current objects of a cursor and their decoded columns.
final class ObjectBatch {
    private enum Contents {
        case none
        case cluster(Cluster)
        case rows(RowsBefore10.Run)
    }

    let reader: NodeReader
    let table: RealmFileTable
    /// The budget of the values of all objects, each read once.
    let budget: WorkBudget
    /// The path of the file, for errors.
    let path: String
    private(set) var count = 0
    private var contents = Contents.none
    private let columnReader: ColumnReader
    private let layout: [FileColumn]

    private struct Column {
        var values: ColumnValues?
        /// `generation` at the last read of a value. A value that a program reads again is charged to a budget of its
        /// own.
        var readGeneration = 0
    }
    // In memory of their own: they are accessed for each value, and Swift checks each access to a variable of a class.
    private let columns: UnsafeMutableBufferPointer<Column>
    private let current: UnsafeMutablePointer<Int>

    /// Incremented by each call of `next()`: objects of earlier calls are no longer valid.
    var generation: Int {
        get { current.pointee }
        set { current.pointee = newValue }
    }

    init(_ reader: NodeReader, _ table: RealmFileTable, _ names: TableNames, _ path: String) {
        self.reader = reader
        self.path = path
        self.table = table
        budget = WorkBudget(fileByteCount: reader.bytes.byteCount)
        columnReader = ColumnReader(reader, names)
        switch table.layout {
        case .clusters(_, _, let columns): layout = columns
        case .columns(let columns, _, _): layout = columns
        }
        columns = .allocate(capacity: layout.count)
        columns.initialize(repeating: Column())
        current = .allocate(capacity: 1)
        current.initialize(to: 0)
    }

    deinit {
        columns.deinitialize()
        columns.deallocate()
        current.deallocate()
    }

    func show(_ cluster: Cluster) {
        contents = .cluster(cluster)
        count = cluster.keys.count
        for index in columns.indices { columns[index].values = nil }
    }

    func show(_ run: RowsBefore10.Run) {
        contents = .rows(run)
        count = run.count
    }

    func key(_ row: Int) -> Int64 {
        switch contents {
        case .none: preconditionFailure("there is no object")
        case .cluster(let cluster): cluster.keys[row]
        case .rows(let run): Int64(run.start + row)
        }
    }

    func value(_ index: Int, _ row: Int) throws(RealmFileError) -> RealmFileValue {
        precondition(columns.indices.contains(index), "the class has no property with the index \(index)")
        // Decoded numbers cost no more work.
        if case .values(let values)? = columns[index].values { return values[row] }
        let isRepeated = columns[index].readGeneration == generation
        columns[index].readGeneration = generation
        reader.budget = isRepeated ? WorkBudget(fileByteCount: reader.bytes.byteCount) : budget
        return try locating("\(table.name).\(table.properties[index].name)") { () throws(RealmFileError) in
            switch contents {
            case .none: preconditionFailure("there is no object")
            case .rows(let run): return try run.value(reader, index, row)
            case .cluster(let cluster):
                if columns[index].values == nil { columns[index].values = try decode(index, cluster) }
                return try columnReader.value(&columns[index].values!, row, layout[index])
            }
        }
    }

    private func decode(_ index: Int, _ cluster: Cluster) throws(RealmFileError) -> ColumnValues {
        let column = layout[index]
        guard column.index < cluster.columns.count else {
            throw .damaged(cluster.node.ref, "a cluster of objects lacks a column")
        }
        let node = try reader.node(cluster.columns[column.index], of: cluster.node)
        // A leaf of numbers has an element for each object, or two for each typed link, and perhaps one that stands for
        // null. Any other number is found before the elements are decoded.
        let limit = column.type == .typedLink ? 2 * cluster.keys.count : cluster.keys.count + 1
        guard node.widthKind != .bits || node.hasRefs || node.count <= limit else {
            throw .damaged(node.ref, "a column has \(node.count) elements for \(cluster.keys.count) objects")
        }
        let values = try columnReader.values(column, node)
        guard values.count == cluster.keys.count else {
            throw .damaged(node.ref, "a column has \(values.count) values for \(cluster.keys.count) objects")
        }
        return values
    }
}
