// SPDX-License-Identifier: Apache-2.0
// The version of the library and the one that CHANGELOG.md describes.

import Foundation
import RealmSwift
import Testing

@Suite struct VersionTests {
    @Test("The version is that of CHANGELOG.md, or ends with -dev before the release")
    func changelog() throws {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../../CHANGELOG.md").standardizedFileURL
        let text = try String(contentsOf: file, encoding: .utf8)
        let heading = try #require(text.split(separator: "\n").first { $0.hasPrefix("## ") }).dropFirst(3)
        let version = RegnumVersion.current
        #expect(version.wholeMatch(of: /\d+\.\d+\.\d+(-dev)?/) != nil)
        if heading == "Unreleased" {
            #expect(version.hasSuffix("-dev"))
        } else {
            #expect(heading.split(separator: " ").first.map(String.init) == version)
        }
    }

    @Test("The file format is that of new files")
    func fileFormat() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("version-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let url = folder.appendingPathComponent("a.realm")
        _ = try Realm(configuration: Realm.Configuration(fileURL: url, objectTypes: []))
        // FORMAT.md: the number is at byte 8 of the header.
        let bytes = [UInt8](try Data(contentsOf: url).prefix(12))
        #expect(Int(bytes[8]) | Int(bytes[9]) << 8 == RegnumVersion.fileFormat)
    }
}
