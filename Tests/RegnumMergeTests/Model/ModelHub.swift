// SPDX-License-Identifier: Apache-2.0
// One space at the hub of the model, in memory. A copy of the value is a backup.

import RegnumMerge

struct ModelHub {
    struct Row {
        var state: ObjectState
        var version: Int64
    }

    struct Client {
        var replica: Replica
        var recent: [BatchMark] = []
        var applied: [UInt64] = []
        var rejected: [Int] = []
        var base: Int64 = 0
        var seen: Int64
        var author = Timestamp.zero
        var isReplaced = false
        /// True if the client was not counted when a delete was forgotten that it may not have.
        var isStale = false
    }

    let space: SyncID
    let rules: TestedRules
    let merge: Merge<TestedRules>
    var head: Int64 = 0
    var rows: [Row?]
    var clients: [SyncID: Client] = [:]
    /// The group that an object had until a version.
    var groups: [(version: Int64, object: Int, group: Int64)] = []
    var epoch: Int64 = 1
    /// The version at the start of each epoch but the first.
    var epochStarts: [Int64] = []
    var collected: Int64 = 0
    var newest = Timestamp.zero
    var nextReplica = Replica.first

    // For the checks.
    var record: SpaceRecord

    init(space: SyncID, objects: Int, rules: TestedRules) {
        self.space = space
        self.rules = rules
        merge = Merge(rules: rules)
        rows = Array(repeating: nil, count: objects)
        record = SpaceRecord(objects: objects)
    }

    func isAlive(_ object: Int) -> Bool { rows[object].map { merge.isAlive($0.state) } ?? false }

    func group(_ state: ObjectState?) -> Int64? { state.flatMap { merge.group($0) } }

    /// The hub is restored from a backup, and loses everything that it has acknowledged since.
    mutating func restore(_ backup: ModelHub) {
        let epoch = epoch + 1
        let starts = epochStarts
        self = backup
        self.epoch = epoch
        epochStarts = starts + [head]
        nextReplica = rules.firstReplica(next: nextReplica, epoch: epoch)
    }

    mutating func register(_ client: SyncID, after state: ExchangeState, now: Int64) -> Registration {
        if clients[client] == nil {
            clients[client] = Client(replica: nextReplica, seen: now)
            nextReplica.number += 1
        }
        let before = clients[state.client]
        clients[state.client]?.isReplaced = true
        let base = epochStarts.dropFirst(Int(state.epoch) - 1).reduce(state.base) { min($0, $1) }
        return Registration(
            replica: clients[client]!.replica, epoch: epoch, applied: before?.applied ?? [], base: base,
            rejected: before?.rejected ?? [])
    }

    // MARK: Uploads

    /// What happens to a batch; nil if it is of another epoch, or of a client that has to begin again.
    mutating func upload(
        _ batch: Batch, from client: SyncID, epoch: Int64, now: Int64, isDenied: (Int) -> Bool
    ) -> UploadVerdict? {
        guard epoch == self.epoch, var known = clients[client] else { return nil }
        if rules.mustReset(base: 0, collected: collected, isStale: known.isStale) { return nil }
        let verdict = rules.verdict(on: batch.mark, after: known.recent, isReplaced: known.isReplaced)
        guard verdict == .apply else { return verdict }
        if rules.mistake == nil, batch.items.contains(where: { (try? $0.edit.check()) == nil }) {
            record.problem = Violation("an edit is refused that a client has made")
        }
        head += 1
        var edits = batch.items.map(\.edit)
        let limit = Timestamp(milliseconds: now + 5000)
        merge.clamp(&edits, of: known.replica, limit: limit, newest: &newest, author: &known.author)
        for (item, edit) in zip(batch.items, edits) {
            let isDenied = isDenied(item.object)
            record.checkClamping(edit, item, of: known.replica)
            if apply(edit, item, limit: Timestamp(milliseconds: now + 5001), isDenied: isDenied) { continue }
            if rules.reports(isDenied: isDenied), item.origin != .offer { known.rejected.append(item.token) }
        }
        known.recent.append(batch.mark)
        known.applied += batch.items.map(\.hash)
        if known.recent.count > 32 { known.recent.removeFirst() }
        known.applied.removeFirst(max(0, known.applied.count - 512))
        clients[client] = known
        return .apply
    }

