// SPDX-License-Identifier: Apache-2.0
// The tokenizer and the full-text index, compared with texts that are searched term by term.

import RegnumEngine
import RegnumSimulation
import RegnumSystem
import Testing

@Suite("Full-text index") struct TextIndexTests {
    @Test(
        "Text is split into folded terms",
        arguments: [
            ("", ""), ("  ... -- ", ""), ("Hello, World!", "hello|world"),
            ("can't won’t 'quoted'", "can't|won't|quoted"),
            ("3.14 1,000 a.b 7.", "3.14|1,000|a|b|7"), ("snake_case __ _x", "snake_case|_x"),
            ("GRÜN Straße Ñandú ÉCOLE", "grun|straße|nandu|ecole"), ("e\u{301}cole", "ecole"),
            ("東京タワー", "東|京|タワー"), ("ひらがな", "ひ|ら|か|な"), ("Привет, МИР", "привет|мир"), ("ไทย", "ไ|ท|ย"),
            ("السَّلام", "السلام"), ("a\u{AD}b", "ab"), ("email@example.com", "email|example|com"), ("x2y", "x2y"),
            ("😀 smile😀d", "smile|d"), ("İstanbul", "istanbul"), ("naïve café", "naive|cafe"), ("½ Ⅷ", "½|ⅷ"),
        ])
    func words(_ text: String, _ expected: String) {
        let words = TextWords.words(text).map { String(decoding: $0, as: UTF8.self) }
        #expect(words.joined(separator: "|") == expected)
    }

    @Test("Any bytes are accepted, and long terms are cut between characters")
    func bytes() throws {
        var random = SeededRandom(seed: 5)
        for _ in 0..<2000 {
            let bytes = (0..<random.below(40)).map { _ in UInt8(truncatingIfNeeded: random.next()) }
            try bytes.withUnsafeBytes { buffer in
                var last = 0
                try TextWords.forEach(in: buffer) { word, place in
                    #expect(place.lowerBound >= last && place.upperBound <= buffer.count)
                    last = place.upperBound
                    #expect(String(validating: word, as: UTF8.self) != nil)
                    return true
                }
            }
        }
        #expect(TextWords.words(String(repeating: "a", count: 5000)).map(\.count) == [TextWords.byteCount])
        let umlauts = TextWords.words(String(repeating: "ж", count: 5000))
        #expect(umlauts.map(\.count) == [TextWords.byteCount])
    }

    private static let table = NewTable(
        name: "Note",
        columns: [
            NewColumn(name: "body", type: .string, isNullable: true, isContentIndexed: true),
            NewColumn(name: "parts", type: .string, collection: .list, isNullable: true, isContentIndexed: true),
        ])

    private static let vocabulary = [
        "alpha", "alphabet", "beta", "Beta", "gamma", "delta", "grün", "東京", "can't", "alp", "z",
    ]

    private struct Model {
        var random: SeededRandom
        var bodies: [UInt64: String?] = [:]
        var parts: [UInt64: [String?]] = [:]

        mutating func text() -> String {
            let count = random.below(100) == 0 ? 800 : random.below(9)
            return (0..<count).map { _ in vocabulary[random.below(vocabulary.count)] }.joined(separator: " ")
        }

        mutating func change(_ table: Table) throws {
            let keys = bodies.keys.sorted()
            switch random.below(keys.isEmpty ? 1 : 6) {
            case 0:
                let location = try table.insertRow()
                let key = location.key
                try table.finishInsert(location)
                bodies[key.rawValue] = .some(nil)
                parts[key.rawValue] = []
            case 1, 2:
                let key = keys[random.below(keys.count)]
                let text = random.below(5) == 0 ? nil : text()
                try table.set(text.map { .string($0) } ?? .null, 0, of: ObjectKey(key))
                bodies[key] = .some(text)
            case 3, 4:
                let key = keys[random.below(keys.count)]
                let count = parts[key]?.count ?? 0
                if count > 3 {
                    let from = random.below(count)
                    try table.listRemove(from..<count, 1, of: ObjectKey(key))
                    parts[key]?.removeSubrange(from..<count)
                } else {
                    let text = random.below(6) == 0 ? nil : text()
                    let place = random.below(count + 1)
                    try table.listInsert([text.map { .string($0) } ?? .null], 1, of: ObjectKey(key), at: place)
                    parts[key]?.insert(text, at: place)
                }
            default:
                let key = keys[random.below(keys.count)]
                try table.delete(ObjectKey(key))
                bodies[key] = nil
                parts[key] = nil
            }
        }

