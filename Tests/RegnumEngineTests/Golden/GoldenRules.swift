// SPDX-License-Identifier: Apache-2.0
// The content of the golden files besides values: full-text and geospatial indexes, unique constraints of every form,
// and delete rules of every kind at both ends of a link.

import RegnumEngine

extension GoldenFile {
    /// Without the constraints and the rules, which `addRules` adds.
    static let ruleTables: [NewTable] = [
        NewTable(
            name: "Contents",
            columns: [
                NewColumn(name: "id", type: .int, isPrimaryKey: true),
                NewColumn(name: "text", type: .string, isNullable: true, isContentIndexed: true),
                NewColumn(name: "texts", type: .string, collection: .list, isNullable: true, isContentIndexed: true),
                NewColumn(name: "place", type: .double, collection: .list, isContentIndexed: true),
            ]),
        NewTable(
            name: "Unique",
            columns: [
                NewColumn(name: "indexed", type: .int, isNullable: true, isIndexed: true),
                NewColumn(name: "alone", type: .string, isNullable: true),
            ] + together),
        NewTable(name: "Ruled", columns: ruled),
    ]

    /// Types that a constraint may contain.
    static let uniqueTypes: [ColumnType] = [.bool, .int, .string, .date, .objectID, .uuid, .link]

    /// The columns of a constraint of several columns.
    private static let together: [NewColumn] = uniqueTypes.map { type in
        NewColumn(name: "\(type)", type: type, targetName: type == .link ? "Unique" : nil)
    }

    /// The rule for deleting the object that holds the link, and the rule for deleting its target.
    static let rules: [(delete: LinkRule, origin: LinkRule)] = LinkRule.allCases.flatMap { delete in
        LinkRule.allCases.map { origin in (delete: delete, origin: origin) }
    }

    /// One link for each pair of rules, and a list.
    private static let ruled: [NewColumn] = {
        var columns = rules.map { rule in
            NewColumn(name: "\(rule.delete) \(rule.origin)", type: .link, targetName: "Ruled")
        }
        columns.append(NewColumn(name: "list", type: .link, collection: .list, targetName: "Ruled"))
        return columns
    }()

    /// Gives the tables their constraints and rules; new tables do not have those of their definitions yet.
    static func addRules(_ session: Session) throws {
        var unique = try table(session, "Unique").definition
        let keys = unique.columns.map(\.key)
        // One that its index enforces, one of one column and one of many columns, which have trees.
        for columns in [[keys[0]], [keys[1]], Array(keys[2...])] {
            unique.uniques.append(UniqueDefinition(key: ColumnKey(unique.nextColumnKey), columns: columns))
            unique.nextColumnKey += 1
        }
        var ruled = try table(session, "Ruled").definition
        for (i, rule) in rules.enumerated() {
            ruled.columns[i].deleteRule = rule.delete
            ruled.columns[i].originRule = rule.origin
        }
        ruled.columns[rules.count].deleteRule = .cascade
        try session.reshape([unique, ruled])
    }

    // MARK: Objects

    /// `words` is the number of terms in the longest text.
    static func fillContents(_ session: Session, words: Int) throws {
        let table = try table(session, "Contents")
        let places: [[Double]] = [
            [13.4, 52.5], [-180, -90], [180, 90, 8848], [0, 0], [200, 0], [5, 95], [1], [], [-0.0, 51.48],
        ]
        let vocabulary = ["Grüße", "alpha", "beta-gamma", "日本", "can't", "3.14", "Alpha"]
        for (i, place) in places.enumerated() {
            let key = try DatabaseTests.insert(table, [.int(Int64(i))])
            // A null, an empty text, some short texts, and one whose terms need more than one leaf of the tree.
            if i > 0 {
                var text: [String] = []
                for k in 0..<(i == 8 ? words : i - 1) { text.append(i == 8 ? "word\(k)" : vocabulary[k]) }
                try table.set(.string(text.joined(separator: " ")), 1, of: key)
            }
            var parts: [Value] = []
            for k in 0..<i { parts.append(k % 3 == 1 ? .null : .string(vocabulary[k % vocabulary.count])) }
            if !parts.isEmpty { try table.listInsert(parts, 2, of: key, at: 0) }
            if !place.isEmpty { try table.listInsert(place.map { Value.double($0) }, 3, of: key, at: 0) }
        }
    }

    static func fillUnique(_ session: Session) throws {
        let table = try table(session, "Unique")
        for _ in 0..<8 { _ = try DatabaseTests.insert(table, []) }
        for i in 0..<8 {
            let key = ObjectKey(UInt64(i + 1))
            let alone = String(repeating: "alone", count: i == 7 ? 300 : i)
            try table.set(i % 3 == 0 ? .null : .int(Int64(i)), 0, of: key)
            try table.set(i % 4 == 0 ? .null : .string(alone), 1, of: key)
            for (k, type) in uniqueTypes.enumerated() {
                // If one value is null, the object is not equal to any other. Links point to the next object.
                var value = sample(type, i)
                if type == .link { value = i == 3 ? .null : .link(ObjectKey(UInt64((i + 1) % 8 + 1))) }
                try table.set(value, k + 2, of: key)
            }
        }
    }

    /// Links with each pair of rules between two objects of their own: those of pair `i` are 2 * i + 1 and 2 * i + 2.
    static func fillRuled(_ session: Session) throws {
        let table = try table(session, "Ruled")
        for _ in 0..<22 { _ = try DatabaseTests.insert(table, []) }
        for i in rules.indices {
            let (holder, target) = (ObjectKey(UInt64(2 * i + 1)), ObjectKey(UInt64(2 * i + 2)))
            try table.set(.link(target), i, of: holder)
        }
        let links: [Value] = [20, 21, 22].map { .link(ObjectKey($0)) }
        try table.listInsert(links, rules.count, of: ObjectKey(19), at: 0)
    }

    /// Removes, adds and changes texts and locations, and deletes objects whose rules delete others.
    static func changeRules(_ session: Session) throws {
        let contents = try table(session, "Contents")
        try contents.set(.string("changed"), 1, of: ObjectKey(5))
        try contents.delete(ObjectKey(4))
        try contents.listRemove(0..<1, 2, of: ObjectKey(7))
        try contents.listSet(.double(14), 3, of: ObjectKey(1), at: 0)
        let unique = try table(session, "Unique")
        // The link to it becomes null: its holder is no longer equal to any other.
        try unique.delete(ObjectKey(2))
        try unique.set(.string("another"), 1, of: ObjectKey(3))
        let ruled = try table(session, "Ruled")
        // (nullify, cascade) from the target, (cascade, nullify) from the holder, and a list.
        try ruled.delete(ObjectKey(4))
        try ruled.delete(ObjectKey(7))
        try ruled.delete(ObjectKey(19))
    }
}
