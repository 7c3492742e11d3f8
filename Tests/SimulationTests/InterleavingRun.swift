// SPDX-License-Identifier: Apache-2.0
// Two or three simulated processes on one file, whose file system calls come in an order that a seed chooses. In every
// other run one of them is killed at one of its steps, in every third run one of the syncs fails, and in every sixth
// both happen. In every fourth run transactions spill, and in another fourth blocks are moved to shrink the file. In
// every fifth run the file keeps some older versions. Writers move money between rows and count their commits; readers
// read, older versions too.
//
//  1  A read sees all commits acknowledged before it began, and they stay.
//  2  Every read has the full sum: no half of a commit, no page of another version. Reads of kept versions too.
//  3  A pinned version does not change.
//  4  No process waits for ever, and none fails except by its own death.
//  5  At the end the file is valid, and holds each acknowledged commit and at most one more of the killed process.
//  6  After a failed sync, a power loss at a later sync or at the end loses no commit acknowledged as durable.

import RegnumEngine
import RegnumSimulation
import RegnumSystem
import Synchronization

/// State shared by the processes of a run. Accessed only by the process whose turn it is.
final class Ledger: @unchecked Sendable {
    // Unchecked: see above.
    /// By writer: commits begun and acknowledged.
    var begun = [Int64](repeating: 0, count: InterleavingRun.writerCount)
    var acknowledged = [Int64](repeating: 0, count: InterleavingRun.writerCount)
    /// Of the acknowledged commits, the number up to the last durable one.
    var durable = [Int64](repeating: 0, count: InterleavingRun.writerCount)
    var failure: String?

    func fail(_ text: String) { if failure == nil { failure = text } }
}

struct InterleavingRun {
    static let path = "/data/a.realm"
    static let writerCount = 2
    static let accountCount = 6
    static let total = Int64(accountCount) * 1000
    static let table = NewTable(
        name: "Row", columns: [NewColumn(name: "number", type: .int), NewColumn(name: "text", type: .string)])

    let seed: UInt64
    var mutant: ProtocolMutant?
    /// Not when looking for a seeded bug.
    private var keepsHistory: Bool { mutant == nil && seed % 5 == 2 }

    private func open(_ files: any FileSystem, isPlain: Bool = false) throws -> Database {
        var options = Database.OpenOptions()
        options.syncDelay = nil
        options.mutant = mutant
        // Not when looking for a seeded bug: then each page counts.
        if mutant == nil, !isPlain {
            switch seed % 4 {
            case 1:
                (options.spillLimits.sealed, options.spillLimits.changed) = (4096...4096, 4096)
                (options.spillLimits.interval, options.spillLimits.bytesPerChange) = (2, .max)
            case 3: (options.shrinkLimits.minimumPages, options.shrinkLimits.pages) = (20, 4)
            default: break
            }
        }
        return try Database.openAsOtherProcess(path: Self.path, fileSystem: files, options: options)
    }

    /// Throws the fault if there is one. Returns the number of steps.
    func run() throws -> Int {
        var random = SeededRandom(seed: seed)
        let files = SimulatedFileSystem(seed: random.next(), reservedByteCount: 8 << 20)
        try make(files)
        let strategy: Schedule.Strategy =
            random.below(2) == 0 ? .random(period: 1 + random.below(12)) : .priorities(changes: 1 + random.below(5))
        let schedule = Schedule(seed: random.next(), strategy: strategy)
        let ledger = Ledger()
        let failsSync = random.below(3) == 0
        if failsSync { failOneSync(of: files, ledger, &random) }
        let count = 2 + random.below(2)
        let victim = random.below(2) == 0 ? random.below(count) : -1
        var bodies: [@Sendable () -> Void] = []
        for i in 0..<count {
            let process = schedule.addProcess(on: files, killedAt: i == victim ? 1 + random.below(300) : nil)
            let own = SeededRandom(seed: random.next())
            let isWriter = i == 0 || (i == 1 && (count == 2 || random.below(4) != 0))
            bodies.append {
                do {
                    if isWriter {
                        try write(process, i, own, ledger)
                    } else {
                        try read(process, own, ledger)
                    }
                } catch {
                    // A dead process sees nothing: its reads of the lock file fail, and it continues with its previous
                    // knowledge.
                    if process.isDead { return }
                    ledger.fail((error as? RunFailure)?.text ?? "process \(i) failed: \(error)")
                }
            }
        }
        schedule.run(expectedSteps: 400, bodies)
        files.beforeSync = nil
        files.failure = nil
        if failsSync, ledger.failure == nil, schedule.failure == nil {
            for model in LossModel.allCases { losePower(files, model, ledger, &random) }
        }
        if let failure = schedule.failure ?? ledger.failure { throw failed(failure, schedule) }
        do {
            try checkEnd(files, ledger, isExact: victim < 0 && !failsSync)
        } catch let error as RunFailure {
            throw failed(error.text, schedule)
        } catch {
            throw failed("\(error)", schedule)
        }
        return schedule.steps
    }

