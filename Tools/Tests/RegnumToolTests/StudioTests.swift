// SPDX-License-Identifier: Apache-2.0
// The arguments of the subcommand studio: the secret in a file, and the address to listen on.

import Foundation
import Testing

@testable import RegnumTool

@Suite struct StudioTests {
    private func withFile(_ text: String, permissions: Int = 0o600, _ body: (String) throws -> Void) throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("token-\(UUID().uuidString)").path
        try #require(
            FileManager.default.createFile(
                atPath: path, contents: Data(text.utf8), attributes: [.posixPermissions: permissions]))
        defer { try? FileManager.default.removeItem(atPath: path) }
        try body(path)
    }

    @Test("A secret in a file is read without blanks around it")
    func token() throws {
        let token = "0123456789abcdef-ABCDEF_0123456789"
        try withFile(" \(token)\n") { path in
            let read = try StudioToken.read(path)
            #expect(read == token)
        }
    }

    @Test(
        "A secret that is short, or that an address cannot have, is refused",
        arguments: [
            "", "short", String(repeating: "a", count: 31), String(repeating: "a ", count: 32),
            "ä#?&/%=+ä#?&/%=+ä#?&/%=+ä",
        ])
    func refused(_ token: String) throws {
        try withFile(token) { path in #expect(throws: Refusal.self) { try StudioToken.read(path) } }
    }

    @Test("A secret that others may read is refused", arguments: [0o644, 0o640, 0o604])
    func permissions(_ permissions: Int) throws {
        try withFile(String(repeating: "a", count: 40), permissions: permissions) { path in
            #expect(throws: Refusal.self) { try StudioToken.read(path) }
        }
    }

    @Test("The port of a file is the same each time, and one that no service has")
    func ports() {
        let paths = (0..<1_000).map { "/data/people-\($0).realm" }
        #expect(paths.map(StudioServer.usualPort) == paths.map(StudioServer.usualPort))
        #expect(paths.allSatisfy { StudioServer.usualPort($0) >= 49_152 })
        #expect(Set(paths.map(StudioServer.usualPort)).count > 900)
        #expect(StudioServer.usualPort("") >= 49_152)
    }

    @Test("Only addresses of this machine need no file with a secret")
    func loopback() {
        for host in ["127.0.0.1", "127.1.2.3", "localhost", "::1"] { #expect(StudioServer.isLoopback(host), "\(host)") }
        for host in ["0.0.0.0", "::", "192.168.0.1", "127.evil.example", "10.127.0.1", ""] {
            #expect(!StudioServer.isLoopback(host), "\(host)")
        }
        #expect(StudioServer.names("::1") == ["[::1]"] && StudioServer.names("10.0.0.1") == ["10.0.0.1"])
    }
}
