// SPDX-License-Identifier: Apache-2.0
// Delete rules: the effect that deleting the object at one end of a link has on the object at the other end. Both ends
// of a link may have a rule: `deleteRule` applies when the object that holds the link is deleted, `originRule` when the
// object that it points to is.
//
//   1. plan     from the objects to be deleted, follow cascading links and ownership until no new object is found
//   2. deny     an object of the plan with a denying link to or from an object outside the plan denies all of it
//   3. delete   the objects of the plan; links from other objects are cleared as usual
//
// A denied delete deletes nothing, and the transaction can only be rolled back: Session+Refusals.

/// An object of any table.
package struct RowKey: Hashable, Sendable {
    package var table: TableKey
    package var key: ObjectKey
    package init(table: TableKey, key: ObjectKey) {
        self.table = table
        self.key = key
    }
}

/// The delete rules that apply to the objects of one table.
struct TableDeleteRules {
    /// For links that they hold.
    var forward: [(column: Int, rule: LinkRule)] = []
    /// For links that point to them.
    var backward: [(origin: TableKey, column: Int, rule: LinkRule)] = []
    var isEmpty: Bool { forward.isEmpty && backward.isEmpty }
}

/// The objects that a delete would delete, and the reasons to deny it.
package struct DeletePlan: Sendable {
    /// Every object to be deleted, the requested ones first.
    package fileprivate(set) var rows: [RowKey] = []
    /// One message for each link that denies the delete.
    package fileprivate(set) var denials: [String] = []
    fileprivate var known: Set<RowKey> = []

    fileprivate mutating func add(_ row: RowKey) { if known.insert(row).inserted { rows.append(row) } }
}

extension Table {
    /// Called when the session's tables change. `links`: columns whose links point here; mixed values have no rules.
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

    /// Returns the targets of a column's links, once for each link.
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
    /// Plans the delete of these objects. Changes nothing. O(objects and links visited).
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
                start + "its property '\(table.definition.columns[rule.column].name)' has the delete rule 'deny' and "
                    + "links to \(counted(others.count)).")
        }
        for rule in table.deleteRules.backward where rule.rule == .deny {
            let others = Set(try table.origins(rule, of: row.key)).subtracting(plan.known)
            guard !others.isEmpty, let origin = self.table(rule.origin)?.definition else { continue }
            plan.denials.append(
                start + "'\(origin.name).\(origin.columns[rule.column].name)' of \(counted(others.count)) links to "
                    + "it, with the delete rule 'deny'.")
        }
    }

    private func counted(_ count: Int) -> String { count == 1 ? "1 object" : "\(count) objects" }

    /// In a write: deletes the objects, and others by their rules. If a rule denies it, nothing is deleted, and the
    /// transaction can no longer be committed.
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

    /// Counts the objects outside the plan whose links the delete would clear, by "class.property".
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
