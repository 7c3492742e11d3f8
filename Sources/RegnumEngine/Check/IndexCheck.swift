// SPDX-License-Identifier: Apache-2.0
// Checks the laws of indexes and links: the trees hold exactly what the rows hold.

import RegnumSystem

extension IntegrityCheck.Walk {
    mutating func checkIndex(_ table: Table, _ column: Int) throws(EngineError) {
        guard let index = table.indexes[column] else { return }
        let path = "\(table.definition.name).\(table.definition.columns[column].name) > index"
        if Int(index.tree.count) != table.count {
            find(9, "\(path): \(index.tree.count) entries for \(table.count) objects")
        }
        var (missing, doubled) = (RepeatedFindings(), RepeatedFindings())
        let isUnique = table.definition.columns[column].isPrimaryKey
        try table.forEachGroup { group throws(EngineError) in
            for row in 0..<group.pointee.count {
                let location = RowLocation(group: group, row: row)
                if try !index.contains(location, column, group.pointee.key(at: row), table) { missing.add(location) }
                // Two are enough: if many values are equal, each row would otherwise read all of them.
                if isUnique, try index.all(table.value(column, at: location), table, limit: 2).count > 1 {
                    doubled.add(location)
                }
            }
            return true
        }
        tell(9, path, missing, table, ("is not in the index", "are not in the index"))
        tell(9, path, doubled, table, ("shares its primary key", "share their primary key"))
    }

    mutating func checkLinks(_ table: Table, _ column: Int, _ session: Session) throws(EngineError) {
        let target = table.definition.columns[column].target
        let path = "\(table.definition.name).\(table.definition.columns[column].name)"
        guard let tree = try table.backlinkTrees[column]?.settled(),
            target.flatMap({ session.table($0) }) != nil || table.definition.columns[column].type == .mixed
        else { return find(10, "\(path): a link column without a target") }
        var links: [UInt64: [UInt64]] = [:]
        var count = 0
        try table.forEachGroup { group throws(EngineError) in
            for row in 0..<group.pointee.count {
                let location = RowLocation(group: group, row: row)
                for link in try table.links(column, location) {
                    links[link, default: []].append(group.pointee.key(at: row))
                    count += 1
                }
            }
            return true
        }
        if count != Int(tree.count) { find(10, "\(path) > backlinks: \(tree.count) entries for \(count) links") }
        for (link, origins) in links.sorted(by: { $0.key < $1.key }) {
            // Each link of a mixed column holds the key of the table that it points to.
            let targetTable = session.table(target ?? TableKey(UInt32(link >> 48)))
            let key = target == nil ? link & (1 << 48 - 1) : link
            let origin = table.placeWords(ObjectKey(origins[0]))
            if try targetTable?.contains(ObjectKey(key)) != true {
                find(10, "\(path): \(origin) links to object \(key), which is not there")
            }
            var entries: [UInt64] = []
            try tree.forEachKey(value: link) { entries.append($0) }
            if entries.sorted() != origins.sorted() {
                find(10, "\(path) > backlinks: those of object \(key), a target of \(origin), are wrong")
            }
        }
    }
}
