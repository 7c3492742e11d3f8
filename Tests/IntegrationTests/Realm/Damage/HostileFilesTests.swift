// SPDX-License-Identifier: Apache-2.0
// Small files that have been changed by an attacker, used through the API. A file opens at its newest commit or the
// one before and can be read and written, or it is refused with a message that names the block. Nothing ends the
// program.
//
// `REGNUM_HOSTILE_CASES` sets how many changed bits are tried, and `RunSeed` selects them; each failure names its case.

import Foundation
import RealmSwift
import Regnum
import RegnumSimulation
import RegnumSystem
import Testing

class HostileRow: Object {
    @Persisted(primaryKey: true) var id = 0
    @Persisted(indexed: true) var name = ""
    @Persisted var text: String?
    @Persisted var data = Data()
    @Persisted var mixed: AnyRealmValue
    @Persisted var next: HostileRow?
    @Persisted var part: HostilePart?
    @Persisted var words: List<String>
    @Persisted var tags: MutableSet<String>
    @Persisted var pairs: Map<String, Int>
    @Persisted(originProperty: "next") var before: LinkingObjects<HostileRow>
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

class HostilePart: EmbeddedObject {
    @Persisted var label = ""
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

@Suite("Hostile files") struct HostileFilesTests {
    private static let cases = min(
        CurrentProcess.environment("REGNUM_HOSTILE_CASES").flatMap { Int($0) } ?? 60, 20_000)
    private static let rows = 60

    private static func configuration(_ path: String, _ files: SimulatedFileSystem) -> Realm.Configuration {
        var configuration = Realm.Configuration(
            fileURL: URL(fileURLWithPath: path), objectTypes: [HostileRow.self, HostilePart.self])
        configuration.extras.fileSystem = files
        return configuration
    }

    /// A new path for each file, because the Realms of a process are found by their paths.
    private static func newPath() -> String { "/hostile/\(UUID().uuidString).realm" }

    /// A file after several writes, and its expected contents.
    private static func make() throws -> (bytes: [UInt8], state: [String]) {
        let files = SimulatedFileSystem(seed: 1, reservedByteCount: 64 << 20)
        let path = newPath()
        var last: [String] = []
        do {
            let realm = try Realm(configuration: configuration(path, files))
            try realm.write { fill(realm) }
            for id in 0..<3 {
                try realm.write {
                    realm.object(ofType: HostileRow.self, forPrimaryKey: id)?.text = "changed \(id)"
                    if let row = realm.object(ofType: HostileRow.self, forPrimaryKey: 50 + id) { realm.delete(row) }
                }
            }
            last = state(realm)
        }
        return (try #require(files.contents(of: path)), last)
    }

    private static func fill(_ realm: Realm) {
        var last: HostileRow?
        for id in 0..<rows {
            let row = realm.create(HostileRow.self, value: ["id": id, "name": "name \(id % 7)"])
            if id % 3 == 0 { row.text = String(repeating: "long ", count: id * 40) }
            row.data = Data(repeating: UInt8(id), count: id)
            row.mixed = id % 2 == 0 ? .int(id) : .string("mixed \(id)")
            row.next = last
            row.words.append(objectsIn: (0..<id % 5).map { "word \($0)" })
            row.tags.insert("tag \(id % 4)")
            row.pairs["key \(id)"] = id
            if id % 4 == 0 {
                let part = HostilePart()
                part.label = "part \(id)"
                row.part = part
            }
            last = row
        }
    }

    /// Every value of every object, and the results of queries.
    private static func state(_ realm: Realm) -> [String] {
        let rows = realm.objects(HostileRow.self)
        var lines: [String] = []
        for row in rows.sorted(byKeyPath: "id") {
            lines.append("\(row.id) \(row.name) \(row.text ?? "-") \(Array(row.data)) \(row.mixed)")
            lines.append("\(row.next?.id ?? -1) \(row.before.count) \(row.part?.label ?? "-")")
            lines.append("\(Array(row.words)) \(Array(row.tags).sorted())")
            for key in row.pairs.keys.sorted() { lines.append("\(key) \(row.pairs[key] ?? -1)") }
        }
        let sum: Int = rows.sum(ofProperty: "id")
        lines.append("\(sum) \(rows.filter("name == %@", "name 3").count) \(rows.filter("text CONTAINS 'long'").count)")
        return lines
    }

    /// Opens the file and uses it as programs do.
    private static func use(_ bytes: [UInt8], _ expected: [String], _ label: String, isCut: Bool = false) {
        let files = SimulatedFileSystem(seed: 1, reservedByteCount: 64 << 20)
        let path = newPath()
        files.setContents(of: path, bytes)
        do {
            let realm = try Realm(configuration: configuration(path, files))
            #expect(state(realm) == expected, "\(label): the contents differ")
            let count = realm.objects(HostileRow.self).count
            try realm.write {
                realm.create(HostileRow.self, value: ["id": 1000, "name": "new"])
                if let row = realm.object(ofType: HostileRow.self, forPrimaryKey: 4) {
                    row.words.append("more")
                    row.part?.label = "changed"
                }
                if let row = realm.object(ofType: HostileRow.self, forPrimaryKey: 8) { realm.delete(row) }
            }
            #expect(realm.objects(HostileRow.self).count == count, "\(label)")
        } catch let error as Realm.Error {
            let words = error.localizedDescription
            #expect(error.code == .invalidDatabase, "\(label): \(words)")
            if isCut { return }
            #expect(error.reason == .damaged, "\(label): \(words)")
            #expect(words.contains("block at page "), "\(label): \(words)")
        } catch {
            Issue.record("\(label): \(error)")
        }
    }

    @Test("A closed small file with a changed bit has all its contents, or is refused with the block's name")
    func changedBits() throws {
        let (good, state) = try Self.make()
        Self.use(good, state, "the file as it is")
        for i in 0..<Self.cases {
            let seed = RunSeed.ofTurn(i, from: RunSeed.ofLongRuns)
            var random = SeededRandom(seed: seed.value)
            // A quarter of the changes are in headers and slots; the other bytes of the first pages are zero.
            let fixed = [0, 4, 8, 12][random.below(4)] * 4096 + random.below(4096)
            let (at, bit) = (random.below(4) == 0 ? fixed : random.below(good.count), random.below(8))
            var bytes = good
            bytes[at] ^= 1 << UInt8(bit)
            Self.use(bytes, state, "\(seed), bit \(bit) of byte \(at)")
        }
    }

    @Test("A truncated closed small file has all its contents, or is refused")
    func cutOff() throws {
        let (good, state) = try Self.make()
        // At the ends of pages, and one byte after.
        let step = max(1, good.count / 4096 / 20) * 4096
        for count in stride(from: 0, to: good.count, by: step).flatMap({ [$0, $0 + 1] }) where count > 0 {
            Self.use(Array(good.prefix(count)), state, "cut to \(count) bytes", isCut: true)
        }
    }
}
