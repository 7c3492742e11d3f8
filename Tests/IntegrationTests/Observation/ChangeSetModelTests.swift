// SPDX-License-Identifier: Apache-2.0
// Random changes. Each change set is applied to a copy of the old state, which must then be equal to the new state,
// for every kind of observable collection. Each run covers a fourth of the kinds.

import Dispatch
import Foundation
import RealmSwift
import RegnumSimulation
import Testing

class MirrorRow: Object {
    @Persisted(primaryKey: true) var id = 0
    @Persisted var rank = 0
    /// Different in most rows.
    @Persisted var mark = 0
    @Persisted var name = ""
    @Persisted var parent: MirrorRow?
    @Persisted var list: List<MirrorRow>
    @Persisted var numbers: List<Int>
    @Persisted var set: MutableSet<MirrorRow>
    @Persisted var map: Map<String, MirrorRow?>
    @Persisted var words: MutableSet<String>
    @Persisted var counts: Map<String, Int>
    @Persisted var anything: List<AnyRealmValue>
    @Persisted var parts: List<MirrorPart>
    @Persisted(originProperty: "parent") var children: LinkingObjects<MirrorRow>
}

class MirrorPart: EmbeddedObject {
    @Persisted var rank = 0
}

/// The count of runs, each with several writes of 1 to 200 changes; the environment can ask for more.
enum MirrorRuns {
    static let small = Int(ProcessInfo.processInfo.environment["REGNUM_MIRROR_RUNS"] ?? "") ?? 20
    /// The writes of a small run.
    static let rounds = 12
    /// The writes of a large run, which takes long to fill.
    static let largeRounds = small > 100 ? 24 : 7
    /// The least count of large runs that makes a tenth of the writes of each set of kinds.
    static let large: Int = {
        let writes = (small + kinds - 1) / kinds * rounds
        let perKind = (writes + 9 * largeRounds - 1) / (9 * largeRounds)
        return perKind * kinds
    }()
    /// Every collection of a large run has at least this many elements before and after each write.
    static let largeLeast = 2_000
    /// The count of sets of kinds of collections; a run mirrors one of them.
    static let kinds = 4
    static let smallSeeds = RunSeed.list(1...UInt64(max(1, small)))
    static let largeSeeds = RunSeed.list(1_000_000...UInt64(999_999 + max(1, large)))
    /// The sizes of collections, which follow from the number of a run.
    static func rows(small seed: RunSeed) -> Int { 1 + Int((seed.value &- 1) % 40) }
    static func rows(large seed: RunSeed) -> Int { 4_500 + Int((seed.value &- 1_000_000) % 7) * 100 }
    static func kind(of seed: RunSeed) -> Int { Int(seed.value % UInt64(kinds)) }
    /// Runs are bundled, because each test case uses memory until the end.
    static func bundle(_ bundle: Int, of seeds: [RunSeed]) -> [RunSeed] {
        stride(from: bundle, to: seeds.count, by: bundles).map { seeds[$0] }
    }
    static let bundles = 20
}

/// xorshift, so that the same seed produces the same run.
private struct Dice: RandomNumberGenerator {
    var state: UInt64
    mutating func next() -> UInt64 {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return state
    }
}

/// A copy of one observed collection, which only change sets update.
private final class Mirror {
    let name: String
    private(set) var elements: [String] = []
    var count: Int { elements.count }
    private(set) var failure: String?
    private var token: NotificationToken?
    private var current: () -> [String] = { [] }

    init<C: RealmCollection>(_ name: String, _ collection: C, _ text: @escaping (C.Element) -> String) {
        self.name = name
        // Reads a frozen copy, because an observed collection returns the results of its observer.
        current = { collection.freeze().map(text) }
        token = collection.observe { [unowned self] change in
            switch change {
            case .initial(let now): self.elements = now.map(text)
            case .update(let now, let deletions, let insertions, let modifications):
                self.apply(now.map(text), deletions, insertions, modifications)
            case .error: self.failure = "error"
            }
        }
    }

