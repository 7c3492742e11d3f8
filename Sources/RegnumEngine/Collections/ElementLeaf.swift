// SPDX-License-Identifier: Apache-2.0
// A decoded leaf of a collection that is being changed, and an upper bound of its encoded byte count.

import RegnumSystem

final class ElementLeaf {
    let type: ColumnType
    let isDictionary: Bool
    /// The keys of a dictionary, one per value; empty for other collections.
    @exclusivity(unchecked) private(set) var keys: [String] = []
    @exclusivity(unchecked) private(set) var values: [Value] = []
    // The inputs of `byteCount`. Removing elements leaves `highest` and `hasNulls` unchanged.
    @exclusivity(unchecked) private var heap = 0
    @exclusivity(unchecked) private var keyHeap = 0
    @exclusivity(unchecked) private var highest: UInt64 = 0
    @exclusivity(unchecked) private var hasNulls = false

    init(_ type: ColumnType, isDictionary: Bool) {
        self.type = type
        self.isDictionary = isDictionary
    }

    /// Decodes a stored leaf.
    convenience init(_ stored: StoredLeaf, _ type: ColumnType) {
        self.init(type, isDictionary: stored.keys != nil)
        if let names = stored.keys {
            keys = (0..<names.count).map { StoredText.string(names.bytes($0)) }
        }
        values = stored.values.all
        measure()
    }

    var count: Int { values.count }

    /// An upper bound of the byte count of `encoded`.
    var byteCount: Int {
        let bytes = ListCodec.byteCount(count, type, hasNulls: hasNulls, highest: highest, heap: heap)
        if !isDictionary || count == 0 { return bytes }
        return DictionaryCodec.headByteCount + bytes
            + ListCodec.byteCount(count, .string, hasNulls: false, highest: 0, heap: keyHeap)
    }

    /// An upper bound of the byte count of the block that it is sealed into.
    var sealedByteCount: Int {
        let page = FormatLimits.pageByteCount
        return (BlobRecord.valueOffset + byteCount + page - 1) / page * page
    }

    /// The approximate bytes of memory that it uses.
    var changedByteCount: Int {
        let elements = values.capacity * MemoryLayout<Value>.stride + keys.capacity * MemoryLayout<String>.stride
        return 128 + elements + heap + keyHeap
    }

    func encoded() -> [UInt8] {
        isDictionary ? DictionaryCodec.encode(keys, values, type) : ListCodec.encode(values, type)
    }

    // MARK: Searching

    /// Compares element `i` with the probe: negative if it comes before, 0 if equal, positive if it comes after.
    func order(_ i: Int, _ probe: ElementProbe) -> Int {
        switch probe {
        case .value(let value): MixedOrder.compare(values[i], value)
        case .key(let key): MixedOrder.compare(keys[i], key)
        }
    }

    /// Returns the index of the element, or the index at which it belongs. O(log n).
    func search(_ probe: ElementProbe) -> (index: Int, isFound: Bool) {
        switch probe {
        case .value(let value): searched(count) { MixedOrder.compare(values[$0], value) }
        case .key(let key): searched(count) { MixedOrder.compare(keys[$0], key) }
        }
    }

    // MARK: Changing

    func insert(_ value: Value, key: String?, at index: Int) {
        add(value)
        if index == values.count { values.append(value) } else { values.insert(value, at: index) }
        guard let key else { return }
        keyHeap &+= key.utf8.count
        keys.insert(key, at: index)
    }

    func insert(_ new: ArraySlice<Value>, at index: Int) {
        for value in new { add(value) }
        values.insert(contentsOf: new, at: index)
    }

    func replace(_ index: Int, _ value: Value) {
        heap &-= heapByteCount(values[index])
        add(value)
        values[index] = value
    }

    /// Changes a mixed value in place. `body` returns by how many bytes the element has grown.
    func change(_ index: Int, _ body: (inout Value) -> Int) { heap &+= body(&values[index]) }

    func remove(_ range: Range<Int>) {
        for i in range {
            heap &-= heapByteCount(values[i])
            if isDictionary { keyHeap &-= keys[i].utf8.count }
        }
        values.removeSubrange(range)
        if isDictionary { keys.removeSubrange(range) }
    }

    /// Moves element `i`, or a value that replaces it, to `target`, whose element is no longer needed.
    func take(_ i: Int, as value: Value?, to target: Int) {
        if let value { values[target] = value } else if target != i { values[target] = values[i] }
        if isDictionary, target != i { keys[target] = keys[i] }
    }

    /// Drops all elements from `count` on. Call after `take`.
    func truncate(_ count: Int) {
        values.removeSubrange(count...)
        if isDictionary { keys.removeSubrange(count...) }
        measure()
    }

    func append(_ other: ElementLeaf) { append(other, 0..<other.count) }

    private func append(_ other: ElementLeaf, _ range: Range<Int>) {
        for i in range { insert(other.values[i], key: isDictionary ? other.keys[i] : nil, at: count) }
    }

    @inline(__always)
    private func add(_ value: Value) {
        switch value {
        case .null: hasNulls = true
        case .int(let value): highest |= UInt64(bitPattern: value)
        case .link(let key): highest |= key.rawValue
        default: break
        }
        heap &+= heapByteCount(value)
    }

