// SPDX-License-Identifier: Apache-2.0
// An import whose process was killed continues with what it has committed, or starts over, and the new file is the same
// as without the kill.

import Foundation
import RealmSwift
import RegnumRealmFile
@testable import RegnumRealmImport
import Testing

/// An import into a new file as `RealmFileImport` makes it, in small batches.
private struct SmallBatches {
    var old: URL
    var new: URL
    var verifies = true
    var key: Data?
    /// Called after each commit with the number of commits so far.
    var onCommit: (Int) throws -> Void = { _ in }

    /// The report, and the number of commits.
    @discardableResult
    func run() throws -> (report: RealmFileImportReport, commits: Int) {
        let source = try RealmFileSource.open(old, encryptionKey: nil)
        let state = try #require(source.state)
        let file = try NewFile(beside: new.path, like: old.path, isReplacement: false, key: key, resumes: true)
        var commits = 0
        let driver = NewFileImport(
            source: source, report: RealmFileImportReport(of: source.file), verifies: verifies,
            origin: ImportOrigin(
                state, path: old.path, isPrevious: false, isReplacement: false, verifies: verifies),
            batchCost: 100,
            onCommit: {
                commits += 1
                try onCommit(commits)
            })
        let report = try driver.run(into: file)
        try file.rename()
        return (report, commits)
    }
}

@Suite("Continuing an import after a kill") struct ResumedImportTests {
    private let scratch: Scratch
    private let old: URL
    /// The report and the number of commits of an import that nothing interrupts.
    private let whole: (report: RealmFileImportReport, commits: Int)

    init() throws {
        scratch = try Scratch()
        // Links of all kinds, embedded objects, and three losses.
        old = try scratch.fixture("all_types_v22.realm", as: "old.realm")
        whole = try SmallBatches(old: old, new: scratch["whole.realm"]).run()
    }

    /// Creates a folder, and starts an import into it that kills its process after a commit.
    private func killed(after commit: Int, _ name: String, key: Data? = nil) async throws -> URL {
        let folder = scratch[name]
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let new = folder.appendingPathComponent("new.realm")
        let (source, target) = (old.path, new.path)
        await #expect(processExitsWith: .signal(SIGKILL)) {
            [source = source as String, target = target as String, commit = commit as Int, key = key as Data?] in
            try SmallBatches(
                old: URL(fileURLWithPath: source), new: URL(fileURLWithPath: target), key: key,
                onCommit: { if $0 == commit { kill(getpid(), SIGKILL) } }
            ).run()
        }
        #expect(!FileManager.default.fileExists(atPath: new.path))
        return new
    }

    private func names(beside url: URL) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: url.deletingLastPathComponent().path)
            .filter { !$0.hasSuffix(".lock") }.sorted()
    }

    private func expectWhole(
        _ new: URL, _ report: RealmFileImportReport, key: Data? = nil,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        #expect(report == whole.report, sourceLocation: sourceLocation)
        let found = try names(beside: new)
        #expect(found == ["new.realm"], sourceLocation: sourceLocation)
        let realm = try Realm(
            configuration: Realm.Configuration(
                fileURL: new, encryptionKey: key, schemaVersion: 7, objectTypes: []))
        var comparison = try Comparison(try RealmFile(url: old), realm)
        let differences = try comparison.run()
        #expect(differences.count == whole.report.lossCount, "\(differences)", sourceLocation: sourceLocation)
        #expect(realm.configuration.integrityFindings().isEmpty, sourceLocation: sourceLocation)
        let models = try FileModels(of: new, encryptionKey: key).json
        let expected = try FileModels(of: scratch["whole.realm"]).json
        #expect(models == expected && !models.contains(ImportStateTable.name), sourceLocation: sourceLocation)
    }

    @Test("After a kill at any commit, the import continues, and the file is the same as without the kill")
    func eachCommit() async throws {
        #expect(whole.commits > 8 && whole.report.lossCount == 3)
        var commit = 1
        while commit <= whole.commits {
            let new = try await killed(after: commit, "at-\(commit)")
            let (report, commits) = try SmallBatches(old: old, new: new).run()
            // After the first commit there is no state yet, and after the last one none any more.
            let startsOver = commit == 1 || commit == whole.commits
            #expect(startsOver ? commits == whole.commits : commits < whole.commits, "\(commit): \(commits)")
            try expectWhole(new, report)
            commit += 1
        }
    }

    @Test("An import that is killed twice continues twice")
    func twice() async throws {
        let first = try await killed(after: 3, "twice")
        let second = try await killed(after: 2, "twice")
        #expect(first == second)
        let (report, commits) = try SmallBatches(old: old, new: second).run()
        // The second process has continued after the third commit, and made two of its own.
        #expect(commits <= whole.commits - 4, "\(commits)")
        try expectWhole(second, report)
    }

    @Test("An error at any commit leaves no file, and the import can be repeated")
    func errors() throws {
        struct Stop: Error {}
        let folder = scratch["errors"]
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let new = folder.appendingPathComponent("new.realm")
        var commit = 1
        while commit <= whole.commits {
            let last = commit
            #expect(throws: Stop.self) {
                try SmallBatches(old: old, new: new, onCommit: { if $0 == last { throw Stop() } }).run()
            }
            let left = try names(beside: new)
            #expect(left.isEmpty)
            commit += 1
        }
        let (report, commits) = try SmallBatches(old: old, new: new).run()
        #expect(commits == whole.commits)
        try expectWhole(new, report)
    }

    @Test("A changed source, or a changed option, starts over")
    func changed() async throws {
        var new = try await killed(after: 4, "option")
        var job = SmallBatches(old: old, new: new, verifies: false)
        var made = try job.run()
        #expect(made.commits == whole.commits)
        // It was not verified: it is an import of its own.
        #expect(made.report.classes.allSatisfy { $0.checksum == nil })
        new = try await killed(after: 4, "source")
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSince1970: 1e9)], ofItemAtPath: old.path)
        job = SmallBatches(old: old, new: new)
        made = try job.run()
        #expect(made.commits == whole.commits)
        try expectWhole(new, made.report)
    }

    @Test("The unfinished import of another file is not continued")
    func otherSource() async throws {
        let new = try await killed(after: 4, "other")
        let other = try scratch.fixture("all_types_v24.realm")
        let report = try RealmFileImport(from: other, to: new).run()
        #expect(report.isComplete && report.formatVersion == 24)
        let left = try names(beside: new)
        #expect(left == ["new.realm"])
        let realm = try Realm(configuration: Realm.Configuration(fileURL: new, schemaVersion: 7, objectTypes: []))
        var comparison = try Comparison(try RealmFile(url: other), realm)
        let differences = try comparison.run()
        #expect(differences.isEmpty)
    }

    @Test("A damaged unfinished file starts over, or is found to be whole", arguments: 0..<6)
    func damaged(_ seed: Int) async throws {
        let new = try await killed(after: 6, "damaged")
        let folder = new.deletingLastPathComponent()
        let name = try #require(try names(beside: new).first { $0.hasSuffix(".new") })
        let file = folder.appendingPathComponent(name)
        var bytes = [UInt8](try Data(contentsOf: file))
        var random = UInt64(seed) &* 0x9e37_79b9_7f4a_7c15 &+ 1
        for _ in 0..<(seed == 0 ? 4096 : 40) {
            random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            bytes[Int(random >> 33) % (seed == 0 ? 4096 : bytes.count)] ^= UInt8(truncatingIfNeeded: random >> 20) | 1
        }
        let handle = try FileHandle(forWritingTo: file)
        try handle.write(contentsOf: Data(bytes))
        try handle.close()
        let (report, _) = try SmallBatches(old: old, new: new).run()
        try expectWhole(new, report)
    }

    @Test("A file that is not the owner's alone is not continued")
    func foreignPermissions() async throws {
        let new = try await killed(after: 4, "foreign")
        let name = try #require(try names(beside: new).first { $0.hasSuffix(".tmp") })
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o644], ofItemAtPath: new.deletingLastPathComponent().appendingPathComponent(name).path)
        let (report, commits) = try SmallBatches(old: old, new: new).run()
        #expect(commits == whole.commits)
        try expectWhole(new, report)
    }

    #if Encryption
        @Test("An encrypted import continues only with its key, and nothing of it is readable without")
        func encrypted() async throws {
            let key = Data((0..<64).map { UInt8($0) })
            let new = try await killed(after: 5, "encrypted", key: key)
            for name in try FileManager.default.contentsOfDirectory(
                atPath: new.deletingLastPathComponent().path)
            {
                let bytes = try Data(contentsOf: new.deletingLastPathComponent().appendingPathComponent(name))
                for word in ["leftOut", "Target", "linklist", "state of an import"] {
                    #expect(bytes.range(of: Data(word.utf8)) == nil, "\(name): \(word)")
                }
            }
            let (report, commits) = try SmallBatches(old: old, new: new, key: key).run()
            #expect(commits < whole.commits)
            try expectWhole(new, report, key: key)
            let other = try await killed(after: 5, "other-key", key: key)
            let (second, all) = try SmallBatches(old: old, new: other, key: Fixture.key).run()
            #expect(all == whole.commits)
            try expectWhole(other, second, key: Fixture.key)
        }
    #endif
}

