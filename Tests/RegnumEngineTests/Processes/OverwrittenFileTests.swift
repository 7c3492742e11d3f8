// SPDX-License-Identifier: Apache-2.0
// Another program overwrites a file in place while it is open.

import RegnumSimulation
import RegnumSystem
import Testing

@testable import RegnumEngine

// After `cp other.realm x.realm` over an open database, an object once returned values of both files, because a block
// that was verified once is not read against its tag again. Only the next write failed.
@Suite struct OverwrittenFileTests {
    static let path = "/o/a.realm"

    /// The content that overwrites the file.
    enum Replacement: CaseIterable {
        /// Another database, with fewer pages or more.
        case otherShort, otherLong
        /// An older state of the same database.
        case older
        /// A copy of the older state with commits of others, up to the same version or beyond it.
        case diverged, divergedBeyond
        /// A copy of the newest state with commits of others.
        case descendant
        case zeros
    }

    /// The next operation of the process that has the file open.
    enum Step: CaseIterable { case refresh, newSession, freshWrite, commit, relaxedCommit, nothing }

    private static func open(
        _ files: SimulatedFileSystem, _ key: EncryptionKey?, _ mutant: ProtocolMutant? = nil, isReadOnly: Bool = false
    ) throws -> Database {
        var options = Database.OpenOptions(isReadOnly: isReadOnly)
        options.encryptionKey = key
        options.mutant = mutant
        options.syncDelay = nil
        return try Database.openAsOtherProcess(path: path, fileSystem: files, options: options)
    }

    private static func files(_ bytes: [UInt8]? = nil, seed: UInt64 = 1) -> SimulatedFileSystem {
        let files = SimulatedFileSystem(seed: seed, reservedByteCount: 64 << 20)
        if let bytes { files.setContents(of: path, bytes) }
        return files
    }

