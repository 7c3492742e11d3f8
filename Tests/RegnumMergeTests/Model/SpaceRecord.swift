// SPDX-License-Identifier: Apache-2.0
// What the hub of the model has accepted, and the state that follows from it by definition: computed from all edits at
// once, without the product's merge.

import RegnumMerge

struct SpaceRecord {
    struct Accepted {
        var edit: Edit
        var token: Int
        var origin: Item.Origin

        var isDefault: Bool {
            if case .set(_, _, isDefault: true) = edit.change { true } else { false }
        }
    }

    /// By object, in the order of the hub.
    var accepted: [[Accepted]]
    /// Each state that an object has had, by version.
    var states: [(version: Int64, object: Int, state: ObjectState)] = []
    /// The newest delete of each object that the hub has forgotten.
    var buried: [Stamp]
    var collections = 0
    var tokens: Set<Int> = []
    /// The elements that users have inserted.
    var inserted: [(id: ElementID, token: Int)] = []
    /// The newest stamp of each author, before and after clamping.
    var clamped: [Replica: (original: Timestamp, clamped: Timestamp)] = [:]
    var wasRestored = false
    var problem: Violation?

    init(objects: Int) {
        accepted = Array(repeating: [], count: objects)
        buried = Array(repeating: .none, count: objects)
    }

    mutating func accept(_ edit: Edit, _ item: Item, limit: Timestamp) {
        if edit.stamp.time > limit { problem = Violation("a stamp of the future is accepted") }
        if !tokens.insert(item.token).inserted { problem = Violation("edit \(item.token) counts twice: \(edit)") }
        if item.origin == .user, case .insert(_, let id, _, _) = edit.change { inserted.append((id, item.token)) }
        accepted[item.object].append(Accepted(edit: edit, token: item.token, origin: item.origin))
    }

    /// Clamping keeps the order of an author's edits, and edits stay later than everything that their authors have
    /// seen.
    mutating func checkClamping(_ edit: Edit, _ item: Item, of replica: Replica) {
        let (original, time) = (item.edit.stamp.time, edit.stamp.time)
        if item.origin != .user { return }
        if time <= item.seen, !wasRestored { problem = Violation("clamped before what its author had seen: \(edit)") }
        if let last = clamped[replica], original > last.original, time <= last.clamped {
            problem = Violation("clamping has changed the order of edits: \(edit)")
        }
        clamped[replica] = (original, time)
    }

    mutating func collect(_ object: Int) {
        buried[object] = expected(object).deleted
        accepted[object] = []
        states.append((states.last?.version ?? 0, object, ObjectState()))
        collections += 1
    }

    /// The state of an object when the space had a version.
    func state(of object: Int, at version: Int64) -> ObjectState? {
        states.last { $0.object == object && $0.version <= version }?.state
    }

    static func isLater(_ left: Stamp, _ right: Stamp) -> Bool {
        (left.time.bits, left.replica.number) > (right.time.bits, right.replica.number)
    }

    // MARK: The definition

    struct Expected {
        var created = Stamp.none
        var deleted = Stamp.none
        var isAlive: Bool { isLater(created, deleted) }
        var registers: [PropertyPath: Accepted] = [:]
        var entries: [EntryKey: Edit] = [:]
        var list: [ElementID: Element] = [:]
        var counter: Int64?

        struct Element {
            var inserted = false
            var isRemoved = false
            var position = (Stamp.none, Position(bytes: []))
            var value = (Stamp.none, MergeValue.null)
        }
    }

    func expected(_ object: Int) -> Expected {
        var result = Expected()
        var admitted: [Accepted] = []
        for item in accepted[object] {
            let stamp = item.edit.stamp
            switch item.edit.change {
            case .create: if Self.isLater(stamp, result.created) { result.created = stamp }
            case .delete:
                if Self.isLater(stamp, result.deleted) { result.deleted = stamp }
                admitted.removeAll { !result.isAlive || Self.isLater(result.deleted, $0.edit.stamp) }
                if !result.isAlive { result.counter = nil }
            default:
                guard result.isAlive, Self.isLater(stamp, result.deleted) else { continue }
                admitted.append(item)
                switch item.edit.change {
                case .increment(_, let amount): result.counter = (result.counter ?? 0) + amount
                case .assignCounter(_, let value):
                    if item.origin != .adoption || result.counter == nil { result.counter = value }
                default: break
                }
            }
        }
        for item in admitted { Self.add(item, to: &result) }
        if let owner = result.registers[Property.embedded] {
            for path in Property.inner {
                if let inner = result.registers[path], Self.isLater(owner.edit.stamp, inner.edit.stamp) {
                    result.registers[path] = nil
                }
            }
        }
        return result
    }

