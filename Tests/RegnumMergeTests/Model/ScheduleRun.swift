// SPDX-License-Identifier: Apache-2.0
// Runs one schedule: clients edit, upload and download over a network that loses, repeats and reorders, and devices and
// the hub are restored from backups. Then all is delivered, and the laws are checked. Each step has its own random
// numbers, so that a step can be left out to find a shorter schedule that fails.

import RegnumMerge
import RegnumSimulation

struct ScheduleRun {
    enum Message {
        case upload(Batch, client: SyncID, epoch: Int64, session: Int)
        case uploadAnswer(UploadVerdict, Int64, client: SyncID, session: Int)
        case download(ExchangeState, reportedBase: Int64, firstHead: Int64, session: Int)
        case answer(Answer, session: Int)
    }

    let schedule: Schedule
    let rules: TestedRules
    var hubs: [ModelHub]
    var sessions: [ModelSession] = []
    var clocks: [HybridClock<TestedRules>] = []
    var network: [Message] = []
    var now: Int64 = 1_000_000_000
    var token = 0
    var nextClient: UInt64 = 0
    var openings: UInt32 = 1
    var hubBackups: [ModelHub]?
    var clientBackup: (sessions: [ModelSession], clock: HybridClock<TestedRules>)?

    // For the checks.
    var restores = 0
    var hubRestores = 0
    var uploadedIDs: [[ElementID: Int]]
    var runs: [InsertedRun] = []
    var neighbours: [[ElementID: [ElementID]]]
    var moved: Set<ElementID> = []
    var best: [Best] = []

    init(_ schedule: Schedule, mistake: Mistake?) {
        self.schedule = schedule
        rules = TestedRules(mistake)
        let rules = rules
        let spaces = (0..<schedule.spaces).map { SyncID(high: 1, low: UInt64($0)) }
        hubs = spaces.map { ModelHub(space: $0, objects: schedule.objects, rules: rules) }
        uploadedIDs = spaces.map { _ in [:] }
        neighbours = spaces.map { _ in [:] }
        for client in 0..<schedule.clients {
            clocks.append(HybridClock(rules: rules))
            for (index, space) in spaces.enumerated() {
                let state = ExchangeState(
                    space: space, client: SyncID(high: 0, low: 0), epoch: 1, base: 0, cursor: 0)
                sessions.append(
                    ModelSession(
                        client: client, spaceIndex: index, wanted: schedule.groups[client],
                        knowsNewSchema: !(schedule.hasOldSchema && client == 0), state: state,
                        objects: schedule.objects, rules: rules))
            }
        }
        if !schedule.hasUnregistered {
            for session in sessions.indices { register(session) }
        }
    }

    /// Runs the steps that `isIncluded` accepts, and checks.
    mutating func run(isIncluded: (Int) -> Bool = { _ in true }) throws(Violation) {
        for step in 0..<schedule.stepCount where isIncluded(step) {
            var random = SeededRandom(seed: schedule.seed &* 0x2545_F491_4F6C_DD1D &+ UInt64(step))
            try events(step)
            try self.step(step, &random)
        }
        try settle()
        try checkEnd()
    }

    // MARK: Steps

    private mutating func events(_ step: Int) throws(Violation) {
        if let steps = schedule.hubBackup {
            if step == steps.lowerBound { hubBackups = hubs }
            if step == steps.upperBound - 1, let hubBackups {
                for index in hubs.indices {
                    hubs[index].restore(hubBackups[index])
                    hubs[index].record.wasRestored = true
                }
                hubRestores += 1
            }
        }
        if let (client, steps) = schedule.clientBackup {
            if step == steps.lowerBound {
                clientBackup = (sessions.filter { $0.client == client }, clocks[client])
            }
            if step == steps.upperBound - 1 { restoreClient(client) }
        }
    }

    /// The device begins again with an older file, without what a process remembers.
    private mutating func restoreClient(_ client: Int) {
        guard let backup = clientBackup else { return }
        let own = sessions.indices.filter { sessions[$0].client == client }
        // See rule 37.
        for (index, old) in zip(own, backup.sessions) where sessions[index].state.client != old.state.client { return }
        for (index, old) in zip(own, backup.sessions) {
            sessions[index] = old
            openings += 1
            sessions[index].source = ElementSource(
                replica: old.replica, counter: old.source.counter, opening: openings, rules: rules)
        }
        clocks[client] = backup.clock
        restores += 1
    }

