// SPDX-License-Identifier: Apache-2.0
// The laws that hold during a schedule and at its end.

import RegnumMerge

extension ScheduleRun {
    /// What a client knew of an object when it learned that the hub had been restored.
    struct Best {
        var space: Int
        var object: Int
        var state: ObjectState
    }

    // MARK: During the schedule

    func checkProblems() throws(Violation) {
        for hub in hubs {
            if let problem = hub.record.problem { throw problem }
        }
    }

    /// A client takes a new identity only if its file was a copy, or the hub was restored.
    func checkResets(_ session: Int) throws(Violation) {
        if sessions[session].forks > restores { throw Violation("a client took a new identity without need") }
        if sessions[session].epochResets > hubRestores { throw Violation("a client began again without need") }
    }

    /// After a checkpoint a client shows a version of the space and its own edits.
    func checkCheckpoint(_ session: Int) throws(Violation) {
        let current = sessions[session]
        let hub = hubs[current.spaceIndex]
        if current.state.epoch != hub.epoch { return }
        let pending = current.pending
        for object in current.rows.indices where !pending.contains(where: { $0.object == object }) {
            try compare(session, object, hub.record.state(of: object, at: current.state.base), "a checkpoint")
        }
        var created: Set<Int> = []
        for item in pending.reversed() {
            // Edits before a create were of an object that the hub did not accept.
            if item.edit.change == .create { created.insert(item.object) }
            if created.contains(item.object) { continue }
            guard item.origin == .user, let path = path(of: item.edit), path.inner.isEmpty,
                let row = current.rows[item.object], current.merge.isAlive(row), row.deleted == .none
            else { continue }
            let shown = row.registers[path]?.stamp ?? .none
            if SpaceRecord.isLater(item.edit.stamp, shown) {
                throw Violation("client \(current.client) does not show its own edit \(item.edit)")
            }
        }
    }

    /// A client does not offer an object whose delete the hub has forgotten.
    func checkReturns(_ session: Int) throws(Violation) {
        let current = sessions[session]
        let hub = hubs[current.spaceIndex]
        if !schedule.isPlain || hub.record.wasRestored || hub.clients[current.state.client]?.isStale != false { return }
        for item in current.dirty where item.origin == .offer && item.edit.change == .create {
            if hub.rows[item.object] == nil, SpaceRecord.isLater(hub.record.buried[item.object], item.edit.stamp) {
                throw Violation("object \(item.object), which was deleted, comes back by an offer")
            }
        }
    }

    /// The property that an edit sets explicitly.
    private func path(of edit: Edit) -> PropertyPath? {
        if case .set(let path, _, isDefault: false) = edit.change { path } else { nil }
    }

    /// The object in the client's view must be the hub's.
    private func compare(_ session: Int, _ object: Int, _ state: ObjectState?, _ what: String) throws(Violation) {
        let current = sessions[session]
        let own = current.rows[object]
        func isShown(_ state: ObjectState?) -> Bool {
            state.flatMap { current.merge.group($0) }.map { current.wanted.contains($0) } ?? false
        }
        if own.map({ current.merge.isAlive($0) }) ?? false, !isShown(own) {
            throw Violation("after \(what), client \(current.client) holds object \(object) outside its view")
        }
        let (left, right) = (isShown(own) ? own : nil, isShown(state) ? state : nil)
        if left != right {
            throw Violation(
                "after \(what), object \(object) of client \(current.client) differs from the hub's:\n"
                    + "\(String(describing: left))\n\(String(describing: right))")
        }
    }

    mutating func noteBest(_ session: Int) {
        if !sessions[session].isRegistered { return }
        let current = sessions[session]
        for rows in [current.rows, current.old ?? []] {
            for (object, state) in rows.enumerated() {
                guard let state else { continue }
                best.append(Best(space: current.spaceIndex, object: object, state: state))
            }
        }
    }

    /// An id that a hub has accepted from a user is of one insertion for ever.
    mutating func noteInsertions(_ space: Int) {
        for (id, token) in hubs[space].record.inserted {
            if uploadedIDs[space].updateValue(token, forKey: id) ?? token != token {
                hubs[space].record.problem = Violation("two elements have the id \(id)")
            }
        }
        hubs[space].record.inserted = []
    }

    /// Remembers between which elements others were inserted.
    mutating func noteOrder(_ edits: [Edit], _ session: Int, _ object: Int, _ after: ObjectState) {
        let current = sessions[session]
        var ids: [ElementID] = []
        var removed: [ElementID] = []
        for edit in edits {
            switch edit.change {
            case .insert(_, let id, _, _): ids.append(id)
            case .move(_, let id, _): moved.insert(id)
            case .remove(_, let id): removed.append(id)
            default: break
            }
        }
        guard let first = ids.first, let last = ids.last, current.isRegistered else { return }
        let list = current.merge.elements(of: Property.list, in: after).map(\.id)
        guard let start = list.firstIndex(of: first), let end = list.firstIndex(of: last) else { return }
        // Assigned elements take the place of the removed ones.
        let beside =
            removed + (start > 0 ? [list[start - 1]] : []) + (end + 1 < list.count ? [list[end + 1]] : [])
        for id in ids { neighbours[current.spaceIndex][id] = beside }
        if ids.count > 1 { runs.append(InsertedRun(space: current.spaceIndex, object: object, ids: ids)) }
    }