    private static func add(_ item: Accepted, to result: inout Expected) {
        let stamp = item.edit.stamp
        switch item.edit.change {
        case .set(let path, _, let isDefault):
            let old = result.registers[path]
            let isWinner = old.map { old in
                old.isDefault == isDefault ? isLater(stamp, old.edit.stamp) : old.isDefault
            }
            if isWinner ?? true { result.registers[path] = item }
        case .setEntry(let path, let key, _):
            let key = EntryKey(path: path, key: key)
            if result.entries[key].map({ isLater(stamp, $0.stamp) }) ?? true { result.entries[key] = item.edit }
        case .insert(_, let id, let position, let value):
            var element = result.list[id] ?? Expected.Element()
            element.inserted = true
            if isLater(stamp, element.position.0) { element.position = (stamp, position) }
            if isLater(stamp, element.value.0) { element.value = (stamp, value) }
            result.list[id] = element
        case .move(_, let id, let position):
            guard var element = result.list[id], element.inserted else { return }
            if isLater(stamp, element.position.0) { element.position = (stamp, position) }
            result.list[id] = element
        case .replace(_, let id, let value):
            guard var element = result.list[id], element.inserted else { return }
            if isLater(stamp, element.value.0) { element.value = (stamp, value) }
            result.list[id] = element
        case .remove(_, let id): result.list[id, default: Expected.Element()].isRemoved = true
        case .create, .delete, .increment, .assignCounter: break
        }
    }

    // MARK: The comparison

    /// Compares the state at the hub with the definition.
    func check(_ object: Int, _ state: ObjectState?, visible: [ElementID]) throws(Violation) {
        let expected = expected(object)
        guard let state else {
            if expected.isAlive { throw Violation("object \(object) is missing") }
            return
        }
        func expect(_ condition: Bool, _ what: String) throws(Violation) {
            if !condition { throw Violation("object \(object): \(what)\n\(expected)\n\(state)") }
        }
        try expect(state.created == expected.created && state.deleted == expected.deleted, "life")
        guard expected.isAlive else { return try expect(state.isEmpty, "a dead object holds values") }
        for (path, item) in expected.registers where state.registers[path] == nil {
            // A default may have lost to a value that a late delete has removed: the class supplies it.
            try expect(item.isDefault, "\(path) is missing")
        }
        for entry in state.registers.entries {
            guard let winner = expected.registers[entry.key], case .set(_, let value, _) = winner.edit.change else {
                throw Violation("object \(object) has an unexpected \(entry)")
            }
            if winner.isDefault {
                try expect(entry.value.isDefault, "the default of \(entry.key)")
            } else {
                try expect(entry.value == Register(winner.edit.stamp, value), "\(entry.key)")
            }
        }
        try expect(state.entries.count == expected.entries.count, "the number of elements of sets and maps")
        for entry in state.entries.entries {
            guard case .setEntry(_, _, let value) = expected.entries[entry.key]?.change else {
                throw Violation("object \(object) has an unexpected \(entry)")
            }
            try expect(entry.value.value == value, "\(entry.key)")
        }
        let list = expected.list.filter { $0.value.inserted && !$0.value.isRemoved }
            .sorted { ($0.value.position.1, $0.key) < ($1.value.position.1, $1.key) }
        try expect(list.map(\.key) == visible, "the list")
        for (id, element) in list {
            let own = state.elements[ElementKey(path: Property.list, id: id)]
            try expect(own?.value == element.value.1, "the element \(id)")
        }
        try expect(state.counters[Property.counter] == expected.counter, "the counter")
        try checkAdoption(object, expected)
    }

    /// Adopted data is older than every edit, and is adopted once.
    private func checkAdoption(_ object: Int, _ expected: Expected) throws(Violation) {
        let adopted = accepted[object].filter { $0.origin == .adoption }
        if adopted.isEmpty || wasRestored || collections > 0 { return }
        for item in expected.registers.values where item.origin == .adoption {
            let edits = accepted[object].filter {
                guard case .set(let path, _, isDefault: false) = $0.edit.change else { return false }
                return $0.origin == .user && path == item.edit.path
            }
            if !edits.isEmpty, expected.deleted == .none {
                throw Violation("object \(object): adopted data has overwritten an edit")
            }
        }
        var lengths: [Replica: Int] = [:]
        for item in adopted where item.edit.inserts { lengths[item.edit.stamp.replica, default: 0] += 1 }
        let longest = lengths.values.max() ?? 0
        let shown = expected.list.values.filter { $0.inserted && !$0.isRemoved && $0.value.1 >= .integer(1000) }
        if shown.count > longest { throw Violation("object \(object): an adopted list is doubled") }
    }
}

extension Edit {
    var inserts: Bool {
        if case .insert = change { true } else { false }
    }
}