        /// The terms of a text with their positions; one position between list elements stays free.
        func words(_ key: UInt64, _ column: Int) -> [[UInt8]?] {
            if column == 0 { return TextWords.words((bodies[key] ?? nil) ?? "") }
            var words: [[UInt8]?] = []
            for part in parts[key] ?? [] {
                let own = TextWords.words(part ?? "")
                words += own
                if !own.isEmpty { words.append(nil) }
            }
            return words
        }

        /// Each object with its terms.
        func texts(_ column: Int) -> [(key: UInt64, words: [[UInt8]?])] {
            bodies.keys.sorted().map { ($0, words($0, column)) }
        }

        static func keys(_ term: TextTerm, _ texts: [(key: UInt64, words: [[UInt8]?])]) -> [ObjectKey] {
            texts.filter { _, words in
                switch term {
                case .word(let word): return words.contains(word)
                case .prefix(let prefix): return words.contains { $0?.starts(with: prefix) ?? false }
                case .phrase(let phrase, let isOpen):
                    return words.indices.contains { start in
                        phrase.indices.allSatisfy { i in
                            guard start + i < words.count, let word = words[start + i] else { return false }
                            return isOpen && i == phrase.count - 1 ? word.starts(with: phrase[i]) : word == phrase[i]
                        }
                    }
                }
            }.map { ObjectKey($0.key) }
        }
    }

    private static let terms: [TextTerm] = [
        .word(Array("alpha".utf8)), .word(Array("grun".utf8)), .word(Array("nothing".utf8)), .prefix(Array("alp".utf8)),
        .prefix(Array("".utf8)), .prefix(Array("東".utf8)), .phrase(TextWords.words("alpha beta"), isOpen: false),
        .phrase(TextWords.words("beta alp"), isOpen: true), .phrase(TextWords.words("東京 gamma"), isOpen: false),
        .phrase(TextWords.words("z z z"), isOpen: false),
    ]

    @Test(
        "The index finds the objects that a scan of each text finds, after every kind of change",
        arguments: RunSeed.list(1...2))
    func model(seed: RunSeed) throws {
        let database = try Database.open(path: "/t.realm", fileSystem: MemoryFileSystem())
        let session = try database.makeSession()
        try session.beginWrite()
        try session.addTables([Self.table])
        try session.commitWrite()
        var model = Model(random: SeededRandom(seed: seed.value))
        for step in 0..<8 {
            let before = model
            try session.beginWrite()
            let table = try #require(session.table(named: "Note"))
            for _ in 0..<(step == 3 ? 250 : 40) { try model.change(table) }
            try expect(table, model)
            if step % 4 == 3, step > 3 {
                session.rollbackWrite()
                let random = model.random
                model = before
                model.random = random
            } else {
                try session.commitWrite()
            }
            try expect(try #require(session.table(named: "Note")), model)
            let report = IntegrityCheck.run(database)
            try #require(report.isClean, "\(report.findings)")
        }
        try session.beginWrite()
        try session.table(named: "Note")?.deleteAll()
        try session.commitWrite()
        #expect(try session.table(named: "Note")?.keys(with: .prefix([]), inTextIndexOf: 0).isEmpty == true)
        #expect(IntegrityCheck.run(database).isClean)
    }

    private func expect(_ table: Table, _ model: Model) throws {
        for column in 0...1 {
            let texts = model.texts(column)
            for term in Self.terms {
                let found = try table.keys(with: term, inTextIndexOf: column)
                let expected = Model.keys(term, texts)
                #expect(found == expected, "\(term) in \(column)")
                #expect(try table.textEstimate(term, inTextIndexOf: column) >= found.count)
                for (key, _) in texts.prefix(10) {
                    let has = try table.hasTerm(term, ObjectKey(key), inTextIndexOf: column)
                    #expect(has == expected.contains(ObjectKey(key)))
                }
            }
        }
    }

    // The row was looked up before the changed list was written back, which moves the row: the old list was read.
    @Test("A prefix is found in a list that the running write has just changed", arguments: [false, true])
    func openList(isPhrase: Bool) throws {
        let database = try Database.open(path: "/t.realm", fileSystem: MemoryFileSystem())
        let session = try database.makeSession()
        try session.beginWrite()
        try session.addTables([Self.table])
        let key = try #require(session.table(named: "Note")).insertRow().key
        try session.table(named: "Note")?.listInsert([.string("alpha")], 1, of: key, at: 0)
        try session.commitWrite()
        try session.beginWrite()
        let table = try #require(session.table(named: "Note"))
        try table.listInsert([.string("beta")], 1, of: key, at: 1)
        let prefix = Array("be".utf8)
        let term: TextTerm = isPhrase ? .phrase([prefix], isOpen: true) : .prefix(prefix)
        #expect(try table.hasTerm(term, key, inTextIndexOf: 1))
        session.rollbackWrite()
    }

    @Test("A change of the definition builds the index for existing objects, or frees it")
    func building() throws {
        let database = try Database.open(path: "/t.realm", fileSystem: MemoryFileSystem())
        let session = try database.makeSession()
        try session.beginWrite()
        var plain = Self.table
        plain.columns[0].isContentIndexed = false
        plain.columns[1].isContentIndexed = false
        try session.addTables([plain])
        let table = try #require(session.table(named: "Note"))
        for i in 0..<1500 {
            let key = try table.insertRow().key
            try table.set(.string("number \(i) of many"), 0, of: key)
            try table.listInsert([.string("part \(i % 10)")], 1, of: key, at: 0)
        }
        try session.commitWrite()
        for isContentIndexed in [true, false, true] {
            try session.beginWrite()
            var definition = try #require(session.table(named: "Note")).definition
            for column in 0...1 { definition.columns[column].isContentIndexed = isContentIndexed }
            try session.reshape([definition])
            try session.commitWrite()
            let report = IntegrityCheck.run(database)
            try #require(report.isClean, "\(report.findings)")
            let table = try #require(session.table(named: "Note"))
            #expect(table.hasTextIndex(0) == isContentIndexed)
            if isContentIndexed {
                #expect(try table.keys(with: .word(Array("1234".utf8)), inTextIndexOf: 0).map(\.rawValue) == [1235])
                #expect(
                    try table.keys(with: .phrase(TextWords.words("part 7"), isOpen: false), inTextIndexOf: 1).count
                        == 150)
            }
        }
    }

