// SPDX-License-Identifier: Apache-2.0
// The main thread, on which XCTest runs its tests, and threads with their own run loops.

import Dispatch
import Foundation
import RealmSwift
import XCTest

final class MainThreadRow: Object {
    @Persisted(primaryKey: true) var id = 0
}

final class MainThreadTests: XCTestCase {
    private let configuration = Realm.Configuration(
        inMemoryIdentifier: UUID().uuidString, objectTypes: [MainThreadRow.self])

    /// A block of another queue's `sync` runs on the main thread and blocks it.
    func testRealmOfTheMainThreadIsThereInsideOfSync() throws {
        let realm = try Realm(configuration: configuration)
        try realm.write {
            realm.create(MainThreadRow.self, value: ["id": 1])
            try DispatchQueue(label: "other").sync {
                XCTAssertEqual(realm.objects(MainThreadRow.self).count, 1)
                let opened = try Realm(configuration: configuration)
                XCTAssertEqual(opened, realm)
                XCTAssertEqual(opened.objects(MainThreadRow.self).count, 1, "the uncommitted object must be visible")
                XCTAssertEqual(try Realm(configuration: configuration, queue: .main), realm)
            }
        }
    }

    /// The events on the thread, and the expectations of the test.
    private final class Turns: @unchecked Sendable {
        // Sendable: the token stays on the thread; the rest is an expectation.
        var token: NotificationToken?
        let began = XCTestExpectation(description: "initial")
        let changed = XCTestExpectation(description: "update")
        var isOver = false
    }

    func testThreadWhoseRunLoopBeginsAfterTheRealmWasOpenedIsTold() throws {
        let turns = Turns()
        let configuration = configuration
        Thread.detachNewThread {
            guard let opened = try? Realm(configuration: configuration) else { return XCTFail("not opened") }
            nonisolated(unsafe) let early = opened
            RunLoop.current.perform {
                guard let realm = try? Realm(configuration: configuration) else { return XCTFail("not opened") }
                XCTAssertEqual(realm, early)
                turns.token = realm.objects(MainThreadRow.self).observe { change in
                    switch change {
                    case .initial: turns.began.fulfill()
                    case .update(let rows, _, let insertions, _):
                        XCTAssertEqual(insertions, [0])
                        XCTAssertEqual(rows.count, 1)
                        turns.isOver = true
                        turns.changed.fulfill()
                    case .error: XCTFail("error")
                    }
                }
            }
            let timer = Timer(timeInterval: 0.01, repeats: true) { _ in }
            RunLoop.current.add(timer, forMode: .default)
            while !turns.isOver, RunLoop.current.run(mode: .default, before: Date(timeIntervalSinceNow: 30)) {}
            timer.invalidate()
            turns.token = nil
            withExtendedLifetime(early) {}
        }
        wait(for: [turns.began], timeout: 1800)
        let realm = try Realm(configuration: configuration)
        try realm.write { realm.create(MainThreadRow.self, value: ["id": 2]) }
        wait(for: [turns.changed], timeout: 1800)
    }

    /// Such a turn does nothing, so another one must be requested.
    func testTurnThatComesWhileABlockRunsTheLoopIsNotLost() throws {
        let turns = Turns()
        let configuration = configuration
        Thread.detachNewThread {
            RunLoop.current.perform {
                guard let realm = try? Realm(configuration: configuration) else { return XCTFail("not opened") }
                turns.token = realm.objects(MainThreadRow.self).observe { change in
                    guard case .update(let rows, _, _, _) = change else { return turns.began.fulfill() }
                    if rows.count == 1 {
                        onOtherThread {
                            guard let other = try? Realm(configuration: configuration) else { return }
                            try? other.write { _ = other.create(MainThreadRow.self, value: ["id": 3]) }
                        }
                        _ = RunLoop.current.run(mode: .default, before: Date())
                    } else {
                        turns.isOver = true
                        turns.changed.fulfill()
                    }
                }
            }
            let timer = Timer(timeInterval: 0.01, repeats: true) { _ in }
            RunLoop.current.add(timer, forMode: .default)
            while !turns.isOver, RunLoop.current.run(mode: .default, before: Date(timeIntervalSinceNow: 30)) {}
            timer.invalidate()
            turns.token = nil
        }
        wait(for: [turns.began], timeout: 1800)
        let realm = try Realm(configuration: configuration)
        try realm.write { realm.create(MainThreadRow.self, value: ["id": 2]) }
        wait(for: [turns.changed], timeout: 1800)
    }
}
