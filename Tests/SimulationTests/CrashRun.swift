// SPDX-License-Identifier: Apache-2.0
// A random workload on a simulated disk. At every sync, what a power loss could leave of each prefix of the
// writes is opened: it must hold the state before the running commit or after it, pass the integrity check and
// take further commits. At times the run goes on from such an image, so that crashes follow crashes.

import RegnumEngine
import RegnumSimulation
import RegnumSystem
import Synchronization

/// What the database must hold.
struct ModelState: Equatable {
    struct Row: Equatable {
        var number: Int64
        var text: String
        var list: [Int64] = []
    }
    var rows: [UInt64: Row] = [:]
    var commits: Int64 = 0
}

/// Sizes of runs: small by default, larger where an environment variable asks for it.
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
    static var seed: UInt64 {
        CurrentProcess.environment("REGNUM_SEED").flatMap { UInt64($0) } ?? 20_261_121
    }
}

struct RunFailure: Error, CustomStringConvertible {
    var text: String
    var images: Int
    var description: String { "\(text), after \(images) images" }
}

/// One run; confined to its test.
final class CrashRun: @unchecked Sendable {
    // Unchecked: the hook of the file system is called by the thread that commits.
    static let path = "/data/a.realm"
    static let rows = NewTable(
        name: "Row",
        columns: [
            NewColumn(name: "number", type: .int), NewColumn(name: "text", type: .string, isContentIndexed: true),
            NewColumn(name: "list", type: .int, collection: .list),
        ])
    static let counter = NewTable(name: "Counter", columns: [NewColumn(name: "commits", type: .int)])

    let mutant: ProtocolMutant?
    /// Commits are of all levels, and some are not waited for.
    let levels: Bool
    /// Files are encrypted with it.
    let key: EncryptionKey?
    var random: SeededRandom
    private(set) var images = 0
    private let budget: Int
    private var failure: RunFailure?
    /// Databases opened.
    private var opened = 0
    /// True where commits stand in line that nobody waits for.
    private var isLineOpen = false
    /// The states that an image may hold now.
    private var allowed: [ModelState] = []
    /// Images of the making of a file, looked at when it is made: opening is not entered twice.
    private var deferred: [SimulatedFileSystem]?
    /// An image to go on from.
    private var chosen: SimulatedFileSystem?

    init(
        seed: UInt64, budget: Int, mutant: ProtocolMutant? = nil, levels: Bool = false, key: EncryptionKey? = nil
    ) {
        random = SeededRandom(seed: seed)
        self.levels = levels
        self.budget = budget
        self.mutant = mutant
        self.key = key
    }

    /// Runs until the budget of images is used up; throws at the first wrong image.
    func run() throws {
        while images < budget { try life() }
    }

    // MARK: One life of a file

    private func life() throws {
        var files = SimulatedFileSystem(seed: random.next(), reservedByteCount: 64 << 20)
        var state = ModelState()
        allowed = [state]
        isLineOpen = false
        watch(files)
        deferred = []
        var database: Database? = try open(files)
        let made = deferred ?? []
        deferred = nil
        for image in made { examine(image) }
        if let failure { throw failure }
        try check(database)
        for _ in 0..<(20 + random.below(60)) {
            guard images < budget, let current = database else { break }
            let session = try current.makeSession()
            var next = state
            try session.beginWrite()
            try change(session, &next)
            // What a power loss may leave: the last durable state, or a later one, in order.
            allowed.append(next)
            if try commit(session) {
                allowed = [next]
            } else {
                imagesOfNow(files, every: 1 + files.pendingOperationCount / 4)
            }
            if let failure { throw failure }
            state = next
            if random.below(4) == 0 { examine(files.crash(model: .garbage, random: &random)) }
            if let failure { throw failure }
            if let image = chosen {
                chosen = nil
                files.beforeSync.withLock { $0 = nil }
                files = image
                watch(files)
                database = nil
                isLineOpen = false
                deferred = []
                let reopened = try open(files)
                deferred = nil
                state = try read(reopened)
                allowed = [state]
                database = reopened
            }
        }
        files.beforeSync.withLock { $0 = nil }
    }

