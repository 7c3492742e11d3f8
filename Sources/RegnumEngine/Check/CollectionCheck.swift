// SPDX-License-Identifier: Apache-2.0
// Checks the laws of collections and mixed values: order, uniqueness, decodable bytes.

import RegnumSystem

extension IntegrityCheck.Walk {
    mutating func checkElements(_ table: Table, _ column: Int) throws(EngineError) {
        let definition = table.definition.columns[column]
        guard definition.collection != .none || definition.type == .mixed else { return }
        let path = "\(table.definition.name).\(definition.name)"
        var (unreadable, unordered, miscounted) = (RepeatedFindings(), RepeatedFindings(), RepeatedFindings())
        // One limit for all rows together: in a damaged file several rows may lead to the same blocks.
        var left = ElementTree.blockLimit(table.session.space)
        try table.forEachGroup { group throws(EngineError) in
            for row in 0..<group.pointee.count {
                let location = RowLocation(group: group, row: row)
                if definition.collection == .none {
                    do throws(EngineError) { _ = try table.value(column, at: location) } catch {
                        unreadable.add(location)
                    }
                    continue
                }
                if case .ref(let ref) = try table.storedCollection(column, location) {
                    let tree = table.elementTree(column)
                    try ElementTree.forEachBlock(ref, tree.space, &left) { _, _ in }
                    if try tree.countedAnew(ref) == nil { miscounted.add(location) }
                }
                if try !CollectionCheck.isReadable(table, column, location) { unreadable.add(location) }
                switch definition.collection {
                case .set where try !CollectionCheck.isAscendingSet(table, column, location): unordered.add(location)
                case .dictionary where try !CollectionCheck.isAscendingDictionary(table, column, location):
                    unordered.add(location)
                default: break
                }
            }
            return true
        }
        tell(15, path, unreadable, table, ("has values that cannot be read", "have values that cannot be read"))
        tell(13, path, miscounted, table, ("has a wrong element count", "have a wrong element count"))
        tell(11, path, unordered, table, ("has elements that do not ascend", "have elements that do not ascend"))
    }
}

enum CollectionCheck {
    /// True if keys and texts are UTF-8 and mixed values can be decoded.
    static func isReadable(_ table: Table, _ column: Int, _ location: RowLocation) throws(EngineError) -> Bool {
        let definition = table.definition.columns[column]
        if definition.collection == .dictionary {
            let hasKeys = try table.forEachDictionaryLeaf(column, location) { leaf in
                for i in 0..<leaf.keys.count where String(validating: leaf.keys.bytes(i), as: UTF8.self) == nil {
                    return false
                }
                return true
            }
            if !hasKeys { return false }
        }
        let isMixed = definition.type == .mixed
        guard isMixed || definition.type == .string else { return true }
        return try table.forEachLeaf(column, location) { leaf in
            for i in 0..<leaf.count {
                if isMixed {
                    do throws(EngineError) { _ = try MixedCodec.decode(leaf.bytes(i)) } catch { return false }
                } else if String(validating: leaf.bytes(i), as: UTF8.self) == nil {
                    return false
                }
            }
            return true
        }
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
