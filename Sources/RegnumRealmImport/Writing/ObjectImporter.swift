// SPDX-License-Identifier: Apache-2.0
// Writes the objects of a source into the tables of a session, in two passes over each class:
//
//   objects  creates each object with all values except links, and maps its old key to its new one
//   links    sets the links, which need the new keys of all classes
//
// The import advances by a limited cost at a time, so that the caller can commit in between. Every value of an object
// except its links is read before the object is created: an error of the source leaves no incomplete object.

internal import Foundation
internal import RegnumEngine
internal import RegnumRealmFile

final class ObjectImporter<Source: ObjectSource> {
    private enum Pass { case objects, links }

    private let source: Source
    private let session: Session
    private let plans: [ClassPlan]
    /// True in an open Realm: existing objects with the same primary key are updated.
    private let isUpdating: Bool
    private let watch: ImportWatch
    private(set) var report: RealmFileImportReport
    /// New keys of the imported objects, by class.
    private(set) var keys: [KeyMap]
    /// By class: the objects that this import has created or updated; empty unless `isUpdating`.
    private var touched: [KeyBits]
    /// By class: the embedded objects that have an owner.
    private var owned: [KeyBits]
    /// By class and column: true if a mixed value of the column contains a link.
    private var hasLinks: [[Bool]]
    /// By class: the number of values that differ from the source because of a reported loss.
    private(set) var lossyValues: [Int]

    private var pass = Pass.objects
    private var place = 0
    private var cursor: Source.Cursor?
    private var completed = 0
    /// The values of the current object, by index in the columns of its plan.
    private var values: [Value] = []
    private var isFinished = false

    init(
        _ source: Source, into session: Session, _ plans: [ClassPlan], isUpdating: Bool,
        _ report: RealmFileImportReport, _ watch: ImportWatch
    ) {
        self.source = source
        self.session = session
        self.plans = plans
        self.isUpdating = isUpdating
        self.watch = watch
        self.report = report
        keys = plans.map { _ in KeyMap() }
        touched = plans.map { _ in KeyBits() }
        owned = plans.map { _ in KeyBits() }
        hasLinks = plans.map { plan in plan.columns.map { _ in false } }
        lossyValues = plans.map { _ in 0 }
        self.report.classes = plans.map { plan in
            var report = RealmFileImportReport.ClassReport(name: plan.name)
            report.dropped = plan.dropped.map { .init(name: $0.name, reason: $0.reason) }
            return report
        }
    }

    /// In a write transaction of the session: imports objects until their total cost reaches `limit`. Returns true at
    /// the end of the import.
    func advance(cost limit: Int) throws -> Bool {
        var left = limit
        while !isFinished, left > 0 {
            guard let cursor else {
                try beginPass()
                continue
            }
            guard let object = try cursor.next() else {
                self.cursor = nil
                place += 1
                continue
            }
            left -= pass == .objects ? try make(object) : try link(object)
            completed += 1
            try watch.report(
                pass == .objects ? .objects : .links, plans[place].name, completed, source.classes[place].objectCount)
        }
        return isFinished
    }

    /// Begins the next class of the pass, or the next pass; skips a class that the links pass does not need.
    private func beginPass() throws {
        completed = 0
        guard place < plans.count else {
            if pass == .objects { (pass, place) = (.links, 0) } else { try end() }
            return
        }
        if pass == .links, plans[place].table == nil || !needsLinks(place) {
            watch.skip(source.classes[place].objectCount)
            place += 1
            return
        }
        cursor = try source.objects(ofClass: plans[place].source)
    }

    private func needsLinks(_ place: Int) -> Bool {
        plans[place].columns.indices.contains { plans[place].columns[$0].isLink || hasLinks[place][$0] }
    }

    private func table() -> Table {
        guard let table = plans[place].table.flatMap({ session.table($0) }) else {
            preconditionFailure("a class without a table")
        }
        return table
    }

    // MARK: Reading

