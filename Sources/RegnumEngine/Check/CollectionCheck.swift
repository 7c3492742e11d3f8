// SPDX-License-Identifier: Apache-2.0
// The laws of collections and mixed values: order, uniqueness, bytes that can be read.

import RegnumSystem

extension IntegrityCheck.Walk {
    mutating func checkElements(_ table: Table, _ column: Int) throws(EngineError) {
        let definition = table.definition.columns[column]
        guard definition.collection != .none || definition.type == .mixed else { return }
        let name = "\(table.definition.name).\(definition.name)"
        var unreadable = 0
        var unordered = 0
        var miscounted = 0
        // For all rows together: each may lead to the same blocks of a damaged file.
        var left = ElementTree.blockLimit(table.session.space)
        try table.forEachGroup { group throws(EngineError) in
            for row in 0..<group.pointee.count {
                let location = RowLocation(group: group, row: row)
                if definition.collection == .none {
                    do throws(EngineError) { _ = try table.value(column, at: location) } catch { unreadable += 1 }
                    continue
                }
                if case .ref(let ref) = try table.storedCollection(column, location) {
                    let tree = table.elementTree(column)
                    try ElementTree.forEachBlock(ref, tree.space, &left) { _, _ in }
                    if try tree.countedAnew(ref) == nil { miscounted += 1 }
                }
                if definition.type == .mixed || definition.type == .string {
                    unreadable += try CollectionCheck.unreadable(table, column, location)
                }
                switch definition.collection {
                case .set where try !CollectionCheck.isAscendingSet(table, column, location): unordered += 1
                case .dictionary where try !CollectionCheck.isAscendingDictionary(table, column, location):
                    unordered += 1
                default: break
                }
            }
            return true
        }
        if unreadable > 0 { find(7, "\(name): \(unreadable) values cannot be read") }
        if miscounted > 0 { find(8, "\(name): \(miscounted) objects whose elements are counted wrong") }
        if unordered > 0 { find(8, "\(name): \(unordered) objects whose elements do not ascend") }
    }
}

enum CollectionCheck {
    static func unreadable(_ table: Table, _ column: Int, _ location: RowLocation) throws(EngineError) -> Int {
        let isMixed = table.definition.columns[column].type == .mixed
        var count = 0
        try table.forEachLeaf(column, location) { leaf in
            for i in 0..<leaf.count {
                if isMixed {
                    do throws(EngineError) { _ = try MixedCodec.decode(leaf.bytes(i)) } catch { count += 1 }
                } else if String(validating: leaf.bytes(i), as: UTF8.self) == nil {
                    count += 1
                }
            }
            return true
        }
        return count
    }

    static func isAscendingSet(_ table: Table, _ column: Int, _ location: RowLocation) throws(EngineError) -> Bool {
        var last: Value?
        return try table.forEachLeaf(column, location) { leaf in
            for i in 0..<leaf.count {
                let value = leaf.value(i)
                if let last, MixedOrder.compare(last, value) >= 0 { return false }
                last = value
            }
            return true
        }
    }

    static func isAscendingDictionary(
        _ table: Table, _ column: Int, _ location: RowLocation
    ) throws(EngineError) -> Bool {
        var last: [UInt8]?
        return try table.forEachDictionaryLeaf(column, location) { leaf in
            for i in 0..<leaf.keys.count {
                let key = [UInt8](leaf.keys.bytes(i))
                if let last, !last.lexicographicallyPrecedes(key) { return false }
                last = key
            }
            return true
        }
    }
}
