// SPDX-License-Identifier: Apache-2.0
// Collections inside mixed values of an object: lookups and changes by path. A path begins at the value of a mixed
// column, or at an element of a collection of mixed values.

/// A value of a mixed column that the running transaction changes, unpacked. Its row still has the old bytes.
final class OpenMixedValue {
    let column: Int
    let key: ObjectKey
    /// The previously unpacked value; see `Table.openMixed`.
    let next: OpenMixedValue?
    @exclusivity(unchecked) var value: Value
    @exclusivity(unchecked) var isChanged = false
    /// The size of the packed value in bytes.
    @exclusivity(unchecked) var byteCount: Int

    init(_ column: Int, _ key: ObjectKey, _ value: Value, next: OpenMixedValue?) {
        (self.column, self.key, self.value, self.next) = (column, key, value, next)
        byteCount = MixedCodec.byteCount(value)
    }

    /// Finds this value or one that was unpacked before it. O(unpacked values).
    func find(where matches: (OpenMixedValue) -> Bool) -> OpenMixedValue? {
        var open: OpenMixedValue? = self
        while let one = open, !matches(one) { open = one.next }
        return open
    }

    func find(_ column: Int, _ key: ObjectKey) -> OpenMixedValue? { find { $0.key == key && $0.column == column } }

    var count: Int { 1 + (next?.count ?? 0) }
    var totalByteCount: Int { byteCount + (next?.totalByteCount ?? 0) }
}

/// The stored value that a path last led to, so that loops over one collection do not follow the path again.
struct LastNested {
    var column: Int
    var key: ObjectKey
    var changeCount: UInt64
    /// Retained, so that the address of its elements is not reused.
    var path: [NestedStep]
    var look: NestedValueView
}

extension Table {
    /// Returns the value at the end of the path; nil if there is none. O(depth), O(1) for the path of the last call.
    package func nested(
        _ column: Int, of key: ObjectKey, at location: RowLocation, _ path: [NestedStep]
    ) throws(EngineError) -> NestedValueView? {
        if let lastNested, let found = known(lastNested, column, key, path) { return found }
        guard var (look, rest) = try nestedRoot(column, key, location, path) else { return nil }
        while let step = rest.popFirst() {
            guard let next = try look.step(step) else { return nil }
            look = next
        }
        if !session.isFrozen, !path.isEmpty, case .stored = look {
            lastNested = LastNested(
                column: column, key: key, changeCount: session.changeCount, path: path, look: look)
        }
        return look
    }

    @inline(__always)
    private func known(_ last: LastNested, _ column: Int, _ key: ObjectKey, _ path: [NestedStep]) -> NestedValueView? {
        guard last.key == key, last.column == column, last.changeCount == session.changeCount, !path.isEmpty,
            path.withUnsafeBufferPointer({ path in
                last.path.withUnsafeBufferPointer { $0.baseAddress == path.baseAddress && $0.count == path.count }
            })
        else { return nil }
        return last.look
    }

    private func nestedRoot(
        _ column: Int, _ key: ObjectKey, _ location: RowLocation, _ path: [NestedStep]
    ) throws(EngineError) -> (look: NestedValueView, rest: ArraySlice<NestedStep>)? {
        let kind = definition.columns[column].collection
        if kind == .none {
            if let open = openMixed?.find(column, key) { return (.memory(open.value), path[...]) }
            let view = location.group.columns[column]
            if view.isNull(location.row) { return (.memory(.null), path[...]) }
            var bytes = view.bytes(location.row)
            if view.isBlob(location.row) { bytes = try blob(bytes) }
            return (.stored(try MixedCodec.Reader(bytes, isLook: true)), path[...])
        }
        guard let index = try nestedIndex(column, key, path.first), index < (try elementCount(column, location)) else {
            return nil
        }
        let (leaf, start) = try leaf(column, of: key, location, at: index)
        switch leaf {
        case .memory(let leaf): return (.memory(leaf.values[index - start]), path.dropFirst())
        case .stored(let leaf):
            if leaf.values.isNull(index - start) { return (.memory(.null), path.dropFirst()) }
            let bytes = leaf.values.bytes(index - start)
            return (.stored(try MixedCodec.Reader(bytes, isLook: true)), path.dropFirst())
        }
    }

