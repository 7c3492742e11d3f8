// SPDX-License-Identifier: Apache-2.0
// The errors of opening a Realm: files that are missing, damaged, empty, or of another kind.

import Foundation
import Testing

@testable import Regnum

struct RealmOpeningErrorTests {
    private let folder = RealmFolder()

    private func error(_ name: String, readOnly: Bool = false) -> Realm.Error? {
        var configuration = folder.configuration(name)
        configuration.readOnly = readOnly
        do {
            _ = try Realm(configuration: configuration)
            return nil
        } catch { return error as? Realm.Error }
    }

    private func put(_ bytes: [UInt8], _ name: String) throws {
        try Data(bytes).write(to: folder.url.appendingPathComponent(name))
    }

    @Test("An invalid file is refused with the correct code and not changed")
    func badInput() throws {
        let path = folder.url.path
        #expect(error("no/such/a.realm")?.reason == .missingFolder)
        #expect(error("missing.realm", readOnly: true)?.code == .fileNotFound)
        #expect(
            error("missing.realm", readOnly: true)?.localizedDescription.hasPrefix(
                "Failed to open Realm file at path '\(path)/missing.realm': No such file or directory") == true)
        try put([1], "small.realm")
        #expect(error("small.realm")?.code == .invalidDatabase)
        #expect(
            error("small.realm")?.localizedDescription.contains(
                "file is non-empty but too small (1 bytes) to be a valid Realm.") == true)
        try put([], "empty.realm")
        #expect(error("empty.realm", readOnly: true)?.reason == .emptyFile)
        try put([UInt8](repeating: 65, count: 100_000), "text.realm")
        #expect(error("text.realm")?.localizedDescription.contains("header has invalid mnemonic.") == true)
        var old = [UInt8](repeating: 0, count: 4096)
        old.replaceSubrange(16..<24, with: [0x54, 0x2D, 0x44, 0x42, 9, 24, 0, 1])
        try put(old, "old.realm")
        #expect(error("old.realm")?.reason == .olderRealmFile)
        #expect(error("old.realm")?.localizedDescription.contains("unsupported version (24)") == true)
        #expect(error(".")?.reason == .isAFolder)
        #expect(try Data(contentsOf: folder.url.appendingPathComponent("old.realm")) == Data(old))
        #expect(try Data(contentsOf: folder.url.appendingPathComponent("small.realm")) == Data([1]))
        #expect(error("empty.realm") == nil)
    }
}
