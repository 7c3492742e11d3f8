// SPDX-License-Identifier: Apache-2.0
// A copy of a fixture for one test, in a folder that is there on every system.

public import Foundation
internal import RegnumSystem

/// Copies `fixture`, a realm file as a rule, to a new folder below the temporary one, under the same name. A test may
/// open, migrate and change the copy, also where the fixture is read-only; the fixture stays as it is. Each call makes
/// another copy. They go when the process ends, unless it is killed; a child that it has forked leaves them.
///
/// It is for what articles about Realm do with `.documentDirectory`, which need not exist on Linux:
///
/// ```swift
/// let copy = try copyFixture(sample)
/// #expect(try schemaVersionAtURL(copy) == 5)
/// ```
///
/// `TestRealm` and `withTestRealm` copy a fixture themselves (`copyOf:`), and `expectMigrations` does.
///
/// - Returns: the URL of the copy.
/// - Throws: where the fixture cannot be copied.
/// - Thread: any. Takes the time and space of the file.
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
    /// Copies it so that its owner may read and write the copy: copies get the permissions of what they are made of.
    func copyFixture(_ fixture: URL, to copy: URL) throws {
        try copyItem(at: fixture, to: copy)
        let attributes = try attributesOfItem(atPath: copy.path)
        let permissions = attributes[.posixPermissions] as? Int ?? 0o600
        try setAttributes([.posixPermissions: permissions | 0o600], ofItemAtPath: copy.path)
    }
}

/// The folders of the copies. State: `folders`, guarded by its lock.
private enum FixtureFolders {
    /// A child of a fork has all of its parent's, and ends as that does: it removes its own only.
    private struct Folder: Sendable {
        let process: Int32
        let url: URL
    }
    private static let folders = Lock<[Folder]>([])
    /// Made with the first folder.
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
