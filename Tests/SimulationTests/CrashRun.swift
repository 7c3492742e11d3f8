// SPDX-License-Identifier: Apache-2.0
// A random workload on a simulated disk. At every sync, the run opens what a power loss could leave of each prefix of
// the writes: it must hold the state before the running commit or after it, pass the integrity check and accept further
// commits. Sometimes the run also opens images of a second power loss during recovery, and sometimes it continues from
// an image, so that crashes follow crashes. With a history, the older versions that the image keeps must be whole too.

import RegnumEngine
import RegnumSimulation
import RegnumSystem
import Synchronization

/// The expected content of the database.
struct ModelState: Equatable {
    struct Row: Equatable {
        var number: Int64
        var text: String
        var list: [Int64] = []
    }
    var rows: [UInt64: Row] = [:]
    var things: [UInt64: Thing] = [:]
    var commits: Int64 = 0
}

/// Sizes of runs: small by default, larger if an environment variable says so.
enum RunSize {
    static let isOptimized: Bool = {
        var isOptimized = true
        assert(
            {
                isOptimized = false; return true
            }())
        return isOptimized
    }()
    static var images: Int {
        CurrentProcess.environment("REGNUM_CRASH_IMAGES").flatMap { Int($0) } ?? (isOptimized ? 20_000 : 400)
    }
    /// The number of seeds from which each seeded bug is to be found.
    static var mutantSeeds: Int {
        CurrentProcess.environment("REGNUM_MUTANT_SEEDS").flatMap { Int($0) } ?? (isOptimized ? 10 : 1)
    }
    /// For each of the seeds of a long run.
    static var imagesOfSeed: Int { images / RunSeed.ofLongRuns.count }
}

struct RunFailure: Error, CustomStringConvertible {
    var text: String
    var images: Int
    var description: String { "\(text), after \(images) images" }
}

/// The time of day of a run, in microseconds.
private final class RunClock: Sendable {
    private let time = Atomic<Int64>(1_000_000_000)
    var now: Int64 { time.load(ordering: .relaxed) }
    func advance(_ microseconds: Int64) { time.add(microseconds, ordering: .relaxed) }
}

/// One run; confined to its test.
final class CrashRun: @unchecked Sendable {
    // Unchecked: the committing thread calls the hook of the file system.
    static let path = "/data/a.realm"
    static let rows = NewTable(
        name: "Row",
        columns: [
            NewColumn(name: "number", type: .int), NewColumn(name: "text", type: .string, isContentIndexed: true),
            NewColumn(name: "list", type: .int, collection: .list),
        ])
    static let counter = NewTable(name: "Counter", columns: [NewColumn(name: "commits", type: .int)])

    let mutant: ProtocolMutant?
    /// Commits use all levels, and some are asynchronous.
    let levels: Bool
    /// The encryption key of the files.
    let key: EncryptionKey?
    /// The files keep older versions.
    let history: Bool
    private let clock = RunClock()
    /// With a history: the content of each version.
    private var known: [UInt64: ModelState] = [:]
    var random: SeededRandom
    private(set) var images = 0
    private let budget: Int
    private var failure: RunFailure?
    /// The number of databases opened.
    private var opened = 0
    /// The number of files made.
    private var lives = 0
    /// True if the file has a table of things too.
    private var hasThings = false
    /// True if asynchronous commits are queued.
    private var isLineOpen = false
    private var files = SimulatedFileSystem(reservedByteCount: 1 << 20)
    private var database: Database?
    /// The content of the file.
    private var state = ModelState()
    /// The states that an image may hold now.
    private var allowed: [ModelState] = []
    /// Images of an opening, examined after it: opening is not reentrant.
    private var deferred: [SimulatedFileSystem]?
    /// An image to continue from.
    private var chosen: SimulatedFileSystem?

    init(
        seed: UInt64, budget: Int, mutant: ProtocolMutant? = nil, levels: Bool = false, key: EncryptionKey? = nil,
        history: Bool = false
    ) {
        random = SeededRandom(seed: seed)
        self.levels = levels
        self.budget = budget
        self.mutant = mutant
        self.key = key
        self.history = history
    }

    /// Runs until the budget of images is used up; throws at the first wrong image.
    func run() throws {
        defer { leave() }
        while images < budget { try life() }
    }

    // MARK: One life of a file