    /// Returns whether the hub has the object and takes the edit.
    private mutating func apply(_ edit: Edit, _ item: Item, limit: Timestamp, isDenied: Bool) -> Bool {
        let object = item.object
        let old = rows[object]
        if isDenied, old == nil { return false }
        var state = old?.state ?? ObjectState()
        if !isDenied {
            merge.apply(edit, to: &state)
            if old == nil, state.created == .none, state.deleted == .none { return false }
            record.accept(edit, item, limit: limit)
        }
        let isRaised = rules.raisesVersion(isApplied: !isDenied)
        rows[object] = Row(state: state, version: isRaised ? head : old?.version ?? head)
        record.states.append((head, object, state))
        if let group = group(old?.state), group != self.group(state) { groups.append((head, object, group)) }
        return !isDenied
    }

    // MARK: Downloads

    mutating func download(
        _ state: ExchangeState, reportedBase: Int64, firstHead: Int64, groups wanted: Set<Int64>, limit: Int, now: Int64
    ) -> Answer {
        guard var client = clients[state.client] else { return Answer(state: state, epoch: epoch) }
        let lastBase = client.base
        client.seen = now
        client.base = max(lastBase, reportedBase)
        clients[state.client] = client
        var answer = Answer(state: state, epoch: epoch)
        answer.firstHead = state.cursor == 0 ? head : firstHead
        answer.hubTime = Timestamp(milliseconds: now)
        answer.newest = newest
        answer.collected = collected
        answer.acknowledged = client.recent.last ?? .start
        answer.rejected = client.rejected
        let start = state.base != 0 ? state.base : state.cursor == 0 ? 0 : firstHead
        if rules.mustReset(base: start, collected: collected, isStale: client.isStale) {
            if !client.isStale, !client.isReplaced, lastBase <= state.base {
                record.problem = Violation("a client that was seen in time has to begin again")
            }
            answer.mustReset = true
            return answer
        }
        let changed = rows.indices.filter { rows[$0].map { $0.version > state.cursor } ?? false }
            .sorted { rows[$0]!.version < rows[$1]!.version }
        answer.cursor = state.cursor
        for (index, object) in changed.enumerated() {
            let row = rows[object]!
            if index >= limit, row.version != answer.cursor {
                answer.hasMore = true
                break
            }
            answer.cursor = row.version
            if let delivered = delivery(of: object, row, state, answer.firstHead, wanted) {
                answer.page.append((object, delivered))
            }
        }
        if !answer.hasMore { answer.cursor = head }
        return answer
    }

    /// The state to deliver; nil inside for an eviction; nil for nothing.
    private func delivery(
        of object: Int, _ row: Row, _ state: ExchangeState, _ firstHead: Int64, _ wanted: Set<Int64>
    ) -> ObjectState?? {
        guard let group = group(row.state) else {
            if rules.skipsDead(version: row.version, base: state.base, firstHead: firstHead) { return nil }
            return .some(row.state)
        }
        if wanted.contains(group) { return .some(row.state) }
        let start = rules.evictionStart(base: state.base, cursor: state.cursor)
        let left = groups.contains { $0.version > start && $0.object == object && wanted.contains($0.group) }
        return left ? .some(nil) : nil
    }

    // MARK: Tombstones

    mutating func collect(now: Int64, retention: Int64) {
        let current = clients.values.filter { !$0.isReplaced && $0.seen + retention >= now }
        let bases = current.map(\.base).min() ?? head
        let before = collected
        for object in rows.indices {
            guard let row = rows[object], !merge.isAlive(row.state) else { continue }
            let isExpired = row.state.deleted.time.milliseconds + retention < now
            if rules.collects(row.version, bases: bases, isExpired: isExpired) {
                rows[object] = nil
                collected = max(collected, row.version)
                record.collect(object)
            }
        }
        if collected == before { return }
        for (id, client) in clients where client.seen + retention < now && client.base < collected {
            clients[id]?.isStale = true
        }
    }
}

extension Merge {
    /// The group of a living object.
    func group(_ state: ObjectState) -> Int64? {
        guard isAlive(state) else { return nil }
        if case .integer(let group) = state.registers[Property.group]?.value { return group }
        return 0
    }
}
