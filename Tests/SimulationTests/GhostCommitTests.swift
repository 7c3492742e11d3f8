// SPDX-License-Identifier: Apache-2.0
// The ghost commit: a commit is interrupted with its slot on disk but one of its blocks lost, so the previous commit
// counts. The next commit is interrupted too, after writing exactly the block that the first one lacked. Now the first
// slot and all its blocks are there: without a defence, the commit that was never acknowledged, and whose absence has
// been observed, comes back. There are two defences: blocks carry the nonce of their commit, and a rejected slot is
// durably cleared before anything is written. Random images reach this only after hundreds of thousands: here it is
// constructed.

import RegnumEngine
import RegnumSimulation
import RegnumSystem
import Synchronization
import Testing

@Suite struct GhostCommitTests {
    static let path = "/data/a.realm"

    /// The pages in which two images of the file differ.
    private func differing(_ a: [UInt8], _ b: [UInt8]) -> [Int] {
        (0..<(min(a.count, b.count) / 4096)).filter { page in
            a[(page * 4096)..<((page + 1) * 4096)] != b[(page * 4096)..<((page + 1) * 4096)]
        }
    }

    private func open(_ files: SimulatedFileSystem, _ mutant: ProtocolMutant?) throws -> Database {
        var options = Database.OpenOptions()
        options.mutant = mutant
        return try Database.open(path: Self.path, fileSystem: files, options: options)
    }

    /// Sets the one object of each named table.
    private func commit(_ database: Database, _ values: [(table: String, value: Int64)]) throws {
        let session = try database.makeSession()
        try session.beginWrite()
        if session.tables.isEmpty {
            for name in ["A", "B", "C"] {
                try session.addTables([NewTable(name: name, columns: [NewColumn(name: "n", type: .int)])])
            }
            for table in session.tables { try table.finishInsert(try table.insertRow()) }
        }
        for (name, value) in values {
            let table = try #require(session.table(named: name))
            try table.set(.int(value), 0, of: ObjectKey(1))
        }
        try session.commitWrite()
    }

    private func read(_ database: Database) throws -> [Int64] {
        let session = try database.makeSession()
        return try session.tables.map { table in
            if case .int(let value) = try table.value(0, of: ObjectKey(1)) { value } else { -1 }
        }
    }

    /// Runs the schedule; returns the state that the last recovery finds.
    private func schedule(_ mutant: ProtocolMutant?, seed: UInt64) throws -> [Int64] {
        var random = SeededRandom(seed: seed)
        let files = SimulatedFileSystem(seed: seed, reservedByteCount: 64 << 20)
        do { try commit(try open(files, mutant), [("A", 1), ("B", 1), ("C", 1)]) }
        let before = try #require(files.contents(of: Self.path))

        // The first interrupted commit: everything reaches the disk except its first block.
        let first = files.crash(model: .everything, random: &random)
        let whole = try {
            let database = try open(first, mutant)
            try commit(database, [("A", 2), ("B", 2)])
            // Not closed: the power is lost.
            return try withExtendedLifetime(database) { try #require(first.contents(of: Self.path)) }
        }()
        let firstBlock = try #require(differing(before, whole).first { $0 >= 16 })
        var torn = whole
        torn.replaceSubrange(
            (firstBlock * 4096)..<((firstBlock + 1) * 4096),
            with: before[(firstBlock * 4096)..<((firstBlock + 1) * 4096)])

        // Recovery finds the old state; the second commit begins like the first one.
        let second = SimulatedFileSystem(seed: seed + 1, reservedByteCount: 64 << 20)
        second.setContents(of: Self.path, torn)
        // The durable bytes at its sync, when its own blocks are written and may or may not be durable.
        let durable = Mutex<[UInt8]>([])
        do {
            let database = try open(second, mutant)
            #expect(try read(database) == [1, 1, 1])
            second.beforeSync = { files in
                var random = SeededRandom(seed: seed)
                let image = files.crash(keepingFirst: 0, model: .everything, random: &random)
                durable.withLock { $0 = image.contents(of: Self.path) ?? [] }
            }
            try commit(database, [("A", 2), ("C", 3)])
            second.beforeSync = nil
        }
        // It is interrupted after one block.
        let next = try #require(second.contents(of: Self.path))
        var final = durable.withLock { $0 }
        try #require(final.count >= (firstBlock + 1) * 4096)
        final.replaceSubrange(
            (firstBlock * 4096)..<((firstBlock + 1) * 4096), with: next[(firstBlock * 4096)..<((firstBlock + 1) * 4096)]
        )
        let last = SimulatedFileSystem(seed: seed + 2, reservedByteCount: 64 << 20)
        last.setContents(of: Self.path, final)
        return try read(try open(last, mutant))
    }

    @Test("An interrupted commit does not come back after a second crash", arguments: 1...10)
    func noGhost(seed: Int) throws {
        #expect(try schedule(nil, seed: UInt64(seed)) == [1, 1, 1])
    }

    @Test("Without the nonce, clearing the rejected slot is enough", arguments: 1...10)
    func clearing(seed: Int) throws {
        #expect(try schedule(.nonceRepeated, seed: UInt64(seed)) == [1, 1, 1])
    }

    @Test("Without the nonce and the clearing, the schedule shows the ghost", arguments: 1...10)
    func ghost(seed: Int) throws {
        #expect(try schedule(.ghostCommit, seed: UInt64(seed)) == [2, 2, 1])
    }
}
