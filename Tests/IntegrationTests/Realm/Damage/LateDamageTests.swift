// SPDX-License-Identifier: Apache-2.0
// Damage to the file of an open Realm, found by calls that cannot throw and need not end the program: the Realm keeps
// its version, and a write throws the reason.

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

@Suite("Damage found while the Realm is open")
struct LateDamageTests {
    /// A new path, because the Realms of a process are found by their paths.
    private let path = "/late/\(UUID().uuidString).realm"
    private let files = SimulatedFileSystem(seed: 1, reservedByteCount: 64 << 20)

    private var configuration: Realm.Configuration {
        var configuration = Realm.Configuration(
            fileURL: URL(fileURLWithPath: path), objectTypes: [BadInputRow.self])
        configuration.extras.fileSystem = files
        return configuration
    }

    /// Contains rows 1 and 3. Row 2 was deleted, so that keys are not positions.
    private func filled() throws -> Realm {
        let realm = try Realm(configuration: configuration)
        try realm.write {
            for id in 1...3 { realm.create(BadInputRow.self, value: ["id": id]) }
        }
        let second = try #require(realm.object(ofType: BadInputRow.self, forPrimaryKey: 2))
        try realm.write { realm.delete(second) }
        return realm
    }

    /// Changes the text of both rows as another process would, and returns the pages of the commit's catalog and row
    /// group.
    private func changeElsewhere() throws -> (catalog: UInt64, group: UInt64) {
        let session = try Database.openAsOtherProcess(path: path, fileSystem: files).makeSession()
        try session.beginWrite()
        let table = try #require(session.table(named: "BadInputRow"))
        let text = try #require(table.definition.columns.firstIndex { $0.name == "text" })
        for key in try table.allKeys() { try table.set(.string("elsewhere"), text, of: ObjectKey(key)) }
        try session.commitWrite()
        return (session.database.versions.newest.catalog.page, try #require(table.rowsStamp).page)
    }

    /// Overwrites the middle of a page, and returns the old bytes.
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

    // The program must not end, even if the refresh happens in a turn of its run loop.
    @Test("A refresh that cannot read the newest version keeps the current one, and a write throws the reason")
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

    // A rollback reads nothing, and keeps all accessors of objects that existed before.
    @Test("A write can be cancelled although the objects of a class cannot be read")
    func cancelled() throws {
        let realm = try filled()
        let held = try #require(realm.object(ofType: BadInputRow.self, forPrimaryKey: 1))
        let page = try changeElsewhere().group
        let good = try overwrite(page)
        realm.beginWrite()
        realm.cancelWrite()
        #expect(!realm.isInWriteTransaction)
        _ = try overwrite(page, with: good)
        #expect(!held.isInvalidated && held.text == "elsewhere")
        #expect(texts(realm) == ["elsewhere", "elsewhere"])
        try realm.write { realm.create(BadInputRow.self, value: ["id": 4, "text": "here"]) }
        #expect(texts(realm) == ["elsewhere", "elsewhere", "here"])
        expectIntegrity(of: configuration)
    }

    @Test("If a commit fails and the version before it cannot be read, the next write throws the reason")
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

    /// Adds an observer on a queue, whose Realm has turns; `told` gets its notifications after the first call.
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
        // Sendable: used only on the queue.
        var texts: [[String]] = []
    }

    // A failing turn must not request another one, which would keep a thread busy for ever and fill the log.
    @Test("A Realm whose turns cannot read the newest version waits for the next commit")
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

    // The Realm must not return to the failed version and notify observers of it.
    @Test("A change set of a background diff is not delivered if its commit fails in the meantime")
    func failedMeanwhile() throws {
        _ = try filled()
        let queue = DispatchQueue(label: "late")
        let told = Told()
        let (realm, token) = try observed(queue, told)
        let failed = DispatchSemaphore(value: 0)
        // The commit fails while the background diff runs.
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
        #expect(failed.wait(timeout: .now() + 14_400) == .success)
        files.failure = nil
        for _ in 0..<5 { queue.sync { realm.deliverByTurns(.none) } }
        #expect(queue.sync { texts(realm) } == ["", ""])
        // If a turn ran before the failure was known, the changes are delivered, and then their removal.
        let all = queue.sync { told.texts }
        #expect(all.isEmpty || all == [["lost", "lost"], ["", ""]], "\(all)")
        queue.sync { () -> Void in token.invalidate() }
    }
}
