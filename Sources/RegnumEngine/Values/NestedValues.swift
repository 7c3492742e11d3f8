// SPDX-License-Identifier: Apache-2.0
// Lists and dictionaries nested in mixed values. They are read in place: finding one costs its depth, and reading one
// of its elements no more. In a write, a changed value is kept unpacked until its bytes are needed, so that a loop of
// changes costs what it would in an array.

/// A step from a collection to one of its elements.
package enum NestedStep: Equatable, Sendable {
    case index(Int)
    case key(String)

    /// Compares keys by their bytes, as the file does.
    package static func == (left: NestedStep, right: NestedStep) -> Bool {
        switch (left, right) {
        case (.index(let left), .index(let right)): left == right
        case (.key(let left), .key(let right)): left.utf8.elementsEqual(right.utf8)
        default: false
        }
    }
}

/// A mixed value in place. Valid until something is changed.
package enum NestedValueView {
    case memory(Value)
    case stored(MixedCodec.Reader)

    package var isList: Bool {
        switch self {
        case .memory(.list): true
        case .memory: false
        case .stored(let reader): reader.tag == .list
        }
    }

    package var isDictionary: Bool {
        switch self {
        case .memory(.dictionary): true
        case .memory: false
        case .stored(let reader): reader.tag == .dictionary
        }
    }

    /// The number of elements or entries; 0 if it is not a collection.
    package var count: Int {
        switch self {
        case .memory(.list(let values)): values.count
        case .memory(.dictionary(let entries)): entries.count
        case .memory: 0
        case .stored(let reader): reader.count
        }
    }

    /// The value; for a list or dictionary an empty one, which conveys only its kind. O(1).
    package var shallow: Value {
        switch self {
        case .memory(.list): return .list([])
        case .memory(.dictionary): return .dictionary([])
        case .memory(let value): return value
        case .stored(let reader):
            switch reader.tag {
            case .list: return .list([])
            case .dictionary: return .dictionary([])
            default: return reader.scalar
            }
        }
    }

    /// Returns the value with everything nested in it. O(its size).
    package func value() throws(EngineError) -> Value {
        switch self {
        case .memory(let value): return value
        case .stored(let reader):
            switch reader.tag {
            case .list, .dictionary: return try MixedCodec.decode(reader.whole)
            default: return reader.scalar
            }
        }
    }

    /// Returns element `index` of a list, or the value of entry `index`; nil if there is none. O(1).
    package func element(_ index: Int) throws(EngineError) -> NestedValueView? {
        guard index >= 0, index < count else { return nil }
        switch self {
        case .memory(.list(let values)): return .memory(values[index])
        case .memory(.dictionary(let entries)): return .memory(entries[index].value)
        case .memory: return nil
        case .stored(let reader):
            let part = try reader.checkedPart(reader.tag == .list ? index : 2 * index + 1)
            return .stored(try MixedCodec.Reader(part, isLook: true))
        }
    }

    /// Returns the key of entry `index` of a dictionary. O(1).
    package func key(_ index: Int) throws(EngineError) -> String {
        switch self {
        case .memory(.dictionary(let entries)): return entries[index].key
        case .memory: preconditionFailure("a key of a value that is not a dictionary")
        case .stored(let reader): return StoredText.string(try reader.checkedPart(2 * index))
        }
    }

    /// Returns the position of a dictionary's key, or nil. O(log n).
    package func index(of name: String) throws(EngineError) -> Int? {
        guard isDictionary else { return nil }
        if case .memory(.dictionary(let entries)) = self {
            let (index, isFound) = entries.place(of: name)
            return isFound ? index : nil
        }
        guard case .stored(let reader) = self else { return nil }
        var name = name
        var (low, high) = (0, reader.count)
        while low < high {
            let middle = (low + high) / 2
            let key = try reader.checkedPart(2 * middle)
            let order = name.withUTF8 { MixedOrder.compare(key, UnsafeRawBufferPointer($0)) }
            if order == 0 { return middle }
            if order < 0 { low = middle + 1 } else { high = middle }
        }
        return nil
    }

    /// Returns the value that a step leads to; nil if there is none.
    package func step(_ step: NestedStep) throws(EngineError) -> NestedValueView? {
        switch step {
        case .index(let index): return isList ? try element(index) : nil
        case .key(let name): return try index(of: name).flatMap { index throws(EngineError) in try element(index) }
        }
    }
}