    /// Returns the value of a property. Reports texts in which invalid UTF-8 was replaced; `isExact` is false for them.
    private func read(_ object: Source.Cursor.Item, _ source: Int, _ name: String) throws -> (
        RealmFileValue, isExact: Bool
    ) {
        let value = try object.value(at: source)
        guard self.source.replacedTextCount > 0, ValueConversion.hasReplacement(value) else { return (value, true) }
        report.lose(place, name, object.key, "bytes that are no UTF-8 are replaced by U+FFFD")
        return (value, false)
    }

    /// A function that reports losses of one value, and records whether it was called.
    private final class Losses {
        var isLossy = false
        let lose: (String) -> Void
        init(_ lose: @escaping (String) -> Void) { self.lose = lose }
        func callAsFunction(_ reason: String) {
            isLossy = true
            lose(reason)
        }
    }

    private func losses(_ name: String, _ key: Int64) -> Losses {
        Losses { [unowned self] reason in report.lose(place, name, key, reason) }
    }

    // MARK: Objects

    /// Creates or updates the object, without its links. Returns its cost.
    private func make(_ object: Source.Cursor.Item) throws -> Int {
        let plan = plans[place]
        report.classes[place].read += 1
        guard let key = plan.table else {
            report.lose(place, nil, object.key, "the class has no place in the new file")
            return 1
        }
        guard let table = session.table(key) else { preconditionFailure("a class without a table") }
        for (index, dropped) in plan.dropped.enumerated() where hasContent(try object.value(at: dropped.source)) {
            report.classes[place].dropped[index].values += 1
        }
        var cost = 1
        var collections: [(ColumnPlan, RealmFileValue)] = []
        values.removeAll(keepingCapacity: true)
        for (index, column) in plan.columns.enumerated() {
            if column.isLink {
                values.append(.null)
                continue
            }
            let (value, isExact) = try read(object, column.source, column.name)
            if !isExact { lossyValues[place] += 1 }
            cost += Self.cost(value)
            if column.definition.collection != .none {
                values.append(.null)
                if column.definition.type == .mixed, ValueConversion.hasLink(value) {
                    hasLinks[place][index] = true
                } else {
                    collections.append((column, value))
                }
                continue
            }
            values.append(convert(value, column, index, object.key))
        }
        guard let new = try store(object, plan, table) else { return cost }
        for (column, value) in collections { try fill(value, column, table, new.key, object.key, isNew: new.isNew) }
        guard keys[place].add(object.key, new.key) else {
            throw RealmFileError(.damaged, "objects of class '\(plan.name)' are not in the order of their keys")
        }
        report.classes[place].written += 1
        if !new.isNew { report.classes[place].updated += 1 }
        return cost
    }

    /// Converts a value of a column that is neither a collection nor a link. Returns null for a mixed value that
    /// contains links; the links pass sets it.
    private func convert(_ value: RealmFileValue, _ column: ColumnPlan, _ index: Int, _ key: Int64) -> Value {
        switch (column.definition.type, value) {
        case (.int, .int(let number)): return .int(number)
        case (.double, .double(let number)): return .double(number)
        case (.bool, .bool(let bit)): return .bool(bit)
        case (.string, .string(let text)) where text.utf8.count <= FormatLimits.inlineValueByteCount:
            return .string(text)
        case (.date, .date(let date)) where date.nanoseconds == 0:
            return .date(Timestamp(seconds: date.seconds, nanoseconds: 0))
        case (_, .null) where column.definition.isNullable: return .null
        default: break
        }
        let losses = losses(column.name, key)
        defer { if losses.isLossy { lossyValues[place] += 1 } }
        if column.definition.type != .mixed {
            return ValueConversion.scalar(value, column.definition, losses.callAsFunction)
        }
        if ValueConversion.hasLink(value) {
            hasLinks[place][index] = true
            return .null
        }
        return ValueConversion.any(value, { _ in nil }, losses.callAsFunction)
    }

