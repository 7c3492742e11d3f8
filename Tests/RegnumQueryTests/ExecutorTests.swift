// SPDX-License-Identifier: Apache-2.0
// Random predicates over random people: the executor compared with the reference evaluator.

import RegnumEngine
import RegnumQuery
import Testing

/// In a database that nothing else opens: tests that run in parallel create the same people.
func makeSessionOfItsOwn() throws -> Session {
    try Database.openInMemory(identifier: "\(UInt64.random(in: 0 ... .max))").makeSession()
}

/// The same people in a database and as plain values.
final class People {
    let session: Session
    let schema: TableSchema
    let reference: ReferenceEvaluator
    let table: TableKey

    init(count: Int, seed: UInt64, isIndexed: Bool) throws {
        session = try makeSessionOfItsOwn()
        var random = QueryRandom(state: seed)
        try session.beginWrite()
        try session.addTables([
            NewTable(
                name: "Person",
                columns: [
                    NewColumn(name: "id", type: .int, isPrimaryKey: true),
                    NewColumn(name: "age", type: .int, isNullable: true, isIndexed: isIndexed),
                    NewColumn(name: "name", type: .string, isIndexed: isIndexed),
                    NewColumn(name: "email", type: .string, isNullable: true),
                    NewColumn(name: "score", type: .double, isNullable: true),
                    NewColumn(name: "ratio", type: .float),
                    NewColumn(name: "active", type: .bool),
                    NewColumn(name: "born", type: .date),
                    NewColumn(name: "friend", type: .link, targetName: "Person"),
                    NewColumn(name: "friends", type: .link, collection: .list, targetName: "Person"),
                    NewColumn(name: "numbers", type: .int, collection: .list, isNullable: true),
                    NewColumn(name: "tags", type: .string, collection: .list),
                ])
        ])
        let table = try #require(session.table(named: "Person"))
        self.table = table.definition.key
        var people: [Person] = []
        var locations: [ObjectKey] = []
        for id in 0..<count {
            people.append(Self.makePerson(id, count, &random))
            let location = try table.insertRow()
            locations.append(location.key)
            try table.finishInsert(location)
        }
        for (id, person) in people.enumerated() {
            for (number, column) in table.definition.columns.enumerated() {
                if let value = person.values[column.name] { try table.set(value, number, of: locations[id]) }
            }
            if let friend = person.friend { try table.set(.link(locations[friend]), 8, of: locations[id]) }
            try table.listInsert(person.friends.map { .link(locations[$0]) }, 9, of: locations[id], at: 0)
            try table.listInsert(person.numbers, 10, of: locations[id], at: 0)
            try table.listInsert(person.tags, 11, of: locations[id], at: 0)
        }
        try session.commitWrite()
        reference = ReferenceEvaluator(people: people)
        var schema = TableSchema(session.tables.map(\.definition))
        schema.addBacklinks("parents", to: self.table, from: self.table, column: 8)
        self.schema = schema
    }

    static let words = [
        "", "a", "A", "Anna", "anna", "ANNA", "é", "É", "e", "tüv", "TUV", "Я", "я", "Hannah 12345678",
    ]

    private static func makePerson(_ id: Int, _ count: Int, _ random: inout QueryRandom) -> Person {
        func pick<T>(_ choices: [T]) -> T { choices[Int(random.next() % UInt64(choices.count))] }
        var person = Person()
        // Some are long enough to be blobs outside their row group.
        let long = String(repeating: "x", count: 2500) + "Anna"
        person.values = [
            "id": .int(Int64(id)),
            "age": pick([.null, .int(Int64(pick(Array(0..<6)))), .int(Int64(pick(Array(0..<6))))]),
            "name": .string(id % 97 == 96 ? long : pick(words) + pick(words)),
            "email": pick([.null, .string(pick(words)), .string(pick(words) + pick(words))]),
            "score": pick([.null, .double(.nan), .double(Double(pick(Array(0..<5))) / 2), .double(-0.0)]),
            "ratio": .float(pick([0, 1.7, -1, .nan, .infinity])),
            "active": .bool(pick([true, false])),
            "born": .date(Timestamp(seconds: pick([0, 1, 5]), nanoseconds: pick([0, 0, 7]))),
        ]
        if random.next() % 3 > 0 { person.friend = Int(random.next() % UInt64(count)) }
        person.friends = (0..<Int(random.next() % 4)).map { _ in Int(random.next() % UInt64(count)) }
        person.numbers = (0..<Int(random.next() % 4)).map { _ in pick([.null, .int(1), .int(2), .int(5)]) }
        person.tags = (0..<Int(random.next() % 3)).map { _ in .string(pick(words)) }
        return person
    }
}

