// SPDX-License-Identifier: Apache-2.0
// Each rule must refuse a bad sample and pass a good one: a rule that cannot fail guards nothing.

import Testing

@Suite("Tidy rules")
struct RuleSelfTests {
    struct Sample: Sendable, CustomTestStringConvertible {
        let name: String
        let rule: @Sendable (SourceText) -> [Finding]
        let path: String
        let text: String
        var testDescription: String { name }
    }

    /// The body of a function of 71 lines, and of one of 70.
    static let body71 = (0..<69).map { "    let a\($0) = {}" }.joined(separator: "\n")
    static let body70 = (0..<68).map { "    let a\($0) = {}" }.joined(separator: "\n")
    static let licence = "// SPDX-License-Identifier: Apache-2.0\n"

    static let bad: [Sample] = [
        .init(
            name: "601 lines", rule: Rules.fileLength, path: "Sources/Regnum/A.swift",
            text: String(repeating: "let x = 1\n", count: 601)),
        .init(
            name: "71 lines of function", rule: Rules.functionLength, path: "Sources/Regnum/A.swift",
            text: "func long() throws(E) -> Int where T: P {\n\(body71)\n}"),
        .init(
            name: "long initialiser", rule: Rules.functionLength, path: "Sources/Regnum/A.swift",
            text: "init(a: () -> Void = { }) {\n\(body71)\n}"),
        .init(
            name: "long computed property", rule: Rules.functionLength, path: "Sources/Regnum/A.swift",
            text: "var long: [Int: (A, B)] {\n\(body71)\n}"),
        .init(
            name: "Foundation in the engine", rule: Rules.importDirection,
            path: "Sources/RegnumEngine/A.swift", text: "internal import Foundation"),
        .init(
            name: "upward import", rule: Rules.importDirection, path: "Sources/RegnumEngine/A.swift",
            text: "package import RegnumQuery"),
        .init(
            name: "C library outside RegnumSystem", rule: Rules.importDirection,
            path: "Sources/Regnum/A.swift", text: "#if os(Linux)\nimport func Glibc.memcpy\n#endif"),
        .init(
            name: "simulator in production code", rule: Rules.importDirection,
            path: "Sources/Regnum/A.swift", text: "import RegnumSimulation"),
        .init(
            name: "module without a row", rule: Rules.importDirection, path: "Sources/Other/A.swift",
            text: "let x = 1"),
        .init(
            name: "public below Regnum", rule: Rules.accessBelowRegnum, path: "Sources/RegnumQuery/A.swift",
            text: "@inlinable public func f() {}"),
        .init(
            name: "open below Regnum", rule: Rules.accessBelowRegnum, path: "Sources/RegnumSystem/A.swift",
            text: "open class A {}"),
        .init(
            name: "a mutex", rule: Rules.locks, path: "Sources/Regnum/A.swift", text: "let state = Mutex(State())"),
        .init(
            name: "a function in a lock", rule: Rules.lockedFunctions, path: "Sources/Regnum/A.swift",
            text: "let watcher = Lock<(@Sendable (_ isWrite: Bool) -> Void)?>(nil)"),
        .init(
            name: "a function in a tuple in a mutex", rule: Rules.lockedFunctions, path: "Tests/T/A.swift",
            text: "let next: Mutex<(Int, [Int], () -> Void)>"),
        .init(
            name: "a function by another name in a lock", rule: Rules.lockedFunctions, path: "Sources/Regnum/A.swift",
            text: "typealias Watch = @Sendable (Int) -> Void\nlet watch = Lock<Watch?>(nil)"),
        .init(
            name: "print", rule: Rules.noPrint, path: "Sources/Regnum/A.swift", text: "{ print(\"x\") }"),
        .init(
            name: "print in an interpolation", rule: Rules.noPrint, path: "Sources/Regnum/A.swift",
            text: "let x = \"\\(Swift.print(1))\""),
        .init(
            name: "open work", rule: Rules.openWork, path: "Sources/Regnum/A.swift",
            text: "let x = 1  // TODO: more"),
        .init(
            name: "open work in a block comment", rule: Rules.openWork, path: "Tests/T/A.swift",
            text: "/* a /* b */\n FIXME later */"),
        .init(
            name: "unchecked without reason", rule: Rules.uncheckedSendable, path: "Sources/Regnum/A.swift",
            text: "// About A.\nfinal class A: @unchecked Sendable {\n    let x = \"// no\"\n}"),
        .init(name: "no licence", rule: Rules.header, path: "Sources/Regnum/A.swift", text: "import A"),
        .init(
            name: "no purpose", rule: Rules.header, path: "Sources/Regnum/A.swift",
            text: licence + "\nimport A"),
        .init(
            name: "XCTest", rule: Rules.swiftTesting, path: "Tests/RegnumTests/A.swift",
            text: "@testable import Regnum\nimport XCTest"),
        .init(
            name: "a minute", rule: Rules.timeLimit, path: "Tests/RegnumTests/A.swift",
            text: "@Test(.timeLimit(.minutes(1))) func a() {}"),
    ]