    private mutating func step(_ step: Int, _ random: inout SeededRandom) throws(Violation) {
        now += schedule.pace > 0 ? Int64(random.below(schedule.pace)) : Int64(random.below(30) / 29)
        if let retention = schedule.retention {
            now += Int64(random.below(20))
            if random.below(4) == 0 {
                for index in hubs.indices { hubs[index].collect(now: now, retention: retention) }
            }
        }
        let session = random.below(sessions.count)
        let client = sessions[session].client
        let isAway = schedule.offline.map { $0.client == client && $0.steps.contains(step) } ?? false
        if isAway, schedule.isOff {
            // A device that is off edits nothing.
        } else if random.below(100) < schedule.edits {
            try edit(session, &random)
        } else if isAway {
            sessions[session].seal()
        } else {
            try exchange(session, &random)
        }
        if !network.isEmpty, random.below(5) > 0 {
            let message = network.remove(at: random.below(network.count))
            // Lost, or delivered, sometimes twice.
            let count = [0, 1, 1, 1, 1, 1, 2][random.below(7)]
            for _ in 0..<count { try deliver(message, limit: schedule.pageLimit, &random) }
        }
        try checkProblems()
    }

    private mutating func exchange(_ session: Int, _ random: inout SeededRandom) throws(Violation) {
        switch random.below(100) {
        case 0..<8 where !sessions[session].isRegistered: register(session)
        case 0..<25: sessions[session].seal()
        case 25..<50:
            let current = sessions[session]
            guard current.isRegistered, let first = current.outbox.first else { return }
            let batch = random.below(10) < 7 ? first : current.outbox[random.below(current.outbox.count)]
            network.append(
                .upload(batch, client: current.state.client, epoch: current.state.epoch, session: session))
        case 50..<94:
            if sessions[session].isRegistered { network.append(request(session)) }
        case 94..<96:
            // The process ended with staged pages.
            sessions[session].stage = []
            sessions[session].state.cursor = sessions[session].state.base
        case 96..<98: sessions[session].knowsNewSchema = true
        // The app tries a reset.
        case 98 where sessions[session].isRegistered: reset(session, isFork: false)
        default: break
        }
    }

    func request(_ session: Int) -> Message {
        let current = sessions[session]
        return .download(
            current.state, reportedBase: current.reportedBase,
            firstHead: current.stage.first?.firstHead ?? 0, session: session)
    }

    // MARK: Messages

    mutating func deliver(_ message: Message, limit: Int, _ random: inout SeededRandom) throws(Violation) {
        switch message {
        case .upload(let batch, let client, let epoch, let session):
            let current = sessions[session]
            let isDenied = current.client == schedule.deniedClient
            guard
                let verdict = hubs[current.spaceIndex].upload(
                    batch, from: client, epoch: epoch, now: now, isDenied: { isDenied && $0 == 0 })
            else { return }
            noteInsertions(current.spaceIndex)
            network.append(.uploadAnswer(verdict, batch.mark.sequence, client: client, session: session))
        case .uploadAnswer(let verdict, let sequence, let client, let session):
            guard client == sessions[session].state.client else { return }
            switch verdict {
            case .apply, .repeated: sessions[session].acknowledgeUpload(sequence)
            case .gap: break
            case .fork:
                sessions[session].forks += 1
                reset(session, isFork: true)
            }
        case .download(let state, let reportedBase, let firstHead, let session):
            let current = sessions[session]
            let answer = hubs[current.spaceIndex].download(
                state, reportedBase: reportedBase, firstHead: firstHead, groups: current.wanted,
                limit: limit, now: now)
            network.append(.answer(answer, session: session))
        case .answer(let answer, let session):
            // An answer may reach the other space of the same file.
            let isMisled = schedule.spaces == 2 && random.below(5) == 0
            try receive(answer, isMisled ? session ^ 1 : session)
        }
    }