/// Makes predicates as text.
struct PredicateMaker {
    var random: QueryRandom
    var arguments: [Constant] = []

    mutating func pick<T>(_ choices: [T]) -> T { choices[Int(random.next() % UInt64(choices.count))] }

    mutating func make(_ depth: Int) -> String {
        switch depth > 0 ? random.next() % 6 : 5 {
        case 0: "(\(make(depth - 1)) AND \(make(depth - 1)))"
        case 1: "(\(make(depth - 1)) OR \(make(depth - 1)))"
        case 2: "NOT (\(make(depth - 1)))"
        case 3: "(\(make(depth - 1)) AND \(make(depth - 1)) AND NOT (\(make(depth - 1))))"
        default: comparison()
        }
    }

    private mutating func comparison() -> String {
        switch random.next() % 12 {
        case 0:
            return pick(["friends", "parents", "numbers", "tags", "friend.friends", "friend.parents"])
                + ".@count \(order()) \(pick(["0", "1", "2"]))"
        case 1:
            return pick(["friends", "parents", "friend.friends"]) + ".@" + pick(["min", "max", "sum", "avg"])
                + ".\(pick(["age", "score"])) \(order()) \(pick(["0", "1", "2", "5"]))"
        case 2:
            return "numbers.@\(pick(["min", "max", "sum", "avg"])) \(order()) \(pick(["0", "1", "2", "5"]))"
        case 3: return "\(many())numbers \(order()) \(pick(["1", "2", "NULL"]))"
        case 4: return many() + text("tags", isNullable: false)
        case 5:
            return "SUBQUERY(\(pick(["friends", "parents"])), $p, $p.age \(order()) 3).@count \(order()) 1"
        case 6:
            return pick([
                "name == email", "friend.name != name", "age == id", "friend.age <= age",
                "name BEGINSWITH email",
            ])
        default:
            let prefix = pick([
                "", "", "", "friend.", "friend.friend.", "ANY friends.", "NONE parents.",
                "ANY friends.friend.", "ANY parents.friends.",
            ])
            return property(prefix)
        }
    }

    private mutating func many() -> String { pick(["ANY ", "NONE ", "ANY friend.", "ANY friends."]) }
    private mutating func order() -> String { pick(["==", "!=", "<", "<=", ">", ">="]) }

    private mutating func property(_ prefix: String) -> String {
        switch random.next() % 9 {
        case 0: return "\(prefix)age \(order()) \(pick(["0", "1", "3", "5", "NULL", "9"]))"
        case 1: return "\(prefix)age \(pick(["IN {1, 3, 9}", "BETWEEN {1, 3}", "IN {NULL, 2}", "IN {}"]))"
        case 2: return text(prefix + "name", isNullable: false)
        case 3: return text(prefix + "email", isNullable: true)
        case 4: return "\(prefix)score \(order()) \(pick(["0", "0.5", "1.5", "NULL"]))"
        case 5: return "\(prefix)ratio \(order()) \(pick(["0", "1.7", "-1"]))"
        case 6: return "\(prefix)active \(pick(["==", "!="])) \(pick(["TRUE", "0"]))"
        case 7:
            arguments.append(.date(Timestamp(seconds: pick([0, 1, 5]), nanoseconds: pick([0, 7, 9]))))
            return "\(prefix)born \(order()) %@"
        default: return "\(prefix)id \(pick(["==", "<", "!="])) \(pick(["0", "5", "50"]))"
        }
    }

