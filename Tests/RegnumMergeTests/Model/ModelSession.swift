// SPDX-License-Identifier: Apache-2.0
// One space in the file of a client of the model: its copy, its edits that wait, and its place in the hub's versions.

import RegnumMerge

struct ModelSession {
    let rules: TestedRules
    let merge: Merge<TestedRules>
    let client: Int
    let spaceIndex: Int
    let wanted: Set<Int64>
    var knowsNewSchema: Bool

    var state: ExchangeState
    var isRegistered = false
    var source: ElementSource
    var replica: Replica { source.replica }
    var rows: [ObjectState?]
    /// Edits that are in no batch yet.
    var dirty: [Item] = []
    /// Batches that no checkpoint has acknowledged.
    var outbox: [Batch] = []
    var sealed = BatchMark.start
    var acknowledged = BatchMark.start
    var stage: [Answer] = []
    /// The rows before a reset, until they are offered.
    var old: [ObjectState?]?
    var oldBase: Int64 = 0
    var oldEpoch: Int64 = 0

    /// The last state in which the copy was that of a version, without offers that the hub may not take.
    var whole: ExchangeState {
        guard old != nil || pending.contains(where: { $0.origin == .offer }) else { return state }
        return ExchangeState(
            space: state.space, client: state.client, epoch: oldEpoch, base: oldBase, cursor: oldBase)
    }

    // For the checks.
    var authored: [Int] = []
    var rejected: Set<Int> = []
    var forks = 0
    var epochResets = 0
    var retentionResets = 0
    var hasAdopted = false

    init(
        client: Int, spaceIndex: Int, wanted: Set<Int64>, knowsNewSchema: Bool, state: ExchangeState, objects: Int,
        rules: TestedRules
    ) {
        (self.client, self.spaceIndex, self.wanted) = (client, spaceIndex, wanted)
        (self.knowsNewSchema, self.state, self.rules) = (knowsNewSchema, state, rules)
        merge = Merge(rules: rules)
        source = ElementSource(replica: .unregistered, counter: 0, opening: 1, rules: rules)
        rows = Array(repeating: nil, count: objects)
    }

    var pending: [Item] { outbox.flatMap(\.items) + dirty }

    var reportedBase: Int64 {
        rules.reportedBase(state.base, ofOldestEdit: outbox.first?.items.first?.base ?? dirty.first?.base)
    }

    /// True if nothing waits, and the copy is that of the hub's newest version.
    func isQuiet(_ hub: ModelHub) -> Bool {
        isRegistered && dirty.isEmpty && outbox.isEmpty && stage.isEmpty && old == nil && state.base == hub.head
            && state.epoch == hub.epoch
    }

    // MARK: Edits

    mutating func perform(
        _ edits: [Edit], on object: Int, token: inout Int, origin: Item.Origin = .user, seen: Timestamp = .zero
    ) {
        for edit in edits {
            token += 1
            if origin != .offer { authored.append(token) }
            var item = Item(object: object, edit: edit, token: token, origin: origin, seen: seen)
            item.base = origin == .offer ? 0 : state.base
            item.chain(after: dirty.last?.hash ?? sealed.hash)
            dirty.append(item)
            replay(item)
        }
    }

    private mutating func replay(_ item: Item) {
        var state = rows[item.object] ?? ObjectState()
        rows[item.object] = nil
        merge.apply(item.edit, to: &state)
        // An edit of an object that is not in the view leaves nothing.
        rows[item.object] = state.created == .none && state.deleted == .none ? nil : state
    }

    mutating func seal() {
        guard let last = dirty.last else { return }
        sealed = BatchMark(sequence: sealed.sequence + 1, previous: sealed.hash, hash: last.hash)
        outbox.append(Batch(mark: sealed, items: dirty))
        dirty = []
    }

    // MARK: Identities

