// SPDX-License-Identifier: Apache-2.0
// Every operator of type-safe queries for every type, with nil and without, indexed and not, at the end of every form
// of path, compared with plain Swift over the same objects, with its own negation, and with the text that it prints.
// The seed is printed; REGNUM_QUERY_SEED repeats a run, and REGNUM_QUERY_CASES sets the count of queries.

import Foundation
import RealmSwift
import RegnumTestKit
import Testing

/// The values of the objects, read once for many queries.
private struct Snapshot {
    let columns: [Typed.Column]
    /// By column, then by object.
    let values: [[[Typed.Plain]]]
    let link: [Int?]
    let links: [[Int]]

    init(_ deck: Typed.Deck, _ rows: [Typed.Row]) {
        columns = deck.columns
        values = deck.columns.map { column in rows.map { column.read($0) } }
        link = rows.map { $0.link?.id }
        links = rows.map { $0.links.map(\.id) }
    }

    /// The values at the end of a path from an object.
    func ends(_ column: Int, _ shape: Typed.Shape, _ row: Int) -> [Typed.Plain] {
        switch shape {
        case .own, .columns: return values[column][row]
        case .link, .linkedColumns:
            guard let next = link[row] else { return columns[column].isCollection ? [] : [.null] }
            return values[column][next]
        case .links, .subquery: return links[row].flatMap { values[column][$0] }
        case .back: return link.indices.filter { link[$0] == row }.flatMap { values[column][$0] }
        }
    }
}

@Suite("Operators of type-safe queries") struct TypedDifferentialTests {
    private static let count = 16

    private static func environment(_ name: String) -> UInt64? {
        ProcessInfo.processInfo.environment[name].flatMap { UInt64($0) }
    }

