// SPDX-License-Identifier: Apache-2.0
// The kit kills a process at a storage call, and committed data survives.

import Foundation
import Regnum
import RegnumTestKit
import Testing

// On the main actor: after each exit test the Realm is used on the thread that opened it.
@MainActor @Suite("Killing a process")
struct KitKilledProcessTests {
    nonisolated private static func move(_ sum: Int, _ realm: Realm) throws {
        try realm.write {
            realm.object(ofType: KitAccount.self, forPrimaryKey: 1)?.sum -= sum
            realm.object(ofType: KitAccount.self, forPrimaryKey: 2)?.sum += sum
        }
    }

    @Test(
        "A process dies at the given storage call, and its unfinished write is undone", arguments: [0, 1, 1_000_000])
    func killed(_ call: Int) async throws {
        let test = try TestRealm(KitAccount.self, storage: .file)
        try test.realm.seed {
            KitAccount(value: ["id": 1, "sum": 100])
            KitAccount(value: ["id": 2, "sum": 0])
        }
        let path = try #require(test.configuration.fileURL?.path)
        await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String, call = call as Int] in
            let configuration = Realm.Configuration(
                fileURL: URL(fileURLWithPath: path), objectTypes: [KitAccount.self])
            try killProcess(atDiskCall: call, of: configuration) { realm in
                for _ in 0..<3 { try KitKilledProcessTests.move(10, realm) }
            }
        }
        test.realm.refresh()
        let sums = Array(test.realm.objects(KitAccount.self).sorted(byKeyPath: "id").map(\.sum))
        // Nothing is committed before the first storage call; with fewer calls than that, everything is.
        #expect(sums == (call == 1_000_000 ? [70, 30] : [100, 0]))
        try Self.move(1, test.realm)
    }

    @Test("An error of the block is rethrown, and nothing is killed")
    func thrown() async throws {
        let test = try TestRealm(KitAccount.self, storage: .file)
        let path = try #require(test.configuration.fileURL?.path)
        await #expect(processExitsWith: .exitCode(7)) { [path = path as String] in
            let configuration = Realm.Configuration(
                fileURL: URL(fileURLWithPath: path), objectTypes: [KitAccount.self])
            do {
                try killProcess(atDiskCall: 5, of: configuration) { _ in throw Refusal() }
            } catch is Refusal { exit(7) }
        }
    }
}
