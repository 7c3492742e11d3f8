// SPDX-License-Identifier: Apache-2.0
// One to three processes move money between accounts of one file and relink a ring, and as many read. Each is killed
// at a moment that the seed chooses, round after round, every third time on an encrypted file. No acknowledged commit
// is lost, no sum is ever wrong, snapshots do not change, no process waits for a dead one, the pins of dead processes
// are released, and the file does not grow. `REGNUM_KILLS` sets how many writers are killed.

import Foundation
import RealmSwift
import RegnumEngine
import RegnumSimulation
import RegnumSystem
import RegnumTestKit
import Testing

#if canImport(Glibc)
    import Glibc
#endif

final class Account: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var balance: Int
    @Persisted(indexed: true) var holder: String
}

/// The moves of a writer, counted in the same transaction.
final class TransferCount: Object {
    @Persisted(primaryKey: true) var writer: Int
    @Persisted var number: Int
    @Persisted var moves: List<Int>
}

/// A node of a ring: following `next` visits each node once and returns to the first.
final class RingNode: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var next: RingNode?
}

/// A bank's file, with the other files of its folder.
struct BankFile: Sendable, Codable {
    let folder: String
    let isEncrypted: Bool

    private var key: [UInt8]? { isEncrypted ? [UInt8](repeating: 7, count: 64) : nil }
    var path: String { folder + "/bank.realm" }

    func configuration(_ durability: Durability = .full) -> Realm.Configuration {
        var configuration = Realm.Configuration(
            fileURL: URL(fileURLWithPath: path), objectTypes: [Account.self, TransferCount.self, RingNode.self])
        configuration.durability = durability
        configuration.encryptionKey = key.map { Data($0) }
        return configuration
    }

    /// Opens the file. While it is open, killed processes are not the last ones to use the file.
    func open() throws -> Database {
        var options = Database.OpenOptions()
        options.encryptionKey = key.map { key in key.withUnsafeBytes { EncryptionKey($0) } }
        return try Database.open(path: path, fileSystem: PosixFileSystem.shared, options: options)
    }
}

@Suite(.serialized) struct KilledWritersTests {
    static let accounts = 300
    static let total = accounts * 1000
    static let writers = 3
    static let ringNodes = 12
    /// Whether a bank's file is encrypted.
    #if Encryption
        static let kinds = [false, true]
    #else
        static let kinds = [false]
    #endif
    static let kills = ProcessInfo.processInfo.environment["REGNUM_KILLS"].flatMap { Int($0) } ?? 12

    @Test("Killed writers lose no acknowledged commit, and readers never see a wrong sum")
    func transfers() async throws {
        let folders = Self.kinds.map { _ in TestFolder() }
        let banks = zip(folders, Self.kinds).map { BankFile(folder: $0.url.path, isEncrypted: $1) }
        for bank in banks { try Self.makeBank(bank) }
        var (round, killed, largest) = (0, 0, 0)
        while killed < max(1, Self.kills) {
            let runSeed = RunSeed.ofTurn(round, from: RunSeed.ofLongRuns, step: 8)
            let seed = runSeed.value
            var random = Draws(seed: seed &+ 7)
            let bank = banks[round % 3 == 2 ? banks.count - 1 : 0]
            let writers = 1 + random.below(Self.writers)
            let readers = 1 + random.below(3)
            // In every other round, one process keeps the file open all the time.
            let witness: Database? = try random.below(2) == 0 ? bank.open() : nil
            await withTaskGroup(of: Void.self) { group in
                for i in 0..<writers { group.addTask { await Self.writer(bank, i, seed &+ UInt64(i)) } }
                for i in 0..<readers { group.addTask { await Self.reader(bank, seed &+ 3 &+ UInt64(i)) } }
            }
            let name = "round \(round), \(runSeed)"
            // A wait for a dead process would never end, or throw.
            try Self.expectNoPins(witness, name)
            try Self.audit(bank, name)
            largest = max(largest, try Data(contentsOf: URL(fileURLWithPath: bank.path)).count)
            killed += writers
            round += 1
        }
        // 300 accounts need 30 pages, and abandoned pages become free again. Up to 16 MiB of relaxed commits wait for
        // a sync, and the pages that they replace wait as well; a release build reaches that amount.
        #expect(largest < 20 << 20)
        for bank in banks { expectIntegrity(of: bank.configuration()) }
        withExtendedLifetime(folders) {}
    }

