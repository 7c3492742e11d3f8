// SPDX-License-Identifier: Apache-2.0
// Four processes on one file, two that move money between accounts and two that watch, each killed by the system at a
// moment that the seed chooses, round after round: nothing acknowledged is lost, no sum is ever wrong, nobody waits for
// a dead process, and the file does not grow. `REGNUM_KILLS` says how many writers are killed.

import Foundation
import RealmSwift
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

/// What a writer has done, in the same transaction.
final class TransferCount: Object {
    @Persisted(primaryKey: true) var writer: Int
    @Persisted var number: Int
    @Persisted var moves: List<Int>
}

@Suite(.serialized) struct KilledWritersTests {
    static let accounts = 300
    static let total = accounts * 1000
    static let kills = ProcessInfo.processInfo.environment["REGNUM_KILLS"].flatMap { Int($0) } ?? 12
    static let seed = ProcessInfo.processInfo.environment["REGNUM_SEED"].flatMap { UInt64($0) } ?? 20_261_121

    static func configuration(_ folder: String, _ durability: Durability = .full) -> Realm.Configuration {
        var configuration = Realm.Configuration(
            fileURL: URL(fileURLWithPath: folder).appendingPathComponent("bank.realm"),
            objectTypes: [Account.self, TransferCount.self])
        configuration.durability = durability
        return configuration
    }

    @Test("killed writers lose nothing acknowledged and readers never see a wrong sum")
    func transfers() async throws {
        let folder = TestFolder()
        let path = folder.url.path
        try Self.makeBank(path)
        var largest = 0
        // Each round kills two writers and two readers.
        for round in 0..<max(1, Self.kills / 2) {
            let seed = Self.seed &+ UInt64(round) &* 4
            async let first: Void = Self.writer(path, 0, seed)
            async let second: Void = Self.writer(path, 1, seed &+ 1)
            async let third: Void = Self.reader(path, seed &+ 2)
            async let fourth: Void = Self.reader(path, seed &+ 3)
            _ = await (first, second, third, fourth)
            let begin = ContinuousClock.now
            try Self.audit(path, "round \(round) of REGNUM_SEED=\(Self.seed)")
            #expect(ContinuousClock.now - begin < .seconds(10))
            largest = max(largest, try Data(contentsOf: folder.file("bank.realm")).count)
        }
        // 300 accounts need 30 pages; what was written and abandoned comes free again.
        #expect(largest < 4 << 20)
        expectIntegrity(of: Self.configuration(path))
    }

    private static func makeBank(_ path: String) throws {
        let realm = try Realm(configuration: configuration(path))
        try realm.write {
            for id in 0..<accounts {
                realm.create(Account.self, value: ["id": id, "balance": 1000, "holder": "holder \(id % 7)"])
            }
            for writer in 0..<2 { realm.create(TransferCount.self, value: ["writer": writer]) }
        }
    }

    /// The parent's look at the file after everybody has died, and one more transaction.
    private static func audit(_ path: String, _ name: String) throws {
        let realm = try Realm(configuration: configuration(path))
        #expect(realm.objects(Account.self).sum(ofProperty: "balance") == total, "\(name): the sum")
        for writer in 0..<2 {
            let count = try #require(realm.object(ofType: TransferCount.self, forPrimaryKey: writer))
            let acknowledged = Acknowledgement(path, writer).number
            // What was committed and not yet acknowledged may be there, once.
            #expect((acknowledged...acknowledged + 1).contains(count.number), "\(name): writer \(writer)")
            #expect(count.moves.last ?? 0 == count.number, "\(name): the moves of writer \(writer)")
        }
        try realm.write { realm.objects(Account.self).first?.holder = name }
        expectIntegrity(of: configuration(path))
    }

    // MARK: The processes

    private static func writer(_ path: String, _ writer: Int, _ seed: UInt64) async {
        await #expect(processExitsWith: .signal(SIGKILL), observing: [\.standardErrorContent]) {
            [path = path as String, writer = writer as Int, seed = seed as UInt64] in
            try KilledWritersTests.write(path, writer, seed)
        }
    }

    private static func reader(_ path: String, _ seed: UInt64) async {
        await #expect(processExitsWith: .signal(SIGKILL), observing: [\.standardErrorContent]) {
            [path = path as String, seed = seed as UInt64] in
            try KilledWritersTests.read(path, seed)
        }
    }

    /// Moves money until the process is killed.
    static func write(_ path: String, _ writer: Int, _ seed: UInt64) throws {
        var random = Draws(seed: seed)
        dieLater(&random)
        // No level loses anything by a kill, in whatever company.
        let level: Durability = [.full, .relaxed, .relaxed, .paranoid][random.below(4)]
        let realm = try Realm(configuration: configuration(path, level))
        let count = try #require(realm.object(ofType: TransferCount.self, forPrimaryKey: writer))
        let acknowledgement = Acknowledgement(path, writer)
        // A commit that was made and not acknowledged before the last kill is acknowledged now.
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

    /// Looks at sums and counts until the process is killed; ends it where they are wrong.
    static func read(_ path: String, _ seed: UInt64) throws {
        var random = Draws(seed: seed)
        dieLater(&random)
        let realm = try Realm(configuration: configuration(path))
        var last = [0, 0]
        while true {
            // What is acknowledged before the look must be seen by it.
            let acknowledged = (0..<2).map { Acknowledgement(path, $0).number }
            realm.refresh()
            let sum: Int = realm.objects(Account.self).sum(ofProperty: "balance")
            let counts = (0..<2).map { realm.object(ofType: TransferCount.self, forPrimaryKey: $0)?.number ?? -1 }
            guard sum == total, zip(counts, acknowledged).allSatisfy({ $0 >= $1 }),
                zip(counts, last).allSatisfy({ $0 >= $1 })
            else {
                let words = "sum \(sum), counts \(counts), before \(last), acknowledged \(acknowledged)"
                FileHandle.standardError.write(Data(words.utf8))
                exit(3)
            }
            last = counts
        }
    }

    /// Has this process killed at a moment that `random` chooses: now and then before it has opened the file.
    private static func dieLater(_ random: inout Draws) {
        let delay = random.below(8) == 0 ? random.below(5_000) : 5_000 + random.below(120_000)
        Thread.detachNewThread {
            Thread.sleep(forTimeInterval: Double(delay) / 1e6)
            kill(getpid(), SIGKILL)
        }
    }
}

/// The number of the last transaction that a writer was told is committed, in a file of its own: in the system's
/// memory the moment it is set, so that a kill does not take it back.
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