    private func life() throws {
        lives += 1
        // Not when looking for a seeded bug: then each page counts.
        hasThings = mutant == nil && lives % 3 == 1
        files = SimulatedFileSystem(seed: random.next(), reservedByteCount: 64 << 20)
        chosen = nil
        known = [:]
        try begin()
        for _ in 0..<(20 + random.below(60)) {
            if images >= budget { break }
            try step()
            if chosen != nil {
                try begin()
            } else if hasThings, random.below(30) == 0 {
                try compact()
            } else if random.below(20) == 0 {
                try reopen()
            }
        }
        leave()
    }

    /// Closes the file without examining images.
    private func leave() {
        files.beforeSync = nil
        database = nil
    }

    /// Writes the clean-shutdown record, which is not durable yet.
    private func reopen() throws {
        let before = state
        try begin()
        guard state == before else { throw RunFailure(text: "a closed file holds another state", images: images) }
    }

    /// Opens the file, or the image that was chosen to continue from.
    private func begin() throws {
        repeat {
            leave()
            if let image = chosen { files = image }
            chosen = nil
            isLineOpen = false
            var meanwhile: [SimulatedFileSystem] = []
            let opened = try openWatched(files, &meanwhile)
            database = opened
            state = try read(opened)
            allowed = [state]
            try check(opened)
            try checkHistory(opened)
            // Sometimes from one of them, however many there are: creating a file leaves about sixty.
            let next = random.below(4) == 0 ? random.below(meanwhile.count + 1) : meanwhile.count
            for (number, image) in meanwhile.enumerated() {
                let copy = number == next ? image.crash(model: .everything, random: &random) : nil
                examine(image, among: allowed)
                if let failure { throw failure }
                if let copy { chosen = copy }
            }
        } while chosen != nil
    }

    private func step() throws {
        guard let database else { return }
        let session = try database.makeSession()
        var next = state
        try session.beginWrite()
        try change(session, &next)
        // States that a power loss may leave: the last durable one, or a later one, in order.
        allowed.append(next)
        let isDurable = try commit(session)
        if history { known[session.version] = next }
        if isDurable {
            allowed = [next]
        } else {
            imagesOfNow(files, every: 1 + files.pendingOperationCount / 4)
        }
        if let failure { throw failure }
        state = next
        if random.below(4) == 0 {
            let image = files.crash(model: .garbage, random: &random)
            examine(image, among: allowed)
        }
        if let failure { throw failure }
    }

    /// Replaces the file with a copy without free space.
    private func compact() throws {
        try database?.makeDurable()
        if let failure { throw failure }
        chosen = nil
        database = nil
        deferred = []
        let isDone = try Database.compact(path: Self.path, fileSystem: files, options: options())
        let meanwhile = deferred ?? []
        deferred = nil
        guard isDone else { throw RunFailure(text: "a file that nobody has open was not compacted", images: images) }
        for image in meanwhile {
            examine(image, among: [state])
            if let failure { throw failure }
        }
        // A copy begins with version 1, and without a history.
        known = [:]
        let before = state
        try begin()
        guard state == before else { throw RunFailure(text: "a compacted file holds another state", images: images) }
    }

    /// Ends the write; true if everything is durable then.
    private func commit(_ session: Session) throws -> Bool {
        switch levels ? random.below(10) : 0 {
        case 0, 1: try session.commitWrite(.full)
        case 2: try session.commitWrite(.paranoid)
        case 3, 4:
            try session.commitWriteLater(random.below(2) == 0 ? .full : .paranoid) { _ in }
            isLineOpen = true
            return false
        case 5:
            try session.commitWrite(.relaxed)
            try session.database.makeDurable()
        default:
            try session.commitWrite(.relaxed)
            // Queued after others, it waits like them.
            if !isLineOpen { return false }
        }
        isLineOpen = false
        return true
    }

    /// Opens a file and watches it from then on; `images` receives the images of a power loss during the opening.
    private func openWatched(
        _ files: SimulatedFileSystem, _ images: inout [SimulatedFileSystem]
    ) throws -> Database {
        files.beforeSync = { [unowned self] files in self.imagesOfNow(files) }
        deferred = []
        defer { deferred = nil }
        let database = try open(files)
        images = deferred ?? []
        return database
    }

