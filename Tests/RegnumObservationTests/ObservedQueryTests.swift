// SPDX-License-Identifier: Apache-2.0
// Observed queries of every kind compared with a fresh run of the query, and the amount of work, which must not depend
// on the number of objects.

import RegnumEngine
import RegnumSimulation
import RegnumSystem
import Testing

@testable import RegnumObservation
@testable import RegnumQuery

/// A table of people with friends and pets, and three sessions: one writes, one shows, one stays at an older version.
private final class People {
    static let rank = 0, name = 1, weight = 2, friend = 3, pets = 4, mixed = 5, born = 6
    static let person = TableKey(1), pet = TableKey(2)

    let database: Database
    let writer: Session
    let shown: Session
    let told: Session
    var random: SeededRandom

    init(seed: UInt64, count: Int) throws {
        random = SeededRandom(seed: seed)
        database = try Database.open(path: "/people.realm", fileSystem: MemoryFileSystem())
        writer = try database.makeSession()
        shown = try database.makeSession()
        told = try database.makeSession()
        try writer.beginWrite()
        try writer.addTables([
            NewTable(
                name: "Person",
                columns: [
                    NewColumn(name: "rank", type: .int), NewColumn(name: "name", type: .string, isNullable: true),
                    NewColumn(name: "weight", type: .double, isNullable: true),
                    NewColumn(name: "friend", type: .link, targetName: "Person"),
                    NewColumn(name: "pets", type: .link, collection: .list, targetName: "Pet"),
                    NewColumn(name: "mixed", type: .mixed, isNullable: true),
                    NewColumn(name: "born", type: .date, isNullable: true),
                ]),
            NewTable(name: "Pet", columns: [NewColumn(name: "age", type: .int)]),
        ])
        for _ in 0..<max(3, count / 20) { try addPet() }
        for _ in 0..<count { try add() }
        try writer.commitWrite()
        _ = try (shown.refresh(), told.refresh())
    }

    var people: Table { writer.tables[0] }
    var animals: Table { writer.tables[1] }

    private func insert(into table: Table) throws -> ObjectKey {
        let location = try table.insertRow()
        try table.finishInsert(location)
        return location.key
    }

    func addPet() throws { try animals.set(.int(Int64(random.below(20))), 0, of: try insert(into: animals)) }

    func add() throws {
        let key = try insert(into: people)
        for column in [Self.rank, Self.name, Self.weight, Self.mixed, Self.born] { try change(column, of: key) }
    }

    private func some(_ table: Table) throws -> ObjectKey? {
        table.count == 0 ? nil : try table.key(atPosition: random.below(table.count))
    }

    private func change(_ column: Int, of key: ObjectKey) throws {
        let value: Value
        switch column {
        case Self.rank: value = .int(Int64(random.below(50)))
        case Self.name:
            // Sometimes a blob.
            let names: [Value] = [.null, .string("a9"), .string("A10"), .string("é"), .string("")]
            value =
                random.below(200) == 0
                ? .string(String(repeating: "long ", count: 2000)) : names[random.below(names.count)]
        case Self.weight:
            let weights: [Value] = [.null, .double(.nan), .double(-0.0), .double(0), .double(2.5), .double(-7)]
            value = weights[random.below(weights.count)]
        case Self.born:
            let dates: [(Int64, Int32)] = [(0, 0), (0, 5), (-1, -5), (.min, 0), (7, 1), (7, 2)]
            let (seconds, nanoseconds) = dates[random.below(dates.count)]
            value = random.below(5) == 0 ? .null : .date(Timestamp(seconds: seconds, nanoseconds: nanoseconds))
        case Self.friend: value = try random.below(4) == 0 ? .null : some(people).map { .link($0) } ?? .null
        default:
            let values: [Value] = [.null, .int(1), .double(1), .string("x"), .bool(true), .double(0.5)]
            value = values[random.below(values.count)]
        }
        try people.set(value, column, of: key)
    }

    func changeSomething() throws {
        guard let key = try some(people) else { return try add() }
        switch random.below(20) {
        case 0, 1: try add()
        case 2: try people.delete(key)
        case 3: if let pet = try some(animals) { try animals.set(.int(Int64(random.below(20))), 0, of: pet) }
        case 4: if animals.count > 2, let pet = try some(animals) { try animals.delete(pet) }
        case 5: try addPet()
        case 6, 7: if let pet = try some(animals) { try people.listInsert([.link(pet)], Self.pets, of: key, at: 0) }
        case 8, 9, 10: try change(Self.friend, of: key)
        case 11, 12: try change(Self.name, of: key)
        case 13, 14: try change(Self.weight, of: key)
        case 15: try change(random.below(2) == 0 ? Self.mixed : Self.born, of: key)
        default: try change(Self.rank, of: key)
        }
    }

    func write(_ body: () throws -> Void) throws {
        try writer.beginWrite()
        try body()
        try writer.commitWrite()
    }

    /// The traversal from the notified version to the shown one, which is the newest; nil if they are the same.
    func walk() throws -> RegionTraversal? {
        guard try shown.refresh() else { return nil }
        return RegionTraversal(older: told, newer: shown, changes: try shown.changes(since: told))
    }