    private func apply(_ now: [String], _ deletions: [Int], _ insertions: [Int], _ modifications: [Int]) {
        let isSound =
            deletions == Array(Set(deletions)).sorted() && insertions == Array(Set(insertions)).sorted()
            && modifications == Array(Set(modifications)).sorted()
            && (deletions + modifications).allSatisfy { elements.indices.contains($0) }
            && insertions.allSatisfy { now.indices.contains($0) }
            && Set(deletions).isDisjoint(with: modifications)
        guard isSound else {
            failure = "d\(deletions) i\(insertions) m\(modifications) of \(elements.count), now \(now.count)"
            return
        }
        for index in modifications { elements[index] = Mirror.changed }
        for index in deletions.reversed() { elements.remove(at: index) }
        for index in insertions {
            guard index <= elements.count else {
                failure = "insertion at \(index) of \(elements.count)"
                return
            }
            elements.insert(now[index], at: index)
        }
        guard elements.count == now.count else { return }
        for index in elements.indices where elements[index] == Mirror.changed { elements[index] = now[index] }
    }

    /// The placeholder of an element whose new value has not been read yet.
    private static let changed = "changed"

    /// A description of the failure, or nil.
    func check() -> String? {
        if let failure { return "\(name): \(failure)" }
        let now = current()
        return now == elements ? nil : "\(name): \(elements.count) by change sets, \(now.count) in fact"
    }

    /// For a map: "key=value", sorted.
    init<Element>(_ name: String, _ map: Map<String, Element>, _ value: @escaping (Element?) -> String) {
        self.name = name
        func text(_ key: String) -> String { "\(key)=\(value(map[key]))" }
        current = { map.keys.map(text).sorted() }
        token = map.observe { [unowned self] change in
            switch change {
            case .initial: elements = map.keys.map(text).sorted()
            case .update(_, let deletions, let insertions, let modifications):
                let gone = Set(deletions + modifications)
                elements.removeAll { gone.contains(String($0.prefix { $0 != "=" })) }
                elements = (elements + (insertions + modifications).map(text)).sorted()
            case .error: failure = "error"
            }
        }
    }
}

/// A copy of sections, which only change sets update.
private final class SectionsMirror {
    private var sections: [[String]] = []
    private var token: NotificationToken?
    private var current: () -> [[String]] = { [] }
    private var failure: String?
    var count: Int { sections.reduce(0) { $0 + $1.count } }

    let name: String

    /// `make` is called again for the actual state, because observed sections return the results of the observer.
    init(_ name: String, _ make: @autoclosure @escaping () -> SectionedResults<Int, MirrorRow>) {
        self.name = name
        let text: (SectionedResults<Int, MirrorRow>) -> [[String]] = { $0.map { $0.map { "\($0.id)" } } }
        let results = make()
        current = { text(make()) }
        token = results.observe { [unowned self] change in
            switch change {
            case .initial(let now): sections = text(now)
            case .update(let now, let deletions, let insertions, let modifications, let came, let went):
                apply(text(now), deletions, insertions, modifications, came, went)
            }
        }
    }

    private func apply(
        _ now: [[String]], _ deletions: [IndexPath], _ insertions: [IndexPath], _ modifications: [IndexPath],
        _ came: IndexSet, _ went: IndexSet
    ) {
        guard (deletions + modifications).allSatisfy({ $0[0] < sections.count && $0[1] < sections[$0[0]].count }),
            insertions.allSatisfy({ $0[0] < now.count && $0[1] < now[$0[0]].count }),
            deletions.allSatisfy({ !went.contains($0[0]) })
        else {
            failure = "d\(deletions) i\(insertions) m\(modifications) +\(Array(came)) -\(Array(went))"
            return
        }
        for path in deletions.sorted().reversed() { sections[path[0]].remove(at: path[1]) }
        for section in went.reversed() { sections.remove(at: section) }
        for section in came { sections.insert([], at: min(section, sections.count)) }
        for path in insertions.sorted() {
            guard path[0] < sections.count, path[1] <= sections[path[0]].count else {
                failure = "insertion at \(path)"
                return
            }
            sections[path[0]].insert(now[path[0]][path[1]], at: path[1])
        }
    }

    func check() -> String? {
        if let failure { return "\(name): \(failure)" }
        return sections == current() ? nil : "\(name): \(sections.count) by change sets, \(current().count) in fact"
    }
}

