// SPDX-License-Identifier: Apache-2.0
// A unique constraint: columns in which no two objects may hold the same values when a transaction ends.
//
// During a transaction two objects may have the same values, so that values can be swapped. An object that is stored
// while another one has the same values is recorded as a suspect; the commit checks the suspects again. No duplicate is
// missed: of two objects with the same values at the end, the one stored later found the other one there.

import RegnumSystem

final class UniqueTree {
    let definition: UniqueDefinition
    /// The numbers of its columns.
    let columns: [Int]
    /// Entries (values, object); nil if the index of its only column replaces it.
    @exclusivity(unchecked) private(set) var tree: IndexTree?
    /// Objects that were stored while another one had the same values.
    @exclusivity(unchecked) var suspects: [UInt64] = []
    private let names: [String]

    /// `places`: the numbers of the table's columns by their keys.
    init(
        _ unique: UniqueDefinition, _ table: TableDefinition, _ places: [ColumnKey: Int], _ record: TreeRecord?,
        _ session: Session
    ) {
        definition = unique
        let numbers = unique.columns.compactMap { places[$0] }
        columns = numbers
        precondition(columns.count == unique.columns.count, "a constraint on columns that do not exist")
        names = columns.map { table.columns[$0].name }
        let isIndexed = numbers.map { table.columns[$0].isIndexed || table.columns[$0].isPrimaryKey } == [true]
        tree =
            isIndexed
            ? nil
            : IndexTree(space: session.space, kind: .bytes, root: record?.root ?? .none, count: record?.count ?? 0)
    }

    /// The constraint's name in messages.
    var shown: String { "unique (\(names.joined(separator: ", ")))" }

    func hasTree(of column: Int) -> Bool { tree != nil && columns.contains(column) }

    func isSame(as other: UniqueTree) -> Bool {
        definition == other.definition && (tree == nil) == (other.tree == nil)
    }

    /// True if the table with that definition has the same constraint in the same form.
    func isKept(in other: TableDefinition) -> Bool {
        other.uniques.contains { $0 == definition } && other.isIndex(for: definition) == (tree == nil)
    }

    /// Takes over the tree and the suspects of the same constraint in an older definition.
    func takeOver(_ old: UniqueTree) {
        tree = old.tree
        suspects = old.suspects
    }

    /// Switches to another version; no object is a suspect after that.
    func show(_ found: TreeRecord?) {
        suspects.removeAll()
        tree?.rollback(root: found?.root ?? .none, count: found?.count ?? 0)
    }

    // MARK: Values

    /// Returns the concatenated bytes of the values; nil if one is null.
    static func bytes(_ values: [Value]) -> [UInt8]? {
        var out: [UInt8] = []
        for value in values {
            switch value {
            case .null: return nil
            case .bool(let bit): append(bit ? 1 : 0, to: &out)
            case .int(let integer): append(UInt64(bitPattern: integer), to: &out)
            case .link(let key): append(key.rawValue, to: &out)
            case .string(let text):
                withUnsafeBytes(of: UInt32(text.utf8.count).littleEndian) { out.append(contentsOf: $0) }
                out.append(contentsOf: text.utf8)
            default: out.append(contentsOf: ColumnIndex.bytes(value))
            }
        }
        return out
    }

    private static func append(_ word: UInt64, to out: inout [UInt8]) {
        withUnsafeBytes(of: word.bigEndian) { out.append(contentsOf: $0) }
    }
}

extension TableDefinition {
    /// True if the constraint names columns that can have a constraint, and its key is not in use.
    package func allows(_ unique: UniqueDefinition) -> Bool {
        let found = unique.columns.compactMap { key in columns.first { $0.key == key } }
        return !found.isEmpty && found.count == unique.columns.count && Set(unique.columns).count == found.count
            && found.allSatisfy(\.mayBeUnique)
            && !columns.contains { $0.key == unique.key } && !uniques.contains { $0.key == unique.key }
    }

    /// True if the constraint has a single column whose index enforces it.
    func isIndex(for unique: UniqueDefinition) -> Bool {
        guard unique.columns.count == 1 else { return false }
        return columns.contains { $0.key == unique.columns[0] && ($0.isIndexed || $0.isPrimaryKey) }
    }
}