extension [DictionaryEntry] {
    /// Returns the position of the key, or the position at which it would be inserted. O(log n).
    fileprivate func place(of name: String) -> (index: Int, isFound: Bool) {
        var (low, high) = (0, count)
        // Keys added in ascending order go to the end.
        if let last, MixedOrder.compare(last.key, name) < 0 { return (count, false) }
        while low < high {
            let middle = (low + high) / 2
            let order = MixedOrder.compare(self[middle].key, name)
            if order == 0 { return (middle, true) }
            if order < 0 { low = middle + 1 } else { high = middle }
        }
        return (low, false)
    }
}

// MARK: Changing

/// A change to a list or dictionary in a mixed value.
package enum NestedChange {
    case insert([Value], at: Int)
    case set(Value, at: Int)
    case remove(Range<Int>)
    case move(from: Int, to: Int)
    case setEntry(String, Value)
    case removeEntry(String)
    case removeAllEntries
}

/// The effect of a change: the values added and removed, and the growth of the encoded value in bytes.
struct NestedEffect {
    var added: [Value] = []
    var removed: [Value] = []
    var growth = 0
}

extension NestedChange {
    /// Changes, in place, the collection that the path leads to; returns nil if there is none of that kind. O(depth)
    /// plus the cost of the change in an array.
    func apply(to value: inout Value, at path: ArraySlice<NestedStep>) -> NestedEffect? {
        // Take the payload out, so that it is uniquely referenced and not copied.
        if var values = value.takeList() {
            defer { value = .list(values) }
            guard let step = path.first else { return apply(to: &values) }
            guard case .index(let index) = step, index < values.count else { return nil }
            return apply(to: &values[index], at: path.dropFirst())
        }
        if var entries = value.takeDictionary() {
            defer { value = .dictionary(entries) }
            guard let step = path.first else { return apply(to: &entries) }
            guard case .key(let name) = step else { return nil }
            let (index, isFound) = entries.place(of: name)
            return isFound ? apply(to: &entries[index].value, at: path.dropFirst()) : nil
        }
        return nil
    }

    private func apply(to values: inout [Value]) -> NestedEffect? {
        var effect = NestedEffect()
        switch self {
        case .insert(let new, let index):
            if index == values.count {
                values.append(contentsOf: new)
            } else {
                values.insert(contentsOf: new, at: index)
            }
            effect.added = new
            effect.growth = new.reduce(0) { $0 + 4 + MixedCodec.byteCount($1) }
        case .set(let new, let index):
            effect.removed = [values[index]]
            effect.added = [new]
            effect.growth = MixedCodec.byteCount(new) - MixedCodec.byteCount(values[index])
            values[index] = new
        case .remove(let range):
            effect.removed = Array(values[range])
            effect.growth = effect.removed.reduce(0) { $0 - 4 - MixedCodec.byteCount($1) }
            values.removeSubrange(range)
        case .move(let from, let to): values.insert(values.remove(at: from), at: to)
        case .setEntry, .removeEntry, .removeAllEntries: return nil
        }
        return effect
    }

    private func apply(to entries: inout [DictionaryEntry]) -> NestedEffect? {
        var effect = NestedEffect()
        switch self {
        case .setEntry(let name, let new):
            let (index, isFound) = entries.place(of: name)
            effect.added = [new]
            effect.growth = MixedCodec.byteCount(new)
            if isFound {
                effect.removed = [entries[index].value]
                effect.growth -= MixedCodec.byteCount(entries[index].value)
                entries[index].value = new
            } else {
                effect.growth += 8 + name.utf8.count
                entries.insert(DictionaryEntry(key: name, value: new), at: index)
            }
        case .removeEntry(let name):
            let (index, isFound) = entries.place(of: name)
            if isFound { effect.remove(entries.remove(at: index)) }
        case .removeAllEntries:
            for entry in entries { effect.remove(entry) }
            entries = []
        case .insert, .set, .remove, .move: return nil
        }
        return effect
    }
}

extension Value {
    /// Replaces a list by null, so that the caller holds the only reference to it. A separate function, because in
    /// debug builds a `switch` retains its subject to its end.
    fileprivate mutating func takeList() -> [Value]? {
        guard case .list(let values) = self else { return nil }
        self = .null
        return values
    }

    /// Like `takeList`.
    fileprivate mutating func takeDictionary() -> [DictionaryEntry]? {
        guard case .dictionary(let entries) = self else { return nil }
        self = .null
        return entries
    }
}

extension NestedEffect {
    fileprivate mutating func remove(_ entry: DictionaryEntry) {
        removed.append(entry.value)
        growth -= 8 + entry.key.utf8.count + MixedCodec.byteCount(entry.value)
    }
}
