// SPDX-License-Identifier: Apache-2.0
// Files of Realms, configurations as values, and the logger.

import Foundation
import RealmSwift
import Synchronization
import Testing

class SmallSurfaceItem: Object {
    @Persisted var n = 0
}

/// Serial, because the logger is shared by the process.
@Suite("Files, configurations and the logger", .serialized)
struct SmallSurfaceTests {
    @Test("A file exists after opening, can be deleted when closed, and its lock file remains")
    func files() throws {
        let folder = TestFolder()
        let configuration = Realm.Configuration(fileURL: folder.file(), objectTypes: [SmallSurfaceItem.self])
        #expect(!Realm.fileExists(for: configuration))
        #expect(try !Realm.deleteFiles(for: configuration))
        do {
            let realm = try Realm(configuration: configuration)
            #expect(realm.isEmpty && Realm.fileExists(for: configuration))
            try realm.write { realm.add(SmallSurfaceItem()) }
            #expect(!realm.isEmpty)
            #expect {
                try Realm.deleteFiles(for: configuration)
            } throws: { error in
                guard case Realm.Error.alreadyOpen = error else { return false }
                return "\(error)".contains("Cannot delete files of an open Realm")
            }
        }
        #expect(try Realm.deleteFiles(for: configuration))
        #expect(!Realm.fileExists(for: configuration) && folder.names == ["a.realm.lock"])
    }

    @Test("A configuration compares location, key, mode and version, and its description lists its settings")
    func configurations() {
        let url = URL(fileURLWithPath: "/tmp/x.realm")
        let one = Realm.Configuration(fileURL: url, schemaVersion: 3)
        var other = one
        other.objectTypes = [SmallSurfaceItem.self]
        #expect(one == other)
        other.readOnly = true
        #expect(one != other)
        #expect(one != Realm.Configuration(inMemoryIdentifier: "x", schemaVersion: 3))
        #expect(one.description.hasPrefix("Realm.Configuration {\n\tfileURL = file:///tmp/x.realm;\n"))
        for line in ["inMemoryIdentifier = (null)", "schemaVersion = 3", "readOnly = 0", "customSchema = (null)"] {
            #expect(one.description.contains("\t\(line);\n"))
        }
    }

    private static let misuses = [
        MisuseCase("Cannot set `deleteRealmIfMigrationNeeded` when `readOnly` is set.") {
            _ = try Realm(configuration: Realm.Configuration(readOnly: true, deleteRealmIfMigrationNeeded: true))
        },
        MisuseCase("Cannot set `shouldCompactOnLaunch` when `readOnly` is set.") {
            _ = try Realm(
                configuration: Realm.Configuration(readOnly: true, shouldCompactOnLaunch: { _, _ in true }))
        },
        MisuseCase("A Realm Configuration must specify a path or an in-memory identifier.") {
            _ = try Realm(configuration: Realm.Configuration(fileURL: nil))
        },
        MisuseCase("In-memory identifier must not be empty") {
            _ = try Realm(configuration: Realm.Configuration(inMemoryIdentifier: ""))
        },
        MisuseCase("Encryption key must be exactly 64 bytes long") {
            _ = try Realm(configuration: Realm.Configuration(encryptionKey: Data(count: 3)))
        },
    ]

    @Test("Settings that contradict each other are refused", arguments: misuses)
    func contradictions(_ misuse: MisuseCase) throws {
        #expect(try misuse.message().contains(misuse.words))
    }

    @Test("The logger gets messages up to its level, which can be changed")
    func logger() throws {
        let identifier = UUID().uuidString
        let lines = Mutex<[String]>([])
        let before = Logger.shared
        defer { Logger.shared = before }
        #expect(before.level == .info)
        // Other tests open Realms at the same time, so only messages about this one count.
        Logger.shared = Logger(level: .off) { level, message in
            guard message.contains(identifier) else { return }
            lines.withLock { $0.append("\(level) \(message)") }
        }
        func work(_ level: LogLevel) throws -> [String] {
            Logger.shared.level = level
            lines.withLock { $0 = [] }
            let realm = try Realm(
                configuration: Realm.Configuration(
                    inMemoryIdentifier: identifier, objectTypes: [SmallSurfaceItem.self]))
            try realm.write { realm.add(SmallSurfaceItem()) }
            return lines.withLock { $0 }
        }
        #expect(try work(.off).isEmpty)
        #expect(try work(.info).isEmpty)
        #expect(try work(.detail) == ["detail DB: Open Realm: \(identifier)"])
        let debug = try work(.debug)
        #expect(debug.count == 2 && debug[1].hasPrefix("debug DB: Commit of version"))
        #expect(try work(.all).contains { $0.hasPrefix("trace DB: Begin write") })
        #expect(Logger.shared.level == .all && LogLevel.trace.rawValue == 7)
    }
}
