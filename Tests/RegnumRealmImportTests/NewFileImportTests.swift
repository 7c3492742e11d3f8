// SPDX-License-Identifier: Apache-2.0
// Files that Realm's own core wrote become Regnum files with the same values, or no file at all.

import Foundation
import RealmSwift
import RegnumRealmFile
import RegnumRealmImport
import Testing

@Suite("Importing into a new file") struct NewFileImportTests {
    private func open(_ url: URL, key: Data? = nil, version: UInt64 = 7) throws -> Realm {
        try Realm(
            configuration: Realm.Configuration(
                fileURL: url, encryptionKey: key, schemaVersion: version, objectTypes: []))
    }

    /// Imports, and expects the same values through the API.
    private func expectImport(_ old: URL, _ new: URL, oldKey: Data? = nil, newKey: Data? = nil, lossCount: Int = 0)
        throws
    {
        var job = RealmFileImport(from: old, to: new)
        job.verifies = true
        job.sourceKey = oldKey
        job.targetKey = newKey
        let report = try job.run()
        // Core 12 allowed NaN twice in a set of decimals.
        #expect(report.lossCount == lossCount && report.isComplete == (lossCount == 0), "\(report)")
        #expect(report.losses.allSatisfy { $0.property?.hasPrefix("dec") == true && $0.className == "All" })
        #expect(report.schemaVersion == 7)
        #expect(report.classes.map(\.name) == ["Target", "Emb", "All", "Big", "Deep"])
        #expect(report.classes.allSatisfy { $0.checksum != nil && $0.read > 0 })
        let file = try RealmFile(url: old, encryptionKey: oldKey)
        let realm = try open(new, key: newKey)
        var comparison = try Comparison(file, realm)
        let differences = try comparison.run()
        #expect(
            differences.count == lossCount, "\(differences.count): \(differences.prefix(5).joined(separator: "\n"))")
        #expect(realm.configuration.integrityFindings().isEmpty)
    }

    @Test(
        "Every value of a file with all types is read through the API unchanged",
        arguments: ["all_types_v22", "all_types_v23", "all_types_v24", "all_types_v24_streaming"])
    func values(_ name: String) throws {
        let scratch = try Scratch()
        try expectImport(
            scratch.fixture("\(name).realm"), scratch["new.realm"], lossCount: name == "all_types_v22" ? 3 : 0)
        #expect(try scratch.names == ["\(name).realm", "new.realm"])
    }

    #if Encryption
        @Test("An encrypted file is imported, and the new file is encrypted with a key of its own")
        func encrypted() throws {
            let scratch = try Scratch()
            let old = try scratch.fixture("all_types_v24_encrypted.realm")
            let key = Data((0..<64).map { UInt8($0) })
            try expectImport(old, scratch["new.realm"], oldKey: Fixture.key, newKey: key)
            #expect(throws: Realm.Error.self) { try open(scratch["new.realm"]) }
        }
    #endif

    @Test("The imported classes have their keys, indexes and kinds")
    func schema() throws {
        let scratch = try Scratch()
        try RealmFileImport(from: scratch.fixture("all_types_v24.realm"), to: scratch["new.realm"]).run()
        let models = try FileModels(of: scratch["new.realm"])
        let old = try FileModels(of: scratch["all_types_v24.realm"])
        #expect(models.swiftSource == old.swiftSource)
        #expect(models.swiftSource.contains("class Emb: EmbeddedObject {"))
        #expect(models.swiftSource.contains("@Persisted(primaryKey: true) var pk: String"))
        #expect(models.swiftSource.contains("@Persisted(indexed: .fullText) var fulltext: String"))
        #expect(models.swiftSource.contains("@Persisted var linkdict: Map<String, Target?>"))
        #expect(models.schemaVersion == 7)
    }

    private func expectRefused(
        _ old: URL, _ scratch: Scratch, key: Data? = nil, _ check: (any Error) -> Bool,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        var job = RealmFileImport(from: old, to: scratch["new.realm"])
        job.sourceKey = key
        var error: (any Error)?
        do { try job.run() } catch let found { error = found }
        #expect(error.map(check) == true, "\(String(describing: error))", sourceLocation: sourceLocation)
        #expect(try scratch.names == [old.lastPathComponent], sourceLocation: sourceLocation)
    }

    private func code(_ error: any Error) -> RealmFileError.Code? { (error as? RealmFileError)?.code }

    @Test("An unreadable file is refused with a named error, and no file is left")
    func badInput() throws {
        let plain = try Fixture.bytes("all_types_v24.realm")
        func file(_ name: String, _ bytes: [UInt8]) throws -> (URL, Scratch) {
            let scratch = try Scratch()
            try Data(bytes).write(to: scratch[name])
            return (scratch[name], scratch)
        }
        let (text, a) = try file("text.realm", Array("no database at all, but long enough for a header".utf8))
        try expectRefused(text, a) { code($0) == .notARealmFile }
        let (cut, b) = try file("cut.realm", Array(plain[..<(plain.count / 3 & ~7)]))
        try expectRefused(cut, b) { code($0) == .damaged }
        let secret = try Scratch()
        let encrypted = try secret.fixture("all_types_v24_encrypted.realm")
        try expectRefused(encrypted, secret) { code($0) == .notARealmFile }
        #if Encryption
            try expectRefused(encrypted, secret, key: Data(count: 64)) { code($0) == .wrongKey }
        #endif
        try expectRefused(encrypted, secret, key: Data(count: 3)) { code($0) == .wrongKey }
    }

    @Test("Damage anywhere causes an error or allows a complete import, never half a file", arguments: 0..<24)
    func damaged(_ seed: Int) throws {
        var bytes = try Fixture.bytes("all_types_v24_streaming.realm")
        var random = UInt64(seed) &* 0x9e37_79b9_7f4a_7c15 &+ 1
        for _ in 0..<20 {
            random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            bytes[24 + Int(random >> 33) % (bytes.count - 24)] ^= UInt8(truncatingIfNeeded: random >> 20) | 1
        }
        let scratch = try Scratch()
        try Data(bytes).write(to: scratch["old.realm"])
        do {
            try RealmFileImport(from: scratch["old.realm"], to: scratch["new.realm"]).run()
            #expect(Realm.Configuration(fileURL: scratch["new.realm"]).integrityFindings().isEmpty)
        } catch {
            #expect(try scratch.names == ["old.realm"], "\(error)")
        }
    }

    @Test("An existing target is not changed")
    func existing() throws {
        let scratch = try Scratch()
        let old = try scratch.fixture("all_types_v24.realm")
        try Data("mine".utf8).write(to: scratch["new.realm"])
        #expect { try RealmFileImport(from: old, to: scratch["new.realm"]).run() } throws: {
            ($0 as? Realm.Error)?.code == .fileExists
        }
        #expect(try Data(contentsOf: scratch["new.realm"]) == Data("mine".utf8))
    }

    @Test("Another program's file with the name of the lock file is an error before the import")
    func foreignLockFile() throws {
        let scratch = try Scratch()
        let old = try scratch.fixture("all_types_v24.realm")
        let lock = scratch["new.realm.lock"]
        try Data("realm-core".utf8).write(to: lock)
        var job = RealmFileImport(from: old, to: scratch["new.realm"])
        job.progress = { _ in Issue.record("the import has begun") }
        #expect { try job.run() } throws: { ($0 as? Realm.Error)?.reason == .foreignLockFile }
        let lines = scratch["in.json"]
        try Data(#"{"classes":[]}"#.utf8).write(to: lines)
        #expect { try ObjectJSON.importLines(from: lines, to: scratch["new.realm"]) } throws: {
            ($0 as? Realm.Error)?.reason == .foreignLockFile
        }
        #expect(try Data(contentsOf: lock) == Data("realm-core".utf8))
        // A lock file that a database has left is none of them.
        try FileManager.default.removeItem(at: lock)
        try Data().write(to: lock)
        job.progress = nil
        #expect(try job.run().isComplete)
        _ = try open(scratch["new.realm"])
    }

    @Test("A class with more properties than a file can hold is an error")
    func tooManyProperties() throws {
        let scratch = try Scratch()
        let properties = (0..<65_536).map { #"{"name":"p\#($0)","type":"int"}"# }.joined(separator: ",")
        try Data(#"{"classes":[{"name":"Wide","properties":[\#(properties)]}]}"#.utf8).write(to: scratch["in.json"])
        #expect {
            try ObjectJSON.importLines(from: scratch["in.json"], to: scratch["new.realm"])
        } throws: { error in
            let error = error as? Realm.Error
            return error?.reason == .overLimit && error?.localizedDescription.contains("65536 properties") == true
        }
        #expect(try scratch.names == ["in.json"])
    }

    private struct Stop: Error {}

    @Test("A cancelled import leaves no file, and its progress ascends")
    func cancelling() throws {
        let scratch = try Scratch()
        let old = try scratch.fixture("all_types_v24.realm")
        var job = RealmFileImport(from: old, to: scratch["new.realm"])
        var seen: [RealmFileImportProgress] = []
        job.progress = { seen.append($0) }
        try job.run()
        #expect(seen.count > 50 && zip(seen, seen.dropFirst()).allSatisfy { $0.fraction <= $1.fraction })
        #expect(seen.last?.phase == .finishing && seen.last?.fraction == 1)
        try FileManager.default.removeItem(at: scratch["new.realm"])
        for stop in stride(from: 0, to: seen.count, by: 17) {
            var count = 0
            job.progress = { _ in
                count += 1
                if count > stop { throw Stop() }
            }
            #expect(throws: Stop.self) { try job.run() }
            #expect(try scratch.names == ["all_types_v24.realm"])
        }
    }

    @Test("The state before the last commit is imported and exported on request")
    func previousSnapshot() throws {
        let scratch = try Scratch()
        func file() -> [UInt8] {
            var builder = FileBuilder(format: 9)
            let column: FileBuilder.LegacyColumn = ("a", 0, 0, builder.integers([7]))
            let table = builder.legacyTable([column])
            return builder.file(tables: [("class_A", table)])
        }
        // The same nodes at the same places: slot 0 leads to them, and slot 1, the current one, to nothing.
        var bytes = file()
        bytes.replaceSubrange(8..<16, with: [3, 0, 0, 0, 0, 0, 0, 0])
        (bytes[21], bytes[23]) = (9, 1)
        try Data(bytes).write(to: scratch["old.realm"])
        var job = RealmFileImport(from: scratch["old.realm"], to: scratch["new.realm"])
        #expect(throws: RealmFileError.self) { try job.run() }
        job.snapshot = .previous
        #expect(try job.run().objectsWritten == 1)
        #expect(try ObjectJSON.export(scratch["old.realm"], snapshot: .previous) { _ in }.objectCount == 1)
        #expect(throws: RealmFileError.self) {
            try ObjectJSON.export(scratch["new.realm"], snapshot: .previous) { _ in }
        }
    }

    @Test("An import is cancelled within one object")
    func cancelledWithinObject() async throws {
        let scratch = try Scratch()
        let numbers = (0..<5000).map(String.init).joined(separator: ",")
        let lines =
            #"{"classes":[{"name":"A","properties":[{"name":"list","type":"int","collection":"list"}]}]}"# + "\n"
            + #"{"class":"A","key":0,"value":{"list":[\#(numbers)]}}"#
        try Data(lines.utf8).write(to: scratch["in.json"])
        let (source, target) = (scratch["in.json"], scratch["new.realm"])
        let phases = await Task { () -> [RealmFileImportProgress.Phase] in
            withUnsafeCurrentTask { $0?.cancel() }
            var phases: [RealmFileImportProgress.Phase] = []
            do {
                try ObjectJSON.importLines(from: source, to: target, progress: { phases.append($0.phase) })
                Issue.record("the import has ended")
            } catch { #expect(error is CancellationError) }
            return phases
        }.value
        // The object is not complete: no progress was reported.
        #expect(phases.isEmpty)
        #expect(try scratch.names == ["in.json"])
    }

    @Test(
        "Values of formats up to 9 are imported, and values that only they can hold are reported",
        arguments: [2, 3, 4, 5, 6, 7, 8, 9] as [UInt8])
    func oldFormats(_ format: UInt8) throws {
        for sample in OldFormatSamples.all {
            let scratch = try Scratch()
            var builder = FileBuilder(format: format)
            let tables = sample(&builder)
            try Data(builder.file(tables: tables, slot: format % 2)).write(to: scratch["old.realm"])
            var job = RealmFileImport(from: scratch["old.realm"], to: scratch["new.realm"])
            job.verifies = true
            let report = try job.run()
            let file = try RealmFile(url: scratch["old.realm"])
            let realm = try open(scratch["new.realm"], version: report.schemaVersion ?? 0)
            #expect(report.formatVersion == Int(format))
            #expect(realm.configuration.integrityFindings().isEmpty)
            var comparison = try Comparison(file, realm)
            // A null of a required number, and nested tables.
            let expected = report.lossCount + report.classes.reduce(0) { $0 + $1.dropped.reduce(0) { $0 + $1.values } }
            let differences = try comparison.run()
            #expect(differences.count <= report.lossCount, "\(differences)")
            if report.classes.map(\.name) == ["Node"] {
                #expect(report.classes[0].dropped.map(\.name) == ["rows"] && expected == 1)
            }
        }
    }
    @Test("Formats 10 to 21 keep their values", arguments: [10, 11, 20, 21] as [UInt8])
    func clusterFormats(_ format: UInt8) throws {
        let scratch = try Scratch()
        var builder = FileBuilder(format: format)
        let tables = ClusterSamples.people(&builder)
        let old = scratch["old.realm"]
        try Data(builder.file(tables: tables, slot: format % 2)).write(to: old)
        var job = RealmFileImport(from: old, to: scratch["new.realm"])
        job.verifies = true
        let report = try job.run()
        #expect(report.isComplete && report.formatVersion == Int(format) && report.schemaVersion == 11, "\(report)")
        let realm = try open(scratch["new.realm"], version: 11)
        #expect(realm.configuration.integrityFindings().isEmpty)
        var comparison = try Comparison(try RealmFile(url: old), realm)
        let differences = try comparison.run()
        #expect(differences.isEmpty, "\(differences)")
        let people = realm.dynamicObjects("Person")
        #expect(people.count == 2)
        let (ann, other) = (people[0], people[1])
        #expect(ann.objectSchema.primaryKeyProperty?.name == "id")
        func values<T>(_ name: String, _ type: T.Type) -> [T?] { [ann[name] as? T, other[name] as? T] }
        #expect(values("id", Int.self) == [7, -8] && values("age", Int.self) == [nil, 40])
        #expect(values("name", String.self) == ["Ann", nil])
        #expect(values("note", String.self) == ["a text of medium length", nil])
        #expect(values("born", Date.self) == [Date(timeIntervalSince1970: 100.25), nil])
        #expect(
            (ann["best"] as? DynamicObject)?.isSameObject(as: other) == true && other["best"] as? DynamicObject == nil)
        let friends: [Int?] = ann.dynamicList("friends").map { $0["id"] as? Int }
        #expect(friends == [-8, 7, -8])
        if format >= 20 {
            #expect((ann["home"] as? DynamicObject)?["street"] as? String == "Main")
            #expect(report.classes.map(\.name) == ["Person", "Address"])
        }
    }
}