    /// The hub's answer to a new identity. The first one only gets its replica number.
    mutating func register(_ client: SyncID, _ registration: Registration, isFork: Bool = false) {
        // The hub has applied edits in order, so those after the last one that it knows are left.
        let waiting = pending
        let applied = waiting.lastIndex { !rules.keepsAfterReset($0.hash, applied: registration.applied) }
        let isFirst = !isRegistered
        let before = replica
        if !isFirst, !isFork {
            if old == nil { old = rows }
            (oldBase, oldEpoch) = (registration.base, registration.epoch)
        }
        dirty = []
        for var item in waiting[(applied.map { $0 + 1 } ?? 0)...] where isFork || item.origin != .offer {
            item.edit = item.edit.replacing(before, by: registration.replica, withIDs: isFirst)
            item.base = 0
            item.chain(after: dirty.last?.hash ?? 0)
            dirty.append(item)
        }
        source.register(registration.replica)
        rejected.formUnion(registration.rejected)
        (outbox, sealed, acknowledged, stage) = ([], .start, .start, [])
        state.client = client
        state.epoch = registration.epoch
        (state.base, state.cursor) = (0, 0)
        isRegistered = true
        for object in rows.indices { rows[object] = nil }
        for item in dirty { replay(item) }
    }

    // MARK: Answers

    mutating func acknowledgeUpload(_ sequence: Int64) {
        outbox.removeAll { rules.drops($0.mark.sequence, acknowledged: sequence, byCheckpoint: false) }
    }

    enum Effect {
        case none, checkpoint
        case reset(isFork: Bool)
    }

    mutating func receive(_ answer: Answer, token: inout Int, now: Stamp) -> Effect {
        guard isRegistered, rules.applies(answer.state, to: state) else { return .none }
        if answer.epoch != state.epoch {
            epochResets += 1
            return .reset(isFork: false)
        }
        if answer.mustReset {
            retentionResets += 1
            return .reset(isFork: false)
        }
        if rules.isFork(acknowledged: answer.acknowledged, known: [acknowledged] + outbox.map(\.mark)) {
            forks += 1
            return .reset(isFork: true)
        }
        stage.append(answer)
        state.cursor = answer.cursor
        guard rules.isCheckpoint(hasMore: answer.hasMore) else { return .none }
        let delivered = Set(stage.flatMap(\.page).map(\.object))
        apply(answer)
        if let old {
            self.old = nil
            offer(old, delivered: delivered, collected: answer.collected, token: &token, now: now)
        }
        return .checkpoint
    }

    /// Applies the staged pages, of which `last` is the last one.
    private mutating func apply(_ last: Answer) {
        var named: Set<Int> = []
        let sequence = last.acknowledged.sequence
        for batch in outbox
        where rules.drops(batch.mark.sequence, acknowledged: sequence, byCheckpoint: true) {
            named.formUnion(batch.items.map(\.object))
        }
        outbox.removeAll { rules.drops($0.mark.sequence, acknowledged: sequence, byCheckpoint: true) }
        acknowledged = last.acknowledged
        rejected.formUnion(last.rejected)
        var delivered: Set<Int> = []
        for page in stage {
            for (object, state) in page.page {
                delivered.insert(object)
                rows[object] = state.map { received($0) }
            }
        }
        for object in named where rules.leavesView(isDelivered: delivered.contains(object)) {
            rows[object] = nil
            delivered.insert(object)
        }
        if rules.replaysPending() {
            for item in pending where delivered.contains(item.object) { replay(item) }
        }
        state.base = last.cursor
        stage = []
    }

    private func received(_ state: ObjectState) -> ObjectState {
        if knowsNewSchema { return state }
        var state = state
        state.registers.removeAll {
            !rules.keeps(isKnown: Property.isKnown($0.key, toNewSchema: false))
        }
        return state
    }

    private mutating func offer(
        _ old: [ObjectState?], delivered: Set<Int>, collected: Int64, token: inout Int, now: Stamp
    ) {
        for (object, known) in old.enumerated() {
            guard let known else { continue }
            if !delivered.contains(object), !rules.offersMissing(base: oldBase, collected: collected) { continue }
            let edits = merge.offer(known, over: rows[object] ?? ObjectState(), now: now)
            perform(edits, on: object, token: &token, origin: .offer)
        }
    }
}