@Suite struct ChangeSetModelTests {
    /// Makes one random change. A large list that is cleared gets its elements back in another order.
    private func change(
        _ realm: Realm, _ owner: MirrorRow, _ next: inout Int, _ dice: inout Dice, isLarge: Bool
    ) {
        let rows = realm.objects(MirrorRow.self)
        func any() -> MirrorRow? {
            rows.isEmpty ? nil : rows[Int.random(in: 0..<rows.count, using: &dice)]
        }
        switch Int.random(in: 0..<26, using: &dice) {
        case 0, 1, 2:
            next += 1
            let rank = Int.random(in: 0..<50, using: &dice)
            realm.add(MirrorRow(value: ["id": next, "rank": rank, "mark": next, "parent": owner]))
        case 3:
            if let row = any(), row.id != 0 { realm.delete(row) }
        case 4, 5: any()?.rank = Int.random(in: 0..<50, using: &dice)
        case 6: any()?.name = "n\(Int.random(in: 0..<9, using: &dice))"
        case 7: any()?.parent = Bool.random(using: &dice) ? owner : nil
        case 8:
            if let row = any() {
                owner.list.insert(row, at: Int.random(in: 0...owner.list.count, using: &dice))
            }
        case 9: if !owner.list.isEmpty { owner.list.remove(at: Int.random(in: 0..<owner.list.count, using: &dice)) }
        case 10:
            if owner.list.count > 1 {
                owner.list.move(
                    from: Int.random(in: 0..<owner.list.count, using: &dice),
                    to: Int.random(in: 0..<owner.list.count, using: &dice))
            }
        case 11: owner.numbers.append(Int.random(in: 0..<9, using: &dice))
        case 12:
            if !owner.numbers.isEmpty {
                owner.numbers.remove(at: Int.random(in: 0..<owner.numbers.count, using: &dice))
            }
        case 13: if let row = any() { owner.set.insert(row) }
        case 14: if let row = owner.set.first { owner.set.remove(row) }
        case 15: owner.map[anyKey(owner.map.count, &dice)] = any()
        case 16: owner.map.removeObject(for: anyKey(owner.map.count, &dice))
        case 17: owner.words.insert(anyKey(owner.words.count, &dice))
        case 18: owner.words.remove(anyKey(owner.words.count, &dice))
        case 19: owner.counts[anyKey(owner.counts.count, &dice)] = Int.random(in: 0..<5, using: &dice)
        case 20: owner.counts.removeObject(for: anyKey(owner.counts.count, &dice))
        case 21:
            let place = Int.random(in: 0...owner.anything.count, using: &dice)
            let number = Int.random(in: 0..<9, using: &dice)
            owner.anything.insert(number % 2 == 0 ? .int(number) : .string("s\(number)"), at: place)
        case 22:
            if !owner.anything.isEmpty {
                owner.anything.remove(at: Int.random(in: 0..<owner.anything.count, using: &dice))
            }
            if let row = any() { owner.anything.append(.object(row)) }
        case 23:
            let rank = Int.random(in: 0..<50, using: &dice)
            if owner.parts.isEmpty || Bool.random(using: &dice) {
                owner.parts.append(MirrorPart(value: ["rank": rank]))
            } else if Bool.random(using: &dice) {
                owner.parts[rank % owner.parts.count].rank = rank
            } else {
                owner.parts.remove(at: rank % owner.parts.count)
            }
        case 24: any()?.mark = Int.random(in: 0...next, using: &dice)
        default:
            if Int.random(in: 0..<40, using: &dice) == 0 {
                let listed = isLarge ? owner.list.shuffled(using: &dice) : []
                owner.list.removeAll()
                owner.list.append(objectsIn: listed)
            }
            if !owner.numbers.isEmpty { owner.numbers[owner.numbers.count / 2] = 77 }
        }
    }

    /// Usually an existing key.
    private func anyKey(_ count: Int, _ dice: inout Dice) -> String {
        "k\(Int.random(in: 0..<max(9, count), using: &dice))"
    }

