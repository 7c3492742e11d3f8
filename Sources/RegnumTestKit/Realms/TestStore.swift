// SPDX-License-Identifier: Apache-2.0
// The place of one test's data: a name in memory that nobody else has, or a file in a folder of its own.

public import Foundation
internal import Regnum
internal import RegnumSystem

/// Where the data of a test realm lies.
public enum TestStorage: Sendable {
    /// In memory; fast, and gone with the test.
    case memory
    /// In a file of a new folder below the temporary one, deleted with the test unless it fails.
    case file
}

/// What a test has left of its realm.
public struct TestRealmReport: Sendable {
    /// Damage and leaks, one sentence each; empty where all is well.
    public internal(set) var findings: [String] = []
    /// Realms that are still open because code abandoned by `catchMisuse` may hold them. They are no findings.
    public internal(set) var abandonedRealms = 0
    /// The file, where it was kept.
    public internal(set) var keptFile: URL?
}

/// Any thread.
final class TestStore: Sendable {
    let configuration: Realm.Configuration
    /// Nil for data in memory, until it is to be kept.
    private let folder: URL
    private let storage: TestStorage

    /// How long what other threads still hold may take to go.
    private static let patience = 200
    private static let pause = 0.005

    /// `base` gives all settings but the place. `fixture` is copied to be the file. Throws where the folder or the
    /// copy cannot be made.
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

    /// Names of tests may hold anything; paths have limits.
    private static func safe(_ name: String) -> String {
        let letters = name.unicodeScalars.map { CharacterSet.alphanumerics.contains($0) && $0.isASCII ? $0 : "-" }
        return String(String.UnicodeScalarView(letters)).prefix(40).description
    }

    /// Where the file is, or will be kept.
    var file: URL { folder.appendingPathComponent("test.realm") }

    // MARK: The end

    /// What is wrong with the data. Data in memory must be held by somebody.
    func damage() -> [String] {
        if configuration.openRealms().contains(where: \.isWriting) {
            return ["The integrity was not checked: a write transaction is still open."]
        }
        return configuration.integrityFindings().map { "Integrity: \($0)" }
    }

    /// Realms and tokens that are left, and the number of those that abandoned code may hold. Waits up to a second for
    /// other threads to let go.
    func leaks() -> (findings: [String], abandoned: Int) {
        for _ in 0..<Self.patience {
            let (findings, abandoned) = leaksNow()
            if findings.isEmpty { return (findings, abandoned) }
            Thread.sleep(forTimeInterval: Self.pause)
        }
        return leaksNow()
    }

    /// As `leaks`, for tasks.
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

    /// Writes data in memory to `file`, for a person to look at. Files are there already. Nil where it does not work.
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
