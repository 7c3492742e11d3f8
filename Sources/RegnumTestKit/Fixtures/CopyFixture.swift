// SPDX-License-Identifier: Apache-2.0
// Copies a fixture for one test, to a folder that exists on every system.

public import Foundation
internal import RegnumSystem

/// Copies `fixture`, usually a realm file, to a new folder in the temporary directory, under the same name. A test may
/// open, migrate and change the copy even if the fixture is read-only; the fixture is not changed. Each call makes
/// another copy. Copies are deleted when the process that made them ends, unless it is killed. A forked child does not
/// delete its parent's copies.
///
/// Use it instead of `.documentDirectory`, which articles about Realm use and which need not exist on Linux:
///
/// ```swift
/// let copy = try copyFixture(sample)
/// #expect(try schemaVersionAtURL(copy) == 5)
/// ```
///
/// `TestRealm` and `withTestRealm` (`copyOf:`), and `expectMigrations`, copy fixtures themselves.
///
/// - Returns: The URL of the copy.
/// - Throws: An error if the fixture cannot be copied.
/// - Thread: Any. Takes time and space for the whole file.
public func copyFixture(_ fixture: URL) throws -> URL {
    let manager = FileManager.default
    let folder = manager.temporaryDirectory
        .appendingPathComponent("regnum-fixture-\(UUID().uuidString)", isDirectory: true)
    try manager.createDirectory(at: folder, withIntermediateDirectories: true)
    FixtureFolders.add(folder)
    let copy = folder.appendingPathComponent(fixture.lastPathComponent)
    try manager.copyFixture(fixture, to: copy)
    return copy
}

extension FileManager {
    /// Copies a fixture and lets its owner read and write the copy, which would otherwise get the fixture's
    /// permissions.
    func copyFixture(_ fixture: URL, to copy: URL) throws {
        try copyItem(at: fixture, to: copy)
        let attributes = try attributesOfItem(atPath: copy.path)
        let permissions = attributes[.posixPermissions] as? Int ?? 0o600
        try setAttributes([.posixPermissions: permissions | 0o600], ofItemAtPath: copy.path)
    }
}

/// The folders of the copies. State: `folders`, guarded by its lock.
private enum FixtureFolders {
    /// A forked child inherits its parent's list and exit handler, so each process removes only its own folders.
    private struct Folder: Sendable {
        let process: Int32
        let url: URL
    }
    private static let folders = Lock<[Folder]>([])
    /// Registered with the first folder.
    private static let removal: Int32 = atexit { FixtureFolders.removeAll() }

    static func add(_ folder: URL) {
        _ = removal
        let process = ProcessInfo.processInfo.processIdentifier
        folders.withLock { $0.append(Folder(process: process, url: folder)) }
    }

    private static func removeAll() {
        let process = ProcessInfo.processInfo.processIdentifier
        let all = folders.withLock { $0 }
        for folder in all where folder.process == process { try? FileManager.default.removeItem(at: folder.url) }
    }
}