    /// Makes one of the next syncs fail, and simulates a power loss at a later one.
    private func failOneSync(of files: SimulatedFileSystem, _ ledger: Ledger, _ random: inout SeededRandom) {
        let first = files.operationCount(of: "sync")
        let failing = first + random.below(8)
        // Otherwise a process may acknowledge a commit between another process's failed sync and its record.
        files.tellsEachFile = true
        files.failure = SimulatedFailure(call: failing, kind: .io, isPersistent: false, operation: "sync")
        let losing = failing + 1 + random.below(6)
        let draws = random.next()
        files.beforeSync = { files in
            guard files.operationCount(of: "sync") == losing else { return }
            var random = SeededRandom(seed: draws)
            losePower(files, LossModel.allCases[random.below(LossModel.allCases.count)], ledger, &random)
        }
    }

    /// Checks the state after a power loss at this moment.
    private func losePower(
        _ files: SimulatedFileSystem, _ model: LossModel, _ ledger: Ledger, _ random: inout SeededRandom
    ) {
        let image = files.crash(model: model, random: &random)
        do {
            let database = try open(image)
            _ = try look(try database.makeSession(), ledger.durable)
            let report = IntegrityCheck.run(database)
            if !report.isClean { ledger.fail("after a power loss: \(report.findings.prefix(3))") }
        } catch {
            ledger.fail("after a power loss: \((error as? RunFailure)?.text ?? "\(error)")")
        }
    }

    private func failed(_ text: String, _ schedule: Schedule) -> RunFailure {
        RunFailure(text: "seed \(seed), \(schedule.steps) steps: \(text)", images: 0)
    }

    private func make(_ files: SimulatedFileSystem) throws {
        let session = try open(files).makeSession()
        try session.beginWrite()
        try session.addTables([Self.table])
        if keepsHistory { session.setHistory(HistoryLimits(age: .max, byteCount: 40 << 12)) }
        let table = session.table(named: "Row").unsafelyUnwrapped
        for i in 0..<Self.accountCount + Self.writerCount {
            let location = try table.insertRow()
            try table.finishInsert(location)
            try table.set(.int(i < Self.accountCount ? 1000 : 0), 0, of: location.key)
        }
        try session.commitWrite()
    }

    // MARK: Processes

    private func write(
        _ files: SteppedFileSystem, _ writer: Int, _ seeded: SeededRandom, _ ledger: Ledger
    ) throws {
        var random = seeded
        for _ in 0..<(1 + random.below(2)) {
            guard let session = try met({ try open(files).makeSession() }) else { continue }
            for _ in 0..<(1 + random.below(3)) {
                let known = ledger.acknowledged
                guard try met({ try session.beginWrite() }) != nil else { continue }
                let seen = try look(session, known)
                try move(session, writer, seen, &random)
                if random.below(6) == 0 {
                    session.rollbackWrite()
                    continue
                }
                ledger.begun[writer] = seen.counts[writer] + 1
                let levels: [CommitDurability] = [.full, .full, .relaxed, .relaxed, .paranoid]
                let level = levels[random.below(levels.count)]
                guard try met({ try session.commitWrite(level) }) != nil else { continue }
                // A killed process acknowledges nothing: a relaxed commit needs no successful call after its slot.
                if files.isDead { return }
                ledger.acknowledged[writer] = seen.counts[writer] + 1
                // It was based on all commits of the others, which are durable with it.
                if level != .relaxed { ledger.durable = zip(seen.counts, ledger.durable).map { max($0, $1) } }
                if level != .relaxed { ledger.durable[writer] = seen.counts[writer] + 1 }
                files.pause()
            }
        }
    }

    /// Nil if the sync that is meant to fail has failed in it.
    private func met<R>(_ body: () throws -> R) throws -> R? {
        do { return try body() } catch EngineError.system(let error)
            where error.kind == .io && error.operation == "sync"
        {
            return nil
        }
    }

    private func move(_ session: Session, _ writer: Int, _ seen: Sight, _ random: inout SeededRandom) throws {
        guard let table = session.table(named: "Row") else { throw lost(writer) }
        let (from, to, amount) = (
            random.below(Self.accountCount), random.below(Self.accountCount), Int64(random.below(100))
        )
        if from != to {
            try table.set(.int(seen.accounts[from] - amount), 0, of: try table.key(atPosition: from))
            try table.set(.int(seen.accounts[to] + amount), 0, of: try table.key(atPosition: to))
        }
        let text = String(repeating: Character(UnicodeScalar(UInt8(97 + random.below(26)))), count: random.below(3000))
        try table.set(.string(text), 1, of: try table.key(atPosition: from))
        let own = try table.key(atPosition: Self.accountCount + writer)
        try table.set(.int(seen.counts[writer] + 1), 0, of: own)
    }