    /// At a sync: images of every prefix of the pending writes, by two models each.
    private func imagesOfNow(_ files: SimulatedFileSystem, every step: Int = 1) {
        if failure != nil { return }
        let models = LossModel.allCases
        for count in stride(from: 0, through: files.pendingOperationCount, by: step) {
            for _ in 0..<2 {
                let model = models[random.below(models.count)]
                let image = files.crash(keepingFirst: count, model: model, random: &random)
                if deferred != nil {
                    deferred?.append(image)
                    continue
                }
                let copy = random.below(150) == 0 ? image.crash(model: .everything, random: &random) : nil
                examine(image, among: allowed)
                if failure != nil { return }
                if let copy { chosen = copy }
            }
        }
    }

    /// Opens an image, which must hold one of the states. For some images of a first power loss it also examines images
    /// of a second one during recovery: these must hold the state that was found.
    private func examine(_ image: SimulatedFileSystem, among states: [ModelState], isSecond: Bool = false) {
        images += 1
        do {
            let database: Database
            var meanwhile: [SimulatedFileSystem] = []
            if !isSecond, random.below(8) == 0 {
                database = try openWatched(image, &meanwhile)
                image.beforeSync = nil
            } else {
                database = try open(image)
            }
            let state = try read(database)
            guard states.contains(state) else {
                throw RunFailure(text: "an image holds neither the old state nor the new one", images: images)
            }
            try check(database)
            try checkHistory(database)
            for second in meanwhile {
                examine(second, among: [state], isSecond: true)
                if failure != nil { return }
            }
            if random.below(8) == 0 { try goOn(database, from: state) }
        } catch let error as RunFailure {
            failure = error
        } catch {
            failure = RunFailure(text: "an image does not open: \(error)", images: images)
        }
    }

    /// Makes some commits after a recovery.
    private func goOn(_ database: Database, from state: ModelState) throws {
        var next = state
        for _ in 0..<3 {
            let session = try database.makeSession()
            try session.beginWrite()
            try change(session, &next)
            try session.commitWrite()
        }
        guard try read(database) == next else {
            throw RunFailure(text: "commits after recovery went wrong", images: images)
        }
        try check(database)
    }

    // MARK: Database

    private func open(_ files: SimulatedFileSystem) throws -> Database {
        try Database.open(path: Self.path, fileSystem: files, options: options())
    }

    /// Different options for each opening.
    private func options() -> Database.OpenOptions {
        var options = Database.OpenOptions()
        options.mutant = mutant
        options.syncDelay = nil
        options.encryptionKey = key
        if history { options.wallClock = { [clock] in clock.now } }
        // Every third opening spills.
        opened += 1
        if opened % 3 == 0 { (options.spillLimits.sealed, options.spillLimits.changed) = (4096...4096, 4096) }
        (options.spillLimits.interval, options.spillLimits.bytesPerChange) = (4, .max)
        // Every second opening soon moves blocks from the end of the file. Not when looking for a seeded bug: then each
        // page counts.
        if opened % 2 == 0, mutant == nil { (options.shrinkLimits.minimumPages, options.shrinkLimits.pages) = (24, 12) }
        // Small limits make trees of several levels from few elements.
        options.elementTreeLimits.leafByteCount = 120
        options.elementTreeLimits.fanOut = 3
        return options
    }

    private func check(_ database: Database) throws {
        let report = IntegrityCheck.run(database)
        guard report.isClean else { throw RunFailure(text: "integrity: \(report.findings.prefix(3))", images: images) }
    }

    /// Compares up to three kept versions with the model; the integrity check has found them whole.
    private func checkHistory(_ database: Database) throws {
        guard history else { return }
        var numbers: [UInt64] = []
        try database.makeSession().visitHistory(from: 0) { (version) throws(EngineError) in
            numbers.append(version.number)
            return true
        }
        if numbers.isEmpty { return }
        for number in [numbers[0], numbers[random.below(numbers.count)], numbers[numbers.count - 1]] {
            guard let session = try database.makeSession(at: number) else {
                throw RunFailure(text: "version \(number) is listed and cannot be read", images: images)
            }
            guard try read(session) == known[number] else {
                throw RunFailure(text: "version \(number) holds another state than it did", images: images)
            }
        }
    }

    private func read(_ database: Database) throws -> ModelState { try read(try database.makeSession()) }

