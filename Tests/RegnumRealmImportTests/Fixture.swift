// SPDX-License-Identifier: Apache-2.0
// The files in Realm's format from the tests of RegnumRealmFile, unpacked into a folder that is removed with the test.

import Foundation
import Testing

/// The folder of one test. It is removed when the test releases it.
final class Scratch {
    let url: URL

    init() throws {
        url = FileManager.default.temporaryDirectory.appendingPathComponent("realm-import-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    subscript(name: String) -> URL { url.appendingPathComponent(name) }

    /// Unpacks a fixture.
    func fixture(_ name: String, as other: String? = nil) throws -> URL {
        let file = self[other ?? name]
        try Data(Fixture.bytes(name)).write(to: file)
        return file
    }

    /// The names of all files, without those of lock files.
    var names: [String] {
        get throws {
            try FileManager.default.contentsOfDirectory(atPath: url.path).filter { !$0.hasSuffix(".lock") }.sorted()
        }
    }
}

enum Fixture {
    static let key = Data((0..<64).map { UInt8((7 * $0 + 1) % 256) })

    private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().appendingPathComponent("RegnumRealmFileTests/Fixtures")

    /// The unpacked bytes of a fixture.
    static func bytes(_ name: String) throws -> [UInt8] {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["gzip", "-dc", folder.appendingPathComponent("\(name).gz").path]
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let bytes = Array(output.fileHandleForReading.readDataToEndOfFile())
        process.waitUntilExit()
        try #require(process.terminationStatus == 0)
        return bytes
    }

    /// The lines that Realm's core has written for a fixture.
    static func expectedLines(_ name: String) throws -> [String] {
        String(decoding: try bytes("\(name).expected.txt"), as: UTF8.self).split(separator: "\n").map(String.init)
    }
}
