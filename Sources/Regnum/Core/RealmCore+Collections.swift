// SPDX-License-Identifier: Apache-2.0
// Stores the elements of a whole collection when an object is added, created or updated. A single element appended by
// the user: `StoredCollection.engineValue`.

internal import RegnumEngine

/// The elements to store in a list, a set or a map.
struct OwnedElements {
    let kind: CollectionKind
    /// The keys of a map, as many as values; otherwise empty.
    var keys: [String] = []
    var values: [Value] = []
}

extension RealmCore {
    /// Stores elements in an empty collection.
    func insert(_ new: OwnedElements, _ binding: ClassBinding, _ column: Int, _ key: ObjectKey) {
        if new.values.isEmpty { return }
        let table = binding.table
        engine { () throws(EngineError) in
            switch new.kind {
            case .none: break
            case .list: try table.listInsert(new.values, column, of: key, at: 0)
            case .set: for value in new.values { try table.setInsert(value, column, of: key) }
            case .dictionary:
                for (name, value) in zip(new.keys, new.values) {
                    try table.dictionarySet(name, value, column, of: key)
                }
            }
        }
    }

    /// Replaces the elements of a collection; with `.modified`, only differences are written.
    func replace(
        _ new: OwnedElements, _ binding: ClassBinding, _ column: Int, _ key: ObjectKey,
        _ update: Realm.UpdatePolicy
    ) {
        let table = binding.table
        let isEmptied = engine { () throws(EngineError) in
            switch new.kind {
            case .none: return false
            case .set where update != .all:
                try changeSet(new, table, column, key)
                return false
            case .dictionary where update != .all:
                try changeMap(new, table, column, key)
                return false
            case .dictionary: try table.dictionaryRemoveAll(column, of: key)
            case .list where update != .all && table.ownsTargets(of: column):
                try changeOwnedList(new, table, column, key)
                return false
            case .list, .set:
                let old = try table.listValues(column, of: key)
                if update != .all, old.elementsEqual(new.values, by: { $0.isIdentical(to: $1) }) { return false }
                if !old.isEmpty { try table.listRemove(0..<old.count, column, of: key) }
            }
            return true
        }
        if isEmptied { insert(new, binding, column, key) }
    }

    /// Replaces the elements of a list of embedded objects. Objects of a common prefix are kept; removed objects are
    /// deleted.
    private func changeOwnedList(
        _ new: OwnedElements, _ table: Table, _ column: Int, _ key: ObjectKey
    ) throws(EngineError) {
        let old = try table.listValues(column, of: key)
        let kept = zip(old, new.values).prefix { $0 == $1 }.count
        if old.count > kept { try table.listRemove(kept..<old.count, column, of: key) }
        if new.values.count > kept {
            try table.listInsert(Array(new.values[kept...]), column, of: key, at: kept)
        }
    }

    private func changeSet(
        _ new: OwnedElements, _ table: Table, _ column: Int, _ key: ObjectKey
    ) throws(EngineError) {
        // Strings that Swift treats as equal may have different bytes.
        let wanted = Dictionary(grouping: new.values) { $0 }
        for old in try table.listValues(column, of: key)
        where !(wanted[old]?.contains { $0.isIdentical(to: old) } ?? false) {
            try table.setRemove(old, column, of: key)
        }
        for value in new.values where try table.setIndex(of: value, column, of: key) == nil {
            try table.setInsert(value, column, of: key)
        }
    }

    private func changeMap(
        _ new: OwnedElements, _ table: Table, _ column: Int, _ key: ObjectKey
    ) throws(EngineError) {
        let names = Set(new.keys.map { Array($0.utf8) })
        for old in try table.dictionaryEntries(column, of: key) where !names.contains(Array(old.key.utf8)) {
            try table.dictionaryRemove(old.key, column, of: key)
        }
        for (name, value) in zip(new.keys, new.values) {
            if let index = try table.dictionaryIndex(of: name, column, of: key),
                try table.dictionaryValue(column, of: key, at: index).isIdentical(to: value)
            {
                continue
            }
            try table.dictionarySet(name, value, column, of: key)
        }
    }
}