    /// Runs `rounds` writes on its own queue; returns a description of the failure with the seed.
    private func run(seed: RunSeed, rows: Int, rounds: Int) throws -> String? {
        let stage = try MirrorStage(seed: seed, rows: rows)
        let isLarge = rows > MirrorRuns.largeLeast
        if isLarge, let words = stage.tooSmall() { return "\(seed): \(words)" }
        for round in 0..<rounds {
            try stage.queue.sync {
                try stage.realm?.write {
                    guard let realm = stage.realm, let owner = stage.owner else { return }
                    for _ in 0..<Int.random(in: 1...200, using: &stage.dice).mostlySmall {
                        change(realm, owner, &stage.next, &stage.dice, isLarge: isLarge)
                    }
                }
            }
            let words = stage.check() ?? (isLarge ? stage.tooSmall() : nil)
            if let words { return "\(seed), round \(round): \(words)" }
        }
        if let words = stage.checkLooks() { return "\(seed): \(words)" }
        stage.queue.sync { stage.end() }
        return nil
    }

    @Test(
        "At least a tenth of the writes to each set of kinds changes large collections", arguments: 0..<MirrorRuns.kinds
    )
    func shares(kind: Int) {
        let small = MirrorRuns.smallSeeds.count { MirrorRuns.kind(of: $0) == kind } * MirrorRuns.rounds
        let large = MirrorRuns.largeSeeds.count { MirrorRuns.kind(of: $0) == kind } * MirrorRuns.largeRounds
        #expect(large > 0 && large * 10 >= small + large)
    }

    @Test(
        "Change sets that are applied to copies produce the current state, for small collections",
        arguments: 0..<MirrorRuns.bundles)
    func small(bundle: Int) throws {
        for seed in MirrorRuns.bundle(bundle, of: MirrorRuns.smallSeeds) {
            let words = try run(seed: seed, rows: MirrorRuns.rows(small: seed), rounds: MirrorRuns.rounds)
            #expect(words == nil, "\(words ?? "")")
        }
    }

    @Test(
        "Change sets that are applied to copies produce the current state, for large collections",
        arguments: 0..<MirrorRuns.bundles)
    func large(bundle: Int) throws {
        for seed in MirrorRuns.bundle(bundle, of: MirrorRuns.largeSeeds) {
            let words = try run(seed: seed, rows: MirrorRuns.rows(large: seed), rounds: MirrorRuns.largeRounds)
            #expect(words == nil, "\(words ?? "")")
        }
    }
}

/// The Realm with its mirrors, used on its queue.
private final class MirrorStage: @unchecked Sendable {
    // Sendable: everything is used on the queue.
    let queue = DispatchQueue(label: "mirror")
    var realm: Realm?
    var owner: MirrorRow?
    var mirrors: [Mirror] = []
    var sections: [SectionsMirror] = []
    var dice: Dice
    var next: Int

    /// The set of kinds that is mirrored.
    private let kinds: Int
    private let isLookedAtElsewhere: Bool

    init(seed: RunSeed, rows: Int) throws {
        kinds = MirrorRuns.kind(of: seed)
        isLookedAtElsewhere = seed.value / 4 % 2 == 1
        dice = Dice(state: seed.value &* 0x9E37_79B9_7F4A_7C15 | 1)
        next = rows
        try queue.sync { try open(rows) }
        settle()
    }