    private static func insert(_ session: Session, _ ids: Range<Int>, _ byteCount: Int = 900) throws {
        try session.beginWrite()
        if session.tables.isEmpty { try session.addTables([SpaceTests.rows]) }
        for id in ids { try SpaceTests.insert(try #require(session.table(named: "Row")), id, byteCount) }
        try session.commitWrite()
    }

    /// The file after more commits by another process.
    private static func continued(
        _ bytes: [UInt8], _ key: EncryptionKey?, _ ids: [Range<Int>], seed: UInt64
    ) throws -> [UInt8] {
        let others = files(bytes, seed: seed)
        do {
            let session = try open(others, key).makeSession()
            for range in ids { try insert(session, range, 300) }
        }
        return try #require(others.contents(of: path))
    }

    private static func other(_ key: EncryptionKey?, rows: Int) throws -> [UInt8] {
        let others = files(seed: 77)
        do { try insert(try open(others, key).makeSession(), 500..<500 + rows, 40) }
        return try #require(others.contents(of: path))
    }

    private static func bytes(
        _ replacement: Replacement, _ key: EncryptionKey?, older: [UInt8], newest: [UInt8]
    ) throws -> [UInt8] {
        switch replacement {
        case .otherShort: try other(key, rows: 1)
        case .otherLong: try other(key, rows: 9000)
        case .older: older
        case .diverged: try continued(older, key, [200..<230], seed: 5)
        case .divergedBeyond: try continued(older, key, [200..<230, 230..<231, 240..<250], seed: 6)
        case .descendant: try continued(newest, key, [200..<230, 230..<231, 240..<250], seed: 7)
        case .zeros: [UInt8](repeating: 0, count: newest.count)
        }
    }

    /// The values of the objects that the process has created.
    private static func values(_ session: Session) throws -> [[Value]] {
        let table = try #require(session.table(named: "Row"))
        return try (0..<table.count).map { position in
            let key = try table.key(atPosition: position)
            return try (0..<3).map { try table.value($0, of: key) }
        }
    }

    enum Outcome { case refused, right, wrong, written }

    private static func outcome(
        _ replacement: Replacement, _ step: Step, _ key: EncryptionKey?, _ mutant: ProtocolMutant? = nil
    ) throws -> Outcome {
        let files = files()
        var result = Outcome.right
        let bytes: [UInt8]
        do {
            let database = try open(files, key, mutant)
            let session = try database.makeSession()
            try insert(session, 0..<40)
            let older = try #require(files.contents(of: path))
            try insert(session, 40..<60)
            let newest = try #require(files.contents(of: path))
            let expected = try values(session)
            bytes = try Self.bytes(replacement, key, older: older, newest: newest)
            if step == .commit || step == .relaxedCommit {
                try session.beginWrite()
                try SpaceTests.insert(try #require(session.table(named: "Row")), 99, 900)
            }
            files.setContents(of: path, bytes)
            do {
                switch step {
                case .refresh:
                    _ = try session.refresh()
                    // Any value may be read here.
                    result = try mutant == nil && values(session) == expected ? .right : .wrong
                case .newSession: result = try values(try database.makeSession()) == expected ? .right : .wrong
                case .freshWrite:
                    try insert(session, 99..<100)
                    result = .written
                case .commit, .relaxedCommit:
                    try session.commitWrite(step == .commit ? .full : .relaxed)
                    result = .written
                case .nothing: break
                }
            } catch let error as EngineError {
                result = .refused
                if mutant == nil {
                    #expect(error == .overwritten(path: path), "\(replacement) \(step): \(error)")
                    // Again: the error is not forgotten.
                    #expect(throws: EngineError.self) { try session.beginWrite() }
                }
            }
        }
        // The new content stays unchanged, even when the process closes the file.
        if mutant == nil {
            #expect(files.contents(of: path) == bytes, "\(replacement) \(step)")
        }
        return result
    }

    @Test(
        "A file overwritten in place is detected when a read or a write begins, and is not written",
        arguments: CleanShutdownTests.keys)
    func noticed(key: EncryptionKey?) throws {
        for replacement in Replacement.allCases {
            for step in Step.allCases {
                let outcome = try Self.outcome(replacement, step, key)
                // In an encrypted file, data that was read before is in private memory.
                let mayStay = replacement == .descendant && key != nil && (step == .refresh || step == .newSession)
                let isRight = outcome == (step == .nothing ? .right : .refused) || mayStay && outcome == .right
                #expect(isRight, "\(replacement) \(step): \(outcome)")
            }
        }
    }

    @Test("These tests detect the seeded bug of a missing check")
    func mutant() throws {
        var wrong: Set<String> = []
        for replacement in Replacement.allCases where replacement != .zeros {
            let outcome = try? Self.outcome(replacement, .refresh, nil, .overwrittenNotNoticed)
            if outcome == .wrong { wrong.insert("\(replacement)") }
        }
        #expect(wrong.count > 2, "\(wrong)")
    }

    @Test(
        "A reader of an old version, a read-only one, and one of another process detect it too", arguments: [0, 1, 2])
    func others(kind: Int) throws {
        // A process cannot distinguish another process's later commits from those of a copy.
        let replacements: [Replacement] =
            kind == 0 ? [.otherShort, .otherLong, .older, .diverged, .zeros] : [.otherShort, .otherLong, .zeros]
        for replacement in replacements {
            let files = Self.files()
            let writer = try Self.open(files, nil).makeSession()
            try Self.insert(writer, 0..<40)
            let older = try #require(files.contents(of: Self.path))
            let reader =
                kind == 0
                ? try writer.database.makeSession() : try Self.open(files, nil, isReadOnly: kind == 1).makeSession()
            if kind != 1 { try Self.insert(writer, 40..<60) }
            let newest = try #require(files.contents(of: Self.path))
            files.setContents(of: Self.path, try Self.bytes(replacement, nil, older: older, newest: newest))
            #expect(throws: EngineError.overwritten(path: Self.path), "\(replacement)") { _ = try reader.refresh() }
        }
    }

    @Test("Identical bytes, or a damaged header with a good copy, do not count as another file")
    func same() throws {
        let files = Self.files()
        let session = try Self.open(files, nil).makeSession()
        try Self.insert(session, 0..<40)
        let expected = try Self.values(session)
        let bytes = try #require(files.contents(of: Self.path))
        files.setContents(of: Self.path, bytes)
        #expect(try !session.refresh())
        var damaged = bytes
        damaged[20] ^= 1
        files.setContents(of: Self.path, damaged)
        #expect(try !session.refresh())
        #expect(try Self.values(session) == expected)
        try Self.insert(session, 40..<50)
        #expect(session.table(named: "Row")?.count == 50)
    }
}
