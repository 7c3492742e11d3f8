// SPDX-License-Identifier: Apache-2.0
// The rule of test filters finds each alternative that matches no test, in every form in which scripts write filters.

import Testing

@Suite("Test filters")
struct TestFiltersTests {
    private static let tests = TestFilters.identifiers(of: [
        SourceText(
            path: "Tests/ATests/GoodTests.swift",
            text: """
                @Suite("Good")
                struct GoodTests {
                    private func helper() {}
                    @Test("Works", arguments: [1])
                    func works(_ number: Int) {}
                    @Suite struct Inner {
                        @Test func inside() {}
                    }
                    @Test func `works too`() {}
                }
                final class OldTests: XCTestCase {
                    func testOld() {}
                }
                """),
        SourceText(path: "Sources/A/A.swift", text: "struct OtherTests {\n    @Test func other() {}\n}"),
    ])

    @Test("Tests are found with the names of their target and suites")
    func identifiers() {
        #expect(
            Self.tests.split(separator: "\n") == [
                "ATests.GoodTests/works(", "ATests.GoodTests/Inner/inside(", "ATests.GoodTests/`works too`(",
                "ATests.OldTests/testOld(",
            ])
    }

    @Test("Each alternative of a pattern is taken on its own")
    func alternatives() {
        #expect(TestFilters.alternatives(of: "^A[.]") == ["^A[.]"])
        #expect(TestFilters.alternatives(of: #"a|b\(c"#) == ["a", #"b\(c"#])
        #expect(
            TestFilters.alternatives(of: "^(A|B)[|.](C|D)?") == [
                "^(?:A)[|.](?:C|D)?", "^(?:B)[|.](?:C|D)?", "^(?:A|B)[|.](?:C)?", "^(?:A|B)[|.](?:D)?",
            ])
        #expect(TestFilters.alternatives(of: "(A(?:b|c)|D)/") == ["(?:A(?:b))/", "(?:A(?:c))/", "(?:D)/"])
    }

    /// A script, and the words of its alternatives that match no test.
    static let scripts: [(String, [String])] = [
        (#"run_tests swift test --filter '^ATests\.(Good|Gone)Tests/'"#, ["Gone"]),
        (#"swift test --skip '/lost\(' --filter "^ATests[.]|GoneTests""#, ["lost", "Gone"]),
        ("suites='Good|Gone'\nsuites=\"$suites|Lost\"\nx --filter \"^ATests[.]($suites)Tests/\"", ["Gone", "Lost"]),
        ("misuse='works'\nmisuse+='|GoodTests/(inside|works)'\nx --skip \"$misuse\"", ["inside"]),
        (#"filter=${1:-'^ATests\.(GoodTests/Inner|Gone)'}"#, ["Gone"]),
        ("SUITES = [(r'^ATests\\.(Good'\n    r'|Gone|Old)Tests', PROTOCOL)]", ["Gone"]),
        (#"x --filter '^ATests\.(Good|Old)Tests/(works|testOld)\('"#, []),
        (#"# swift test --filter '^ATests\.Gone'"#, []),
        ("filter=$(printf x)\nx --filter \"^($filter)[.]\" --filter \"$1\"", []),
    ]

    @Test("An alternative that matches no test is found", arguments: scripts)
    func findings(_ script: String, _ words: [String]) {
        let found = TestFilters.findings(inScript: "Scripts/a", text: script, tests: Self.tests)
        #expect(found.count == words.count, "\(found)")
        for (finding, word) in zip(found, words) { #expect(finding.message.contains(word), "\(finding)") }
    }
}
