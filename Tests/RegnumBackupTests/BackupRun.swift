// SPDX-License-Identifier: Apache-2.0
// A database with random commits, and a model of each of its versions, to compare restored files with.

import RegnumBackup
import RegnumEngine
import RegnumSimulation
import RegnumSystem
import Testing

/// Confined to its test.
final class BackupRun {
    static let path = "/d/a.realm"
    static let rows = NewTable(
        name: "Row",
        columns: [
            NewColumn(name: "id", type: .int, isPrimaryKey: true),
            NewColumn(name: "text", type: .string, isIndexed: true),
            NewColumn(name: "data", type: .data), NewColumn(name: "list", type: .int, collection: .list),
        ])

    struct Row: Equatable {
        var text = ""
        var data: [UInt8] = []
        var list: [Int64] = []
    }
    typealias State = [UInt64: Row]

    let files = MemoryFileSystem()
    let clock = TestClock()
    var random: SeededRandom
    let key: EncryptionKey?
    private(set) var database: Database
    private(set) var state: State = [:]
    /// The content of each version.
    private(set) var versions: [UInt64: State] = [:]
    private var next = 0
    private var checks = 0

    static func key(_ byte: UInt8) -> EncryptionKey {
        [UInt8](repeating: byte, count: EncryptionKey.byteCount).withUnsafeBytes { EncryptionKey($0) }
    }

    init(seed: UInt64, key: EncryptionKey? = nil, history: HistoryLimits? = nil) throws {
        random = SeededRandom(seed: seed)
        self.key = key
        var options = Database.OpenOptions()
        options.encryptionKey = key
        options.wallClock = { [clock] in clock.now }
        database = try Database.open(path: Self.path, fileSystem: files, options: options)
        let session = try database.makeSession()
        try session.beginWrite()
        try session.addTables([Self.rows])
        if let history { session.setHistory(history) }
        try session.commitWrite()
        versions[session.version] = state
    }

    /// Commits some random changes.
    func commit(changes: Int) throws {
        let session = try database.makeSession()
        try session.beginWrite()
        let table = try #require(session.table(named: "Row"))
        for _ in 0..<changes { try change(table) }
        try session.commitWrite()
        versions[session.version] = state
    }

    private func change(_ table: Table) throws {
        let keys = state.keys.sorted()
        guard !keys.isEmpty, random.below(10) < 6 || keys.count > 400 else { return try insert(table) }
        let key = keys[random.below(keys.count)]
        switch random.below(5) {
        case 0:
            try table.delete(ObjectKey(key))
            state[key] = nil
        case 1, 2:
            state[key]?.text = "text \(random.below(1000))"
            try table.set(.string(state[key]?.text ?? ""), 1, of: ObjectKey(key))
        case 3:
            let count = random.below(3) == 0 ? 3000 + random.below(30_000) : random.below(100)
            let data = [UInt8](repeating: UInt8(random.below(256)), count: count)
            state[key]?.data = data
            try table.set(.data(data), 2, of: ObjectKey(key))
        default:
            let place = state[key]?.list.count ?? 0
            let number = Int64(random.below(1000))
            state[key]?.list.append(number)
            try table.listInsert([.int(number)], 3, of: ObjectKey(key), at: place)
        }
    }

    private func insert(_ table: Table) throws {
        let location = try table.insertRow()
        let key = location.key
        try table.finishInsert(location)
        try table.set(.int(Int64(next)), 0, of: key)
        next += 1
        state[key.rawValue] = Row()
    }

    static func read(_ database: Database) throws -> State {
        let session = try database.makeSession()
        guard let table = session.table(named: "Row") else { return [:] }
        var found: State = [:]
        for position in 0..<table.count {
            let key = try table.key(atPosition: position)
            guard case .string(let text) = try table.value(1, of: key),
                case .data(let data) = try table.value(2, of: key)
            else { continue }
            let list = try table.listValues(3, of: key).map { value -> Int64 in
                if case .int(let number) = value { number } else { -1 }
            }
            found[key.rawValue] = Row(text: text, data: data, list: list)
        }
        return found
    }

    // MARK: The repository

    func options(packByteCount: Int = 64 << 10) -> BackupRepository.Options {
        var options = BackupRepository.Options()
        options.clock = { [clock] in clock.now }
        options.packByteCount = packByteCount
        return options
    }

    func repository(
        _ store: any BackupStore, packByteCount: Int = 64 << 10, form: ObjectForm = .plain
    ) throws -> BackupRepository {
        try BackupRepository(
            store, creating: true, encryptionKey: form.key, isCompressed: form.isCompressed,
            options: options(packByteCount: packByteCount))
    }

    /// Restores a backup to a file of its own and compares it with the model. With `isWritten`, also writes to it.
    func expectRestored(
        _ backup: BackupRepository.Backup, from repository: BackupRepository, isWritten: Bool = false,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        checks += 1
        let path = "/restored/\(checks).realm"
        let restored = try repository.restore(.version(backup.version), to: path, in: files)
        #expect(restored.version == backup.version, sourceLocation: sourceLocation)
        try expectFile(path, version: backup.version, isWritten: isWritten, sourceLocation: sourceLocation)
    }

    /// Compares the database at `path` with a version, and removes it.
    func expectFile(
        _ path: String, version: UInt64, isWritten: Bool = false, sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        do {
            var options = Database.OpenOptions()
            options.encryptionKey = key
            options.makesFile = false
            let copy = try Database.openAsOtherProcess(path: path, fileSystem: files, options: options)
            let report = IntegrityCheck.run(copy)
            #expect(report.isClean, "\(report.findings)", sourceLocation: sourceLocation)
            #expect(report.keptVersions == 0, sourceLocation: sourceLocation)
            let session = try copy.makeSession()
            #expect(session.version == version, sourceLocation: sourceLocation)
            let found = try Self.read(copy)
            #expect(found == versions[version], "version \(version)", sourceLocation: sourceLocation)
            if isWritten {
                for turn in 0..<3 {
                    try session.beginWrite()
                    let table = try #require(session.table(named: "Row"))
                    let location = try table.insertRow()
                    let key = location.key
                    try table.finishInsert(location)
                    try table.set(.int(1_000_000 + Int64(turn)), 0, of: key)
                    try session.commitWrite()
                }
                let after = IntegrityCheck.run(copy)
                #expect(after.isClean, "\(after.findings)", sourceLocation: sourceLocation)
            }
        }
        try files.remove(path)
    }
}