    @Test("Terms after the last position share it, and can be removed again")
    func longText() throws {
        let database = try Database.open(path: "/t.realm", fileSystem: MemoryFileSystem())
        let session = try database.makeSession()
        try session.beginWrite()
        try session.addTables([Self.table])
        let table = try #require(session.table(named: "Note"))
        let key = try table.insertRow().key
        try table.set(.string(String(repeating: "a b ", count: 35_000) + "end"), 0, of: key)
        #expect(try table.keys(with: .word(Array("end".utf8)), inTextIndexOf: 0) == [key])
        #expect(try table.keys(with: .phrase(TextWords.words("b end"), isOpen: false), inTextIndexOf: 0) == [key])
        try session.commitWrite()
        #expect(IntegrityCheck.run(database).isClean)
        try session.beginWrite()
        try session.table(named: "Note")?.set(.null, 0, of: key)
        try session.commitWrite()
        #expect(IntegrityCheck.run(database).isClean)
        #expect(try session.table(named: "Note")?.keys(with: .word(Array("a".utf8)), inTextIndexOf: 0).isEmpty == true)
    }

    @Test("Short texts with rare terms rank before long texts with common terms")
    func ranking() throws {
        let database = try Database.open(path: "/t.realm", fileSystem: MemoryFileSystem())
        let session = try database.makeSession()
        try session.beginWrite()
        try session.addTables([Self.table])
        let table = try #require(session.table(named: "Note"))
        let texts = [
            "storm", "storm in the north with a long tail of other words about nothing", "storm storm", "calm sea",
            "rare storm",
        ]
        var keys: [ObjectKey] = []
        for text in texts {
            let key = try table.insertRow().key
            try table.set(.string(text), 0, of: key)
            keys.append(key)
        }
        let storm = try table.textScores([.word(Array("storm".utf8))], of: keys, inTextIndexOf: 0)
        #expect(storm[2] > storm[0] && storm[0] > storm[4] && storm[4] > storm[1] && storm[3] == 0)
        // k = 1.2, b = 0.75: computed by hand from the formula.
        let average = 20.0 / 5
        let rarity = 0.28768207245178085
        #expect(abs(storm[0] - rarity * 2.2 / (1 + 1.2 * (0.25 + 0.75 / average))) < 1e-12)
        let both = try table.textScores(
            [.word(Array("storm".utf8)), .word(Array("rare".utf8))], of: keys, inTextIndexOf: 0)
        #expect(both[4] > both[2])
        session.rollbackWrite()
    }
}
