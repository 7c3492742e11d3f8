// SPDX-License-Identifier: Apache-2.0
// Writes the objects of a source into the tables of a session, in up to three passes over each class:
//
//   objects  creates each object with all values except links, and maps its old key to its new one
//   owners   finds the embedded objects that belong to an object that is not embedded; only if there are such classes
//   links    sets the links of the objects that are carried over, after all classes have their new keys
//
// The import advances by a limited cost at a time, so that the caller can commit in between. Every value of an object
// except its links is read before the object is created: an error of the source leaves no incomplete object.
//
// In an open Realm, the classes whose objects are found again by their primary keys come first: a repeated import
// updates them. Everything else is one advance, so that a killed process leaves nothing of it.

internal import Foundation
internal import RegnumEngine
internal import RegnumRealmFile

final class ObjectImporter<Source: ObjectSource> {
    let source: Source
    let session: Session
    let plans: [ClassPlan]
    /// True in an open Realm: existing objects with the same primary key are updated.
    private let isUpdating: Bool
    /// By class: true in an open Realm if a repeated import finds the objects of the class by their primary keys.
    private let isRepeatable: [Bool]
    let watch: ImportWatch
    var report: RealmFileImportReport
    /// New keys of the imported objects, by class.
    var keys: [KeyMap]
    /// By class: the objects that this import has created or updated; empty unless `isUpdating`.
    private var touched: [KeyBits]
    var owners: EmbeddedOwners
    /// By class: the embedded objects to which a link was set.
    var linked: [KeyBits]
    /// By class and column: true if a mixed value of the column contains a link.
    var hasLinks: [[Bool]]
    /// By class and column: the objects whose value differs from the source because of a reported loss.
    var lossy: [[KeyBits]]
    /// By class and column: the number of links to objects that were deleted on another device.
    var deletedLinks: [[Int]]
    /// By class: the old keys of the objects that were left out, or deleted at the end.
    var leftOut: [[Int64]]
    /// By class: true if the step `repeatableLinks` has set its links.
    private var isLinked: [Bool]

    var step: ImportStep
    /// The index of the class in `plans`, which the step has reached.
    var place = 0
    var cursor: Source.Cursor?
    /// The number of objects of the class that the step has completed.
    var completed = 0
    /// The values of the current object, by index in the columns of its plan.
    private var values: [Value] = []
    /// The columns of the current object whose values are lossy.
    private var lossyColumns: [Int] = []

    init(
        _ source: Source, into session: Session, _ plans: [ClassPlan], isUpdating: Bool,
        _ report: RealmFileImportReport, _ watch: ImportWatch
    ) {
        self.source = source
        self.session = session
        self.plans = plans
        self.isUpdating = isUpdating
        isRepeatable = plans.map { isUpdating && ($0.table == nil || $0.primaryKey != nil && !$0.isEmbedded) }
        step = isUpdating ? .repeatableObjects : .objects
        self.watch = watch
        self.report = report
        keys = plans.map { _ in KeyMap() }
        touched = plans.map { _ in KeyBits() }
        owners = EmbeddedOwners(classCount: plans.count)
        linked = plans.map { _ in KeyBits() }
        hasLinks = plans.map { plan in plan.columns.map { _ in false } }
        lossy = plans.map { plan in plan.columns.map { _ in KeyBits() } }
        deletedLinks = plans.map { plan in plan.columns.map { _ in 0 } }
        leftOut = plans.map { _ in [] }
        isLinked = plans.map { _ in false }
        self.report.classes = plans.map { plan in
            var report = RealmFileImportReport.ClassReport(name: plan.name)
            report.dropped = plan.dropped.map { .init(name: $0.name, reason: $0.reason) }
            return report
        }
    }

    /// In a write transaction of the session: imports objects until their total cost reaches `limit`. In an open Realm,
    /// everything that a repeated import would not find again is one advance. Returns true at the end of the import.
    func advance(cost limit: Int) throws -> Bool {
        var left = limit
        let isIndivisible = isUpdating && step >= .objects
        while step != .finished, left > 0 || isIndivisible {
            guard let cursor else {
                try beginPass()
                if isUpdating, !isIndivisible, step >= .objects, isRepeatable.contains(false) { return false }
                continue
            }
            guard let object = try cursor.next() else {
                self.cursor = nil
                place += 1
                continue
            }
            completed += 1
            let phase: RealmFileImportProgress.Phase
            switch step {
            case .repeatableObjects, .objects: (phase, left) = (.objects, left - (try make(object)))
            case .owners:
                left -= try findOwned(by: object)
                if completed & 255 == 0 { try watch.checkCancellation() }
                continue
            case .repeatableLinks, .links, .finished: (phase, left) = (.links, left - (try link(object)))
            }
            try watch.report(phase, plans[place].name, completed, source.classes[place].objectCount)
        }
        return step == .finished
    }

