// SPDX-License-Identifier: Apache-2.0
// Access to the elements of a managed collection, stored in a column or nested in a mixed value. A nested collection is
// found by its path.

package import RegnumEngine

/// A step from a collection into one of its elements: the engine's type, not the one of queries.
package typealias NestedStep = RegnumEngine.NestedStep

extension PropertyLocation {
    /// Returns the location of the collection at `step`.
    func nested(at step: NestedStep) -> PropertyLocation {
        var place = self
        place.path = (path ?? []) + [step]
        return place
    }

    /// Returns false if the collection was nested in a mixed value that now holds something else.
    func isThere(_ words: CollectionNames) -> Bool {
        guard path != nil else { return true }
        guard let look = nested else { return false }
        if look.isList { return words.kind == CollectionNames.list.kind }
        return look.isDictionary && words.kind == CollectionNames.dictionary.kind
    }

    /// True for a dictionary, stored in a column or nested in a mixed value.
    var isMap: Bool {
        path == nil ? binding.table.definition.columns[column].collection == .dictionary : isThere(.dictionary)
    }

    /// The value of a mixed property.
    var mixedProperty: AnyRealmValue { element(nested?.shallow ?? .null, as: AnyRealmValue.self) }

    // MARK: The value that a path leads to

    /// The value at the path; nil if the path leads nowhere or the owner was deleted. The caller has checked the
    /// thread.
    private var nested: NestedValueView? {
        guard let path, let location = locate() else { return nil }
        return engine { () throws(EngineError) in try binding.table.nested(column, of: key, at: location, path) }
    }

    /// The list at the path; nil if there is no list.
    private var nestedList: NestedValueView? { nested.flatMap { $0.isList ? $0 : nil } }
    private var nestedMap: NestedValueView? { nested.flatMap { $0.isDictionary ? $0 : nil } }

    /// Returns an element of a nested list, without the elements of its own collections; nil if `index` is out of
    /// bounds.
    func nestedElement(at index: Int, _ words: CollectionNames) -> Value? {
        core.check()
        guard let look = nestedList else {
            check(words)
            return nil
        }
        return engine { () throws(EngineError) in try look.element(index)?.shallow }
    }

    private func change(_ change: NestedChange) {
        guard let path else { return }
        engine { () throws(EngineError) in try binding.table.changeNested(change, column, of: key, path) }
    }

    /// The elements of a nested list, or the values of a nested dictionary.
    var nestedElements: [Value] { elements(isDeep: true) }

    /// Returns the elements. If `isDeep` is true, collections among them include their elements, otherwise they are
    /// empty.
    private func elements(isDeep: Bool) -> [Value] {
        guard let look = nested else { return [] }
        return engine { () throws(EngineError) in
            var values: [Value] = []
            values.reserveCapacity(look.count)
            for index in 0..<look.count {
                guard let element = try look.element(index) else { break }
                values.append(isDeep ? try element.value() : element.shallow)
            }
            return values
        }
    }

    // MARK: Lists and sets

    func elementCount() -> Int {
        if path != nil { return nestedList?.count ?? 0 }
        return engine { () throws(EngineError) in try binding.table.listCount(column, of: key) }
    }

    func elementValue(at index: Int) -> Value {
        if path != nil { return engine { () throws(EngineError) in try nestedList?.element(index)?.shallow ?? .null } }
        return engine { () throws(EngineError) in try binding.table.listValue(column, of: key, at: index) }
    }

    /// Returns the elements for accessors, without the elements of their own collections.
    func shallowValues() -> [Value] {
        if path != nil { return nestedList == nil ? [] : elements(isDeep: false) }
        return values()
    }

    func values() -> [Value] {
        if path != nil { return nestedList == nil ? [] : nestedElements }
        return engine { () throws(EngineError) in try binding.table.listValues(column, of: key) }
    }

    /// Returns the keys of the objects that the elements link to. `location` is the owner's row.
    func targetKeys(_ location: RowLocation) -> [ObjectKey] {
        if path == nil {
            let keys = engine { () throws(EngineError) in try binding.table.listKeys(column, at: location) }
            if let keys { return keys }
        }
        return values().compactMap { value in if case .link(let key) = value { key } else { nil } }
    }

    func insert(_ values: [Value], at index: Int) {
        if path != nil { return change(.insert(values, at: index)) }
        engine { () throws(EngineError) in try binding.table.listInsert(values, column, of: key, at: index) }
    }

    func set(_ value: Value, at index: Int) {
        if path != nil { return change(.set(value, at: index)) }
        engine { () throws(EngineError) in try binding.table.listSet(value, column, of: key, at: index) }
    }

    func remove(_ range: Range<Int>) {
        if path != nil { return change(.remove(range)) }
        engine { () throws(EngineError) in try binding.table.listRemove(range, column, of: key) }
    }

    func move(from: Int, to: Int) {
        if path != nil { return change(.move(from: from, to: to)) }
        engine { () throws(EngineError) in try binding.table.listMove(column, of: key, from: from, to: to) }
    }

    // MARK: Dictionaries

    func entryCount() -> Int {
        if path != nil { return nestedMap?.count ?? 0 }
        return engine { () throws(EngineError) in try binding.table.dictionaryCount(column, of: key) }
    }

    /// Returns the entries in ascending order of their keys. If `isDeep` is false, collections among the values may be
    /// empty.
    func entries(isDeep: Bool = true) -> [DictionaryEntry] {
        if path != nil {
            guard let look = nestedMap else { return [] }
            let values = elements(isDeep: isDeep)
            return engine { () throws(EngineError) in
                var entries: [DictionaryEntry] = []
                entries.reserveCapacity(values.count)
                for index in values.indices {
                    entries.append(DictionaryEntry(key: try look.key(index), value: values[index]))
                }
                return entries
            }
        }
        return engine { () throws(EngineError) in try binding.table.dictionaryEntries(column, of: key) }
    }

    /// Returns the value of a key; nil if there is no entry.
    func value(forKey name: String) -> Value? {
        if path != nil { return engine { () throws(EngineError) in try nestedMap?.step(.key(name))?.shallow } }
        return engine { () throws(EngineError) in
            try binding.table.dictionaryValue(for: name, column, of: key, at: try binding.table.place(key))
        }
    }

    func setEntry(_ name: String, _ value: Value) {
        if path != nil { return change(.setEntry(name, value)) }
        engine { () throws(EngineError) in try binding.table.dictionarySet(name, value, column, of: key) }
    }

    func removeEntry(_ name: String) {
        if path != nil { return change(.removeEntry(name)) }
        engine { () throws(EngineError) in _ = try binding.table.dictionaryRemove(name, column, of: key) }
    }

    func removeAllEntries() {
        if path != nil { return change(.removeAllEntries) }
        engine { () throws(EngineError) in try binding.table.dictionaryRemoveAll(column, of: key) }
    }
}
