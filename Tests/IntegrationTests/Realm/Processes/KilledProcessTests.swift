// SPDX-License-Identifier: Apache-2.0
// A process that is killed while it writes: its commits are there, its open transaction is not, and other processes
// neither wait nor have to repair the file.

import Foundation
import RealmSwift
import RegnumTestKit
import Testing

#if canImport(Glibc)
    import Glibc
#endif

final class KilledRow: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var text: String
}

@Suite struct KilledProcessTests {
    @Test(
        "The commits of a killed process stay, its open transaction is rolled back, and others can write",
        arguments: [0, 1, 9, 70])
    func killed(commits: Int) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("killed-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appendingPathComponent("a.realm").path

        await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String, commits = commits as Int] in
            let realm = try Realm(configuration: KilledProcessTests.configuration(path))
            for id in 0..<commits { try realm.write { realm.add(KilledProcessTests.row(id)) } }
            realm.beginWrite()
            for id in commits..<(commits + 500) { realm.add(KilledProcessTests.row(id)) }
            kill(getpid(), SIGKILL)
        }

        // A wait for the killed process would never end, or throw.
        let realm = try Realm(configuration: Self.configuration(path))
        #expect(realm.objects(KilledRow.self).count == commits)
        try realm.write { realm.add(Self.row(commits)) }
        #expect(realm.objects(KilledRow.self).sorted(byKeyPath: "id").map(\.id) == Array(0...commits))
        expectIntegrity(of: Self.configuration(path))
    }

    static func configuration(_ path: String) -> Realm.Configuration {
        Realm.Configuration(fileURL: URL(fileURLWithPath: path), objectTypes: [KilledRow.self])
    }

    static func row(_ id: Int) -> KilledRow {
        let row = KilledRow()
        row.id = id
        row.text = "row \(id)"
        return row
    }
}