    func query(_ kind: QueryKind) -> ObjectQuery {
        ObjectQuery(session: shown, table: Self.person, predicate: kind.predicate, orderings: kind.orderings)
    }
}

private enum QueryKind: CaseIterable {
    case all, filtered, sorted, byName, byNaturalName, byWeight, byMixed, byFriend, filteredAndByFriend, byPets, byFans
    case subquery, nestedSubquery, distinct, sliced, byWeightAndRank, byDate

    private static let friend = PathStep.link(column: People.friend, target: People.person)
    private static let friendOf = PathStep.backlinks(origin: People.person, column: People.friend)

    var predicate: BoundPredicate? {
        let rank = BoundPath(end: .column(People.rank, .int))
        let age = BoundPath(end: .column(0, .int))
        let pets = PathStep.links(column: People.pets, target: People.pet)
        switch self {
        case .filtered, .sorted: return .test(rank, .int(.greaterOrEqual, 20))
        case .filteredAndByFriend:
            let friends = BoundPath(steps: [Self.friend, Self.friend], end: .column(People.rank, .int))
            return .or([.test(friends, .int(.less, 25)), .test(rank, .int(.equal, 3))])
        case .byPets:
            return .aggregate(
                BoundAggregate(kind: .max, path: BoundPath(steps: [pets], end: .object), column: 0, type: .int),
                .int(.greater, 9))
        case .byFans:
            let fans = BoundPath(steps: [Self.friendOf], end: .object)
            return .aggregate(BoundAggregate(kind: .count, path: fans, type: .int), .int(.greater, 1))
        case .subquery:
            return .subquery(
                BoundPath(steps: [Self.friendOf, pets], end: .object), .test(age, .int(.less, 10)), .int(.greater, 0))
        case .nestedSubquery:
            // Fans who have a pet that is younger than their own rank.
            var rankOfFan = rank
            rankOfFan.outer = 1
            return .subquery(
                BoundPath(steps: [Self.friendOf], end: .object),
                .subquery(
                    BoundPath(steps: [pets], end: .object), .comparePaths(age, .less, rankOfFan, []),
                    .int(.greater, 0)),
                .int(.greater, 0))
        default: return nil
        }
    }

    var orderings: [Ordering] {
        func key(_ column: Int, _ type: ColumnType, _ isAscending: Bool = true, isFolded: Bool = false) -> SortKey {
            var key = SortKey(column: column, type: type, isAscending: isAscending)
            key.isFolded = isFolded
            return key
        }
        let ofFriend = SortKey(links: [Self.friend], column: People.name, type: .string, isAscending: false)
        let rank = key(People.rank, .int, false)
        switch self {
        case .sorted: return [.sort([rank, key(People.name, .string)])]
        case .byName: return [.sort([rank]), .sort([key(People.name, .string, false)])]
        case .byNaturalName: return [.sort([key(People.name, .string, isFolded: true), rank])]
        case .byWeight: return [.sort([key(People.weight, .double, false)])]
        case .byWeightAndRank: return [.sort([key(People.weight, .double), rank])]
        case .byDate: return [.sort([key(People.born, .date), key(People.name, .string, false)])]
        case .byMixed: return [.sort([key(People.mixed, .mixed), rank])]
        case .byFriend, .filteredAndByFriend: return [.sort([ofFriend, rank])]
        case .distinct: return [.sort([rank]), .distinct([key(People.name, .string)])]
        case .sliced: return [.sort([rank]), .slice(offset: 2, limit: 30)]
        default: return []
        }
    }
}

@Suite struct ObservedQueryTests {
    /// The environment sets a higher number; see Scripts/nightly.
    private static let seeds = CurrentProcess.environment("REGNUM_OBSERVED_RUNS").flatMap { UInt64($0) } ?? 2

    /// The fault in a change set, or nil.
    private func flaw(
        _ changes: CollectionChanges, _ old: [ObjectKey], _ new: [ObjectKey], _ modified: Set<ObjectKey>
    ) -> String? {
        var mirror = old
        for at in changes.deletions.reversed() { mirror.remove(at: at) }
        for at in changes.insertions {
            if at > mirror.count || at >= new.count { return "insertion at \(at)" }
            mirror.insert(new[at], at: at)
        }
        if mirror != new { return "moves: \(changes.deletions) \(changes.insertions)" }
        if changes.deletedKeys != changes.deletions.map({ old[$0] }) { return "who was deleted" }
        let gone = Set(changes.deletions)
        let expected = old.indices.filter { !gone.contains($0) && modified.contains(old[$0]) }
        if changes.newPositions(of: expected).map({ new[$0] }) != expected.map({ old[$0] }) { return "new positions" }
        return expected == changes.modifications ? nil : "modified \(changes.modifications), not \(expected)"
    }