    // MARK: At the end

    func checkEnd() throws(Violation) {
        for session in sessions.indices {
            let hub = hubs[sessions[session].spaceIndex]
            for object in hub.rows.indices { try compare(session, object, hub.rows[object]?.state, "all exchanges") }
            try checkNothingLost(session)
        }
        for hub in hubs {
            for object in hub.rows.indices {
                let state = hub.rows[object]?.state
                let visible = state.map { hub.merge.elements(of: Property.list, in: $0).map(\.id) } ?? []
                try hub.record.check(object, state, visible: visible)
            }
        }
        try checkBest()
        try checkRuns()
    }

    /// Each edit of a device that was not lost counts, or was reported.
    private func checkNothingLost(_ session: Int) throws(Violation) {
        let current = sessions[session]
        if hubRestores > 0 { return }
        let accepted = hubs[current.spaceIndex].record.tokens
        for token in current.authored where !accepted.contains(token) && !current.rejected.contains(token) {
            throw Violation("edit \(token) of client \(current.client) is lost silently")
        }
    }

    /// After the hub was restored, nothing that a client still had is older.
    private func checkBest() throws(Violation) {
        // Otherwise some of what a client knows was denied, or its elements have other ids now.
        if schedule.deniedClient != nil || restores > 0 { return }
        for known in best {
            let hub = hubs[known.space]
            if hub.record.collections > 0 || !hub.merge.isAlive(known.state) { continue }
            guard let state = hub.rows[known.object]?.state else {
                throw Violation("object \(known.object) is lost by a restored hub")
            }
            if state.deleted != .none { continue }
            for entry in known.state.registers.entries where !entry.value.isDefault {
                let value = state.registers[entry.key]
                if entry.key.inner.isEmpty, SpaceRecord.isLater(entry.value.stamp, value?.stamp ?? .none),
                    schedule.skews.allSatisfy({ $0 == 0 })
                {
                    throw Violation("a write of \(entry.key) is lost by a restored hub")
                }
            }
            for entry in known.state.elements.entries where state.elements[entry.key] == nil {
                throw Violation("the element \(entry.key) is lost by a restored hub")
            }
        }
        try checkOffers()
    }

    /// What is offered again does not overwrite a newer edit.
    private func checkOffers() throws(Violation) {
        if best.isEmpty || !schedule.isPlain || schedule.skews.contains(where: { $0 != 0 }) { return }
        for (space, hub) in hubs.enumerated() where hub.record.collections == 0 {
            for object in hub.rows.indices {
                guard let state = hub.rows[object]?.state, state.deleted == .none else { continue }
                var newest: [PropertyPath: Register] = [:]
                func note(_ path: PropertyPath, _ register: Register) {
                    if register.isDefault || !path.inner.isEmpty { return }
                    if let old = newest[path], !SpaceRecord.isLater(register.stamp, old.stamp) { return }
                    newest[path] = register
                }
                for known in best where known.space == space && known.object == object {
                    for entry in known.state.registers.entries { note(entry.key, entry.value) }
                }
                for item in hub.record.accepted[object] where item.origin != .offer {
                    if case .set(let path, let value, let isDefault) = item.edit.change {
                        note(path, Register(item.edit.stamp, value, isDefault: isDefault))
                    }
                }
                for (path, register) in newest where state.registers[path]?.value != register.value {
                    throw Violation("object \(object): an offer has overwritten \(path), \(register)")
                }
            }
        }
    }

    /// Elements that were inserted in one go are next to each other, except for elements that were inserted between
    /// them later.
    private func checkRuns() throws(Violation) {
        for run in runs {
            let hub = hubs[run.space]
            guard let state = hub.rows[run.object]?.state else { continue }
            let list = hub.merge.elements(of: Property.list, in: state).map(\.id)
            guard let start = list.firstIndex(of: run.ids[0]), let end = list.firstIndex(of: run.ids.last!),
                start < end, moved.isDisjoint(with: run.ids)
            else { continue }
            let known = neighbours[run.space]
            let between = list[start...end].filter { !moved.contains($0) && known[$0] != nil }
            if between.count == run.ids.count { continue }
            // Beside an element of the run, or beside one that was, even if that is removed now.
            var inside = Set(run.ids)
            var count = 0
            while count < inside.count {
                count = inside.count
                for (id, beside) in known where beside.contains(where: { inside.contains($0) || moved.contains($0) }) {
                    inside.insert(id)
                }
            }
            if let stranger = between.first(where: { !inside.contains($0) }) {
                throw Violation("\(stranger) is between the elements \(run.ids) of \(list)")
            }
        }
    }
}
