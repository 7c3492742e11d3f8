// SPDX-License-Identifier: Apache-2.0
// The files of the folder Fixtures, unpacked into a folder that is removed with the test.

import Foundation
import RegnumRealmFile
import Testing

/// The folder of one test. It is removed when the test releases it.
final class Scratch {
    let url: URL

    init() throws {
        url = FileManager.default.temporaryDirectory.appendingPathComponent("realm-file-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    /// A file with those bytes.
    func file(_ bytes: [UInt8], _ name: String = "some.realm") throws -> URL {
        let file = url.appendingPathComponent(name)
        try Data(bytes).write(to: file)
        return file
    }

    /// Unpacks a fixture.
    func fixture(_ name: String) throws -> URL {
        try file(Fixture.bytes(name), name)
    }
}

enum Fixture {
    static let key = Data((0..<64).map { UInt8((7 * $0 + 1) % 256) })

    /// The unpacked bytes of a fixture.
    static func bytes(_ name: String) throws -> [UInt8] {
        let source = try #require(Bundle.module.url(forResource: "Fixtures/\(name)", withExtension: "gz"))
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["gzip", "-dc", source.path]
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let bytes = Array(output.fileHandleForReading.readDataToEndOfFile())
        process.waitUntilExit()
        try #require(process.terminationStatus == 0)
        return bytes
    }

    /// The lines that Realm's core has written for a fixture.
    static func expectedLines(_ name: String) throws -> [Substring] {
        String(decoding: try bytes("\(name).expected.txt"), as: UTF8.self).split(separator: "\n")
    }
}