extension Table {
    /// The trees that find objects by their values.
    var valueTrees: [IndexTree] {
        indexes.compactMap { $0?.tree } + contentIndexes.compactMap { $0?.tree } + uniques.compactMap(\.tree)
    }

    // MARK: Changing

    /// Adds an object to the index of a column.
    @inline(__always)
    func insert(_ location: RowLocation, _ column: Int, _ key: UInt64, into index: ColumnIndex) throws(EngineError) {
        if !uniques.isEmpty { try suspect(location, column, key, index) }
        try index.insert(location, column, key, self)
    }

    /// Records the object as a suspect if another one in the index has its value and a constraint of this column
    /// forbids that.
    private func suspect(
        _ location: RowLocation, _ column: Int, _ key: UInt64, _ index: ColumnIndex
    ) throws(EngineError) {
        for unique in uniques where unique.tree == nil && unique.columns[0] == column {
            if try index.mayHold(location, column, self) { unique.suspects.append(key) }
        }
    }

    func enter(_ location: RowLocation, _ key: UInt64, in unique: UniqueTree) throws(EngineError) {
        guard let tree = unique.tree, let bytes = try bytes(unique, location) else { return }
        if try !keys(tree, bytes, limit: 1).isEmpty { unique.suspects.append(key) }
        try withCopy(bytes) { bytes throws(EngineError) in try tree.insert(bytes: bytes, key: key) }
    }

    func leave(_ location: RowLocation, _ key: UInt64, from unique: UniqueTree) throws(EngineError) {
        guard let tree = unique.tree, let bytes = try bytes(unique, location) else { return }
        try withCopy(bytes) { bytes throws(EngineError) in _ = try tree.remove(bytes: bytes, key: key) }
    }

    /// Adds every object to the tree, or, if an index enforces the constraint, checks all objects. O(n log n).
    func fill(_ unique: UniqueTree) throws(EngineError) {
        try forEachGroupWatched { group throws(EngineError) in
            for row in 0..<group.pointee.count {
                let location = RowLocation(group: group, row: row)
                if unique.tree != nil {
                    try enter(location, location.key.rawValue, in: unique)
                } else if try holders(unique, location, limit: 2).count > 1 {
                    unique.suspects.append(location.key.rawValue)
                }
            }
            return true
        }
    }

    // MARK: Looking up

    private func bytes(_ unique: UniqueTree, _ location: RowLocation) throws(EngineError) -> [UInt8]? {
        var values: [Value] = []
        for column in unique.columns { values.append(try value(column, at: location)) }
        return UniqueTree.bytes(values)
    }

    private func keys(_ tree: IndexTree, _ bytes: [UInt8], limit: Int) throws(EngineError) -> [ObjectKey] {
        var keys: [ObjectKey] = []
        try withCopy(bytes) { bytes throws(EngineError) in
            try tree.forEachKey(bytes: bytes, limit: limit) { keys.append(ObjectKey($0)) }
        }
        return keys
    }

    /// Returns the objects that have the same values as the row; none if one of the values is null. With `limit`, at
    /// least that many if they exist, possibly more.
    private func holders(
        _ unique: UniqueTree, _ location: RowLocation, limit: Int = .max
    ) throws(EngineError) -> [ObjectKey] {
        var values: [Value] = []
        for column in unique.columns { values.append(try value(column, at: location)) }
        return try holders(unique, values, limit: limit)
    }

    private func holders(
        _ unique: UniqueTree, _ values: [Value], limit: Int = .max
    ) throws(EngineError) -> [ObjectKey] {
        guard let wanted = UniqueTree.bytes(values) else { return [] }
        guard let tree = unique.tree else {
            return try keys(inIndexOf: unique.columns[0], equalTo: values[0], limit: limit)
        }
        let found = try keys(tree, wanted, limit: limit)
        if IndexKey.isExact(byteCount: wanted.count) { return found }
        var kept: [ObjectKey] = []
        for key in found {
            guard let location = try locate(key) else { continue }
            if try bytes(unique, location) == wanted { kept.append(key) }
        }
        // Some entries only looked equal; later ones may be equal.
        if found.count == limit, kept.count < limit { return try holders(unique, values) }
        return kept
    }

