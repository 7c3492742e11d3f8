// SPDX-License-Identifier: Apache-2.0
// The storage of one test's data: a unique name in memory, or a file in a folder of its own. Kept by `TestRealm` and
// `RealmTrait`.

public import Foundation
internal import Regnum
internal import RegnumSystem

/// Where a test realm stores its data.
public enum TestStorage: Sendable {
    /// In memory: fast, and deleted with the test.
    case memory
    /// In a file in a new folder of the temporary directory, deleted with the test unless it fails.
    case file
}

/// The state in which a test has left its realm.
public struct TestRealmReport: Sendable {
    /// Damage and leaks, one sentence each; empty if there are none.
    public internal(set) var findings: [String] = []
    /// The number of Realms that are still open because code abandoned by `catchMisuse` may hold them. They are not
    /// findings.
    public internal(set) var abandonedRealms = 0
    /// The file, if it was kept.
    public internal(set) var keptFile: URL?
}

/// The data of one test. Any thread.
final class TestStore: Sendable {
    let configuration: Realm.Configuration
    /// The folder of the file. For data in memory it is created only when the data is kept.
    private let folder: URL
    private let storage: TestStorage

    /// The number of checks for leaks, and the seconds between them, while other threads release their references.
    private static let patience = 200
    private static let pause = 0.005

    /// `base` provides all settings except the location. `fixture` is copied to be the file. Throws if the folder or
    /// the copy cannot be created.
    init(_ base: Realm.Configuration, _ storage: TestStorage, name: String, copyOf fixture: URL? = nil) throws {
        let unique = "\(Self.safe(name))-\(UUID().uuidString)"
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
            "regnum-\(unique)", isDirectory: true)
        var configuration = base
        switch fixture == nil ? storage : .file {
        case .memory: configuration.inMemoryIdentifier = unique
        case .file:
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            let file = folder.appendingPathComponent("test.realm")
            if let fixture { try FileManager.default.copyFixture(fixture, to: file) }
            configuration.fileURL = file
        }
        self.configuration = configuration
        self.folder = folder
        self.storage = fixture == nil ? storage : .file
    }

    /// The name of a test, reduced to characters that are safe in a path, and shortened. Test names may contain
    /// anything.
    private static func safe(_ name: String) -> String {
        let letters = name.unicodeScalars.map { CharacterSet.alphanumerics.contains($0) && $0.isASCII ? $0 : "-" }
        return String(String.UnicodeScalarView(letters)).prefix(40).description
    }

    /// The URL of the file, or of the file in which the data will be kept.
    var file: URL { folder.appendingPathComponent("test.realm") }

    // MARK: The end

    /// The findings of the integrity check. Data in memory must still be open in a Realm.
    func damage() -> [String] {
        if configuration.openRealms().contains(where: \.isWriting) {
            return ["The integrity was not checked: a write transaction is still open."]
        }
        return configuration.integrityFindings().map { "Integrity: \($0)" }
    }

    /// The Realms and tokens that are still alive, and the number of those that abandoned code may hold. Waits up to a
    /// second for other threads to release theirs.
    func leaks() -> (findings: [String], abandoned: Int) {
        for _ in 0..<Self.patience {
            let (findings, abandoned) = leaksNow()
            if findings.isEmpty { return (findings, abandoned) }
            Thread.sleep(forTimeInterval: Self.pause)
        }
        return leaksNow()
    }

    /// Same as `leaks`, for tasks.
    func leaksAsync() async -> (findings: [String], abandoned: Int) {
        for _ in 0..<Self.patience {
            let (findings, abandoned) = leaksNow()
            if findings.isEmpty { return (findings, abandoned) }
            try? await Task.sleep(for: .seconds(Self.pause))
        }
        return leaksNow()
    }

    private func leaksNow() -> (findings: [String], abandoned: Int) {
        let open = configuration.openRealms()
        let abandoned = open.filter(\.mayBeAbandoned).count
        return (open.filter { !$0.mayBeAbandoned }.map(\.description), abandoned)
    }

    /// Writes data in memory to `file`, for inspection by a person; data in a file is already there. Returns nil on
    /// failure.
    func keep() -> URL? {
        if storage == .file { return file }
        do {
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            let realm = try Realm(configuration: configuration)
            if realm.isInWriteTransaction { return nil }
            try realm.writeCopy(toFile: file)
            return file
        } catch { return nil }
    }

    func delete() {
        guard storage == .file else { return }
        try? FileManager.default.removeItem(at: folder)
    }
}
