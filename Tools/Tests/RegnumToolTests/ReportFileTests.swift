// SPDX-License-Identifier: Apache-2.0
// The report of an import does not replace a file of the import.

import Foundation
import Testing

@testable import RegnumTool

@Suite struct ReportFileTests {
    @Test("A report at the path of a file of the import is refused, by whatever name")
    func samePath() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("report-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        func path(_ name: String) -> String { folder.appendingPathComponent(name).path }
        try Data("old".utf8).write(to: URL(fileURLWithPath: path("old.realm")))
        try FileManager.default.createSymbolicLink(atPath: path("link"), withDestinationPath: path("old.realm"))
        try FileManager.default.linkItem(atPath: path("old.realm"), toPath: path("hard"))
        let others = [path("old.realm"), path("new.realm"), nil]
        for name in [
            "old.realm", "new.realm", "../\(folder.lastPathComponent)/new.realm", "link", "hard", "new.realm.lock",
        ] {
            #expect(throws: Refusal.self, "\(name)") { try ReportFile.check(path(name), besides: others) }
        }
        try ReportFile.check(path("report.json"), besides: others)
        try ReportFile.check(nil, besides: others)
    }

    @Test("A report replaces no file, is written to a pipe, and refuses a name that the import has taken meanwhile")
    func newFile() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("report-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appendingPathComponent("a").path
        let made = try #require(try ReportFile(path, besides: []))
        #expect(!FileManager.default.fileExists(atPath: path))
        try made.write(Data("one".utf8))
        #expect(FileManager.default.contents(atPath: path) == Data("one".utf8))
        #expect(throws: Refusal.self) { try ReportFile(path, besides: []) }

        let late = folder.appendingPathComponent("b").path
        let second = try #require(try ReportFile(late, besides: []))
        try Data("database".utf8).write(to: URL(fileURLWithPath: late))
        #expect(throws: Refusal.self) { try second.write(Data("two".utf8)) }
        second.removeIfIncomplete()
        #expect(FileManager.default.contents(atPath: late) == Data("database".utf8))
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() == ["a", "b"])

        try #require(try ReportFile("/dev/null", besides: [])).write(Data("three".utf8))
        #expect(FileKind("/dev/null") == .other && FileKind(folder.path) == .folder && FileKind(path) == .file)
    }
}