    /// Ends the write; true where all is durable then.
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
            // Behind others it waits like them.
            if !isLineOpen { return false }
        }
        isLineOpen = false
        return true
    }

    private func watch(_ files: SimulatedFileSystem) {
        files.beforeSync.withLock { $0 = { [unowned self] files in self.imagesOfNow(files) } }
    }

    /// At a sync: images of every prefix of what is pending, by two models each.
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
                let copy = image.crash(model: .everything, random: &random)
                examine(image)
                if failure == nil, random.below(150) == 0 { chosen = copy }
                if failure != nil { return }
            }
        }
    }

    private func examine(_ image: SimulatedFileSystem) {
        images += 1
        do {
            let database = try open(image)
            let state = try read(database)
            guard allowed.contains(state) else {
                throw RunFailure(text: "an image holds neither the old state nor the new one", images: images)
            }
            try check(database)
            if random.below(8) == 0 {
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
        } catch let error as RunFailure {
            failure = error
        } catch {
            failure = RunFailure(text: "an image does not open: \(error)", images: images)
        }
    }

    // MARK: Database

    func open(_ files: SimulatedFileSystem) throws -> Database {
        var options = Database.OpenOptions()
        options.mutant = mutant
        options.syncDelay = nil
        options.encryptionKey = key
        // What every third one writes goes to the file ahead of its commit.
        opened += 1
        if opened % 3 == 0 { (options.spillLimits.sealed, options.spillLimits.changed) = (4096, 4096) }
        (options.spillLimits.interval, options.spillLimits.bytesPerChange) = (4, .max)
        // In the files of every second one, blocks at the end are moved soon. Not where a bug is looked for: there each
        // page counts.
        if opened % 2 == 0, mutant == nil { (options.shrinkLimits.minimumPages, options.shrinkLimits.pages) = (24, 12) }
        // Trees of some levels from few elements.
        options.elementTreeLimits.leafByteCount = 120
        options.elementTreeLimits.fanOut = 3
        return try Database.open(path: Self.path, fileSystem: files, options: options)
    }

    func check(_ database: Database?) throws {
        guard let database else { return }
        let report = IntegrityCheck.run(database)
        guard report.isClean else { throw RunFailure(text: "integrity: \(report.findings.prefix(3))", images: images) }
    }

    func read(_ database: Database) throws -> ModelState {
        let session = try database.makeSession()
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
        if case .int(let commits) = try counter.value(0, of: ObjectKey(1)) { state.commits = commits }
        return state
    }

    /// Some random changes, in the database and in the model.
    func change(_ session: Session, _ state: inout ModelState) throws {
        if session.tables.isEmpty {
            try session.addTables([Self.rows, Self.counter])
            let counter = session.table(named: "Counter").unsafelyUnwrapped
            try counter.finishInsert(try counter.insertRow())
        }
        guard let rows = session.table(named: "Row"), let counter = session.table(named: "Counter") else { return }
        for _ in 0..<random.below(5) { try insert(rows, &state) }
        if random.below(25) == 0 { for _ in 0..<random.below(400) { try insert(rows, &state) } }
        for key in state.rows.keys.sorted() {
            switch random.below(12 + state.rows.count / 4) {
            case 0: try update(rows, key, &state)
            case 1:
                try rows.delete(ObjectKey(key))
                state.rows[key] = nil
            case 2 where mutant == nil:
                // The runs that look for seeded bugs stay with small commits, where each page counts.
                try changeList(rows, key, &state)
            default: break
            }
        }
        state.commits += 1
        try counter.set(.int(state.commits), 0, of: ObjectKey(1))
    }

    private func text() -> String {
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