    mutating func receive(_ answer: Answer, _ session: Int) throws(Violation) {
        let client = sessions[session].client
        let now = Stamp(clocks[client].newest.next, sessions[session].replica)
        if answer.hubTime != .zero {
            do {
                try clocks[client].receive(hub: answer.hubTime, newest: answer.newest, now: deviceTime(client))
            } catch { throw Violation("the hub's time is refused: \(error)") }
        }
        switch sessions[session].receive(answer, token: &token, now: now) {
        case .none: break
        case .reset(let isFork): reset(session, isFork: isFork)
        case .checkpoint:
            try checkCheckpoint(session)
            try checkReturns(session)
        }
        try checkResets(session)
    }

    mutating func register(_ session: Int) { reset(session, isFork: false) }

    private mutating func reset(_ session: Int, isFork: Bool) {
        let current = sessions[session]
        if hubs[current.spaceIndex].epoch != current.state.epoch { noteBest(session) }
        nextClient += 1
        let client = SyncID(high: 0, low: nextClient)
        let registration = hubs[current.spaceIndex].register(client, after: current.whole, now: now)
        sessions[session].register(client, registration, isFork: isFork)
    }

    func deviceTime(_ client: Int) -> Int64 { now + schedule.skews[client] }

    // MARK: Edits

    private mutating func edit(_ session: Int, _ random: inout SeededRandom) throws(Violation) {
        let current = sessions[session]
        let object = random.below(schedule.objects)
        let time = clocks[current.client].next(now: deviceTime(current.client))
        let before = current.rows[object] ?? ObjectState()
        if time <= before.newestTime() { throw Violation("an edit is not later than what its author has seen") }
        let edits = RandomEdits(
            merge: current.merge, knowsNewSchema: current.knowsNewSchema, stamp: Stamp(time, current.replica))
        let seen = hubs[current.spaceIndex].record.state(of: object, at: current.state.base)?.newestTime() ?? .zero
        if schedule.hasAdoption, !current.hasAdopted, random.below(3) == 0 {
            sessions[session].hasAdopted = true
            let adopted = edits.adoption(current.wanted, from: &sessions[session].source, &random)
            sessions[session].perform(adopted, on: object, token: &token, origin: .adoption)
        } else if !current.merge.isAlive(before) {
            // Otherwise no delete would be old enough to be forgotten.
            if schedule.retention != nil, before.deleted != .none, random.below(5) > 0 { return }
            sessions[session].perform(
                edits.creation(current.wanted, &random), on: object, token: &token, seen: seen)
        } else {
            let kind = EditKind.random(favourite: schedule.favourite, &random)
            let made = edits.edits(
                kind, of: before, groups: current.wanted, from: &sessions[session].source, &random)
            sessions[session].perform(made, on: object, token: &token, seen: seen)
            guard let after = sessions[session].rows[object] else { throw Violation("an edited object is missing") }
            try edits.check(kind, made, before: before, after: after)
            noteOrder(made, session, object, after)
        }
    }

    // MARK: The end

    /// Delivers what is on its way, then lets all clients exchange until nothing is left.
    private mutating func settle() throws(Violation) {
        var random = SeededRandom(seed: schedule.seed ^ 0x5E77_1E)
        for session in sessions.indices { sessions[session].knowsNewSchema = true }
        while !network.isEmpty {
            try deliver(network.remove(at: random.below(network.count)), limit: schedule.pageLimit, &random)
        }
        for _ in 0..<40 {
            for session in sessions.indices {
                if !sessions[session].isRegistered { register(session) }
                sessions[session].seal()
                let state = sessions[session].state
                for batch in sessions[session].outbox {
                    network.append(.upload(batch, client: state.client, epoch: state.epoch, session: session))
                    try deliverAll(&random)
                }
                for _ in 0..<8 {
                    network.append(request(session))
                    try deliverAll(&random)
                    if sessions[session].stage.isEmpty { break }
                }
            }
            now += 10
            if sessions.allSatisfy({ $0.isQuiet(hubs[$0.spaceIndex]) }) { return }
        }
        throw Violation("the clients do not come to rest")
    }

    private mutating func deliverAll(_ random: inout SeededRandom) throws(Violation) {
        while !network.isEmpty {
            guard case .answer(let answer, let session) = network[0] else {
                try deliver(network.removeFirst(), limit: schedule.pageLimit, &random)
                continue
            }
            network.removeFirst()
            try receive(answer, session)
        }
        try checkProblems()
    }
}
