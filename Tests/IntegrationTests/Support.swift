// SPDX-License-Identifier: Apache-2.0
// What the tests of the public API share: Realms in memory and in files, and misuse observed
// without ending the process.

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
