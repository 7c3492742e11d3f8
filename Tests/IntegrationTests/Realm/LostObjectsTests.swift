// SPDX-License-Identifier: Apache-2.0
// Objects of a commit that has failed, after another Realm has created objects under the same keys.

import Foundation
import RealmSwift
import Regnum
import RegnumSimulation
import RegnumSystem
import RegnumTestKit
import Testing

@Suite struct LostObjectsTests {
    // An accessor of such an object once showed the object that had got its key.
    @Test("Objects of a failed commit stay invalid when another thread has created objects since then")
    func keysGivenAgain() async throws {
        let files = SimulatedFileSystem(seed: 1, reservedByteCount: 64 << 20)
        var configuration = Realm.Configuration(
            fileURL: URL(fileURLWithPath: "/lost/\(UUID().uuidString).realm"), objectTypes: [AsyncRow.self])
        configuration.extras.fileSystem = files
        let stage = try AsyncStage(configuration)
        try stage.on { [configuration] realm in
            try realm.write { realm.add(AsyncRow(value: ["id": 1])) }
            files.failure = SimulatedFailure(call: files.operationCount(of: "sync"), kind: .io, operation: "sync")
            realm.beginWrite()
            let lost = realm.create(AsyncRow.self, value: ["id": 2])
            realm.commitAsyncWrite { stage.note($0 == nil ? "done" : "failed") }
            #expect(!lost.isInvalidated)
            onOtherThread {
                // The first of these commits may be built on the one that fails.
                for _ in 0..<100 {
                    do {
                        let other = try Realm(configuration: configuration)
                        try other.write { other.add(AsyncRow(value: ["id": 3])) }
                        return
                    } catch { continue }
                }
            }
            realm.refresh()
            #expect(lost.isInvalidated)
            #expect(realm.objects(AsyncRow.self).map(\.id).sorted() == [1, 3])
        }
        #expect(try await stage.wait() == ["failed"])
        try stage.on { _ in stage.realm = nil }
    }
}