    @Test(
        "A change set leads from the previous results to the current ones", arguments: [0, 40, 2500],
        [3, KeyChunks.usualLength])
    func model(count: Int, chunkLength: Int) throws {
        for seed in UInt64(1)...(count > 1000 ? 1 : Self.seeds) {
            let people = try People(seed: seed, count: count)
            var observed: [(kind: QueryKind, query: ObservedQuery, old: [ObjectKey])] = []
            for kind in QueryKind.allCases {
                let query = people.query(kind)
                let made = try ObservedQuery(
                    table: People.person, query: kind == .all ? nil : query, in: people.shown, chunkLength: chunkLength)
                observed.append((kind, made, try query.keys()))
            }
            for round in 0..<(count > 1000 ? 3 : 10) {
                let changes = count > 1000 ? [3, 60, 250][round] : [1, 2, 5, 30, 200][people.random.below(5)]
                try people.write { for _ in 0..<changes { try people.changeSomething() } }
                let walk = try #require(try people.walk())
                let everything = try walk.modified(.everything(People.person))
                let named = try walk.modified(.keyPaths(People.person, [([], People.name)]))
                for i in observed.indices {
                    let new = try people.query(observed[i].kind).keys()
                    let old = observed[i].old
                    observed[i].old = new
                    for modified in [everything, named, everything] {
                        let told = try observed[i].query.advance(walk, modified: modified)
                        let flaw = flaw(told, old, new, modified)
                        #expect(flaw == nil, "\(observed[i].kind), seed \(seed), round \(round)")
                        if flaw != nil { return }
                    }
                    for at in [0, new.count / 2, new.count - 1] where new.indices.contains(at) {
                        #expect(try observed[i].query.key(at: at, in: people.shown) == new[at])
                    }
                }
                try people.told.move(to: people.shown)
            }
        }
    }

    @Test("A change of one property is found with few comparisons among any number of objects")
    func work() throws {
        let count = 4000
        let people = try People(seed: 7, count: count)
        let kinds: [QueryKind] = [.all, .filtered, .sorted, .byWeight, .byFriend]
        let observed = try kinds.map { kind in
            (
                kind,
                try ObservedQuery(
                    table: People.person, query: kind == .all ? nil : people.query(kind), in: people.shown)
            )
        }
        for round in 0..<40 {
            let key = ObjectKey(UInt64(1 + round * 331 % count))
            try people.write { try people.people.set(.int(Int64(round % 50)), People.rank, of: key) }
            guard let walk = try people.walk() else { continue }
            for (_, query) in observed {
                _ = try query.advance(walk, modified: try walk.modified(.everything(People.person)))
            }
            try people.told.move(to: people.shown)
        }
        for (kind, query) in observed {
            // The single run is the first; log2 of the number of objects is 12, with two searches for each commit.
            #expect(query.work.runs == (kind == .all ? 0 : 1), "\(kind)")
            #expect(query.work.passes == 0 && query.work.evaluated <= 40, "\(kind): \(query.work)")
            #expect(query.work.compared <= 40 * 2 * 14, "\(kind): \(query.work)")
            #expect(query.byteCount <= 18 * count + 1000, "\(kind)")
        }
        // Without links and moves there is nothing to search.
        #expect(observed[0].1.work == ObservedWork())
    }

    @Test("Equal queries are shared as long as they show the same version")
    func sharing() throws {
        let people = try People(seed: 1, count: 100)
        let queries = ObservedQueries()
        func query(_ kind: QueryKind) throws -> ObservedQuery {
            try queries.query(people.query(kind), of: People.person, in: people.shown)
        }
        let first = try query(.sorted)
        #expect(try query(.sorted) === first)
        #expect(try query(.filtered) !== first)
        #expect(try query(.byFriend) !== query(.filteredAndByFriend))
        // The order of the values in a set does not matter.
        func ofSets(_ ranks: [Int64], _ names: [String]) throws -> ObservedQuery {
            let predicate = BoundPredicate.and([
                .test(BoundPath(end: .column(People.rank, .int)), .intSet(IntegerSet(ranks))),
                .test(
                    BoundPath(end: .column(People.name, .string)),
                    .bytesSet(ByteStringSet(names.map { Array($0.utf8) }))),
            ])
            let asked = ObjectQuery(session: people.shown, table: People.person, predicate: predicate)
            return try queries.query(asked, of: People.person, in: people.shown)
        }
        let once = try ofSets([1, 2, 30], ["a9", "A10"])
        #expect(try ofSets([30, 2, 1, 2], ["A10", "a9"]) === once)
        #expect(try ofSets([30, 2, 1], ["A10"]) !== once)
        try people.write { try people.people.set(.int(20), People.rank, of: ObjectKey(1)) }
        let walk = try #require(try people.walk())
        // It has not been advanced.
        let second = try query(.sorted)
        #expect(second !== first)
        for _ in 0..<10 { _ = try first.advance(walk, modified: [ObjectKey(1)]) }
        #expect(first.work.evaluated <= 1 && first.work.runs == 1)
        #expect(try query(.sorted) === second)
        // A change of another table does not matter, unless the query depends on it.
        try people.told.move(to: people.shown)
        let pets = try query(.byPets)
        try people.write { try people.addPet() }
        _ = try people.walk()
        #expect(try query(.sorted) === second)
        #expect(try query(.byPets) !== pets)
    }
}
