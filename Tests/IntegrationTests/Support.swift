// SPDX-License-Identifier: Apache-2.0
// What the tests of the public API share: Realms in memory and in files, misuse observed without ending the process,
// and actors that note what they are told.

import Foundation
import RealmSwift
import Regnum
import RegnumTestKit

/// A Realm in memory for these classes, a database of its own for each call.
func memoryRealm(_ types: ObjectBase.Type...) throws -> Realm {
    try Realm(configuration: Realm.Configuration(inMemoryIdentifier: UUID().uuidString, objectTypes: types))
}

/// Runs `body` with the configuration of a new file in a folder that is removed afterwards.
func withFile<R>(_ types: [ObjectBase.Type], _ body: (Realm.Configuration) throws -> R) throws -> R {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("regnum-" + UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    return try body(
        Realm.Configuration(fileURL: folder.appendingPathComponent("a.realm"), objectTypes: types))
}

/// The words of the misuse that `body` came to; nil where it came to its end. It runs on the caller's thread.
func misuseText(_ body: @escaping @Sendable () throws -> Void) throws -> String? { try catchMisuse(body) }

/// A misuse and the words that its message must have.
struct MisuseCase: Sendable, CustomStringConvertible {
    let words: String
    let body: @Sendable () throws -> Void

    init(_ words: String, _ body: @escaping @Sendable () throws -> Void) {
        self.words = words
        self.body = body
    }

    var description: String { words }

    /// The message, or words that tell that there was none.
    func message() throws -> String { try misuseText(body) ?? "no misuse" }
}

/// An actor that notes what it is told.
protocol NotingActor: Actor {
    var lines: [String] { get set }
    /// Who waits until there are so many lines.
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
