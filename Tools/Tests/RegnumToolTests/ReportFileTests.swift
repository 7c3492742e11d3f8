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
}