    /// Begins the next class of the step, or the next step; skips the classes that the step does not need.
    private func beginPass() throws {
        completed = 0
        guard place < plans.count else { return try endStep() }
        guard visits(place) else {
            if step == .links, !isLinked[place] { watch.skip(source.classes[place].objectCount) }
            place += 1
            return
        }
        if step == .repeatableLinks { isLinked[place] = true }
        cursor = try source.objects(ofClass: plans[place].source)
    }

    /// True if the current step visits the objects of the class.
    private func visits(_ place: Int) -> Bool {
        switch step {
        case .repeatableObjects: isRepeatable[place]
        case .repeatableLinks: linksOnlyToRepeatable(place) && needsLinks(place)
        case .objects: !isRepeatable[place]
        case .owners: ownsObjects(place)
        case .links: !isLinked[place] && needsLinks(place)
        case .finished: false
        }
    }

    private func endStep() throws {
        place = 0
        switch step {
        case .repeatableObjects: step = .repeatableLinks
        case .repeatableLinks: step = .objects
        case .objects: step = plans.contains { $0.isEmbedded && $0.table != nil } ? .owners : .links
        case .owners:
            owners.resolve()
            step = .links
        case .links: try end()
        case .finished: break
        }
    }

    private func needsLinks(_ place: Int) -> Bool {
        plans[place].table != nil
            && plans[place].columns.indices.contains { plans[place].columns[$0].isLink || hasLinks[place][$0] }
    }

    /// True if the class and all classes to which it may link are repeatable.
    private func linksOnlyToRepeatable(_ place: Int) -> Bool {
        isRepeatable[place]
            && plans[place].columns.enumerated().allSatisfy { index, column in
                if column.isLink { return column.targetClass.map { isRepeatable[$0] } ?? true }
                return !hasLinks[place][index] || isRepeatable.allSatisfy { $0 }
            }
    }

    private func table() -> Table {
        guard let table = plans[place].table.flatMap({ session.table($0) }) else {
            preconditionFailure("a class without a table")
        }
        return table
    }

    // MARK: Reading

    /// Returns the value of the column at `index` in the columns of the plan. Reports texts in which invalid UTF-8 was
    /// replaced; `isExact` is false for them.
    private func read(_ object: Source.Cursor.Item, _ index: Int) throws -> (RealmFileValue, isExact: Bool) {
        let before = source.replacedTextCount
        let value = try readLinks(object, index)
        guard source.replacedTextCount > before else { return (value, true) }
        report.lose(
            place, plans[place].columns[index].name, object.key,
            "bytes that are not valid UTF-8 are replaced by U+FFFD")
        return (value, false)
    }

    /// Returns the value of the column at `index` in the columns of the plan, and counts its links to objects that were
    /// deleted on another device. Call once for each value.
    private func readLinks(_ object: Source.Cursor.Item, _ index: Int) throws -> RealmFileValue {
        let before = source.deletedLinkCount
        let value = try object.value(at: plans[place].columns[index].source)
        let count = source.deletedLinkCount - before
        if count > 0 { deletedLinks[place][index] += count }
        return value
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
        var byteCount = 8 * plan.columns.count
        var collections: [(column: Int, value: RealmFileValue)] = []
        values.removeAll(keepingCapacity: true)
        lossyColumns.removeAll(keepingCapacity: true)
        // By index: a plan has texts, which a copy retains.
        for index in plan.columns.indices {
            if plan.columns[index].isLink {
                values.append(.null)
                continue
            }
            let (value, isExact) = try read(object, index)
            if !isExact { lossyColumns.append(index) }
            byteCount += ImportCost.byteCount(value)
            if plan.columns[index].definition.collection != .none {
                values.append(.null)
                if plan.columns[index].definition.type == .mixed, ValueConversion.hasLink(value) {
                    hasLinks[place][index] = true
                } else {
                    collections.append((index, value))
                }
                continue
            }
            values.append(convert(value, plan, index, object.key))
        }
        guard let new = try store(object, plan, table) else { return ImportCost.cost(byteCount) }
        for column in lossyColumns { _ = lossy[place][column].insert(new.key) }
        for (column, value) in collections { try fill(value, column, table, new.key, object.key, isNew: new.isNew) }
        guard keys[place].add(object.key, new.key) else {
            throw RealmFileError(.damaged, "objects of class '\(plan.name)' are not in the order of their keys")
        }
        report.classes[place].written += 1
        if !new.isNew { report.classes[place].updated += 1 }
        return ImportCost.cost(byteCount)
    }