    private func read(_ files: SteppedFileSystem, _ seeded: SeededRandom, _ ledger: Ledger) throws {
        var random = seeded
        for _ in 0..<(1 + random.below(2)) {
            var known = ledger.acknowledged
            guard let session = try met({ try open(files).makeSession() }) else { continue }
            var held: [(session: Session, sight: Sight)] = []
            for _ in 0..<(2 + random.below(4)) {
                let sight = try look(session, known)
                if keepsHistory, random.below(2) == 0 { try readKept(session, files) }
                if random.below(2) == 0 { held.append((try session.freeze(), sight)) }
                for _ in 0..<random.below(40) { files.pause() }
                if files.isDead { return }
                for (session, sight) in held {
                    guard try look(session, []) == sight else {
                        throw RunFailure(text: "a pinned version has changed", images: 0)
                    }
                }
                if random.below(3) == 0, !held.isEmpty { held.remove(at: random.below(held.count)) }
                // After a failed refresh the version stays.
                let next = zip(sight.counts, ledger.acknowledged).map { max($0, $1) }
                known = try met { try session.refresh() } == nil ? sight.counts : next
            }
        }
    }

    /// Reads the oldest and the newest version that the version shown names as kept, unless they have been dropped.
    private func readKept(_ session: Session, _ files: SteppedFileSystem) throws {
        var numbers: [UInt64] = []
        try session.visitHistory(from: 0) { (version) throws(EngineError) in
            numbers.append(version.number)
            return true
        }
        for number in [numbers.first, numbers.last].compactMap({ $0 }) {
            let found = try met { try session.database.makeSession(at: number) }
            // The pins of a dead process do not count.
            if files.isDead { return }
            guard let older = found ?? nil else { continue }
            guard older.version == number else { throw RunFailure(text: "another version is shown", images: 0) }
            _ = try look(older, [])
        }
    }

    // MARK: Reading

    struct Sight: Equatable {
        var accounts: [Int64] = []
        var counts: [Int64] = []
        var texts: [Int] = []
    }

    private func lost(_ writer: Int) -> RunFailure {
        RunFailure(text: "an acknowledged commit of writer \(writer) is lost", images: 0)
    }

    /// The content that a session shows; `known` are the commits that must be visible.
    private func look(_ session: Session, _ known: [Int64]) throws -> Sight {
        guard let table = session.table(named: "Row"), table.count == Self.accountCount + Self.writerCount else {
            throw RunFailure(text: "rows are missing", images: 0)
        }
        var sight = Sight()
        for position in 0..<table.count {
            let key = try table.key(atPosition: position)
            guard case .int(let number) = try table.value(0, of: key),
                case .string(let text) = try table.value(1, of: key)
            else { throw RunFailure(text: "a row has other values", images: 0) }
            if position < Self.accountCount { sight.accounts.append(number) } else { sight.counts.append(number) }
            sight.texts.append(text.utf8.reduce(text.utf8.count) { $0 &* 31 &+ Int($1) })
        }
        guard sight.accounts.reduce(0, +) == Self.total else {
            throw RunFailure(text: "half of a commit is visible", images: 0)
        }
        for (writer, count) in known.enumerated() where sight.counts[writer] < count { throw lost(writer) }
        return sight
    }

    private func checkEnd(_ files: SimulatedFileSystem, _ ledger: Ledger, isExact: Bool) throws {
        // Its two commits move nothing, so that only pinned pages are pending after them.
        let database = try open(files, isPlain: true)
        let session = try database.makeSession()
        let sight = try look(session, ledger.acknowledged)
        for writer in 0..<Self.writerCount {
            let most = isExact ? ledger.acknowledged[writer] : ledger.begun[writer]
            guard sight.counts[writer] <= most else {
                throw RunFailure(text: "more commits of writer \(writer) than it has made", images: 0)
            }
        }
        for turn in 0..<2 {
            try session.beginWrite()
            // The pages of kept versions are pending after the first commit, and free after the second.
            if turn == 0, keepsHistory { session.setHistory(nil) }
            try session.commitWrite()
        }
        let report = IntegrityCheck.run(database)
        guard report.isClean else { throw RunFailure(text: "integrity: \(report.findings.prefix(3))", images: 0) }
        guard report.pendingPages < 24 else { throw RunFailure(text: "pins were not released", images: 0) }
        guard try look(session, sight.counts) == sight else {
            throw RunFailure(text: "commits after the end went wrong", images: 0)
        }
    }
}
