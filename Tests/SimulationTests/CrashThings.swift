// SPDX-License-Identifier: Apache-2.0
// Objects of the crash images with features that plain rows lack: a link, a set, a dictionary, an any-value, a unique
// constraint and a location; and tables that are emptied. Few of them, so that an image stays cheap.

import RegnumEngine
import RegnumSimulation

struct Thing: Equatable {
    /// Column 0: a link to a row.
    var other = Value.null
    /// Column 1: numbers.
    var set: Set<Value> = []
    /// Column 2: texts.
    var dictionary: [String: Value] = [:]
    /// Column 3: may be a link to a row as well.
    var any = Value.null
    /// Column 4: unique.
    var code = Value.null
    /// Column 5: degrees east and north.
    var place: [Value] = []

    private static let table = NewTable(
        name: "Thing",
        columns: [
            NewColumn(name: "other", type: .link, targetName: "Row"),
            NewColumn(name: "set", type: .int, collection: .set),
            NewColumn(name: "dictionary", type: .string, collection: .dictionary),
            NewColumn(name: "any", type: .mixed, isNullable: true),
            NewColumn(name: "code", type: .int, isNullable: true),
            NewColumn(name: "place", type: .double, collection: .list, isContentIndexed: true),
        ])

    static func makeTable(_ session: Session) throws {
        try session.addTables([table])
        guard var definition = session.table(named: table.name)?.definition else { return }
        definition.uniques = [
            UniqueDefinition(key: ColumnKey(definition.nextColumnKey), columns: [definition.columns[4].key])
        ]
        definition.nextColumnKey += 1
        try session.reshape([definition])
    }

    static func readAll(_ table: Table) throws -> [UInt64: Thing] {
        var things: [UInt64: Thing] = [:]
        for position in 0..<table.count {
            let key = try table.key(atPosition: position)
            var thing = Thing()
            thing.other = try table.value(0, of: key)
            thing.set = Set(try table.listValues(1, of: key))
            for entry in try table.dictionaryEntries(2, of: key) { thing.dictionary[entry.key] = entry.value }
            thing.any = try table.value(3, of: key)
            thing.code = try table.value(4, of: key)
            thing.place = try table.listValues(5, of: key)
            things[key.rawValue] = thing
        }
        return things
    }
}

extension ModelState {
    /// Deletes a row: links to it become null.
    mutating func forget(_ key: UInt64, of rows: Table) {
        self.rows[key] = nil
        let link = Value.link(ObjectKey(key))
        let typedLink = Value.typedLink(rows.definition.key, ObjectKey(key))
        for (holder, thing) in things {
            if thing.other == link { things[holder]?.other = .null }
            if thing.any == typedLink { things[holder]?.any = .null }
        }
    }
}

extension CrashRun {
    /// Makes some random changes of things, in the database and in the model.
    func changeThings(_ things: Table, _ rows: Table, _ state: inout ModelState) throws {
        for _ in 0..<(1 + random.below(3)) {
            let keys = state.things.keys.sorted()
            if keys.count < 2 || keys.count < 9 && random.below(4) == 0 {
                let location = try things.insertRow()
                let key = location.key
                try things.finishInsert(location)
                state.things[key.rawValue] = Thing()
            } else {
                try changeThing(things, rows, keys[random.below(keys.count)], &state)
            }
        }
        if random.below(30) == 0 {
            try things.deleteAll()
            state.things = [:]
        }
        if random.below(40) == 0 {
            try rows.deleteAll()
            for key in state.rows.keys.sorted() { state.forget(key, of: rows) }
        }
    }

    private func changeThing(_ things: Table, _ rows: Table, _ key: UInt64, _ state: inout ModelState) throws {
        guard var thing = state.things[key] else { return }
        let object = ObjectKey(key)
        switch random.below(8) {
        case 0:
            try things.delete(object)
            state.things[key] = nil
            return
        case 1:
            thing.other = target(state).map { .link($0) } ?? .null
            try things.set(thing.other, 0, of: object)
        case 2, 3:
            for _ in 0..<(1 + random.below(9)) {
                let number = Value.int(Int64(random.below(50)))
                if thing.set.remove(number) == nil {
                    thing.set.insert(number)
                    try things.setInsert(number, 1, of: object)
                } else {
                    try things.setRemove(number, 1, of: object)
                }
            }
        case 4:
            let name = "key \(random.below(20))"
            if thing.dictionary.removeValue(forKey: name) == nil {
                let value = Value.string(text())
                thing.dictionary[name] = value
                try things.dictionarySet(name, value, 2, of: object)
            } else {
                try things.dictionaryRemove(name, 2, of: object)
            }
        case 5:
            thing.any = anyValue(rows, state)
            try things.set(thing.any, 3, of: object)
        case 6:
            let code = Value.int(Int64(random.below(1 << 30)))
            if state.things.values.contains(where: { $0.code == code }) { return }
            thing.code = random.below(5) == 0 ? .null : code
            try things.set(thing.code, 4, of: object)
        default:
            if !thing.place.isEmpty { try things.listRemove(0..<thing.place.count, 5, of: object) }
            thing.place = [
                .double(Double(random.below(3600)) / 10 - 180), .double(Double(random.below(1800)) / 10 - 90),
            ]
            try things.listInsert(thing.place, 5, of: object, at: 0)
        }
        state.things[key] = thing
    }

    private func target(_ state: ModelState) -> ObjectKey? {
        let keys = state.rows.keys.sorted()
        return keys.isEmpty || random.below(5) == 0 ? nil : ObjectKey(keys[random.below(keys.count)])
    }

    private func anyValue(_ rows: Table, _ state: ModelState) -> Value {
        switch random.below(5) {
        case 0: return .int(Int64(random.below(1 << 20)))
        case 1: return .string(text())
        case 2: return .list([.double(0.5), .string(text()), .null])
        case 3: return .dictionary([DictionaryEntry(key: "a", value: .bool(true))])
        default: return target(state).map { .typedLink(rows.definition.key, $0) } ?? .null
        }
    }
}
