// SPDX-License-Identifier: Apache-2.0
// An export reports the values that it changes, and its file is complete or not there.

import Foundation
import RealmSwift
import RegnumRealmFile
@testable import RegnumRealmImport
import Testing

@Suite("Exporting JSON") struct ObjectExportTests {
    private func file(_ scratch: Scratch, _ build: (inout FileBuilder) -> [(String, Int64)]) throws -> URL {
        var builder = FileBuilder(format: 9)
        let tables = build(&builder)
        try Data(builder.file(tables: tables, slot: 1)).write(to: scratch["old.realm"])
        return scratch["old.realm"]
    }

    @Test("Values that are written with a change are reported")
    func losses() throws {
        let scratch = try Scratch()
        let old = try file(scratch) { builder in
            let texts: [[UInt8]?] = [Array("fine".utf8), [0x61, 0xff], Array("\u{FFFD}".utf8)]
            let columns: [FileBuilder.LegacyColumn] = [
                ("text", 2, 16, builder.medium(texts, isText: true, nullMark: false)),
                ("link", 12, 0, builder.integers([0, 0, 1])),
            ]
            let other: [FileBuilder.LegacyColumn] = [
                ("n", 0, 0, builder.integers([1])), ("", 14, 0, builder.refs([0])),
            ]
            return [
                ("class_Text", builder.legacyTable(columns, targets: [Tagged(1)])),
                ("pending_bootstraps", builder.legacyTable(other, targets: [Tagged(0), Tagged(1)])),
            ]
        }
        var all = Data()
        let report = try ObjectJSON.export(old) { all.append($0) }
        #expect(report.objectCount == 3 && report.lossCount == 2 && !report.isComplete)
        #expect(
            report.losses.map { "\($0.className).\($0.property ?? "-") \($0.key)" } == ["Text.text 1", "Text.link 2"])
        #expect(report.description.contains("not carried over: Text.text of object 1: bytes that are not valid UTF-8"))
        #expect(String(decoding: all, as: UTF8.self).contains(#""key":2,"value":{"text":"\#u{FFFD}","link":null}}"#))
    }

    @Test("Tables within tables are exported, and reported by the import of the lines")
    func rows() throws {
        let scratch = try Scratch()
        let old = try file(scratch) { OldFormatSamples.references(&$0) }
        let report = try ObjectJSON.export(old, to: scratch["out.json"])
        #expect(report.isComplete)
        let lines = try String(contentsOf: scratch["out.json"], encoding: .utf8)
        #expect(lines.contains(#""rows":[[7,"x"],[8,"y"]]"#))
        let imported = try ObjectJSON.importLines(from: scratch["out.json"], to: scratch["new.realm"])
        #expect(imported.classes[0].written == 2)
        #expect(imported.classes[0].dropped.map(\.name) == ["rows"] && imported.classes[0].dropped[0].values == 1)
    }

    @Test("The new file appears when it is complete, with the rights of the old one, and does not replace another one")
    func atomic() throws {
        let scratch = try Scratch()
        let old = try scratch.fixture("all_types_v24.realm")
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: old.path)
        let target = scratch["out.json"]
        var sizes: Set<Bool> = []
        let report = try ObjectJSON.export(old, to: target) { _ in
            sizes.insert(FileManager.default.fileExists(atPath: target.path))
        }
        #expect(sizes == [false])
        var all = Data()
        try ObjectJSON.export(old) { all.append($0) }
        #expect(try Data(contentsOf: target) == all && report.objectCount > 1000)
        let rights = try FileManager.default.attributesOfItem(atPath: target.path)[.posixPermissions] as? Int
        #expect(rights == 0o600)
        #expect(try scratch.names == ["all_types_v24.realm", "out.json"])
        #expect { try ObjectJSON.export(old, to: target) } throws: { ($0 as? Realm.Error)?.code == .fileExists }
        #expect(try Data(contentsOf: target) == all)
    }

    private struct Stop: Error {}

    @Test("An export that fails or is cancelled leaves nothing", arguments: [0, 1, 100, 199])
    func fails(_ step: Int) async throws {
        let scratch = try Scratch()
        let old = try scratch.fixture("all_types_v24.realm")
        var count = 0
        #expect(throws: Stop.self) {
            try ObjectJSON.export(old, to: scratch["out.json"]) { _ in
                count += 1
                if count > step { throw Stop() }
            }
        }
        #expect(try scratch.names == ["all_types_v24.realm"])
        let target = scratch["out.json"]
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try ObjectJSON.export(old, to: target)
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(try scratch.names == ["all_types_v24.realm"])
        // A damaged file.
        let bytes = try Data(contentsOf: old)
        try bytes.prefix(bytes.count / 2).write(to: old)
        #expect(throws: RealmFileError.self) { try ObjectJSON.export(old, to: scratch["out.json"]) }
        #expect(try scratch.names == ["all_types_v24.realm"])
    }

    @Test("The next export removes what a killed one has left")
    func killed() async throws {
        let scratch = try Scratch()
        let old = try scratch.fixture("all_types_v24.realm")
        await #expect(processExitsWith: .signal(SIGKILL)) { [folder = scratch.url.path as String] in
            let url = URL(fileURLWithPath: folder)
            try ObjectJSON.export(
                url.appendingPathComponent("all_types_v24.realm"), to: url.appendingPathComponent("out.json")
            ) { if $0.fraction > 0.5 { kill(getpid(), SIGKILL) } }
        }
        #expect(try scratch.names.count == 2 && !scratch.names.contains("out.json"))
        try ObjectJSON.export(old, to: scratch["out.json"])
        #expect(try scratch.names == ["all_types_v24.realm", "out.json"])
    }
}
