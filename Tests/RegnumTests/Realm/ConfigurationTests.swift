// SPDX-License-Identifier: Apache-2.0
// The properties, refusals and description of a configuration.

import Foundation
import Testing

@testable import Regnum

struct ConfigurationTests {
    @Test("A file and an identifier exclude each other")
    func exclusion() {
        var configuration = Realm.Configuration()
        #expect(configuration.fileURL?.lastPathComponent == "default.realm")
        configuration.inMemoryIdentifier = "a"
        #expect(configuration.fileURL == nil)
        configuration.fileURL = URL(fileURLWithPath: "/tmp/a.realm")
        #expect(configuration.inMemoryIdentifier == nil)
        let both = Realm.Configuration(fileURL: URL(fileURLWithPath: "/tmp/a.realm"), inMemoryIdentifier: "a")
        #expect(both.fileURL == nil)
        #expect(both.inMemoryIdentifier == "a")
    }

    @Test("Configurations are equal if location, key, mode and version are")
    func equality() {
        let one = Realm.Configuration(inMemoryIdentifier: "a")
        var other = one
        #expect(one == other)
        other.deleteRealmIfMigrationNeeded = true
        #expect(one == other)
        other.schemaVersion = 2
        #expect(one != other)
        other = one
        other.readOnly = true
        #expect(one != other)
    }

    @Test("The description has a line for each setting and hides the key")
    func description() {
        var configuration = Realm.Configuration(inMemoryIdentifier: "a", schemaVersion: 3)
        configuration.encryptionKey = Data(repeating: 7, count: 64)
        let lines = configuration.description.split(separator: "\n").map(String.init)
        #expect(lines.first == "Realm.Configuration {")
        #expect(lines.last == "}")
        #expect(lines.contains("\tinMemoryIdentifier = a;"))
        #expect(lines.contains("\tfileURL = (null);"))
        #expect(lines.contains("\tencryptionKey = <64 bytes>;"))
        #expect(lines.contains("\tschemaVersion = 3;"))
        let keys = lines.dropFirst().dropLast().map { String($0.dropFirst().prefix { $0 != " " }) }
        #expect(
            keys == [
                "fileURL", "inMemoryIdentifier", "encryptionKey", "readOnly", "schemaVersion", "migrationBlock",
                "deleteRealmIfMigrationNeeded", "shouldCompactOnLaunch", "dynamic", "customSchema",
            ])
    }

    @Test(
        "The location of the default file follows the XDG specification",
        arguments: [
            (["XDG_DATA_HOME": "/data", "HOME": "/home/a"], "/data/prog"),
            (["XDG_DATA_HOME": "relative", "HOME": "/home/a"], "/home/a/.local/share/prog"),
            (["HOME": "/home/a"], "/home/a/.local/share/prog"),
            ([:], "/root/.local/share/prog"),
        ])
    func defaultFile(environment: [String: String], path: String) {
        let folder = Realm.Configuration.DefaultFile.folder(environment: environment, home: "/root", program: "prog")
        #expect(folder.path == path)
    }

    @Test("Contradicting settings end the program with RealmSwift's message")
    func misuses() async {
        await #expect(processExitsWith: .failure) {
            var configuration = Realm.Configuration()
            configuration.fileURL = nil
            _ = try? Realm(configuration: configuration)
        }
        await #expect(processExitsWith: .failure) { _ = try? Realm(configuration: .init(inMemoryIdentifier: "")) }
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            var configuration = Realm.Configuration(inMemoryIdentifier: "a")
            configuration.encryptionKey = Data([1])
            _ = try? Realm(configuration: configuration)
        }
        let words = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(words.contains("Encryption key must be exactly 64 bytes long"))
    }
}