    /// Stores `values` in a new object, or in the existing one with the same primary key. Returns nil if another object
    /// of the source has that primary key.
    private func store(
        _ object: Source.Cursor.Item, _ plan: ClassPlan, _ table: Table
    ) throws -> (key: ObjectKey, isNew: Bool)? {
        if let primary = plan.primaryKey, let there = try existing(values[primary], table) {
            guard isUpdating, touched[place].insert(there) else {
                report.lose(place, nil, object.key, "another object of the class has its primary key")
                return nil
            }
            for (index, column) in plan.columns.enumerated()
            where index != primary && column.definition.collection == .none && !column.isLink {
                try table.set(values[index], column.column, of: there)
            }
            return (there, false)
        }
        let location = try table.insertRow()
        for (index, column) in plan.columns.enumerated() where column.definition.collection == .none {
            if column.definition.type == .link || values[index] == .null && column.definition.type == .mixed {
                continue
            }
            table.fill(values[index], column.column, at: location)
        }
        let key = location.key
        try table.finishInsert(location)
        if isUpdating { _ = touched[place].insert(key) }
        return (key, true)
    }

    private func existing(_ value: Value, _ table: Table) throws -> ObjectKey? {
        if case .int(let number) = value { return try table.key(forIntegerPrimaryKey: number) }
        return try table.key(forPrimaryKey: value)
    }

    private func hasContent(_ value: RealmFileValue) -> Bool {
        switch value {
        case .null: false
        case .list(let values), .set(let values): !values.isEmpty
        case .dictionary(let entries): !entries.isEmpty
        case .rows(let rows): !rows.isEmpty
        default: true
        }
    }

    /// Returns the cost of a value besides its object: 1 for each kilobyte of text or data, 16 elements of a list or
    /// set, or 8 entries of a dictionary.
    private static func cost(_ value: RealmFileValue) -> Int {
        switch value {
        case .string(let text): text.utf8.count >> 10
        case .data(let data): data.count >> 10
        case .list(let values), .set(let values): values.reduce(values.count >> 4) { $0 + cost($1) }
        case .dictionary(let entries): entries.reduce(entries.count >> 3) { $0 + cost($1.value) }
        default: 0
        }
    }

    // MARK: Collections

    private func fill(
        _ value: RealmFileValue, _ plan: ColumnPlan, _ table: Table, _ key: ObjectKey, _ old: Int64, isNew: Bool
    ) throws {
        let column = plan.column
        if isNew, !hasContent(value) { return }
        let losses = losses(plan.name, old)
        defer { if losses.isLossy { lossyValues[place] += 1 } }
        if !isNew {
            let count = try table.listCount(column, of: key)
            if count > 0 { try table.listRemove(0..<count, column, of: key) }
        }
        switch (plan.definition.collection, value) {
        case (.list, .list(let values)):
            let elements = values.compactMap { element($0, plan, losses) }
            if !elements.isEmpty { try table.listInsert(elements, column, of: key, at: 0) }
        case (.set, .set(let values)):
            for value in values {
                guard let element = element(value, plan, losses) else { continue }
                if try !table.setInsert(element, column, of: key) {
                    losses("two elements of the set are equal: one is left out")
                }
            }
        case (.dictionary, .dictionary(let entries)):
            var found: [DictionaryEntry] = []
            for entry in entries {
                guard let key = ValueConversion.key(entry.key, losses.callAsFunction) else { continue }
                found.append(DictionaryEntry(key: key, value: element(entry.value, plan, losses) ?? .null))
            }
            for entry in ValueConversion.sorted(found, losses.callAsFunction) {
                try table.dictionarySet(entry.key, entry.value, column, of: key)
            }
        default:
            if hasContent(value) { losses("it is \(ValueConversion.name(value)), and the property is a collection") }
        }
    }

