// SPDX-License-Identifier: Apache-2.0
// Damage behind an open Realm's back, met by calls that cannot throw and yet need not end the program: what was shown
// stays, and a write says why.

import Dispatch
import Foundation
import RealmSwift
import RegnumSimulation
import RegnumSystem
import RegnumTestKit
import Synchronization
import Testing

@testable import Regnum
@testable import RegnumEngine

@Suite("Damage met late")
struct LateDamageTests {
    /// Its own: the Realms of a process are found by their paths.
    private let path = "/late/\(UUID().uuidString).realm"
    private let files = SimulatedFileSystem(seed: 1, reservedByteCount: 64 << 20)

    private var configuration: Realm.Configuration {
        var configuration = Realm.Configuration(
            fileURL: URL(fileURLWithPath: path), objectTypes: [BadInputRow.self])
        configuration.extras.fileSystem = files
        return configuration
    }

    /// Rows 1 and 3 are there. One was deleted, so that the last one has to be looked for.
    private func filled() throws -> Realm {
        let realm = try Realm(configuration: configuration)
        try realm.write {
            for id in 1...3 { realm.create(BadInputRow.self, value: ["id": id]) }
        }
        let second = try #require(realm.object(ofType: BadInputRow.self, forPrimaryKey: 2))
        try realm.write { realm.delete(second) }
        return realm
    }

