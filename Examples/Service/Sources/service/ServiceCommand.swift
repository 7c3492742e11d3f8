// SPDX-License-Identifier: Apache-2.0
// The command: reads its arguments, and runs the application until SIGTERM or SIGINT.

import Entries
import Foundation
import Hummingbird
import Logging

@main
struct ServiceCommand {
    static func main() async throws {
        var (folder, host, port) = ("service-data", "127.0.0.1", 8080)
        var arguments = CommandLine.arguments.dropFirst()
        while let option = arguments.popFirst() {
            let value = arguments.popFirst()
            switch (option, value) {
            case ("--folder", let path?): folder = path
            case ("--host", let name?): host = name
            case ("--port", let number?) where UInt16(number) != nil: port = Int(number) ?? port
            default:
                FileHandle.standardError.write(
                    Data("usage: service [--folder FOLDER] [--host HOST] [--port PORT]\n".utf8))
                exit(2)
            }
        }
        var logger = Logging.Logger(label: "service")
        let level = ProcessInfo.processInfo.environment["LOG_LEVEL"].flatMap { Logging.Logger.Level(rawValue: $0) }
        logger.logLevel = level ?? .info
        let store = try await EntryStore(folder: URL(fileURLWithPath: folder))
        try await makeApplication(store, host: host, port: port, logger).runService()
    }
}
