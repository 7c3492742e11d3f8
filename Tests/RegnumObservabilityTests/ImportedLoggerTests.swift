// SPDX-License-Identifier: Apache-2.0
// An import of a single name decides which `Logger` is meant in the whole file, also in types.

#if Observability
    import Logging
    import RealmSwift
    import Testing

    import struct Logging.Logger

    private struct Server {
        let logger: Logger
    }

    @Suite("swift-log's Logger, imported by name")
    struct ImportedLoggerTests {
        @Test("A file that imports Logger by name means that one in types and expressions")
        func imported() {
            let server = Server(logger: Logger(label: "server"))
            #expect(server.logger.label == "server")
            let own = RealmSwift.Logger(level: .off) { _, _ in }
            #expect(own.level == .off)
        }
    }
#endif
