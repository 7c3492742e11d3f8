// SPDX-License-Identifier: Apache-2.0
// Helpers for the tests of the public API: Realms in memory and in files, programmer errors that do not end the
// process, and actors that log their notifications.

import Dispatch
import Foundation
import RealmSwift
import Regnum
import RegnumTestKit

/// An in-memory Realm with these classes, in a separate database for each call.
func memoryRealm(_ types: ObjectBase.Type...) throws -> Realm {
    try Realm(configuration: Realm.Configuration(inMemoryIdentifier: UUID().uuidString, objectTypes: types))
}

/// Runs `body` with the Realm as opened on a queue, on that queue: observers need no run loop there.
func withQueue<R>(_ realm: Realm, _ body: (Realm) throws -> R) throws -> R {
    let queue = DispatchQueue(label: "test")
    return try queue.sync { try body(Realm(configuration: realm.configuration, queue: queue)) }
}

/// Runs `body` with the configuration of a new file in a folder that is removed afterwards.
func withFile<R>(_ types: [ObjectBase.Type], _ body: (Realm.Configuration) throws -> R) throws -> R {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("regnum-" + UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    return try body(
        Realm.Configuration(fileURL: folder.appendingPathComponent("a.realm"), objectTypes: types))
}

/// The message of the programmer error that `body` caused, or nil if `body` completed. It runs on the caller's
/// thread.
func misuseText(_ body: @escaping @Sendable () throws -> Void) throws -> String? { try catchMisuse(body) }

/// A programmer error, and a text that its message must contain.
struct MisuseCase: Sendable, CustomStringConvertible {
    let words: String
    let body: @Sendable () throws -> Void

    init(_ words: String, _ body: @escaping @Sendable () throws -> Void) {
        self.words = words
        self.body = body
    }

    var description: String { words }

    /// The message, or a text that says that there was none.
    func message() throws -> String { try misuseText(body) ?? "no misuse" }
}

/// An actor that logs its notifications.
protocol NotingActor: Actor {
    var lines: [String] { get set }
    /// The callers that wait until there are this many lines.
    var waiting: [(count: Int, continuation: CheckedContinuation<Void, Never>)] { get set }
}

extension NotingActor {
    func note(_ line: String) {
        lines.append(line)
        for waiter in waiting where lines.count >= waiter.count { waiter.continuation.resume() }
        waiting.removeAll { lines.count >= $0.count }
    }

    func waitFor(_ count: Int) async {
        if lines.count >= count { return }
        await withCheckedContinuation { waiting.append((count, $0)) }
    }
}
