// SPDX-License-Identifier: Apache-2.0
// The elements of a managed collection, whether a column holds it or a mixed value does. One in a mixed value is
// found by the way to it, and is changed by writing the whole value that it lies in anew.

internal import RegnumEngine

/// From a collection into one of its elements.
package enum NestedStep: Equatable {
    case index(Int)
    case key(String)

    /// Keys are told apart by their bytes, as the file does.
    package static func == (left: NestedStep, right: NestedStep) -> Bool {
        switch (left, right) {
        case (.index(let left), .index(let right)): left == right
        case (.key(let left), .key(let right)): left.utf8.elementsEqual(right.utf8)
        default: false
        }
    }
}

extension ManagedPlace {
    /// The place of an element.
    func nested(at step: NestedStep) -> ManagedPlace {
        var place = self
        place.path = (path ?? []) + [step]
        return place
    }

    /// False where the collection is one in a mixed value that holds something else by now.
    func isThere(_ words: CollectionWords) -> Bool {
        guard path != nil else { return true }
        switch nestedValue {
        case .list: return words.kind == CollectionWords.list.kind
        case .dictionary: return words.kind == CollectionWords.dictionary.kind
        default: return false
        }
    }

    /// True for a dictionary, whether a column holds it or a mixed value does.
    var isMap: Bool {
        path == nil ? binding.table.definition.columns[column].collection == .dictionary : isThere(.dictionary)
    }

    /// The value of a mixed property.
    var mixedProperty: AnyRealmValue { element(nestedValue, as: AnyRealmValue.self) }

    // MARK: The value that a path leads to

    /// The value of the column, or its element that the path begins with; and the rest of the path.
    private var root: (value: Value, rest: ArraySlice<NestedStep>)? {
        let path = path ?? []
        let table = binding.table
        return engine { () throws(EngineError) in
            switch (table.definition.columns[column].collection, path.first) {
            case (.none, _): return (try table.value(column, of: key), path[...])
            case (.list, .index(let index)?):
                guard index < (try table.listCount(column, of: key)) else { return nil }
                return (try table.listValue(column, of: key, at: index), path.dropFirst())
            case (.dictionary, .key(let name)?):
                guard let index = try table.dictionaryIndex(of: name, column, of: key) else { return nil }
                return (try table.dictionaryValue(column, of: key, at: index), path.dropFirst())
            default: return nil
            }
        }
    }

    /// Null where the path leads nowhere.
    private var nestedValue: Value {
        guard var (value, rest) = root else { return .null }
        while let step = rest.popFirst() {
            switch (value, step) {
            case (.list(let values), .index(let index)) where index < values.count: value = values[index]
            case (.dictionary(let entries), .key(let name)):
                guard let entry = entries.first(where: { $0.key.utf8.elementsEqual(name.utf8) }) else { return .null }
                value = entry.value
            default: return .null
            }
        }
        return value
    }

    private func store(nested new: Value) {
        guard let (value, rest) = root else { return }
        let whole = Self.replacing(value, rest, new)
        let table = binding.table
        engine { () throws(EngineError) in
            switch (table.definition.columns[column].collection, path?.first) {
            case (.none, _): try table.set(whole, column, of: key)
            case (.list, .index(let index)?): try table.listSet(whole, column, of: key, at: index)
            case (.dictionary, .key(let name)?): try table.dictionarySet(name, whole, column, of: key)
            default: break
            }
        }
    }

    private static func replacing(_ old: Value, _ path: ArraySlice<NestedStep>, _ new: Value) -> Value {
        guard let step = path.first else { return new }
        switch (old, step) {
        case (.list(var values), .index(let index)) where index < values.count:
            values[index] = replacing(values[index], path.dropFirst(), new)
            return .list(values)
        case (.dictionary(var entries), .key(let name)):
            guard let index = entries.firstIndex(where: { $0.key.utf8.elementsEqual(name.utf8) }) else { return old }
            entries[index].value = replacing(entries[index].value, path.dropFirst(), new)
            return .dictionary(entries)
        default: return old
        }
    }