    private func heapByteCount(_ value: Value) -> Int {
        switch type {
        case .mixed: MixedCodec.byteCount(value)
        case .string, .data:
            switch value {
            case .string(let text): text.utf8.count
            case .data(let bytes): bytes.count
            default: 0
            }
        default: 0
        }
    }

    private func measure() {
        (heap, highest, hasNulls) = (0, 0, false)
        for value in values { add(value) }
        keyHeap = keys.reduce(0) { $0 + $1.utf8.count }
    }

    // MARK: Cutting

    /// Splits the leaf into leaves of at most `limit` bytes each, except for a single element that is longer: full
    /// leaves and a rest if the collection grows at its end, otherwise halves.
    func cut(to limit: Int, isGrowing: Bool) -> [ElementLeaf] {
        if count < 2 { return [self] }
        if isGrowing || byteCount > 2 * limit { return cutFull(limit) }
        measure()
        if byteCount <= limit { return [self] }
        let middle = count / 2
        return [piece(0..<middle), piece(middle..<count)].flatMap { leaf in
            leaf.byteCount > limit ? leaf.cut(to: limit, isGrowing: false) : [leaf]
        }
    }

    private func piece(_ range: Range<Int>) -> ElementLeaf {
        let leaf = ElementLeaf(type, isDictionary: isDictionary)
        leaf.values = Array(values[range])
        if isDictionary { leaf.keys = Array(keys[range]) }
        leaf.measure()
        return leaf
    }

    private func cutFull(_ limit: Int) -> [ElementLeaf] {
        var leaves: [ElementLeaf] = []
        var start = 0
        while start < count {
            let probe = ElementLeaf(type, isDictionary: isDictionary)
            var end = start
            while end < count {
                probe.add(values[end])
                if isDictionary { probe.keyHeap += keys[end].utf8.count }
                if end > start, probe.byteCount(of: end + 1 - start) > limit { break }
                end += 1
            }
            leaves.append(piece(start..<end))
            start = end
        }
        return leaves
    }

    /// Returns `byteCount` as if there were `count` elements.
    private func byteCount(of count: Int) -> Int {
        let bytes = ListCodec.byteCount(count, type, hasNulls: hasNulls, highest: highest, heap: heap)
        if !isDictionary { return bytes }
        return DictionaryCodec.headByteCount + bytes
            + ListCodec.byteCount(count, .string, hasNulls: false, highest: 0, heap: keyHeap)
    }
}

/// The elements of a leaf in their stored bytes.
struct StoredLeaf {
    /// Nil if the collection is not a dictionary.
    var keys: ListCodec.Reader?
    var values: ListCodec.Reader

    init(keys: ListCodec.Reader?, values: ListCodec.Reader) {
        self.keys = keys
        self.values = values
    }

    init(_ bytes: UnsafeRawBufferPointer, _ type: ColumnType, isDictionary: Bool) throws(EngineError) {
        if isDictionary {
            let reader = try DictionaryCodec.Reader(bytes, type)
            (keys, values) = (reader.keys, reader.values)
        } else {
            values = try ListCodec.Reader(bytes, type)
        }
    }
}

/// The element to search for in a set or a dictionary.
enum ElementProbe {
    case value(Value)
    case key(String)
}

/// A leaf to read, in memory or in its stored bytes.
enum LeafAccess {
    case memory(ElementLeaf)
    case stored(StoredLeaf)

    var count: Int {
        switch self {
        case .memory(let leaf): leaf.count
        case .stored(let leaf): leaf.values.count
        }
    }

    func value(_ i: Int) -> Value {
        switch self {
        case .memory(let leaf): leaf.values[i]
        case .stored(let leaf): leaf.values.value(i)
        }
    }

    /// Returns the key of a dictionary entry.
    func key(_ i: Int) -> String {
        switch self {
        case .memory(let leaf): leaf.keys[i]
        case .stored(let leaf): leaf.keys.map { StoredText.string($0.bytes(i)) } ?? ""
        }
    }

    /// Compares element `i` with the probe: negative if it comes before, 0 if equal, positive if it comes after.
    func order(_ i: Int, _ probe: ElementProbe) -> Int {
        switch (probe, self) {
        case (_, .memory(let leaf)): return leaf.order(i, probe)
        case (.value(let value), .stored(let leaf)): return MixedOrder.compare(leaf.values.value(i), value)
        case (.key(var key), .stored(let leaf)):
            guard let names = leaf.keys else { return 0 }
            return key.withUTF8 { MixedOrder.compare(names.bytes(i), UnsafeRawBufferPointer($0)) }
        }
    }

    /// Returns the index of the element, or the index at which it belongs.
    func search(_ probe: ElementProbe) -> (index: Int, isFound: Bool) {
        if case .memory(let leaf) = self { return leaf.search(probe) }
        return searched(count) { order($0, probe) }
    }
}

/// Returns the index for which `order` returns 0, or the index at which it belongs, among `count` ascending elements.
@inline(__always)
private func searched(_ count: Int, _ order: (Int) -> Int) -> (index: Int, isFound: Bool) {
    var (low, high) = (0, count)
    while low < high {
        let middle = (low + high) / 2
        let found = order(middle)
        if found == 0 { return (middle, true) }
        if found < 0 { low = middle + 1 } else { high = middle }
    }
    return (low, false)
}