    private static func makeBank(_ bank: BankFile) throws {
        let realm = try Realm(configuration: bank.configuration())
        try realm.write {
            for id in 0..<accounts {
                realm.create(Account.self, value: ["id": id, "balance": 1000, "holder": "holder \(id % 7)"])
            }
            for writer in 0..<writers { realm.create(TransferCount.self, value: ["writer": writer]) }
            let nodes = (0..<ringNodes).map { realm.create(RingNode.self, value: ["id": $0]) }
            for (i, node) in nodes.enumerated() { node.next = nodes[(i + 1) % ringNodes] }
        }
    }

    /// The pins of killed processes are released within a second (1,000 looks, which take longer on a busy machine),
    /// although another process has the file open.
    private static func expectNoPins(_ witness: Database?, _ name: String) throws {
        guard let witness else { return }
        var looks = 0
        while try !witness.pinsOfOthers().isEmpty, looks < 1000 {
            Thread.sleep(forTimeInterval: 0.001)
            looks += 1
        }
        let left = try witness.pinsOfOthers().count
        #expect(left == 0, "\(name): the pins of killed processes were not released")
    }

    /// The parent checks the file after all processes have died, and commits one more transaction.
    private static func audit(_ bank: BankFile, _ name: String) throws {
        let realm = try Realm(configuration: bank.configuration())
        #expect(realm.objects(Account.self).sum(ofProperty: "balance") == total, "\(name): the sum")
        #expect(isRing(realm), "\(name): the ring")
        for writer in 0..<writers {
            let count = try #require(realm.object(ofType: TransferCount.self, forPrimaryKey: writer))
            let acknowledged = Acknowledgement(bank.folder, writer).number
            // One commit that was not acknowledged may be there.
            #expect((acknowledged...acknowledged + 1).contains(count.number), "\(name): writer \(writer)")
            #expect(count.moves.last ?? 0 == count.number, "\(name): the moves of writer \(writer)")
        }
        try realm.write { realm.objects(Account.self).first?.holder = name }
        expectIntegrity(of: bank.configuration())
    }

    private static func isRing(_ realm: Realm) -> Bool {
        var seen: Set<Int> = []
        var node = realm.object(ofType: RingNode.self, forPrimaryKey: 0)
        while let current = node, seen.insert(current.id).inserted { node = current.next }
        return node?.id == 0 && seen.count == ringNodes
    }

    // MARK: The processes