    @Test("Each operator on each type finds the same objects as plain Swift, and so does its printed text")
    func differential() throws {
        let seed = Self.environment("REGNUM_QUERY_SEED") ?? UInt64.random(in: 0...UInt64.max)
        var random = SeededGenerator(seed: seed)
        let realm = try memoryRealm(Typed.Row.self)
        try realm.write { for id in 0..<Self.count { realm.create(Typed.Row.self, value: ["id": id]) } }
        let all = realm.objects(Typed.Row.self)
        let rows = Array(all)
        let deck = Self.deck(rows)
        let cases = Self.environment("REGNUM_QUERY_CASES").map { Int($0) } ?? deck.entries.count
        var snapshot = Snapshot(deck, rows)
        var counts = Array(repeating: 0, count: deck.entries.count)
        var left: [Int] = []
        for number in 0..<cases {
            if number % 400 == 0 {
                try realm.write { for row in rows { deck.fill(row, &random) } }
                snapshot = Snapshot(deck, rows)
            }
            if left.isEmpty { left = Array(deck.entries.indices).shuffled(using: &random) }
            let place = left.removeLast()
            counts[place] += 1
            let entry = deck.entries[place]
            let question = entry.make(&random)
            let expected = rows.indices.filter { row in
                let others = entry.other.map { snapshot.ends($0, .own, row) } ?? []
                return question.holds(snapshot.ends(entry.column, entry.cell.shape, row), others)
            }
            let what = "seed \(seed), question \(number): \(entry.cell)"
            guard all.where(question.query).map(\.id) == expected else {
                Issue.record("\(what) does not find the objects \(expected)")
                return
            }
            if number % 2 == 0 {
                let others = rows.indices.filter { !expected.contains($0) }
                #expect(all.where { !question.query($0) }.map(\.id) == others, "NOT, \(what)")
            }
            if number % 3 == 0 {
                let (text, arguments) = question.query(Query<Typed.Row>._constructForTesting())._constructPredicate()
                let found = all.filter(NSPredicate(format: text, argumentArray: arguments))
                #expect(found.map(\.id) == expected, "\(what), \(text)")
            }
        }
        // Each is used once before one is used again.
        #expect(
            counts.count { $0 == 0 } == max(0, deck.entries.count - cases), "seed \(seed): some queries were never used"
        )
        Self.show(deck, counts, seed)
    }

    /// Prints a table with a line for each type and operator, and the minimum and maximum count of cases by form of
    /// path.
    private static func show(_ deck: Typed.Deck, _ counts: [Int], _ seed: UInt64) {
        var lines: [String: [Typed.Shape: [Int]]] = [:]
        for (entry, count) in zip(deck.entries, counts) {
            let name = "\(entry.cell.type) \(entry.cell.operation)"
            lines[name, default: [:]][entry.cell.shape, default: []].append(count)
        }
        let asked = counts.count { $0 > 0 }
        var text = "Seed \(seed), \(counts.reduce(0, +)) questions in \(asked) of \(counts.count) cells\n"
        text += "type operator: cells, fewest and most cases of a cell by "
        text += Typed.Shape.allCases.map(\.rawValue).joined(separator: " | ") + "\n"
        for (name, shapes) in lines.sorted(by: { $0.key < $1.key }) {
            text += name + ":"
            for shape in Typed.Shape.allCases {
                let found = shapes[shape] ?? []
                text += " | \(found.count): \(found.min() ?? 0)-\(found.max() ?? 0)"
            }
            text += "\n"
        }
        FileHandle.standardError.write(Data(text.utf8))
    }

    // MARK: Queries

    private static func deck(_ rows: [Typed.Row]) -> Typed.Deck {
        var deck = Typed.Deck()
        addFlagsAndNumbers(&deck)
        addFractions(&deck)
        addTexts(&deck)
        addDates(&deck)
        addIds(&deck)
        addAnys(&deck)
        addLinks(&deck, rows)
        addCollections(&deck)
        return deck
    }

    private static func addFlagsAndNumbers(_ deck: inout Typed.Deck) {
        let bools = [
            deck.property("Bool", \.bool, [true, false]),
            deck.property("Bool", \.indexedBool, [true, false], isIndexed: true),
        ]
        for property in bools { deck.equality(property) }
        deck.same(bools[0], bools[1])
        let optionalBools = [
            deck.optionalProperty("Bool", \.optBool, [true, false]),
            deck.optionalProperty("Bool", \.indexedOptBool, [true, false], isIndexed: true),
        ]
        for property in optionalBools { deck.equality(property) }
        let numbers = [-1, 0, 1, 2, 300]
        let ints = [
            deck.property("Int", \.int, numbers), deck.property("Int", \.indexedInt, numbers, isIndexed: true),
        ]
        for property in ints {
            deck.equality(property)
            deck.order(property)
            deck.ranges(property)
        }
        deck.same(ints[0], ints[1])
        deck.ordered(ints[0], ints[1])
        let optionalInts = [
            deck.optionalProperty("Int", \.optInt, numbers),
            deck.optionalProperty("Int", \.indexedOptInt, numbers, isIndexed: true),
        ]
        for property in optionalInts {
            deck.equality(property)
            deck.order(property)
            deck.ranges(ofOptional: property)
        }
        deck.same(optionalInts[0], optionalInts[1])
        deck.ordered(optionalInts[0], optionalInts[1])
        let int8 = deck.property("Int8", \.int8, [-1, 0, 1, 100])
        deck.equality(int8)
        deck.order(int8)
        deck.ranges(int8)
        let int16 = deck.optionalProperty("Int16", \.optInt16, [-1, 0, 1, 300])
        deck.equality(int16)
        deck.order(int16)
        deck.ranges(ofOptional: int16)
        let rank = deck.property("Rank", \.rank, [Typed.Rank.low, .mid, .high])
        deck.equality(rank)
        deck.order(rank)
        deck.ranges(rank)
        let optionalRank = deck.optionalProperty("Rank", \.optRank, [Typed.Rank.low, .mid, .high])
        deck.equality(optionalRank)
        deck.order(optionalRank)
        deck.ranges(ofOptional: optionalRank)
    }

    private static func addFractions(_ deck: inout Typed.Deck) {
        let floats: [Float] = [-1, 0, 0.5, 1.5, 300, .nan, .infinity]
        let float = deck.property("Float", \.float, floats)
        deck.equality(float)
        deck.order(float)
        deck.ranges(float)
        let optionalFloat = deck.optionalProperty("Float", \.optFloat, floats)
        deck.equality(optionalFloat)
        deck.order(optionalFloat)
        deck.ranges(ofOptional: optionalFloat)
        let doubles: [Double] = [-1, 0, 0.5, 1.5, 300, .nan, -.infinity]
        let double = deck.property("Double", \.double, doubles)
        deck.equality(double)
        deck.order(double)
        deck.ranges(double)
        let optionalDouble = deck.optionalProperty("Double", \.optDouble, doubles)
        deck.equality(optionalDouble)
        deck.order(optionalDouble)
        deck.ranges(ofOptional: optionalDouble)
        let decimals: [Decimal128] = [-1, 0, 0.5, 1.5, 300, "nan", "inf"]
        let decimal = deck.property("Decimal128", \.decimal, decimals)
        deck.equality(decimal)
        deck.order(decimal)
        deck.ranges(decimal)
        let optionalDecimal = deck.optionalProperty("Decimal128", \.optDecimal, decimals)
        deck.equality(optionalDecimal)
        deck.order(optionalDecimal)
        deck.ranges(ofOptional: optionalDecimal)
    }

    private static func addTexts(_ deck: inout Typed.Deck) {
        let strings = [
            deck.property("String", \.string, Typed.words),
            deck.property("String", \.indexedString, Typed.words, isIndexed: true),
        ]
        for property in strings {
            deck.equality(property)
            deck.bytes(property)
            deck.patterns(property)
            deck.ranges(property, isClosed: false)
        }
        deck.same(strings[0], strings[1])
        deck.texts(strings[0], strings[1])
        let optionalStrings = [
            deck.optionalProperty("String", \.optString, Typed.words),
            deck.optionalProperty("String", \.indexedOptString, Typed.words, isIndexed: true),
        ]
        for property in optionalStrings {
            deck.equality(property)
            deck.bytes(property)
            deck.patterns(property)
            deck.ranges(ofOptional: property, isClosed: false)
        }
        deck.same(optionalStrings[0], optionalStrings[1])
        deck.texts(optionalStrings[0], optionalStrings[1])
        let data = deck.property("Data", \.data, Typed.datas)
        deck.equality(data)
        deck.bytes(data)
        let optionalData = deck.optionalProperty("Data", \.optData, Typed.datas)
        deck.equality(optionalData)
        deck.bytes(optionalData)
    }

    private static func addDates(_ deck: inout Typed.Deck) {
        let dates = [
            deck.property("Date", \.date, Typed.dates),
            deck.property("Date", \.indexedDate, Typed.dates, isIndexed: true),
        ]
        for property in dates {
            deck.equality(property)
            deck.order(property)
            deck.ranges(property)
        }
        deck.ordered(dates[0], dates[1])
        let optionalDates = [
            deck.optionalProperty("Date", \.optDate, Typed.dates),
            deck.optionalProperty("Date", \.indexedOptDate, Typed.dates, isIndexed: true),
        ]
        for property in optionalDates {
            deck.equality(property)
            deck.order(property)
            deck.ranges(ofOptional: property)
        }
        deck.ordered(optionalDates[0], optionalDates[1])
    }

    private static func addIds(_ deck: inout Typed.Deck) {
        let ids = Typed.ids.compactMap { try? ObjectId(string: $0) }
        let objectIds = [
            deck.property("ObjectId", \.objectId, ids),
            deck.property("ObjectId", \.indexedObjectId, ids, isIndexed: true),
        ]
        for property in objectIds { deck.equality(property) }
        deck.same(objectIds[0], objectIds[1])
        let optionalObjectIds = [
            deck.optionalProperty("ObjectId", \.optObjectId, ids),
            deck.optionalProperty("ObjectId", \.indexedOptObjectId, ids, isIndexed: true),
        ]
        for property in optionalObjectIds { deck.equality(property) }
        let values = Typed.uuids.compactMap { UUID(uuidString: $0) }
        let uuids = [
            deck.property("UUID", \.uuid, values), deck.property("UUID", \.indexedUuid, values, isIndexed: true),
        ]
        for property in uuids { deck.equality(property) }
        deck.same(uuids[0], uuids[1])
        let optionalUuids = [
            deck.optionalProperty("UUID", \.optUuid, values),
            deck.optionalProperty("UUID", \.indexedOptUuid, values, isIndexed: true),
        ]
        for property in optionalUuids { deck.equality(property) }
    }

    private static var anys: [AnyRealmValue] {
        [
            .int(0), .int(1), .double(0.5), .double(1), .float(1.5), .decimal128(1.5), .bool(true), .bool(false),
            .string("a"), .string("É"), .string("aé"), .string("a*"), .data(Data("a".utf8)), .data(Data("É".utf8)),
            .date(Date(timeIntervalSince1970: 1)), .objectId(ObjectId("0123456789abcdef01234567")),
            .uuid(UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16))),
        ]
    }

    private static func addAnys(_ deck: inout Typed.Deck) {
        for property in [
            deck.property("AnyRealmValue", \.any, anys, null: AnyRealmValue.none),
            deck.property("AnyRealmValue", \.indexedAny, anys, null: AnyRealmValue.none, isIndexed: true),
        ] {
            deck.equality(property)
            deck.order(property)
            deck.parts(ofAny: property)
        }
    }

    private static func addLinks(_ deck: inout Typed.Deck, _ rows: [Typed.Row]) {
        let link = deck.optionalProperty("Row", \.link, rows)
        deck.equality(link)
        deck.same(link, link)
        deck.elements(deck.list("List<Row>", \.links, rows))
    }

    private static func addCollections(_ deck: inout Typed.Deck) {
        let numbers = [-1, 0, 1, 2]
        let ints = deck.list("List<Int>", \.ints, numbers)
        deck.elements(ints)
        deck.figures(ints)
        deck.sums(ints)
        deck.ranges(of: ints)
        let optionalInts = deck.list("List<Int?>", \.optInts, [-1, 0, 1, 2, nil], asked: [-1, 0, 1, 2])
        deck.elements(optionalInts)
        deck.figures(optionalInts)
        deck.sums(optionalInts)
        let doubles = deck.list("List<Double>", \.doubles, [-1, 0, 0.5, 1.5])
        deck.elements(doubles)
        deck.figures(doubles)
        deck.sums(doubles)
        deck.ranges(of: doubles)
        let decimals = deck.list("List<Decimal128>", \.decimals, [-1, 0, 0.5, 1.5])
        deck.elements(decimals)
        deck.figures(decimals)
        deck.sums(decimals)
        deck.ranges(of: decimals)
        let dates = deck.list("List<Date>", \.dates, Typed.dates)
        deck.elements(dates)
        deck.figures(dates)
        deck.ranges(of: dates)
        deck.elements(deck.list("List<Bool>", \.bools, [true, false]))
        deck.elements(deck.list("List<String>", \.strings, Typed.words))
        deck.elements(deck.list("List<String?>", \.optStrings, ["", "a", "É", nil]))
        deck.elements(deck.list("List<UUID>", \.uuids, Typed.uuids.compactMap { UUID(uuidString: $0) }))
        deck.elements(deck.list("List<AnyRealmValue>", \.anys, anys))
        let set = deck.set("MutableSet<Int>", \.intSet, numbers)
        deck.elements(set)
        deck.figures(set)
        deck.sums(set)
        deck.ranges(of: set)
        deck.elements(deck.set("MutableSet<String>", \.stringSet, Typed.words))
        let map = deck.map("Map<Int>", \.intMap, numbers)
        deck.figures(ofMap: map)
        deck.map("Map<String?>", \.optStringMap, ["", "a", "É", nil])
    }
}