    /// True if the tree has the entry of this object with these bytes of its values.
    private func isEntered(
        _ location: RowLocation, _ bytes: [UInt8], in unique: UniqueTree
    ) throws(EngineError) -> Bool {
        let key = location.key.rawValue
        guard let tree = unique.tree else {
            let column = unique.columns[0]
            return try indexes[column]?.contains(location, column, key, self) ?? false
        }
        var isThere = false
        try withCopy(bytes) { bytes throws(EngineError) in isThere = try tree.contains(bytes: bytes, key: key) }
        return isThere
    }

    /// Returns the object with those values in the columns of a constraint, in the order of its definition; nil if
    /// there is none, or if a value is null. During a transaction there may be several: returns the first. O(log n).
    package func key(inUnique number: Int, equalTo values: [Value]) throws(EngineError) -> ObjectKey? {
        try holders(uniques[number], values).first
    }

    /// Bytes that are equal for two lists of values if and only if they are equal for a constraint; nil if a value is
    /// null, as it is equal to none.
    package static func uniqueBytes(_ values: [Value]) -> [UInt8]? { UniqueTree.bytes(values) }

    // MARK: Proof

    /// Throws `.refused` if two objects violate a constraint. O(log n) for each suspect.
    func checkUniqueness() throws(EngineError) {
        for unique in uniques where !unique.suspects.isEmpty {
            for suspect in unique.suspects {
                guard let location = try locate(ObjectKey(suspect)) else { continue }
                let count = try holders(unique, location).count
                if count < 2 { continue }
                var values: [String] = []
                for column in unique.columns { values.append(try value(column, at: location).shown) }
                throw .refused(
                    .duplicate,
                    "\(count) objects of class '\(definition.name)' have the same values for the constraint "
                        + "\(unique.shown): \(values.joined(separator: ", ")).")
            }
            unique.suspects.removeAll()
        }
    }

    /// Returns the constraints for which a commit would throw `.refused`. In a write transaction.
    package func brokenConstraints() throws(EngineError) -> [UniqueDefinition] {
        var broken: [UniqueDefinition] = []
        for unique in uniques {
            for suspect in unique.suspects {
                guard let location = try locate(ObjectKey(suspect)), try holders(unique, location).count > 1
                else { continue }
                broken.append(unique.definition)
                break
            }
        }
        return broken
    }

    /// Returns the findings in a constraint and its tree.
    func findings(_ unique: UniqueTree) throws(EngineError) -> [String] {
        var entries = 0
        var (missing, doubled) = (RepeatedFindings(), RepeatedFindings())
        try forEachGroup { group throws(EngineError) in
            for row in 0..<group.pointee.count {
                let location = RowLocation(group: group, row: row)
                guard let bytes = try bytes(unique, location) else { continue }
                entries += 1
                if try !isEntered(location, bytes, in: unique) { missing.add(location) }
                if try holders(unique, location, limit: 2).count > 1 { doubled.add(location) }
            }
            return true
        }
        var found: [String] = []
        if let tree = unique.tree, Int(tree.count) != entries {
            found.append("\(tree.count) entries for \(entries) objects")
        }
        if let words = missing.words(self, ("is not in the tree", "are not in the tree")) { found.append(words) }
        if let words = doubled.words(self, ("shares its values", "share their values")) { found.append(words) }
        return found
    }

    /// Passes a copy of the bytes to `body`: typed throws do not pass through the closures of arrays.
    private func withCopy(
        _ bytes: [UInt8], _ body: (UnsafeRawBufferPointer) throws(EngineError) -> Void
    ) throws(EngineError) {
        let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: max(bytes.count, 1), alignment: 8)
        defer { copy.deallocate() }
        copy.copyBytes(from: bytes)
        try body(UnsafeRawBufferPointer(rebasing: copy[0..<bytes.count]))
    }
}

extension Value {
    /// The value's text in messages.
    fileprivate var shown: String {
        switch self {
        case .string(let text): "'\(text)'"
        case .int(let integer): "\(integer)"
        case .bool(let bit): "\(bit)"
        case .link(let key): "object \(key.rawValue)"
        case .date(let date): "\(date.seconds) s since 1970"
        default: "\(self)"
        }
    }
}
