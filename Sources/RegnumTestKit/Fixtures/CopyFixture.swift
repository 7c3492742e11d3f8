// SPDX-License-Identifier: Apache-2.0
// A copy of a fixture for one test, in a folder that is there on every system.

public import Foundation
internal import Synchronization

/// Copies `fixture`, a realm file as a rule, to a new folder below the temporary one, under the same name. A test may
/// open, migrate and change the copy; the fixture stays as it is. Each call makes another copy. They go when the process
/// ends, unless it is killed.
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
    try manager.copyItem(at: fixture, to: copy)
    return copy
}

/// The folders of the copies. State: `folders`, guarded by its lock.
private enum FixtureFolders {
    private static let folders = Mutex<[URL]>([])
    /// Made with the first folder.
    private static let removal: Int32 = atexit { FixtureFolders.removeAll() }

    static func add(_ folder: URL) {
        _ = removal
        folders.withLock { $0.append(folder) }
    }

    private static func removeAll() {
        let all = folders.withLock { $0 }
        for folder in all { try? FileManager.default.removeItem(at: folder) }
    }
}
