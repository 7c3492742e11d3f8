// SPDX-License-Identifier: Apache-2.0
// COMPATIBILITY.md has a row for every symbol of RealmSwift, with a known status, and claims nothing that the sources
// do not have.

import Testing

@Suite("Compatibility table")
struct CompatibilityTableTests {
    static let rows = CompatibilityTable.rows(of: Repository.text("COMPATIBILITY.md"))
    static let symbols = Repository.list("Tests/TidyTests/RealmSwiftSymbols.txt")

    @Test("Every symbol has one row with a known status")
    func complete() {
        #expect(Self.symbols.count > 800)
        for complaint in CompatibilityTable.complaints(symbols: Self.symbols, rows: Self.rows) {
            Issue.record("COMPATIBILITY.md: \(complaint)")
        }
    }

    @Test("A symbol that is done has a public declaration")
    func founded() {
        // Read, not compiled: so publishers count also in builds without their trait.
        let modules: Set = ["Regnum", "RealmSwift", "RegnumReactive"]
        let declared = Repository.sources.filter { $0.module.map(modules.contains) ?? false }
            .reduce(into: Set<String>()) { $0.formUnion(CompatibilityTable.publicNames(of: $1)) }
        for complaint in CompatibilityTable.unfounded(rows: Self.rows, declared: declared) {
            Issue.record("COMPATIBILITY.md: \(complaint)")
        }
    }

    @Test("A row that is done or differs names an existing test")
    func shown() {
        let suites = Repository.swiftFiles.filter { $0.path.hasPrefix("Tests/") }
            .reduce(into: [String: Set<String>]()) { all, source in
                all.merge(CompatibilityTable.suites(of: source)) { $0.union($1) }
            }
        #expect(suites.count > 150)
        for complaint in CompatibilityTable.unshown(rows: Self.rows, suites: suites) {
            Issue.record("COMPATIBILITY.md: \(complaint)")
        }
    }

    @Test(
        "A row without a test, with a missing test, or with a missing function is reported"
    )
    func refusesUnshown() {
        let text = """
            // struct CommentTests
            @Suite("a") struct ATests {
                @Test("x")
                func first() {}
                func helper() {}
                @Test func second() {}
            }
            """
        let suites = CompatibilityTable.suites(of: SourceText(path: "Tests/T/ATests.swift", text: text))
        #expect(suites == ["ATests": ["first", "second"]])
        let table = """
            | `a` | done | `ATests` |
            | `b` | done | words; ATests.first, `ATests` |
            | `c` | done | |
            | `d` | done | `NoTests` |
            | `e` | done | ATests.helper |
            | `f` | differs (how) | `GoneTests` |
            | `g` | never (SwiftUI) | |
            | `h` | differs (how) | words |
            | `i` | out of scope (what instead) | |
            """
        #expect(
            CompatibilityTable.unshown(rows: CompatibilityTable.rows(of: table), suites: suites) == [
                "line 3: c: no test is named", "line 4: d: there is no NoTests",
                "line 5: e: ATests has no helper", "line 6: f: there is no GoneTests", "line 8: h: no test is named",
            ])
    }

    @Test("All 131 points of behaviour are in the table")
    func behaviour() {
        #expect(Self.rows.count { $0.symbol.hasPrefix("semantics ") } == 131)
    }

    @Test("A missing, unknown, duplicate or badly marked row is reported")
    func refuses() {
        let table = """
            | symbol | status | remark |
            |---|---|---|
            | `A.b` | done | |
            | `A.b` | later (types) | twice |
            | `A.c(_:)` | soon | |
            | `A.d` | later (someday) | |
            | `A.e` | done and more | |
            | `A.f` | differs | says not how |
            | `A.\\|\\|` | never (SwiftUI) | |
            | `A.g` | never (too much work) | |
            | `A.h` | out of scope (what instead) | |
            | `A.i` | out of scope | |
            """
        let complaints = CompatibilityTable.complaints(
            symbols: ["A.b", "A.c(_:)", "A.d", "A.f", "A.||", "A.g", "A.h", "A.i", "A.missing"],
            rows: CompatibilityTable.rows(of: table))
        #expect(
            complaints == [
                "no row for A.missing", "line 5: A.c(_:): unknown status \"soon\"",
                "line 6: A.d: unknown status \"later (someday)\"", "line 7: A.e is not listed",
                "line 7: A.e: unknown status \"done and more\"", "line 8: A.f: unknown status \"differs\"",
                "line 10: A.g: never, but for nothing that only Apple's systems have",
                "line 12: A.i: unknown status \"out of scope\"",
                "A.b stands twice",
            ])
    }

    @Test("A row that is done without a declaration is reported")
    func refusesUnfounded() {
        let text = """
            // public func inAComment()
            public struct Realm { let hidden = 1 }
            public protocol P {
                func required()
            }
            public extension Realm {
                func added() {}
            }
            enum Policy {
                case all, modified(Int)
            }
            struct Inner { func hidden() {} }
            """
        let source = SourceText(path: "Sources/Regnum/A.swift", text: text)
        let declared = CompatibilityTable.publicNames(of: source)
        #expect(declared == ["Realm", "P", "required", "added", "all", "modified"])
        let names = [
            "Realm.init(queue:)", "Realm.hidden", "P.required()", "Realm.added() (mine)", "Realm.==",
            "semantics 1", "query: @count", "Realm.inAComment()",
        ]
        let rows = names.enumerated().map { CompatibilityRow(symbol: $1, status: "done", line: $0) }
        #expect(
            CompatibilityTable.unfounded(rows: rows, declared: declared) == [
                "line 1: Realm.hidden is done, but nothing public is called hidden",
                "line 7: Realm.inAComment() is done, but nothing public is called inAComment",
            ])
    }
}
