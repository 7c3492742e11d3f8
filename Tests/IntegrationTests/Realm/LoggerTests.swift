// SPDX-License-Identifier: Apache-2.0
// The logger: its level, and the messages that it gets.

import Foundation
import RealmSwift
import Synchronization
import Testing

private class LoggedItem: Object {
    @Persisted var n = 0
}

@Suite("The logger")
struct LoggerTests {
    @Test("The logger gets messages up to its level, which can be changed")
    func logger() async {
        // In a process of its own: other tests set the logger too.
        await #expect(processExitsWith: .success) { try LoggerTests.changeLevels() }
    }

    private static func changeLevels() throws {
        let identifier = UUID().uuidString
        let lines = Mutex<[String]>([])
        try #require(Logger.shared.level == .info)
        Logger.shared = Logger(level: .off) { level, message in
            guard message.contains(identifier) else { return }
            lines.withLock { $0.append("\(level) \(message)") }
        }
        func work(_ level: LogLevel) throws -> [String] {
            Logger.shared.level = level
            lines.withLock { $0 = [] }
            let realm = try Realm(
                configuration: Realm.Configuration(
                    inMemoryIdentifier: identifier, objectTypes: [LoggedItem.self]))
            try realm.write { realm.add(LoggedItem()) }
            return lines.withLock { $0 }
        }
        try #require(try work(.off).isEmpty)
        try #require(try work(.info).isEmpty)
        try #require(try work(.detail) == ["detail DB: Open Realm: \(identifier)"])
        let debug = try work(.debug)
        try #require(debug.count == 2 && debug[1].hasPrefix("debug DB: Commit of version"))
        try #require(try work(.all).contains { $0.hasPrefix("trace DB: Begin write") })
        try #require(Logger.shared.level == .all && LogLevel.trace.rawValue == 7)
    }
}