    private mutating func text(_ path: String, isNullable: Bool) -> String {
        if isNullable, random.next() % 5 == 0 { return "\(path) \(order()) NULL" }
        let word = pick(People.words)
        switch random.next() % 5 {
        case 0: return "\(path) \(order()) '\(word)'"
        case 1: return "\(path) LIKE\(pick(["", "[c]"])) '\(pick(["*", ""]))\(word)\(pick(["*", ""]))'"
        case 2: return "\(path) IN\(pick(["", "[c]", "[d]", "[cd]"])) {'\(word)', '\(pick(People.words))'}"
        default:
            let operation = pick(["==", "!=", "BEGINSWITH", "ENDSWITH", "CONTAINS"])
            return "\(path) \(operation)\(pick(["", "[c]", "[d]", "[cd]"])) '\(word)'"
        }
    }
}

@Suite struct ExecutorTests {
    /// The reference evaluator is slow in a debug build; CI runs all rounds in a release build.
    #if DEBUG
        private static let share = 4
    #else
        private static let share = 1
    #endif

    @Test(
        "Random predicates find the objects that the reference finds",
        arguments: [(40, 1, false), (40, 2, true), (1500, 3, false), (1500, 4, true)])
    func random(count: Int, seed: UInt64, isIndexed: Bool) throws {
        let people = try People(count: count, seed: seed, isIndexed: isIndexed)
        var maker = PredicateMaker(random: QueryRandom(state: seed &* 77))
        for round in 0..<(count > 100 ? 40 : 1200) / Self.share {
            maker.arguments = []
            let text = maker.make(round % 4)
            let predicate = try PredicateParser.parse(text, maker.arguments)
            let expected = (0..<count).filter { people.reference.matches(predicate, $0) }.map {
                ObjectKey(UInt64($0 + 1))
            }
            let bound = try PredicateBinder.bind(predicate, to: people.table, in: people.schema)
            let query = ObjectQuery(session: people.session, table: people.table, predicate: bound)
            let found = try query.keys()
            #expect(found == expected, "\(text)")
            #expect(try query.count() == expected.count, "\(text)")
            #expect(try query.first() == expected.first, "\(text)")
            #expect(try query.keys(first: 3) == Array(expected.prefix(3)), "\(text)")
            #expect(try query.keys(last: 3) == Array(expected.suffix(3)), "\(text)")
            let some = [ObjectKey(7), ObjectKey(3), ObjectKey(7), ObjectKey(100_000)]
            let members = Set(expected)
            #expect(try query.keys(among: some) == some.filter { members.contains($0) }, "\(text)")
            for key in some { #expect(try query.contains(key) == members.contains(key), "\(text)") }
        }
    }

    @Test(
        "Ties in a sort by several keys keep the order of creation", arguments: [40, 1500, 2500], [false, true])
    func sorted(count: Int, isIndexed: Bool) throws {
        let people = try People(count: count, seed: 9, isIndexed: isIndexed)
        let names = [
            "age", "name", "email", "score", "ratio", "active", "born", "friend.name", "friend.age",
            "friend.friend.score",
        ]
        var random = QueryRandom(state: 12)
        for _ in 0..<max(2, (count > 2000 ? 2 : count > 1000 ? 8 : 60) / Self.share) {
            let paths = names.shuffled(using: &random).prefix(Int.random(in: 1...3, using: &random))
            let orders = paths.map { ($0, Bool.random(using: &random)) }
            var keys: [SortKey] = []
            for (path, isAscending) in orders {
                keys.append(
                    try SortKey.bind(path, isAscending: isAscending, to: people.table, in: people.schema))
            }
            let query = ObjectQuery(session: people.session, table: people.table, orderings: [.sort(keys)])
            let expected = (0..<count).sorted { a, b in
                for (path, isAscending) in orders {
                    let order = Self.order(people.reference, path, a, b)
                    if order != 0 { return isAscending ? order < 0 : order > 0 }
                }
                return a < b
            }
            #expect(try query.keys().map { Int($0.rawValue) - 1 } == expected, "\(orders)")
            #expect(try query.first().map { Int($0.rawValue) - 1 } == expected.first)
            for limit in [1, 5, 33, count / 5, count] {
                let first = try query.keys(first: limit).map { Int($0.rawValue) - 1 }
                #expect(first == Array(expected.prefix(limit)), "\(orders), first \(limit)")
                let last = try query.keys(last: limit).map { Int($0.rawValue) - 1 }
                #expect(last == Array(expected.suffix(limit)), "\(orders), last \(limit)")
            }
        }
    }

    @Test("A slice keeps the order before it, and a later filter applies to the slice only")
    func slices() throws {
        let people = try People(count: 400, seed: 21, isIndexed: true)
        func key(_ path: String) throws -> SortKey {
            try SortKey.bind(path, isAscending: false, to: people.table, in: people.schema)
        }
        func bind(_ text: String) throws -> BoundPredicate {
            try PredicateBinder.bind(PredicateParser.parse(text), to: people.table, in: people.schema)
        }
        let whole = ObjectQuery(
            session: people.session, table: people.table, predicate: try bind("active == TRUE"),
            orderings: [.sort([try key("age"), try key("score")])])
        let all = try whole.keys()
        for (offset, limit) in [(0, 10), (7, 5), (390, 50), (3, nil), (500, 1), (1, Int.max)] {
            let cut = Array(all.dropFirst(offset).prefix(limit ?? .max))
            let query = ObjectQuery(
                session: people.session, table: people.table, predicate: try bind("active == TRUE"),
                orderings: whole.orderings + [.slice(offset: offset, limit: limit)])
            #expect(try query.keys() == cut)
            #expect(try query.count() == cut.count && query.first() == cut.first)
            #expect(try query.keys(last: 2) == cut.suffix(2))
            let filtered = ObjectQuery(
                session: people.session, table: people.table, predicate: try bind("active == TRUE"),
                orderings: query.orderings + [.filter(try bind("age > 2")), .sort([try key("id")])])
            let old = cut.filter { key in
                people.reference.matches(try! PredicateParser.parse("age > 2"), Int(key.rawValue) - 1)
            }
            #expect(try filtered.keys() == old.sorted(by: >))
        }
    }

    @Test("Distinct by random keys keeps the first of each, by hash and by index", arguments: [false, true])
    func distinct(isIndexed: Bool) throws {
        let people = try People(count: 900, seed: 31, isIndexed: isIndexed)
        let all = ["age", "name", "email", "active", "born", "friend.name", "friend.age", "ratio"]
        let ranks = Dictionary(uniqueKeysWithValues: all.map { ($0, Self.ranks(people.reference, $0)) })
        var random = QueryRandom(state: 5)
        for round in 0..<80 {
            let names = all.shuffled(using: &random).prefix(round < 20 ? 1 : Int.random(in: 1...3, using: &random))
            var keys: [SortKey] = []
            for name in names { keys.append(try SortKey.bind(name, to: people.table, in: people.schema)) }
            let query = ObjectQuery(
                session: people.session, table: people.table, orderings: [.distinct(keys)])
            var seen: Set<[Int]> = []
            let firsts = (0..<900).filter { row in
                let isNull = names.contains { $0.hasPrefix("friend.") } && people.reference.people[row].friend == nil
                return !isNull && seen.insert(names.compactMap { ranks[$0]?[row] }).inserted
            }
            #expect(try query.keys().map { Int($0.rawValue) - 1 } == firsts, "\(names)")
        }
    }

    @Test("Natural order: accents and case decide last, and numbers in strings compare by value")
    func names() throws {
        let session = try makeSessionOfItsOwn()
        try session.beginWrite()
        try session.addTables([NewTable(name: "Name", columns: [NewColumn(name: "name", type: .string)])])
        let table = try #require(session.table(named: "Name"))
        let ordered = [
            "", "9 lives", "10 cc", "Abel", "Äbel", "Abelson", "cafe", "Cafe", "café", "Item 2", "item 10",
            "Item 10b", "zebra",
        ]
        var random = QueryRandom(state: 1)
        for name in ordered.shuffled(using: &random) {
            let location = try table.insertRow()
            try table.finishInsert(location)
            try table.set(.string(name), 0, of: location.key)
        }
        try session.commitWrite()
        var key = SortKey(column: 0, type: .string)
        key.isFolded = true
        let query = ObjectQuery(session: session, table: table.definition.key, orderings: [.sort([key])])
        let found = try query.keys().map { try table.value(0, of: $0) }
        #expect(found == ordered.map { .string($0) })
        #expect(try query.keys(first: 2) == Array(query.keys().prefix(2)))
        let texts = ordered.map { NaturalText($0) }
        for a in texts.indices {
            for b in texts.indices {
                let order = NaturalText.compare(texts[a], texts[b]).signum()
                #expect(order == (a - b).signum(), "\(ordered[a]), \(ordered[b])")
            }
        }
    }

    /// For each row a number that rows of equal values share.
    private static func ranks(_ reference: ReferenceEvaluator, _ path: String) -> [Int] {
        let sorted = reference.people.indices.sorted { order(reference, path, $0, $1) < 0 }
        var ranks = [Int](repeating: 0, count: sorted.count)
        for (one, next) in zip(sorted, sorted.dropFirst()) {
            ranks[next] = ranks[one] + (order(reference, path, one, next) == 0 ? 0 : 1)
        }
        return ranks
    }

    /// Nulls first; objects with a null link last.
    private static func order(_ reference: ReferenceEvaluator, _ path: String, _ a: Int, _ b: Int) -> Int {
        func end(_ row: Int) -> Value? {
            var row = row
            let names = path.split(separator: ".").map(String.init)
            for _ in names.dropLast() {
                guard let friend = reference.people[row].friend else { return nil }
                row = friend
            }
            return reference.people[row].values[names[names.count - 1]] ?? .null
        }
        switch (end(a), end(b)) {
        case (nil, nil): return 0
        case (nil, _): return 1
        case (_, nil): return -1
        case (let a?, let b?): return reference.order(a, b)
        }
    }

    @Test("The last sort decides, earlier ones break ties; distinct keeps the first and drops null links")
    func orderings() throws {
        let people = try People(count: 300, seed: 4, isIndexed: false)
        func key(_ path: String) throws -> SortKey {
            try SortKey.bind(path, to: people.table, in: people.schema)
        }
        let twice = ObjectQuery(
            session: people.session, table: people.table,
            orderings: [.sort([try key("name")]), .sort([try key("age")])])
        let once = ObjectQuery(
            session: people.session, table: people.table,
            orderings: [.sort([try key("age"), try key("name")])])
        #expect(try twice.keys() == once.keys())
        let distinct = ObjectQuery(
            session: people.session, table: people.table, orderings: [.distinct([try key("friend.age")])])
        var seen: Set<Value> = []
        let expected = (0..<300).filter { row in
            guard let friend = people.reference.people[row].friend else { return false }
            return seen.insert(people.reference.people[friend].values["age"] ?? .null).inserted
        }
        #expect(try distinct.keys().map { Int($0.rawValue) - 1 } == expected)
        #expect(try distinct.count() == expected.count)
    }

    @Test("Aggregates over a filter leave nulls and NaN out")
    func aggregates() throws {
        let people = try People(count: 1500, seed: 6, isIndexed: false)
        let predicate = try PredicateParser.parse("active == TRUE")
        let bound = try PredicateBinder.bind(predicate, to: people.table, in: people.schema)
        let query = ObjectQuery(session: people.session, table: people.table, predicate: bound)
        let rows = people.reference.people.filter { $0.values["active"] == .bool(true) }
        let ages = rows.compactMap { if case .int(let age)? = $0.values["age"] { age } else { nil } }
        let scores = rows.compactMap {
            if case .double(let score)? = $0.values["score"], !score.isNaN { score } else { nil }
        }
        #expect(try query.aggregate(.sum, 1) == .int(ages.reduce(0, +)))
        #expect(try query.aggregate(.avg, 1) == .double(Double(ages.reduce(0, +)) / Double(ages.count)))
        #expect(try query.aggregate(.min, 1) == .int(0))
        #expect(try query.aggregate(.max, 1) == .int(5))
        #expect(try query.aggregate(.sum, 4) == .double(scores.reduce(0, +)))
        #expect(try query.aggregate(.max, 4) == .double(2))
        #expect(try query.aggregate(.count, 4) == .int(Int64(scores.count)))
        #expect(try query.aggregate(.max, 7) == .date(Timestamp(seconds: 5, nanoseconds: 7)))
        let keys = try query.keys()
        #expect(try query.aggregate(.sum, 1, among: keys) == query.aggregate(.sum, 1))
        #expect(try query.aggregate(.max, 4, among: keys) == query.aggregate(.max, 4))
    }
}