    /// Converts an element of a collection. Returns nil for a link that must be omitted.
    private func element(_ value: RealmFileValue, _ plan: ColumnPlan, _ losses: Losses) -> Value? {
        switch plan.definition.type {
        case .link:
            if value == .null { return plan.definition.collection == .dictionary ? .null : nil }
            return target(value, plan, losses).map { .link($0) }
        case .mixed: return ValueConversion.any(value, resolve, losses.callAsFunction)
        default: return ValueConversion.scalar(value, plan.definition, losses.callAsFunction)
        }
    }

    // MARK: Links

    /// Sets the links of an object that the first pass has created or updated. Returns the cost.
    private func link(_ object: Source.Cursor.Item) throws -> Int {
        guard let key = keys[place].find(object.key) else { return 1 }
        let plan = plans[place]
        let table = table()
        let isNew = !isUpdating
        var cost = 1
        for (index, column) in plan.columns.enumerated() where column.isLink || hasLinks[place][index] {
            let value = try object.value(at: column.source)
            cost += Self.cost(value)
            if column.definition.collection != .none {
                if column.isLink || ValueConversion.hasLink(value) {
                    try fill(value, column, table, key, object.key, isNew: isNew)
                }
                continue
            }
            if value == .null, isNew || !column.isLink { continue }
            if !column.isLink, !ValueConversion.hasLink(value) { continue }
            if let target = plainTarget(value, column) {
                try table.set(.link(target), column.column, of: key)
                continue
            }
            let losses = losses(column.name, object.key)
            let new: Value =
                if column.isLink {
                    value == .null ? .null : target(value, column, losses).map { .link($0) } ?? .null
                } else { ValueConversion.any(value, resolve, losses.callAsFunction) }
            if losses.isLossy { lossyValues[place] += 1 }
            if new != .null || !isNew { try table.set(new, column.column, of: key) }
        }
        return cost
    }

    /// Returns the target of a link to an object that is not embedded. Returns nil for other values, which `target`
    /// handles.
    private func plainTarget(_ value: RealmFileValue, _ plan: ColumnPlan) -> ObjectKey? {
        guard case .link(let link) = value, let index = plan.targetClass, !plans[index].isEmbedded,
            source.classIndex(ofTable: link.tableIndex) == index
        else { return nil }
        return keys[index].find(link.key)
    }

    /// Returns the object to which a link of a link column points. Returns nil, and reports the loss, if the object has
    /// another class, was not imported, or is embedded and has another owner already.
    private func target(_ value: RealmFileValue, _ plan: ColumnPlan, _ losses: Losses) -> ObjectKey? {
        guard case .link(let link) = value, let index = source.classIndex(ofTable: link.tableIndex),
            index == plan.targetClass
        else {
            losses("it is \(ValueConversion.name(value)) of another class")
            return nil
        }
        guard let key = keys[index].find(link.key) else {
            losses("it links to an object that is not in the new file")
            return nil
        }
        if plans[index].isEmbedded, !owned[index].insert(key) {
            losses("the embedded object belongs to another object already")
            return nil
        }
        return key
    }

    /// Returns the object to which a link in a mixed value points. Returns nil for an embedded object, because only a
    /// link property can own one.
    private func resolve(_ link: RealmFileLink) -> (classIndex: Int, table: TableKey, key: ObjectKey)? {
        guard let index = source.classIndex(ofTable: link.tableIndex), let table = plans[index].table,
            !plans[index].isEmbedded, let key = keys[index].find(link.key)
        else { return nil }
        return (index, table, key)
    }

    // MARK: The end

    /// Ends the import: deletes the embedded objects that have no owner, and reports them.
    private func end() throws {
        isFinished = true
        for place in plans.indices where plans[place].isEmbedded {
            guard let table = plans[place].table.flatMap({ session.table($0) }) else { continue }
            var ownerless: [ObjectKey] = []
            keys[place].visitAll { old, new in
                if owned[place].contains(new) { return }
                ownerless.append(new)
                report.lose(place, nil, old, "the embedded object belongs to no object")
            }
            if ownerless.isEmpty { continue }
            report.classes[place].written -= ownerless.count
            try table.deleteOwnerless(ownerless)
        }
    }
}