    private var nestedList: [Value] { if case .list(let values) = nestedValue { values } else { [] } }
    private var nestedEntries: [DictionaryEntry] {
        if case .dictionary(let entries) = nestedValue { entries } else { [] }
    }

    /// The elements of a nested list, or the values of a nested dictionary.
    var nestedElements: [Value] {
        switch nestedValue {
        case .list(let values): values
        case .dictionary(let entries): entries.map(\.value)
        default: []
        }
    }

    private func changeList(_ body: (inout [Value]) -> Void) {
        var values = nestedList
        body(&values)
        store(nested: .list(values))
    }

    // MARK: Lists and sets

    func elementCount() -> Int {
        if path != nil { return nestedList.count }
        return engine { () throws(EngineError) in try binding.table.listCount(column, of: key) }
    }

    func elementValue(at index: Int) -> Value {
        if path != nil { return nestedList[index] }
        return engine { () throws(EngineError) in try binding.table.listValue(column, of: key, at: index) }
    }

    func values() -> [Value] {
        if path != nil { return nestedList }
        return engine { () throws(EngineError) in try binding.table.listValues(column, of: key) }
    }

    /// The objects that the elements, which are links, lead to. `location` is the owner's.
    func targetKeys(_ location: RowLocation) -> [ObjectKey] {
        if path == nil {
            let keys = engine { () throws(EngineError) in try binding.table.listKeys(column, at: location) }
            if let keys { return keys }
        }
        return values().compactMap { value in if case .link(let key) = value { key } else { nil } }
    }

    func insert(_ values: [Value], at index: Int) {
        if path != nil { return changeList { $0.insert(contentsOf: values, at: index) } }
        engine { () throws(EngineError) in try binding.table.listInsert(values, column, of: key, at: index) }
    }

    func set(_ value: Value, at index: Int) {
        if path != nil { return changeList { $0[index] = value } }
        engine { () throws(EngineError) in try binding.table.listSet(value, column, of: key, at: index) }
    }

    func remove(_ range: Range<Int>) {
        if path != nil { return changeList { $0.removeSubrange(range) } }
        engine { () throws(EngineError) in try binding.table.listRemove(range, column, of: key) }
    }

    func move(from: Int, to: Int) {
        if path != nil { return changeList { $0.insert($0.remove(at: from), at: to) } }
        engine { () throws(EngineError) in try binding.table.listMove(column, of: key, from: from, to: to) }
    }

    // MARK: Dictionaries

    func entryCount() -> Int {
        if path != nil { return nestedEntries.count }
        return engine { () throws(EngineError) in try binding.table.dictionaryCount(column, of: key) }
    }

    /// The entries, ascending by key.
    func entries() -> [DictionaryEntry] {
        if path != nil { return nestedEntries }
        return engine { () throws(EngineError) in try binding.table.dictionaryEntries(column, of: key) }
    }

    /// The value of a key; nil where there is no entry.
    func value(forKey name: String) -> Value? {
        if path != nil { return nestedEntries.first { $0.key.utf8.elementsEqual(name.utf8) }?.value }
        return engine { () throws(EngineError) in
            try binding.table.dictionaryValue(for: name, column, of: key, at: try binding.table.place(key))
        }
    }

    func setEntry(_ name: String, _ value: Value) {
        if path == nil {
            return engine { () throws(EngineError) in try binding.table.dictionarySet(name, value, column, of: key) }
        }
        var entries = nestedEntries
        entries.removeAll { $0.key.utf8.elementsEqual(name.utf8) }
        let place = entries.firstIndex { MixedOrder.compare($0.key, name) > 0 } ?? entries.count
        entries.insert(DictionaryEntry(key: name, value: value), at: place)
        store(nested: .dictionary(entries))
    }

    func removeEntry(_ name: String) {
        if path != nil {
            return store(nested: .dictionary(nestedEntries.filter { !$0.key.utf8.elementsEqual(name.utf8) }))
        }
        engine { () throws(EngineError) in _ = try binding.table.dictionaryRemove(name, column, of: key) }
    }

    func removeAllEntries() {
        if path != nil { return store(nested: .dictionary([])) }
        engine { () throws(EngineError) in try binding.table.dictionaryRemoveAll(column, of: key) }
    }
}
