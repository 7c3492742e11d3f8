// SPDX-License-Identifier: Apache-2.0
// Files that Realm's own core wrote are read with the values that the core reads.

import Foundation
import RegnumRealmFile
import Testing

@Suite("Files written by Realm's core") struct RealmFixturesTests {
    /// Compares values with the core's text; for a long value only the length is known.
    private func compare(_ lines: [String], _ expected: [Substring], _ comment: Comment) {
        #expect(lines.count == expected.count, comment)
        for (line, expected) in zip(lines, expected) where line != expected {
            let fields = line.split(separator: "\t", omittingEmptySubsequences: false)
            let expectedFields = expected.split(separator: "\t", omittingEmptySubsequences: false)
            #expect(fields.count == expectedFields.count, comment)
            for (field, expected) in zip(fields, expectedFields) where field != expected {
                guard let mark = expected.range(of: ":#") else {
                    #expect(field == expected, comment)
                    continue
                }
                let name = expected[..<mark.lowerBound]
                let count = expected[mark.upperBound...].prefix { $0.isNumber }
                #expect(
                    field.hasPrefix(name + ":") && (field.utf8.count - name.utf8.count - 1) / 2 == Int(count), comment)
            }
        }
    }

    @Test(
        "Every value of a file with all types is the one that Realm's core reads",
        arguments: ["all_types_v22", "all_types_v23", "all_types_v24"])
    func values(_ name: String) throws {
        let scratch = try Scratch()
        let file = try RealmFile(url: scratch.fixture("\(name).realm"))
        #expect(file.formatVersion == Int(name.suffix(2)))
        #expect(!file.isStreaming && !file.isEncrypted)
        compare(try RealmDump.lines(file), try Fixture.expectedLines(name), "\(name)")
    }

    @Test("A compacted copy has the same content")
    func streaming() throws {
        let scratch = try Scratch()
        let file = try RealmFile(url: scratch.fixture("all_types_v24_streaming.realm"))
        #expect(file.isStreaming)
        compare(try RealmDump.lines(file), try Fixture.expectedLines("all_types_v24"), "streaming")
    }

    @Test("Long values are read to their last byte")
    func longValues() throws {
        let scratch = try Scratch()
        let file = try RealmFile(url: scratch.fixture("all_types_v24.realm"))
        let table = try #require(file.table(named: "Big"))
        var texts: [String] = []
        try file.forEachObject(of: table) { object in
            if case .string(let text) = try object.value("s") { texts.append(text) }
        }
        #expect(texts.contains(String(repeating: "q", count: 70_000)))
    }

    @Test("The schema matches the declared classes")
    func schema() throws {
        let scratch = try Scratch()
        let file = try RealmFile(url: scratch.fixture("all_types_v24.realm"))
        #expect(file.schemaVersion == 7)
        #expect(file.classes.map(\.name) == ["Target", "Emb", "All", "Big", "Deep"])
        #expect(file.classes.map(\.kind) == [.topLevel, .embedded, .topLevel, .topLevel, .topLevel])
        let all = try #require(file.table(named: "All"))
        #expect(all.objectCount == 35)
        #expect(all.primaryKeyIndex.map { all.properties[$0].name } == "pk")
        func property(_ name: String) throws -> RealmFileProperty { all.properties[try #require(all.index(of: name))] }
        #expect(try property("intN_renamed").isOptional)
        #expect(try property("intND").collection == .dictionary && property("intND").isOptional)
        #expect(try property("uuidNS").collection == .set && property("uuidNS").type == .uuid)
        #expect(try property("link").type == .link("Target") && property("link").isOptional)
        #expect(try property("links").type == .link("Target") && !property("links").isOptional)
        #expect(try property("emb").type == .link("Emb"))
        #expect(try property("mixedN").type == .any)
        #expect(try property("indexed").isIndexed && property("fulltext").hasFullTextIndex)
    }

    @Test("A link points to its object")
    func links() throws {
        let scratch = try Scratch()
        let file = try RealmFile(url: scratch.fixture("all_types_v24.realm"))
        var found = 0
        try file.forEachObject(of: try #require(file.table(named: "All"))) { object in
            guard case .link(let link) = try object.value("link") else { return }
            let target = try #require(try file.object(link))
            #expect(target.key == link.key && target.table.name == "Target")
            #expect(try target.value("id") == .int(3 * link.key))
            found += 1
        }
        #expect(found > 5)
        #expect(try file.object(RealmFileLink(tableIndex: 1, key: 1 << 40)) == nil)
    }

    #if Encryption
        @Test("An encrypted file has the same content")
        func encrypted() throws {
            let scratch = try Scratch()
            let file = try RealmFile(url: scratch.fixture("all_types_v24_encrypted.realm"), encryptionKey: Fixture.key)
            #expect(file.isEncrypted)
            compare(try RealmDump.lines(file), try Fixture.expectedLines("all_types_v24"), "encrypted")
        }

        @Test("A wrong key and damage cause different errors")
        func wrongKey() throws {
            let scratch = try Scratch()
            let url = try scratch.fixture("all_types_v24_encrypted.realm")
            var wrong = Fixture.key
            wrong[40] ^= 1
            #expect(throws: RealmFileError.self) { try RealmFile(url: url, encryptionKey: wrong) }
            #expect(try code { try RealmFile(url: url, encryptionKey: wrong) } == .wrongKey)
            var half = Fixture.key
            half[3] ^= 1
            #expect(try code { try RealmFile(url: url, encryptionKey: half) } == .damaged)
            #expect(try code { try RealmFile(url: url) } == .notARealmFile)
            #expect(try code { try RealmFile(url: url, encryptionKey: Data(count: 63)) } == .wrongKey)
            var bytes = try Fixture.bytes("all_types_v24_encrypted.realm")
            bytes[4096 + 77] ^= 1
            let damaged = try scratch.file(bytes, "damaged.realm")
            #expect(try code { try RealmFile(url: damaged, encryptionKey: Fixture.key) } == .damaged)
        }
    #else
        @Test("A build without encryption reports that it cannot decrypt")
        func encryptionUnavailable() throws {
            let scratch = try Scratch()
            let url = try scratch.fixture("all_types_v24_encrypted.realm")
            #expect(try code { try RealmFile(url: url, encryptionKey: Fixture.key) } == .encryptionUnavailable)
        }
    #endif

    @Test("A key for a plain file is refused")
    func keyForPlainFile() throws {
        let scratch = try Scratch()
        let url = try scratch.fixture("all_types_v22.realm")
        #expect(try code { try RealmFile(url: url, encryptionKey: Fixture.key) } == .notEncrypted)
    }

    @Test("Reading writes nothing: the folder holds the unchanged file, and no other")
    func readOnly() throws {
        let scratch = try Scratch()
        let url = try scratch.fixture("all_types_v23.realm")
        let before = try Data(contentsOf: url)
        _ = try RealmDump.lines(try RealmFile(url: url))
        #expect(try Data(contentsOf: url) == before)
        #expect(try FileManager.default.contentsOfDirectory(atPath: scratch.url.path) == ["all_types_v23.realm"])
    }

    @Test("The state before the last commit can be read if it is intact")
    func previous() throws {
        let scratch = try Scratch()
        let url = try scratch.fixture("all_types_v24.realm")
        let current = try RealmFile(url: url)
        let previous = try RealmFile(url: url, snapshot: .previous)
        #expect(previous.transactionVersion < current.transactionVersion)
        #expect(
            try code { try RealmFile(url: scratch.fixture("all_types_v24_streaming.realm"), snapshot: .previous) }
                == .noPreviousSnapshot)
    }
}

/// The code of the error that `body` throws; nil if it throws none.
func code(_ body: () throws -> RealmFile) throws -> RealmFileError.Code? {
    do {
        _ = try body()
        return nil
    } catch let error as RealmFileError {
        return error.code
    }
}
