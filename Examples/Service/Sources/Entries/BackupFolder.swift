// SPDX-License-Identifier: Apache-2.0
// Copies of the database in a folder: one is made at a time, and the newest few are kept.

import Foundation
import Hummingbird
import RealmSwift

actor BackupFolder {
    /// The number of copies that are kept, so that clients cannot fill the disk with them.
    static let kept = 3

    nonisolated let folder: URL
    private let pool: RealmPool
    private var isBusy = false

    init(_ folder: URL, of pool: RealmPool) { (self.folder, self.pool) = (folder, pool) }

    /// Copies the newest version to a new file, while others read and write, and removes the oldest copies.
    func make() async throws -> Backup {
        if isBusy { throw HTTPError(.conflict, message: "Another backup is being made.") }
        isBusy = true
        defer { isBusy = false }
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        // The names ascend with the time.
        let copy = folder.appendingPathComponent(IdentifierGenerator.uuidV7().uuidString + ".realm")
        try await pool.read { realm -> Void in try realm.writeCopy(toFile: copy) }
        for file in try copies().dropLast(Self.kept) { try FileManager.default.removeItem(at: file) }
        let bytes = try FileManager.default.attributesOfItem(atPath: copy.path)[.size] as? Int ?? 0
        return Backup(file: copy.lastPathComponent, bytes: bytes)
    }

    /// The files, the oldest first.
    func copies() throws -> [URL] {
        try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
            .filter { $0.pathExtension == "realm" }.sorted { $0.lastPathComponent < $1.lastPathComponent }
    }
}
