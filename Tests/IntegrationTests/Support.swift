// SPDX-License-Identifier: Apache-2.0
// What the tests of the public API share: Realms in memory and in files, and misuse observed
// without ending the process.

import Foundation
import RealmSwift
import Regnum

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

/// What became of a body that ran on a thread of its own.
private final class MisuseCatcher: @unchecked Sendable {
    // Sendable: written by that thread before the semaphore is signalled, read behind the wait for it.
    static let key = "regnum.tests.catcher"
    let done = DispatchSemaphore(value: 0)
    var message: String?
    var failure: (any Error)?

    /// Parks the thread of a misuse for good: the call that was refused never returns.
    static let install: Void = {
        let previous = MisuseHook.handler
        MisuseHook.handler = { message in
            guard let catcher = Thread.current.threadDictionary[key] as? MisuseCatcher else {
                previous?(message)
                return
            }
            catcher.message = message
            catcher.done.signal()
            while true { Thread.sleep(forTimeInterval: 1_000_000) }
        }
    }()
}

/// Runs `body` on a thread of its own. The words of the misuse that it came to; nil where it came to its end.
func misuseText(_ body: @escaping @Sendable () throws -> Void) throws -> String? {
    MisuseCatcher.install
    let catcher = MisuseCatcher()
    let thread = Thread {
        Thread.current.threadDictionary[MisuseCatcher.key] = catcher
        do { try body() } catch { catcher.failure = error }
        Thread.current.threadDictionary[MisuseCatcher.key] = nil
        catcher.done.signal()
    }
    thread.stackSize = 8 << 20
    thread.start()
    catcher.done.wait()
    if let failure = catcher.failure { throw failure }
    return catcher.message
}

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