    /// Returns the position of the element, in a collection column, at which the path begins.
    private func nestedIndex(
        _ column: Int, _ key: ObjectKey, _ step: NestedStep?
    ) throws(EngineError) -> Int? {
        switch (definition.columns[column].collection, step) {
        case (.list, .index(let index)?): return index >= 0 ? index : nil
        case (.dictionary, .key(let name)?): return try dictionaryIndex(of: name, column, of: key)
        default: return nil
        }
    }

    // MARK: Changing

    /// Changes the collection that the path leads to; does nothing if there is none. O(depth) plus the cost of the
    /// change in an array; O(size of the value) for indexed columns, and for the first change after the value's bytes
    /// were read.
    package func changeNested(
        _ change: NestedChange, _ column: Int, of key: ObjectKey, _ path: [NestedStep]
    ) throws(EngineError) {
        try session.relieveIfDue()
        if definition.columns[column].collection != .none { return try changeElement(change, column, of: key, path) }
        if indexes[column] != nil || uniques.contains(where: { $0.hasTree(of: column) }) {
            var value = try value(column, of: key)
            if change.apply(to: &value, at: path[...]) != nil { try set(value, column, of: key) }
            return
        }
        let open = try openMixedValue(column, key)
        try session.change { () throws(EngineError) in
            guard let effect = change.apply(to: &open.value, at: path[...]) else { return }
            open.isChanged = true
            open.byteCount += effect.growth
            try note(effect, column, key)
        }
    }

    private func changeElement(
        _ change: NestedChange, _ column: Int, of key: ObjectKey, _ path: [NestedStep]
    ) throws(EngineError) {
        guard let index = try nestedIndex(column, key, path.first), index < (try listCount(column, of: key)) else {
            return
        }
        let open = try open(column, key)
        try session.change { () throws(EngineError) in
            var effect: NestedEffect?
            try open.change(index) { value in
                effect = change.apply(to: &value, at: path.dropFirst())
                return effect?.growth ?? 0
            }
            if let effect { try note(effect, column, key) }
        }
    }

    private func note(_ effect: NestedEffect, _ column: Int, _ key: ObjectKey) throws(EngineError) {
        try unlink(column, key, effect.removed)
        try link(column, key, effect.added)
        session.changeCount &+= UInt64(max(effect.added.count + effect.removed.count, 1))
        noteIfLong(.mixed, effect.added)
    }

    private func openMixedValue(_ column: Int, _ key: ObjectKey) throws(EngineError) -> OpenMixedValue {
        if let open = openMixed?.find(column, key) { return open }
        if openMixed?.count == Self.openMixedLimit { try writeBackMixed() }
        let open = OpenMixedValue(column, key, try value(column, of: key), next: openMixed)
        openMixed = open
        return open
    }

    /// The maximum number of values that are unpacked at a time: programs alternate between a few.
    private static let openMixedLimit = 8

    /// Writes the unpacked values back into their rows.
    func writeBackMixed() throws(EngineError) {
        while let open = openMixed {
            openMixed = open.next
            try writeBack(open)
        }
    }

    private func writeBack(_ open: OpenMixedValue) throws(EngineError) {
        guard open.isChanged, let group = try groups.dirtyGroup(for: open.key.rawValue) else { return }
        let row = group.view.pointee.row(of: open.key.rawValue)
        try session.change { () throws(EngineError) in
            try freeBlob(open.column, RowLocation(group: group.view, row: row))
            group.makeWritable(open.column)
            store(open.value, open.column, group, row)
        }
        session.changeCount &+= 1
    }
}