    private func read(_ session: Session) throws -> ModelState {
        var state = ModelState()
        guard let rows = session.table(named: "Row"), let counter = session.table(named: "Counter") else {
            return state
        }
        try rows.forEachGroup { group throws(EngineError) in
            for row in 0..<group.pointee.count {
                let location = RowLocation(group: group, row: row)
                guard case .int(let number) = try rows.value(0, at: location),
                    case .string(let text) = try rows.value(1, at: location)
                else { continue }
                var list: [Int64] = []
                try rows.forEachLeaf(2, location) { leaf in
                    for i in 0..<leaf.count { list.append(Int64(bitPattern: leaf.integer(i))) }
                    return true
                }
                state.rows[location.key.rawValue] = ModelState.Row(number: number, text: text, list: list)
            }
            return true
        }
        if let things = session.table(named: "Thing") { state.things = try Thing.readAll(things) }
        if case .int(let commits) = try counter.value(0, of: ObjectKey(1)) { state.commits = commits }
        return state
    }

    /// Makes some random changes, in the database and in the model.
    private func change(_ session: Session, _ state: inout ModelState) throws {
        if session.tables.isEmpty {
            try session.addTables([Self.rows, Self.counter])
            if hasThings { try Thing.makeTable(session) }
            let counter = session.table(named: "Counter").unsafelyUnwrapped
            try counter.finishInsert(try counter.insertRow())
        }
        // Up to three seconds pass between two commits. Now and then the clock is set back.
        if history { clock.advance(Int64(random.below(4)) * 1_000_000) }
        if history, random.below(25) == 0 { clock.advance(-Int64(random.below(10)) * 1_000_000) }
        // With limits that are soon reached, of the space or of the age, and now and then off and on again.
        if history, !session.features.contains(.history) || random.below(15) == 0 {
            let age = random.below(2) == 0 ? Int64.max : Int64(random.below(12)) * 1_000_000
            let limits = HistoryLimits(age: age, byteCount: (10 + random.below(150)) << 12)
            session.setHistory(random.below(4) == 0 ? nil : limits)
        }
        guard let rows = session.table(named: "Row"), let counter = session.table(named: "Counter") else { return }
        for _ in 0..<random.below(5) { try insert(rows, &state) }
        if random.below(25) == 0 { for _ in 0..<random.below(400) { try insert(rows, &state) } }
        for key in state.rows.keys.sorted() {
            switch random.below(12 + state.rows.count / 4) {
            case 0: try update(rows, key, &state)
            case 1:
                try rows.delete(ObjectKey(key))
                state.forget(key, of: rows)
            case 2 where mutant == nil:
                // Runs that look for seeded bugs use small commits, because each page counts.
                try changeList(rows, key, &state)
            default: break
            }
        }
        if let things = session.table(named: "Thing"), random.below(2) == 0 { try changeThings(things, rows, &state) }
        state.commits += 1
        try counter.set(.int(state.commits), 0, of: ObjectKey(1))
    }

    func text() -> String {
        let length = random.below(60) == 0 ? 2000 + random.below(9000) : random.below(40)
        return String((0..<length).map { _ in Character(UnicodeScalar(UInt8(97 + random.below(26)))) })
    }

    private func changeList(_ rows: Table, _ key: UInt64, _ state: inout ModelState) throws {
        var list = state.rows[key]?.list ?? []
        if random.below(4) == 0, !list.isEmpty {
            let start = random.below(list.count)
            let end = min(list.count, start + 1 + random.below(60))
            try rows.listRemove(start..<end, 2, of: ObjectKey(key))
            list.removeSubrange(start..<end)
        } else {
            let new = (0..<(1 + random.below(80))).map { _ in Int64(random.below(1 << 20)) }
            let at = random.below(list.count + 1)
            try rows.listInsert(new.map { .int($0) }, 2, of: ObjectKey(key), at: at)
            list.insert(contentsOf: new, at: at)
        }
        state.rows[key]?.list = list
    }

    private func insert(_ rows: Table, _ state: inout ModelState) throws {
        let location = try rows.insertRow()
        let key = location.key
        try rows.finishInsert(location)
        state.rows[key.rawValue] = ModelState.Row(number: 0, text: "")
        try update(rows, key.rawValue, &state)
    }

    private func update(_ rows: Table, _ key: UInt64, _ state: inout ModelState) throws {
        let list = state.rows[key]?.list ?? []
        let row = ModelState.Row(number: Int64(random.below(1 << 20)), text: text(), list: list)
        try rows.set(.int(row.number), 0, of: ObjectKey(key))
        try rows.set(.string(row.text), 1, of: ObjectKey(key))
        state.rows[key] = row
    }
}
