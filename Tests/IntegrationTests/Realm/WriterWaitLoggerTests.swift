// SPDX-License-Identifier: Apache-2.0
// A write that waits long for the writer lock logs its holder: a thread and the line that opened its Realm, or a
// process. Also the message for a Realm on a wrong thread.

import Dispatch
import Foundation
import RealmSwift
import Regnum
import RegnumEngine
import RegnumSystem
import RegnumTestKit
import Synchronization
import Testing

class WaitingRow: Object {
    @Persisted var number = 0
}

@Suite("Waiting for the writer lock", .serialized)
struct WriterWaitLoggerTests {
    /// Collects the messages that contain `path`, and wakes the waiting thread.
    private final class Lines: Sendable {
        let path: String
        let lines = Mutex<[String]>([])
        let came = DispatchSemaphore(value: 0)
        init(_ path: String) { self.path = path }

        func take(_ line: String) {
            guard line.contains("has waited"), line.contains(path) else { return }
            lines.withLock { $0.append(line) }
            came.signal()
        }

        /// The first message, or nil if there is none. Other tests also set the logger, so it is set repeatedly.
        func first() -> String? {
            for _ in 0..<72_000 {
                Logger.shared = Logger(level: .warn) { [self] _, line in take(line) }
                if came.wait(timeout: .now() + .milliseconds(200)) == .success { return lines.withLock { $0.first } }
            }
            return nil
        }
    }

    /// Calls `body` while messages about waiting are logged early, to `lines`.
    private func watching(_ lines: Lines, _ body: () throws -> Void) rethrows {
        let (logger, patience) = (Logger.shared, WriterWaitLogger.patience)
        WriterWaitLogger.patience = 20
        defer {
            Logger.shared = logger
            WriterWaitLogger.patience = patience
        }
        try body()
    }

    @Test("A writing thread is named with the line that opened its Realm")
    func thread() throws {
        try withFile([WaitingRow.self]) { configuration in
            let lines = Lines(try #require(configuration.fileURL?.path))
            let realm = try Realm(configuration: configuration)
            let done = DispatchSemaphore(value: 0)
            realm.beginWrite()
            try watching(lines) {
                Thread.detachNewThread {
                    _ = try? Realm(configuration: configuration).write {}
                    done.signal()
                }
                let line = try #require(lines.first())
                #expect(line.contains("Thread 0x"))
                #expect(line.contains("in the Realm opened at IntegrationTests/WriterWaitLoggerTests.swift:"))
            }
            realm.cancelWrite()
            #expect(done.wait(timeout: .now() + 14_400) == .success)
        }
    }

    /// Keeps a write open across suspensions.
    private actor Writer {
        private var realm: Realm?

        /// Returns the line that opens the Realm.
        func begin(_ configuration: Realm.Configuration) async throws -> UInt {
            let line: UInt = #line + 1
            let opened = try await Realm.open(configuration: configuration)
            opened.beginWrite()
            realm = opened
            return line
        }

        func end() {
            realm?.cancelWrite()
            realm = nil
        }
    }

    @Test("A writing actor is named with the line that opened its Realm")
    func actor() async throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("writer-\(UUID().uuidString).realm")
        let configuration = Realm.Configuration(fileURL: path, objectTypes: [WaitingRow.self])
        let writer = Writer()
        let place = try await writer.begin(configuration)
        let done = DispatchSemaphore(value: 0)
        let told: String? = await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                let lines = Lines(path.path)
                var line: String?
                watching(lines) {
                    Thread.detachNewThread {
                        _ = try? Realm(configuration: configuration).write {}
                        done.signal()
                    }
                    line = lines.first()
                }
                continuation.resume(returning: line)
            }
        }
        await writer.end()
        let hasEnded: Bool = await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                continuation.resume(returning: done.wait(timeout: .now() + 14_400) == .success)
            }
        }
        #expect(hasEnded)
        let words = "in the Realm opened at IntegrationTests/WriterWaitLoggerTests.swift:\(place), for "
        #expect(told?.contains(words) == true, "\(told ?? "nil")")
        _ = try? Realm.deleteFiles(for: configuration)
    }

    @Test("A writing process is named by its number")
    func process() throws {
        try withFile([WaitingRow.self]) { configuration in
            let path = try #require(configuration.fileURL?.path)
            let lines = Lines(path)
            _ = try Realm(configuration: configuration).isEmpty
            // Locks belong to open files, so this works like another process.
            let other = try Database.openAsOtherProcess(path: path, fileSystem: PosixFileSystem.shared)
            let session = try other.makeSession()
            let done = DispatchSemaphore(value: 0)
            try session.beginWrite()
            try watching(lines) {
                Thread.detachNewThread {
                    _ = try? Realm(configuration: configuration).write {}
                    done.signal()
                }
                let line = try #require(lines.first())
                #expect(line.contains("Process \(ProcessInfo.processInfo.processIdentifier) has it, for "))
            }
            session.rollbackWrite()
            #expect(done.wait(timeout: .now() + 14_400) == .success)
        }
    }

    /// Ends the program.
    private static func useElsewhere() throws {
        nonisolated(unsafe) let realm = try memoryRealm(WaitingRow.self)
        Thread.detachNewThread {
            // Foundation loses a name that is set before the start, and here one that is set before the creating
            // thread has registered the new one.
            while Thread.current.name != "the other" { Thread.current.name = "the other" }
            _ = realm.isEmpty
        }
        Thread.sleep(forTimeInterval: 1800)
    }

    @Test("The message for a wrong thread names the line that opened the Realm and the thread that uses it")
    func wrongThread() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            try Self.useElsewhere()
        }
        let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(text.contains("Realm accessed from incorrect thread. It was opened on "))
        #expect(text.contains(" at IntegrationTests/Support.swift:"))
        #expect(text.contains(" and is used on thread 0x") && text.contains("('the other')"))
    }
}
