// SPDX-License-Identifier: Apache-2.0
// Delete rules: what becomes of the objects at the far end of a link when the object at its near end is deleted. Both
// ends of a link may have a rule: `deleteRule` counts where the object that holds the link is deleted, `originRule`
// where the one that it leads to is.
//
//   1. plan     from the objects to be deleted over cascading links, and to what they own, until nothing new is found
//   2. deny     an object of the plan with a denying link to or from an object outside of it stands against all of it
//   3. delete   the objects of the plan; links from others are cleared as ever
//
// A delete that is denied deletes nothing, and the transaction can only be rolled back: Session+Refusals.

/// An object of any table.
package struct RowKey: Hashable, Sendable {
    package var table: TableKey
    package var key: ObjectKey
    package init(table: TableKey, key: ObjectKey) {
        self.table = table
        self.key = key
    }
}

/// The rules of one table's objects.
struct TableDeleteRules {
    /// Links that they hold.
    var forward: [(column: Int, rule: LinkRule)] = []
    /// Links that lead to them.
    var backward: [(origin: TableKey, column: Int, rule: LinkRule)] = []
    var isEmpty: Bool { forward.isEmpty && backward.isEmpty }
}

/// What a delete takes along, and what stands against it.
package struct DeletePlan: Sendable {
    /// Every object that goes, those asked for first.
    package fileprivate(set) var rows: [RowKey] = []
    /// One sentence for each link that denies.
    package fileprivate(set) var denials: [String] = []
    fileprivate var known: Set<RowKey> = []

    fileprivate mutating func add(_ row: RowKey) { if known.insert(row).inserted { rows.append(row) } }
}

extension Table {
    /// Called when the session's tables change.
    /// `links`: columns whose links lead here; mixed values have no rules.
    func resolveDeleteRules(_ links: [LinkOrigin]) {
        deleteRules = TableDeleteRules()
        for (i, column) in definition.columns.enumerated() where column.deleteRule != .nullify {
            deleteRules.forward.append((i, column.deleteRule))
        }
        for origin in links {
            guard let column = session.table(origin.table)?.definition.columns[origin.column],
                column.originRule != .nullify
            else { continue }
            deleteRules.backward.append((origin.table, origin.column, column.originRule))
        }
    }

    /// The objects at the far end of the links of a column, each as often as it is linked to.
    fileprivate func targets(_ column: Int, of key: ObjectKey) throws(EngineError) -> [RowKey] {
        guard let target = definition.columns[column].target else { return [] }
        try flushOpenCollections()
        guard let location = try locate(key) else { return [] }
        return try links(column, location).map { RowKey(table: target, key: ObjectKey($0)) }
    }

    fileprivate func origins(
        _ rule: (origin: TableKey, column: Int, rule: LinkRule), of key: ObjectKey
    ) throws(EngineError) -> [RowKey] {
        guard let origin = session.table(rule.origin) else { return [] }
        return try backlinks(to: key, from: origin, column: rule.column).map { RowKey(table: rule.origin, key: $0) }
    }
}

extension Session {
    /// What `delete` of these objects would do. Changes nothing. O(objects and links that are looked at).
    package func planDelete(_ roots: [RowKey]) throws(EngineError) -> DeletePlan {
        var plan = DeletePlan()
        for root in roots { plan.add(root) }
        var next = 0
        while next < plan.rows.count {
            let row = plan.rows[next]
            next += 1
            guard let table = table(row.table) else { continue }
            for rule in table.deleteRules.forward where rule.rule == .cascade {
                for target in try table.targets(rule.column, of: row.key) { plan.add(target) }
            }
            for rule in table.deleteRules.backward where rule.rule == .cascade {
                for origin in try table.origins(rule, of: row.key) { plan.add(origin) }
            }
            if !table.ownsRows { continue }
            for column in table.definition.columns.indices where table.owns[column] {
                for target in try table.targets(column, of: row.key) { plan.add(target) }
            }
        }
        for row in plan.rows { try addDenials(row, to: &plan) }
        return plan
    }

    private func addDenials(_ row: RowKey, to plan: inout DeletePlan) throws(EngineError) {
        guard let table = table(row.table) else { return }
        let start = "An object of class '\(table.definition.name)' cannot be deleted: "
        for rule in table.deleteRules.forward where rule.rule == .deny {
            let others = Set(try table.targets(rule.column, of: row.key)).subtracting(plan.known)
            if others.isEmpty { continue }
            plan.denials.append(
                start + "its property '\(table.definition.columns[rule.column].name)' has the delete rule deny and "
                    + "leads to \(counted(others.count)).")
        }
        for rule in table.deleteRules.backward where rule.rule == .deny {
            let others = Set(try table.origins(rule, of: row.key)).subtracting(plan.known)
            guard !others.isEmpty, let origin = self.table(rule.origin)?.definition else { continue }
            plan.denials.append(
                start + "'\(origin.name).\(origin.columns[rule.column].name)' of \(counted(others.count)) leads to "
                    + "it, with the delete rule deny.")
        }
    }

    private func counted(_ count: Int) -> String { count == 1 ? "1 object" : "\(count) objects" }

    /// In a write: deletes the objects, and what their rules say. Where a rule denies, nothing is deleted, and the
    /// transaction cannot be committed any more.
    package func delete(_ roots: [RowKey]) throws(EngineError) {
        precondition(isWriting)
        try relieveIfDue()
        var rows: [TableKey: [ObjectKey]] = [:]
        if hasDeleteRules {
            let plan = try planDelete(roots)
            if let denial = plan.denials.first { return refuse(.deniedDelete, denial) }
            for row in plan.rows { rows[row.table, default: []].append(row.key) }
        } else {
            for row in roots { rows[row.table, default: []].append(row.key) }
        }
        try deleteTogether(rows)
    }

    /// Links to the objects of the plan from others, which its delete would clear: objects by "class.property".
    package func links(clearedBy plan: DeletePlan) throws(EngineError) -> [String: Int] {
        var holders: [String: Set<ObjectKey>] = [:]
        for row in plan.rows {
            guard let table = table(row.table) else { continue }
            for origin in table.origins {
                guard let other = self.table(origin.table) else { continue }
                let name = "\(other.definition.name).\(other.definition.columns[origin.column].name)"
                for holder in try table.backlinks(to: row.key, from: other, column: origin.column)
                where !plan.known.contains(RowKey(table: origin.table, key: holder)) {
                    holders[name, default: []].insert(holder)
                }
            }
        }
        return holders.mapValues(\.count)
    }
}