    private func open(_ rows: Int) throws {
        let configuration = Realm.Configuration(
            inMemoryIdentifier: UUID().uuidString, objectTypes: [MirrorRow.self, MirrorPart.self])
        let realm = try Realm(configuration: configuration, queue: queue)
        try realm.write {
            for id in 0..<rows { realm.add(MirrorRow(value: ["id": id, "rank": id * 7 % 50, "mark": id])) }
        }
        let owner = try #require(realm.object(ofType: MirrorRow.self, forPrimaryKey: 0))
        let all = realm.objects(MirrorRow.self)
        let isLarge = rows > MirrorRuns.largeLeast
        if isLarge { try realm.write { fill(owner, all) } }
        let id: (MirrorRow) -> String = { "\($0.id)" }
        switch kinds {
        case 0:
            mirrors = [
                Mirror("plain", all, id),
                Mirror("filtered", all.filter("rank > 20"), id),
                Mirror("sorted", all.sorted(byKeyPath: "rank"), id),
                Mirror("filtered and sorted", all.filter("rank < 40").sorted(byKeyPath: "rank", ascending: false), id),
                // Many rows share a rank.
                Mirror("distinct", all.distinct(by: [isLarge ? "mark" : "rank"]), id),
            ]
            sections = [
                SectionsMirror("sections", all.sectioned(by: \.rank)),
                SectionsMirror(
                    "sections by a block",
                    all.filter("rank > 5").sectioned(
                        by: { $0.name.count + $0.rank % 3 }, sortDescriptors: [SortDescriptor(keyPath: "rank")])),
            ]
        case 1:
            mirrors = [
                Mirror("list", owner.list, id),
                Mirror("list sorted", owner.list.sorted(byKeyPath: "rank"), id),
                Mirror("list filtered", owner.list.filter("rank > 10"), id),
                Mirror("numbers", owner.numbers) { "\($0)" },
                Mirror("numbers sorted", owner.numbers.sorted(ascending: false)) { "\($0)" },
            ]
            sections = [SectionsMirror("sections of a list", owner.list.sectioned(by: \.rank))]
        case 2:
            mirrors = [
                Mirror("set", owner.set, id),
                Mirror("set filtered and sorted", owner.set.filter("rank < 30").sorted(byKeyPath: "name"), id),
                Mirror("words", owner.words) { $0 },
                Mirror("linking", owner.children, id),
                Mirror("linking sorted", owner.children.sorted(byKeyPath: "rank"), id),
            ]
        default:
            mirrors = [
                Mirror("map", owner.map) { ($0 ?? nil).map { "\($0.id)" } ?? "-" },
                Mirror("counts", owner.counts) { "\($0 ?? -1)" },
                Mirror("anything", owner.anything) { value in
                    if case .object(let object) = value { "\((object as? MirrorRow)?.id ?? -1)" } else { "\(value)" }
                },
                Mirror("parts", owner.parts) { "\($0.rank)" },
                Mirror("parts filtered", owner.parts.filter("rank > 10")) { "\($0.rank)" },
            ]
        }
        self.realm = realm
        self.owner = owner
    }

    /// Fills every collection of the kinds, with as many elements as there are rows.
    private func fill(_ owner: MirrorRow, _ all: Results<MirrorRow>) {
        for row in all {
            let id = row.id
            switch kinds {
            case 0: break
            case 1:
                owner.list.append(row)
                owner.numbers.append(id % 9)
            case 2:
                row.parent = owner
                owner.set.insert(row)
                owner.words.insert("k\(id)")
            default:
                owner.map["k\(id)"] = row
                owner.counts["k\(id)"] = id % 5
                owner.anything.append(id % 3 == 0 ? .object(row) : .int(id % 7))
                owner.parts.append(MirrorPart(value: ["rank": id % 50]))
            }
        }
    }

    /// In every other run, change sets are computed in the background.
    private func settle() {
        if isLookedAtElsewhere {
            queue.sync { realm?.deliverByTurns(.none) }
        } else {
            for _ in 0..<3 { queue.sync {} }
        }
    }

    /// The name of a collection that has become too small, or nil.
    func tooSmall() -> String? {
        queue.sync { () -> String? in
            for mirror in mirrors where mirror.count <= MirrorRuns.largeLeast {
                return "\(mirror.name): only \(mirror.count) elements"
            }
            for mirror in sections where mirror.count <= MirrorRuns.largeLeast {
                return "\(mirror.name): only \(mirror.count) elements"
            }
            return nil
        }
    }

    /// An error in the count of background diffs, or nil.
    func checkLooks() -> String? {
        let looks = queue.sync { realm?.deliveryWork.lookedElsewhere ?? 0 }
        return isLookedAtElsewhere && looks == 0 ? "no other thread has looked" : nil
    }

    func check() -> String? {
        settle()
        return queue.sync {
            mirrors.lazy.compactMap { $0.check() }.first ?? sections.lazy.compactMap { $0.check() }.first
        }
    }

    func end() {
        mirrors = []
        sections = []
        owner = nil
        realm = nil
    }
}

extension Int {
    /// Returns small numbers more often than large ones.
    fileprivate var mostlySmall: Int { Swift.max(1, self * self / 200) }
}