@Suite("Noticing a change to the source") struct ChangedSourceTests {
    /// Overwrites the whole file, or its header only.
    private func overwrite(_ url: URL, all: Bool) throws {
        let handle = try FileHandle(forWritingTo: url)
        let count = try all ? Data(contentsOf: url).count : 8
        try handle.write(contentsOf: Data(repeating: 0xff, count: count))
        try handle.close()
    }

    private func isChanged(_ error: any Error) -> Bool { (error as? RealmFileImportError)?.code == .sourceChanged }

    // Values of two states were once published as one.
    @Test("A new file is not made of a file that changes during the import", arguments: [false, true])
    func newFile(all: Bool) throws {
        let scratch = try Scratch()
        let old = try scratch.fixture("all_types_v24.realm", as: "old.realm")
        var job = RealmFileImport(from: old, to: scratch["new.realm"])
        var calls = 0
        job.progress = { _ in
            calls += 1
            if calls == 3 { try overwrite(old, all: all) }
        }
        #expect { try job.run() } throws: { isChanged($0) }
        #expect(try scratch.names == ["old.realm"])
    }

    @Test("Nor is an export, or the last batch of an import into an open Realm")
    func others() throws {
        let scratch = try Scratch()
        let old = try scratch.fixture("all_types_v24.realm", as: "old.realm")
        let before = try Data(contentsOf: old)
        #expect {
            try ObjectJSON.export(
                old, to: scratch["out.json"],
                progress: { if $0.completed == 1 { try overwrite(old, all: false) } })
        } throws: { isChanged($0) }
        #expect(try scratch.names == ["old.realm"])
        try before.write(to: old)
        let realm = try Realm(
            configuration: Realm.Configuration(fileURL: scratch["new.realm"], objectTypes: [Deep.self]))
        var job = RealmFileImport(from: old, to: realm)
        job.progress = { if $0.className == "Deep" { try overwrite(old, all: false) } }
        #expect { try job.run() } throws: { isChanged($0) }
        #expect(realm.objects(Deep.self).isEmpty)
    }
}