    /// Changes the text of both rows as another process would; gives the pages of the commit's catalog and row group.
    private func changeElsewhere() throws -> (catalog: UInt64, group: UInt64) {
        let session = try Database.openAsOtherProcess(path: path, fileSystem: files).makeSession()
        try session.beginWrite()
        let table = try #require(session.table(named: "BadInputRow"))
        let text = try #require(table.definition.columns.firstIndex { $0.name == "text" })
        for key in try table.allKeys() { try table.set(.string("elsewhere"), text, of: ObjectKey(key)) }
        try session.commitWrite()
        return (session.database.versions.newest.catalog.page, try #require(table.rowsStamp).page)
    }

    /// Writes over the middle of a page; what was there.
    private func overwrite(
        _ page: UInt64, with bytes: [UInt8] = [UInt8](repeating: 0xEE, count: 512)
    ) throws -> [UInt8] {
        let offset = Int(page) * 4096 + 64
        let before = Array(try #require(files.contents(of: path))[offset..<offset + bytes.count])
        let file = try files.open(path, .readWrite)
        defer { file.close() }
        try bytes.withUnsafeBytes { try file.write($0, at: offset) }
        return before
    }

    private func texts(_ realm: Realm) -> [String] {
        realm.objects(BadInputRow.self).sorted(byKeyPath: "id").map(\.text)
    }

    // It ended the program, in a turn of its run loop too.
    @Test("a refresh that cannot read the newest version stays where it is, and a write says why")
    func refresh() throws {
        let realm = try filled()
        let page = try changeElsewhere().catalog
        let good = try overwrite(page)
        #expect(!realm.refresh())
        #expect(texts(realm) == ["", ""])
        let error = #expect(throws: Realm.Error.self) { try realm.write {} }
        #expect(error?.reason == .damaged)
        #expect(error?.localizedDescription.contains("block at page \(page)") == true, "\(error as Any)")
        #expect(error?.localizedDescription.contains("`regnum salvage`") == true)
        #expect(error?.fileURL?.path == path)
        realm.invalidate()
        #expect(texts(realm) == ["", ""])
        _ = try overwrite(page, with: good)
        #expect(realm.refresh())
        #expect(texts(realm) == ["elsewhere", "elsewhere"])
        expectIntegrity(of: configuration)
    }

    // The end of a write asks for the last object of each class, and ended the program where it could not be read.
    @Test("a write is cancelled where the objects of a class cannot be read")
    func cancelled() throws {
        let realm = try filled()
        let held = try #require(realm.object(ofType: BadInputRow.self, forPrimaryKey: 1))
        let page = try changeElsewhere().group
        let good = try overwrite(page)
        realm.beginWrite()
        realm.cancelWrite()
        #expect(!realm.isInWriteTransaction)
        _ = try overwrite(page, with: good)
        // Nobody knew whether it had been there before the write.
        #expect(held.isInvalidated)
        #expect(texts(realm) == ["elsewhere", "elsewhere"])
        try realm.write { realm.create(BadInputRow.self, value: ["id": 4, "text": "here"]) }
        #expect(texts(realm) == ["elsewhere", "elsewhere", "here"])
        expectIntegrity(of: configuration)
    }

    @Test("where a commit fails and the version before it cannot be read, the next write says why")
    func nothingToShow() throws {
        let realm = try filled()
        let page = try Database.open(path: path, fileSystem: files).versions.newest.catalog.page
        realm.beginWrite()
        realm.create(BadInputRow.self, value: ["id": 4])
        let good = try overwrite(page)
        files.failure = SimulatedFailure(call: files.operationCount(of: "sync"), kind: .io, operation: "sync")
        let error = #expect(throws: Realm.Error.self) { try realm.commitWrite() }
        files.failure = nil
        #expect(error?.reason == .inputOutput)
        #expect(!realm.refresh())
        #expect(throws: Realm.Error.self) { try realm.write {} }
        _ = try overwrite(page, with: good)
        #expect(realm.refresh())
        #expect(texts(realm) == ["", ""])
        try realm.write { realm.create(BadInputRow.self, value: ["id": 4, "text": "here"]) }
        #expect(texts(realm) == ["", "", "here"])
        expectIntegrity(of: configuration)
    }

    /// With an observer on a queue, whose Realm has turns; what it was told, after its first call.
    private func observed(_ queue: DispatchQueue, _ told: Told) throws -> (Realm, NotificationToken) {
        try queue.sync { () throws -> (Realm, NotificationToken) in
            let realm = try Realm(configuration: configuration, queue: queue)
            let results: Results<BadInputRow> = realm.objects(BadInputRow.self).filter("id > 0")
            let token = results.observe { (change: RealmCollectionChange<Results<BadInputRow>>) in
                if case .update(let now, _, _, _) = change { told.texts.append(Array(now.map { $0.text })) }
            }
            realm.deliverByTurns(DiffLimits())
            return (realm, token)
        }
    }

    /// Used on its queue.
    private final class Told: @unchecked Sendable {
        // Sendable: used on the queue alone.
        var texts: [[String]] = []
    }

    // Its turns asked for another one each, so that a thread was busy for ever and the log full.
    @Test("a Realm whose turns cannot read the newest version waits for the next commit")
    func turns() throws {
        _ = try filled()
        let queue = DispatchQueue(label: "late")
        let told = Told()
        let (realm, token) = try observed(queue, told)
        let page = try changeElsewhere().catalog
        let good = try overwrite(page)
        let before = queue.sync { realm.turnCount }
        queue.sync { realm.startTurn() }
        for _ in 0..<20 { queue.sync {} }
        #expect(queue.sync { realm.turnCount } <= before + 3)
        _ = try overwrite(page, with: good)
        queue.sync { realm.startTurn() }
        #expect(queue.sync { told.texts } == [["elsewhere", "elsewhere"]])
        queue.sync { () -> Void in token.invalidate() }
    }

    // The Realm came back to the version that had failed, and told its observers of it.
    @Test("what another thread looks at is not told where the commit fails meanwhile")
    func failedMeanwhile() throws {
        _ = try filled()
        let queue = DispatchQueue(label: "late")
        let told = Told()
        let (realm, token) = try observed(queue, told)
        let failed = DispatchSemaphore(value: 0)
        // The commit fails when it is being looked at.
        let isLookedAt = DispatchSemaphore(value: 0)
        files.beforeSync = { _ in isLookedAt.wait() }
        queue.sync {
            realm.deliverByTurns(.none)
            let looks = realm.deliveryWork.lookedElsewhere
            files.failure = SimulatedFailure(call: files.operationCount(of: "sync"), kind: .io, operation: "sync")
            realm.beginWrite()
            for row in realm.objects(BadInputRow.self) { row.text = "lost" }
            realm.commitAsyncWrite { error in
                #expect(error != nil)
                failed.signal()
            }
            realm.startTurn()
            #expect(realm.deliveryWork.lookedElsewhere == looks + 1)
            files.beforeSync = nil
            isLookedAt.signal()
        }
        #expect(failed.wait(timeout: .now() + 30) == .success)
        files.failure = nil
        for _ in 0..<5 { queue.sync { realm.deliverByTurns(.none) } }
        #expect(queue.sync { texts(realm) } == ["", ""])
        // Where a turn came before the failure was known, what was shown until then is told, and then that it is gone.
        let all = queue.sync { told.texts }
        #expect(all.isEmpty || all == [["lost", "lost"], ["", ""]], "\(all)")
        queue.sync { () -> Void in token.invalidate() }
    }
}