    /// Converts a value of a column that is neither a collection nor a link. Returns null for a mixed value that
    /// contains links; the links pass sets it.
    private func convert(_ value: RealmFileValue, _ plan: ClassPlan, _ index: Int, _ key: Int64) -> Value {
        switch (plan.columns[index].definition.type, value) {
        case (.int, .int(let number)): return .int(number)
        case (.double, .double(let number)): return .double(number)
        case (.bool, .bool(let bit)): return .bool(bit)
        case (.string, .string(let text)) where text.utf8.count <= FormatLimits.inlineValueByteCount:
            return .string(text)
        case (.date, .date(let date)) where date.nanoseconds == 0:
            return .date(Timestamp(seconds: date.seconds, nanoseconds: 0))
        case (_, .null) where plan.columns[index].definition.isNullable: return .null
        default: break
        }
        let column = plan.columns[index]
        let losses = losses(column.name, key)
        defer { if losses.isLossy { lossyColumns.append(index) } }
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
                leftOut[place].append(object.key)
                return nil
            }
            for (index, column) in plan.columns.enumerated()
            where index != primary && column.definition.collection == .none && !column.isLink {
                try table.set(values[index], column.column, of: there)
            }
            return (there, false)
        }
        let location = try table.insertRow()
        for index in plan.columns.indices where plan.columns[index].definition.collection == .none {
            let type = plan.columns[index].definition.type
            if type == .link || type == .mixed && values[index] == .null { continue }
            table.fill(values[index], plan.columns[index].column, at: location)
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

    // MARK: Collections

    /// Sets the collection of the column at `index` in the columns of the plan.
    private func fill(
        _ value: RealmFileValue, _ index: Int, _ table: Table, _ key: ObjectKey, _ old: Int64, isNew: Bool
    ) throws {
        let plan = plans[place].columns[index]
        let column = plan.column
        if isNew, !hasContent(value) { return }
        let losses = losses(plan.name, old)
        defer { if losses.isLossy { _ = lossy[place][index].insert(key) } }
        if !isNew {
            let count = try table.listCount(column, of: key)
            if count > 0 { try table.listRemove(0..<count, column, of: key) }
        }
        switch (plan.definition.collection, value) {
        case (.list, .list(let values)):
            let elements = try values.compactMap { try element($0, plan, losses) }
            if !elements.isEmpty { try table.listInsert(elements, column, of: key, at: 0) }
        case (.set, .set(let values)):
            for value in values {
                guard let element = try element(value, plan, losses) else { continue }
                if try !table.setInsert(element, column, of: key) {
                    losses("two elements of the set are equal: one is left out")
                }
            }
        case (.dictionary, .dictionary(let entries)):
            for (name, value) in ValueConversion.entries(entries, losses.callAsFunction) {
                try table.dictionarySet(name, try element(value, plan, losses) ?? .null, column, of: key)
            }
        default:
            if hasContent(value) { losses("it is \(ValueConversion.name(value)), and the property is a collection") }
        }
    }

    /// Converts an element of a collection. Returns nil for a link that must be omitted.
    private func element(_ value: RealmFileValue, _ plan: ColumnPlan, _ losses: Losses) throws -> Value? {
        try watch.countElement()
        switch plan.definition.type {
        case .link:
            if value == .null {
                if plan.definition.collection == .dictionary { return .null }
                losses("it is null, and a \(plan.definition.collection) of links holds none")
                return nil
            }
            return try target(value, plan, losses).map { .link($0) }
        case .mixed: return try ValueConversion.any(value, resolve, losses.callAsFunction)
        default: return ValueConversion.scalar(value, plan.definition, losses.callAsFunction)
        }
    }

    // MARK: Owners

    /// True if a column of the class at `place` owns embedded objects.
    func ownsObjects(_ place: Int) -> Bool {
        plans[place].table != nil && plans[place].columns.contains { ownedClass(of: $0) != nil }
    }

    /// Returns the class of the embedded objects that the column owns; nil if it owns none.
    private func ownedClass(of column: ColumnPlan) -> Int? {
        guard column.isLink, let target = column.targetClass, plans[target].isEmbedded else { return nil }
        return target
    }

    /// Adds the ownerships of an object. Returns the cost.
    func findOwned(by object: Source.Cursor.Item) throws -> Int {
        guard let owner = keys[place].find(object.key) else { return 1 }
        var byteCount = 0
        for column in plans[place].columns {
            guard let target = ownedClass(of: column) else { continue }
            let value = try object.value(at: column.source)
            byteCount += ImportCost.byteCount(value)
            for case .link(let link) in ValueConversion.elements(value) {
                guard source.classIndex(ofTable: link.tableIndex) == target, let key = keys[target].find(link.key)
                else { continue }
                if plans[place].isEmbedded {
                    owners.add(key, ofClass: target, owner: owner, ofClass: place)
                } else {
                    owners.add(key, ofClass: target)
                }
            }
        }
        return ImportCost.cost(byteCount)
    }

    // MARK: Links

    /// Sets the links of an object that the first pass has created or updated. Returns the cost.
    private func link(_ object: Source.Cursor.Item) throws -> Int {
        let plan = plans[place]
        guard let key = keys[place].find(object.key), !plan.isEmbedded || owners.isCarried(key, ofClass: place) else {
            return 1
        }
        guard try isThere(key, place) else {
            report.lose(place, nil, object.key, "the object was deleted during the import, before its links were set")
            return 1
        }
        let table = table()
        let isNew = !isUpdating
        var byteCount = 0
        for (index, column) in plan.columns.enumerated() where column.isLink || hasLinks[place][index] {
            let value = try column.isLink ? readLinks(object, index) : object.value(at: column.source)
            byteCount += ImportCost.byteCount(value)
            if column.definition.collection != .none {
                if column.isLink || ValueConversion.hasLink(value) {
                    try fill(value, index, table, key, object.key, isNew: isNew)
                }
                continue
            }
            if value == .null, isNew || !column.isLink { continue }
            if !column.isLink, !ValueConversion.hasLink(value) { continue }
            if let target = try plainTarget(value, column) {
                try table.set(.link(target), column.column, of: key)
                continue
            }
            let losses = losses(column.name, object.key)
            let new: Value =
                if column.isLink {
                    value == .null ? .null : try target(value, column, losses).map { .link($0) } ?? .null
                } else { try ValueConversion.any(value, resolve, losses.callAsFunction) }
            if losses.isLossy { _ = lossy[place][index].insert(key) }
            if new != .null || !isNew { try table.set(new, column.column, of: key) }
        }
        return ImportCost.cost(byteCount)
    }

    /// True if the imported object still exists. In an open Realm, other threads and processes may delete it between
    /// two batches.
    private func isThere(_ key: ObjectKey, _ place: Int) throws -> Bool {
        if !isUpdating { return true }
        return try plans[place].table.flatMap { session.table($0) }?.contains(key) ?? false
    }

    /// Returns the target of a link to an object that is not embedded. Returns nil for other values, which `target`
    /// handles.
    private func plainTarget(_ value: RealmFileValue, _ plan: ColumnPlan) throws -> ObjectKey? {
        guard case .link(let link) = value, let index = plan.targetClass, !plans[index].isEmbedded,
            source.classIndex(ofTable: link.tableIndex) == index
        else { return nil }
        guard let key = keys[index].find(link.key), try isThere(key, index) else { return nil }
        return key
    }

    /// Returns the object to which a link of a link column points. Returns nil, and reports the loss, if the object has
    /// another class, was not imported, was deleted since, or is embedded and has another owner already.
    private func target(_ value: RealmFileValue, _ plan: ColumnPlan, _ losses: Losses) throws -> ObjectKey? {
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
        guard try isThere(key, index) else {
            losses("it links to an object that was deleted during the import")
            return nil
        }
        if plans[index].isEmbedded, !linked[index].insert(key) {
            losses("the embedded object already belongs to another object")
            return nil
        }
        return key
    }

    /// Returns the object to which a link in a mixed value points. Returns nil for an embedded object, because only a
    /// link property can own one.
    private func resolve(_ link: RealmFileLink) throws -> (classIndex: Int, table: TableKey, key: ObjectKey)? {
        guard let index = source.classIndex(ofTable: link.tableIndex), let table = plans[index].table,
            !plans[index].isEmbedded, let key = keys[index].find(link.key), try isThere(key, index)
        else { return nil }
        return (index, table, key)
    }

    // MARK: The end

    /// Adds a note for each property with links to objects that were deleted on another device.
    private func noteDeletedLinks() {
        for (place, plan) in plans.enumerated() {
            for (index, column) in plan.columns.enumerated() where deletedLinks[place][index] > 0 {
                report.notes.append(
                    "\(deletedLinks[place][index]) links of '\(plan.name).\(column.name)' lead to objects that were deleted "
                        + "on another device: they are nil or left out, as in Realm.")
            }
        }
    }

    /// Ends the import: deletes the embedded objects that are not carried over, and reports them. No link points to
    /// them.
    private func end() throws {
        step = .finished
        noteDeletedLinks()
        for place in plans.indices where plans[place].isEmbedded {
            guard let table = plans[place].table.flatMap({ session.table($0) }) else { continue }
            var lost: [ObjectKey] = []
            try keys[place].visitAll { old, new in
                if linked[place].contains(new) { return }
                if try isThere(new, place) { lost.append(new) }
                leftOut[place].append(old)
                report.classes[place].written -= 1
                report.lose(
                    place, nil, old,
                    owners.isOwned(new, ofClass: place)
                        ? "only embedded objects that are not carried over own the embedded object"
                        : "the embedded object belongs to no object")
            }
            if !lost.isEmpty { try table.deleteOwnerless(lost) }
        }
    }
}
