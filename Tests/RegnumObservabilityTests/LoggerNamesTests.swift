// SPDX-License-Identifier: Apache-2.0
// `import Logging` beside RealmSwift: both modules have a `Logger`, and programs written for RealmSwift need its own
// one. A library cannot give its name a lower rank than that of another module. This file and
// `ImportedLoggerTests.swift` compile each spelling that COMPATIBILITY.md names.

#if Observability
    import Logging
    import RealmSwift
    import Testing

    /// In a type, the module distinguishes the names.
    private struct Both {
        let server: Logging.Logger
        let realm: RealmSwift.Logger
    }

    @Suite("The names of swift-log beside RealmSwift")
    struct LoggerNamesTests {
        @Test("In an expression, the arguments and the members decide which one is meant")
        func expressions() {
            let server = Logger(label: "server")
            #expect(server.label == "server")
            let realm = Logger(level: .off) { _, _ in }
            #expect(realm.level == .off)
            Logger.shared.level = .warn
            #expect(RealmSwift.Logger.shared.level == .warn)
        }

        @Test("In a type, the name of the module decides")
        func types() {
            let both = Both(server: Logger(label: "server"), realm: Logger(level: .error) { _, _ in })
            #expect(both.server.label == "server")
            #expect(both.realm.level == .error)
        }

        @Test("A type alias in the file decides for all types of the file")
        func alias() {
            func label(of logger: AliasedLogger) -> String { logger.label }
            #expect(label(of: Logger(label: "server")) == "server")
        }
    }

    private typealias AliasedLogger = Logging.Logger
#endif
