// SPDX-License-Identifier: Apache-2.0
// The integrity check as an expectation: it records an issue if the file is damaged.

import Foundation
import Regnum
import RegnumTestKit
import Testing

@Suite("Expecting integrity")
struct ExpectIntegrityTests {
    private func withFolder(_ body: (URL) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
            "integrity-\(UUID().uuidString)", isDirectory: true)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try body(folder)
    }

    @Test("An open file without damage passes")
    func openFile() throws {
        try withFolder { folder in
            let url = folder.appendingPathComponent("a.realm")
            let configuration = Realm.Configuration(fileURL: url, objectTypes: [Pup.self])
            let realm = try Realm(configuration: configuration)
            for id in 0..<50 {
                try realm.write {
                    realm.add(Pup(value: ["id": id, "name": String(repeating: "x", count: 100 * id)]))
                }
            }
            #expect(expectIntegrity(of: configuration) == [])
            #expect(expectIntegrity(of: url) == [])
            try realm.write { realm.deleteAll() }
            #expect(expectIntegrity(of: url) == [])
        }
    }

    @Test("Data in memory without damage passes")
    func memory() throws {
        let realm = try makeRealm()
        try realm.write { realm.add(Pup(value: ["id": 1])) }
        #expect(expectIntegrity(of: realm.configuration) == [])
    }

    @Test("Damage is an issue at the caller's line, even if the file is open")
    func damage() throws {
        try withFolder { folder in
            let url = folder.appendingPathComponent("a.realm")
            let realm = try Realm(configuration: Realm.Configuration(fileURL: url, objectTypes: [Pup.self]))
            try realm.write {
                for id in 0..<200 { realm.add(Pup(value: ["id": id, "name": "marker \(id)"])) }
            }
            var bytes = try Data(contentsOf: url)
            let place = try #require(bytes.range(of: Data("marker 77".utf8)))
            bytes[place.lowerBound] ^= 1
            let file = try FileHandle(forWritingTo: url)
            try file.seek(toOffset: UInt64(place.lowerBound))
            try file.write(contentsOf: bytes[place])
            try file.close()
            var findings: [String] = []
            let line = #line + 2
            withKnownIssue {
                findings = expectIntegrity(of: url)
            } matching: { issue in
                issue.sourceLocation?.line == line
                    && issue.comments.first?.rawValue.hasPrefix("Integrity: ") == true
            }
            #expect(findings.first?.contains("checksum") == true, "\(findings)")
        }
    }

    @Test("A missing file is an issue, and is not created")
    func missing() throws {
        try withFolder { folder in
            let url = folder.appendingPathComponent("none.realm")
            var findings: [String] = []
            withKnownIssue { findings = expectIntegrity(of: url) }
            #expect(findings == ["There is no file at '\(url.path)'."])
            let files = try FileManager.default.contentsOfDirectory(atPath: folder.path)
            #expect(files.isEmpty)
        }
    }

    @Test("A check inside a write transaction is misuse, instead of waiting forever")
    func insideWrite() throws {
        let realm = try makeRealm()
        realm.beginWrite()
        let words = catchMisuse { expectIntegrity(of: realm.configuration) }
        #expect(words?.contains("inside a write transaction") == true)
        realm.cancelWrite()
    }
}