    private static func writer(_ bank: BankFile, _ writer: Int, _ seed: UInt64) async {
        await #expect(processExitsWith: .signal(SIGKILL), observing: [\.standardErrorContent]) {
            [bank = bank as BankFile, writer = writer as Int, seed = seed as UInt64] in
            try KilledWritersTests.write(bank, writer, seed)
        }
    }

    private static func reader(_ bank: BankFile, _ seed: UInt64) async {
        await #expect(processExitsWith: .signal(SIGKILL), observing: [\.standardErrorContent]) {
            [bank = bank as BankFile, seed = seed as UInt64] in
            try KilledWritersTests.read(bank, seed)
        }
    }

    /// Moves money until the process is killed.
    static func write(_ bank: BankFile, _ writer: Int, _ seed: UInt64) throws {
        var random = Draws(seed: seed)
        dieLater(&random)
        // No durability level loses commits when a process is killed, with any mix of levels.
        let level: Durability = [.full, .relaxed, .relaxed, .paranoid][random.below(4)]
        let realm = try Realm(configuration: bank.configuration(level))
        let count = try #require(realm.object(ofType: TransferCount.self, forPrimaryKey: writer))
        let acknowledgement = Acknowledgement(bank.folder, writer)
        // Acknowledges a commit that was not acknowledged before the last kill.
        acknowledgement.number = count.number
        while true {
            try realm.write {
                for _ in 0..<(1 + random.below(8)) {
                    let from = try account(random.below(accounts), realm)
                    let to = try account(random.below(accounts), realm)
                    let amount = random.below(100)
                    from.balance -= amount
                    to.balance += amount
                    if amount < 10 { to.holder = "holder \(amount)" }
                }
                try relink(realm, random.below(ringNodes), random.below(ringNodes))
                count.number += 1
                if count.moves.count > 50 { count.moves.removeAll() }
                count.moves.append(count.number)
            }
            acknowledgement.number = count.number
        }
    }

    private static func account(_ id: Int, _ realm: Realm) throws -> Account {
        try #require(realm.object(ofType: Account.self, forPrimaryKey: id))
    }

    /// Moves the node after the first node to the position after the second node.
    private static func relink(_ realm: Realm, _ first: Int, _ second: Int) throws {
        let before = try #require(realm.object(ofType: RingNode.self, forPrimaryKey: first))
        let target = try #require(realm.object(ofType: RingNode.self, forPrimaryKey: second))
        let moved = try #require(before.next)
        if first == second || moved.id == second { return }
        before.next = moved.next
        moved.next = target.next
        target.next = moved
    }

    /// The values that a reader compares in a snapshot.
    private static func contents(_ realm: Realm) -> [Int] {
        let balances: [Int] = realm.objects(Account.self).map { $0.balance }
        let ring: [Int] = realm.objects(RingNode.self).map { $0.next?.id ?? -1 }
        let counts: [Int] = realm.objects(TransferCount.self).map { $0.number }
        return balances + ring + counts
    }

    /// Checks sums, counts and the ring until the process is killed. Ends the process if they are wrong, or if a
    /// snapshot changes.
    static func read(_ bank: BankFile, _ seed: UInt64) throws {
        var random = Draws(seed: seed)
        dieLater(&random)
        let realm = try Realm(configuration: bank.configuration())
        var last = [Int](repeating: 0, count: writers)
        var held: (realm: Realm, contents: [Int])?
        while true {
            // Commits that are acknowledged before the refresh must be visible after it.
            let acknowledged = (0..<writers).map { Acknowledgement(bank.folder, $0).number }
            realm.refresh()
            let sum: Int = realm.objects(Account.self).sum(ofProperty: "balance")
            let counts = (0..<writers).map { realm.object(ofType: TransferCount.self, forPrimaryKey: $0)?.number ?? -1 }
            guard sum == total, isRing(realm), zip(counts, acknowledged).allSatisfy({ $0 >= $1 }),
                zip(counts, last).allSatisfy({ $0 >= $1 })
            else {
                fail("sum \(sum), counts \(counts), before \(last), acknowledged \(acknowledged), \(isRing(realm))")
            }
            last = counts
            if let version = held, contents(version.realm) != version.contents { fail("a held version has changed") }
            if random.below(4) == 0 {
                let frozen = realm.freeze()
                held = (frozen, contents(frozen))
            }
        }
    }

    /// Ends a process that should have been killed.
    private static func fail(_ words: String) -> Never {
        FileHandle.standardError.write(Data(words.utf8))
        exit(3)
    }

    /// Has this process killed at a moment that `random` chooses, occasionally before it has opened the file.
    private static func dieLater(_ random: inout Draws) {
        let delay = random.below(8) == 0 ? random.below(5_000) : 5_000 + random.below(120_000)
        Thread.detachNewThread {
            Thread.sleep(forTimeInterval: Double(delay) / 1e6)
            kill(getpid(), SIGKILL)
        }
    }
}

/// The number of a writer's last acknowledged transaction, in a separate file. It is in the system's page cache as
/// soon as it is set, so a kill does not lose it.
private struct Acknowledgement {
    private let path: String

    init(_ folder: String, _ writer: Int) { path = folder + "/acknowledged-\(writer)" }

    var number: Int {
        get {
            let file = open(path, O_RDONLY)
            guard file >= 0 else { return 0 }
            defer { close(file) }
            var value = 0
            return pread(file, &value, 8, 0) == 8 ? value : 0
        }
        nonmutating set {
            let file = open(path, O_WRONLY | O_CREAT, 0o600)
            defer { close(file) }
            var value = newValue
            precondition(pwrite(file, &value, 8, 0) == 8)
        }
    }
}

/// Random numbers that a seed repeats (SplitMix64).
struct Draws {
    private var state: UInt64
    init(seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 }

    mutating func below(_ limit: Int) -> Int {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ z >> 30) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ z >> 27) &* 0x94D0_49BB_1331_11EB
        return Int((z ^ z >> 31) % UInt64(limit))
    }
}