    static let good: [Sample] = [
        .init(
            name: "600 lines", rule: Rules.fileLength, path: "Sources/Regnum/A.swift",
            text: String(repeating: "let x = 1\n", count: 600)),
        .init(
            name: "70 lines of function", rule: Rules.functionLength, path: "Sources/Regnum/A.swift",
            text: "func short() {\n\(body70)\n}"),
        .init(
            name: "requirements have no body", rule: Rules.functionLength, path: "Sources/Regnum/A.swift",
            text: "protocol P {\n    func a()\n    init(x: Int)\n}\nenum E {\n\(body71)\n}"),
        .init(
            name: "braces in strings and comments", rule: Rules.functionLength,
            path: "Sources/Regnum/A.swift", text: "func a() { _ = \"{\" /* { */ }\n\(body71)\n}"),
        .init(
            name: "imports that look down", rule: Rules.importDirection, path: "Sources/RegnumQuery/A.swift",
            text: "internal import RegnumEngine\n// import Foundation\nlet s = \"import Foundation\""),
        .init(
            name: "package below Regnum", rule: Rules.accessBelowRegnum,
            path: "Sources/RegnumEngine/A.swift",
            text: "/// Not public.\npackage func open(path: String) { _ = \"public\" }"),
        .init(
            name: "other locks", rule: Rules.locks, path: "Sources/Regnum/A.swift",
            text: "let state = Lock(State())  // not Mutex(State())\npthread_mutex_lock(mutex)"),
        .init(
            name: "functions in other types in a lock", rule: Rules.lockedFunctions, path: "Sources/Regnum/A.swift",
            text: "typealias Call = () -> Void\nlet a = Lock<[Int: () -> Void]>([:]), b = Lock<State>(State()), "
                + "c = Mutex<[Call]>([]) // -> Void"),
        .init(
            name: "a method called print", rule: Rules.noPrint, path: "Sources/Regnum/A.swift",
            text: "printer.print(1)\nfunc print(_ x: Int) {}\n// print(1)"),
        .init(
            name: "open work with its issue", rule: Rules.openWork, path: "Sources/Regnum/A.swift",
            text: "// TODO(#12): more\nlet todo = \"TODO\""),
        .init(
            name: "unchecked with reason", rule: Rules.uncheckedSendable, path: "Sources/Regnum/A.swift",
            text: "final class A: @unchecked Sendable {\n    // Sendable: only lets.\n}"),
        .init(
            name: "header", rule: Rules.header, path: "Sources/Regnum/A.swift",
            text: licence + "// What this file is for, in a sentence.\n"),
    ]

    @Test("A rule refuses a bad sample", arguments: bad)
    func refuses(_ sample: Sample) {
        #expect(!sample.rule(SourceText(path: sample.path, text: sample.text)).isEmpty)
    }

    @Test("A rule passes a good sample", arguments: good)
    func passes(_ sample: Sample) {
        #expect(sample.rule(SourceText(path: sample.path, text: sample.text)) == [])
    }

    @Test(
        "Bad file names are refused",
        arguments: ["Sources/Regnum/Größe.swift", "Documentation/my file.md", "Sources/Regnum/Utils/A.swift"])
    func fileNames(_ path: String) { #expect(!Rules.fileName(path).isEmpty) }

    @Test("The ratchet refuses a new offender, an entry that no longer offends, and a duplicate")
    func ratchet() {
        let old = Finding("file-length", "Sources/Regnum/Old.swift", 1, "")
        let new = Finding("function-length", "Sources/Regnum/New.swift", 7, "", subject: "long")
        let ratchet = Ratchet(tolerated: [old.key, old.key, "file-length Sources/Regnum/Gone.swift"])
        #expect(ratchet.newOffenders([old, new]) == [new])
        #expect(ratchet.staleEntries([old, new]) == [old.key, "file-length Sources/Regnum/Gone.swift"])
        #expect(new.key == "function-length Sources/Regnum/New.swift long")
    }

    @Test("A file is split into code and comments")
    func split() {
        let text = "let a = #\"x\"y\"# // c\n\"\"\"\n// no\n\"\"\" /* d */ b"
        let source = SourceText(path: "A.swift", text: text)
        func words(_ lines: [Substring]) -> [String] {
            lines.map { $0.split(separator: " ").joined(separator: " ") }
        }
        #expect(words(source.code) == ["let a =", "", "", "b"])
        #expect(words(source.comments) == ["// c", "", "", "/* d */"])
    }

    @Test("Functions are found with their lines")
    func extents() {
        let text = """
            struct A {
                static func == (a: A, b: A) -> Bool { true }
                init?(x: Int) {
                    self.init(
                        y: x)
                }
                var stored = [1].map { $0 }
                var computed: Int {
                    1
                }
            }
            """
        #expect(
            functionExtents(of: SourceText(path: "A.swift", text: text)) == [
                FunctionExtent(name: "==", line: 2, lineCount: 1),
                FunctionExtent(name: "init", line: 3, lineCount: 4),
                FunctionExtent(name: "computed", line: 8, lineCount: 3),
            ])
    }
}
