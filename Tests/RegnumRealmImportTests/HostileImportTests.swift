// SPDX-License-Identifier: Apache-2.0
// Files whose parts contradict each other, or refer to one part many times, are refused before they cost memory or
// objects. What is valid in them is imported.

import Foundation
import RealmSwift
import RegnumRealmFile
import RegnumRealmImport
import Testing

@Suite("Importing files that contradict themselves") struct HostileImportTests {
    /// Writes a file with those tables, and returns its URL.
    private func file(
        _ scratch: Scratch, format: UInt8 = 24, _ build: (inout FileBuilder) -> [(String, Int64)]
    ) throws -> URL {
        var builder = FileBuilder(format: format)
        let tables = build(&builder)
        try Data(builder.file(tables: tables)).write(to: scratch["old.realm"])
        return scratch["old.realm"]
    }

    /// Imports, and expects that the file is refused as damaged and that there is no new file.
    private func expectDamaged(
        _ old: URL, _ scratch: Scratch, sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        #expect(sourceLocation: sourceLocation) {
            try RealmFileImport(from: old, to: scratch["new.realm"]).run()
        } throws: { ($0 as? RealmFileError)?.code == .damaged }
        #expect(try scratch.names == ["old.realm"], sourceLocation: sourceLocation)
    }

    @Test("A tree with fewer or more objects than its root names is damage", arguments: [0, -1, 1] as [Int64])
    func missingObjects(_ difference: Int64) throws {
        let scratch = try Scratch()
        let old = try file(scratch) { builder in
            let leaves = (0..<3).map { _ in builder.refs([Tagged(256), builder.integers(Array(1...256))]) }
            let root = builder.refs([0, Tagged(1), Tagged(768 + difference)] + leaves, isInner: true)
            return [("class_A", builder.clusterTable(at: 0, [.init(name: "a", type: 0, root: 0)], root: root))]
        }
        if difference != 0 { return try expectDamaged(old, scratch) }
        let report = try RealmFileImport(from: old, to: scratch["new.realm"]).run()
        #expect(report.objectsWritten == 768 && report.isComplete)
    }

    @Test("A column of an old format with fewer or more values than its root names is damage", arguments: [0, -1, 1])
    func missingRows(_ difference: Int) throws {
        let scratch = try Scratch()
        let old = try file(scratch, format: 9) { builder in
            let leaf = builder.integers(Array(1...1000))
            let root = builder.tree([leaf], counts: [1000 + difference], full: 1000)
            return [("class_A", builder.legacyTable([("a", 0, 0, root)]))]
        }
        if difference != 0 { return try expectDamaged(old, scratch) }
        #expect(try RealmFileImport(from: old, to: scratch["new.realm"]).run().objectsWritten == 1000)
    }
}
