// SPDX-License-Identifier: Apache-2.0
// The rules that the repository enforces on itself. A rule takes one file and returns its violations;
// RuleSelfTests.swift tests each rule with a bad sample.

/// One complaint. `key` names the offender without a line number, as the ratchet list does.
struct Finding: CustomStringConvertible, Equatable {
    let rule: String
    let path: String
    let line: Int
    let message: String
    var key: String

    init(_ rule: String, _ path: String, _ line: Int, _ message: String, subject: String? = nil) {
        self.rule = rule
        self.path = path
        self.line = line
        self.message = message
        key = [rule, path, subject].compactMap(\.self).joined(separator: " ")
    }

    var description: String { "\(path):\(line): \(message)" }
}

enum Rules {
    static let fileLimit = 600
    static let functionLimit = 70

    /// A file of more than 600 lines has more than one purpose.
    static func fileLength(_ source: SourceText) -> [Finding] {
        guard source.lines.count > fileLimit else { return [] }
        return [
            Finding(
                "file-length", source.path, 1, "\(source.lines.count) lines, the limit is \(fileLimit)")
        ]
    }

    /// A function of more than 70 lines does not fit on a screen.
    static func functionLength(_ source: SourceText) -> [Finding] {
        functionExtents(of: source).filter { $0.lineCount > functionLimit }.map {
            Finding(
                "function-length", source.path, $0.line,
                "\($0.name) has \($0.lineCount) lines, the limit is \(functionLimit)", subject: $0.name)
        }
    }

    /// The modules that each module may import. Lower modules do not know higher ones; Foundation begins at Regnum;
    /// only RegnumSystem imports the C library.
    static let allowedImports: [String: Set<String>] = {
        let standard: Set = ["Swift", "Synchronization"]
        let foundation: Set = ["Foundation", "FoundationEssentials", "Dispatch", "Observation"]
        let engine: Set = ["RegnumSystem", "RegnumEngine"]
        return [
            "RegnumSystem": standard.union(["Glibc", "Musl", "Darwin"]),
            "RegnumSimulation": standard.union(["RegnumSystem"]),
            "RegnumEngine": standard.union(["RegnumSystem", "Crypto"]),
            "RegnumQuery": standard.union(engine),
            "RegnumObservation": standard.union(engine).union(["RegnumQuery"]),
            "Regnum": standard.union(foundation).union(engine).union(["RegnumQuery", "RegnumObservation"]),
            "RealmSwift": standard.union(foundation).union(["Regnum"]),
            "RegnumInspect": standard.union(foundation).union(engine)
                .union(["RegnumQuery", "RegnumObservation", "Regnum"]),
            "RegnumBackup": standard.union(foundation).union(engine)
                .union(["FoundationXML", "Crypto", "CZlib", "AsyncHTTPClient", "NIOCore", "NIOHTTP1"]),
            "RegnumStudio": standard.union(foundation).union(engine).union(["RegnumQuery", "RegnumInspect"]),
            "RegnumMerge": ["Swift"],
            "RegnumRealmFile": standard.union(foundation).union(["RegnumSystem", "_CryptoExtras"]),
            "RegnumRealmImport": standard.union(foundation).union(engine)
                .union(["RegnumQuery", "Regnum", "RegnumRealmFile"]),
            "RegnumReactive": standard.union(foundation)
                .union(["Regnum", "Combine", "OpenCombine", "OpenCombineDispatch"]),
            "RegnumObservability":
                standard
                .union(["Dispatch", "Foundation", "Regnum", "RegnumSystem", "Logging", "CoreMetrics", "Tracing"]),
            "RegnumMacros": ["Swift", "Regnum"],
            "RegnumMacroPlugin": [
                "Swift", "SwiftSyntax", "SwiftSyntaxBuilder", "SwiftSyntaxMacros", "SwiftDiagnostics",
                "SwiftCompilerPlugin",
            ],
            "RegnumTestKit": standard.union(foundation)
                .union(["Regnum", "RegnumRealmImport", "RegnumSimulation", "RegnumSystem", "Testing", "XCTest"]),
        ]
    }()

    static func importDirection(_ source: SourceText) -> [Finding] {
        guard let module = source.module else { return [] }
        guard let allowed = allowedImports[module] else {
            return [
                Finding("import-direction", source.path, 1, "module \(module) has no row in allowedImports")
            ]
        }
        return imports(source).filter { !allowed.contains($0.module) }.map {
            Finding("import-direction", source.path, $0.line, "\(module) must not import \($0.module)")
        }
    }

    /// The top-level module of each import declaration, with its line.
    static func imports(_ source: SourceText) -> [(module: String, line: Int)] {
        let kinds: Set = ["struct", "class", "enum", "protocol", "func", "var", "let", "typealias"]
        let levels: Set = ["public", "package", "internal", "private", "fileprivate"]
        return source.code.enumerated().compactMap { number, line in
            guard line.contains("import") else { return nil }
            let words = line.split(separator: " ")
            guard let keyword = words.firstIndex(of: "import"),
                words[..<keyword].allSatisfy({ $0.hasPrefix("@") || levels.contains(String($0)) })
            else { return nil }
            let rest = words[(keyword + 1)...].drop { kinds.contains(String($0)) }
            guard let name = rest.first?.split(separator: ".").first else { return nil }
            return (String(name).trimmingSuffix(";"), number + 1)
        }
    }

    /// Below Regnum everything is `package`: only the users' modules have public symbols.
    static func accessBelowRegnum(_ source: SourceText) -> [Finding] {
        let inner: Set = [
            "RegnumSystem", "RegnumSimulation", "RegnumEngine", "RegnumQuery", "RegnumObservation",
        ]
        guard let module = source.module, inner.contains(module) else { return [] }
        return matches(source.code, containing: ["public", "open"]) { line in
            line.contains(#/\bpublic\b/#)
                || line.contains(#/\bopen\s+(class|func|var|subscript|override|init)\b/#)
        }.map { Finding("access", source.path, $0, "\(module) has no public symbols; write `package`") }
    }

    /// A library prints nothing; dumps go to a TextOutputStream.
    static func noPrint(_ source: SourceText) -> [Finding] {
        guard source.module != nil else { return [] }
        return matches(source.code, containing: ["print(", "debugPrint(", "dump("]) { line in
            line.contains(#/(^|[^.\w]|\bSwift\.)(print|debugPrint|dump)\(/#) && !line.contains("func ")
        }.map { Finding("print", source.path, $0, "a library prints nothing") }
    }

    /// The Mutex of Synchronization traps in the child of a fork: see Lock.
    static func locks(_ source: SourceText) -> [Finding] {
        guard ["RegnumSystem", "RegnumEngine", "Regnum"].contains(source.module) else { return [] }
        return matches(source.code, containing: ["Mutex"]) { $0.contains(#/\bMutex[<(]/#) }
            .map { Finding("lock", source.path, $0, "use Lock, which works in the child of a fork") }
    }

    /// A function stored as a generic value is wrapped in a thunk when it is read through `inout`, and the wrapped one
    /// is stored back: each read makes the next call one frame deeper, until the stack overflows.
    static func lockedFunctions(_ source: SourceText) -> [Finding] {
        let aliases = source.code.compactMap { line in
            line.firstMatch(of: #/\btypealias\s+(\w+)\s*=.*->/#).map { String($0.1) }
        }
        return matches(source.code, containing: ["Lock<", "Mutex<"]) { line in
            line.matches(of: #/\b(?:Lock|Mutex)</#).contains { match in
                let value = outermost(line[match.range.upperBound...])
                return value.contains("->") || aliases.contains { value == $0 || value == $0 + "?" }
            }
        }.map { Finding("locked-function", source.path, $0, "a struct around the function keeps it as it is") }
    }

    /// The text before the closing bracket, without text inside nested brackets of types.
    private static func outermost(_ text: Substring) -> String {
        var depth = 0
        var before: Character = " "
        var kept = ""
        for character in text {
            let isArrow = character == ">" && before == "-"
            if "]>".contains(character), !isArrow { depth -= 1 }
            if depth < 0 { break }
            if depth == 0, !"]>".contains(character) || isArrow { kept.append(character) }
            if "[<".contains(character) { depth += 1 }
            before = character
        }
        return kept
    }

    /// Unfinished work has an issue, and the comment names it: `TODO(#12)`.
    static func openWork(_ source: SourceText) -> [Finding] {
        matches(source.comments, containing: ["TODO", "FIXME"]) { line in
            line.contains(#/\b(TODO|FIXME)\b(?!\(\#\d+\))/#)
        }.map { Finding("open-work", source.path, $0, "name the issue: TODO(#12)") }
    }

    /// The compiler does not check these; a comment says why they are safe.
    static func uncheckedSendable(_ source: SourceText) -> [Finding] {
        matches(source.code, containing: ["@unchecked"]) { $0.contains(#/@unchecked\s+Sendable/#) }
            .filter { line in
                let here = source.comments[line - 1]
                let next = line < source.comments.count ? source.comments[line] : ""
                return !here.contains("//") && !next.contains("//")
            }
            .map {
                Finding(
                    "unchecked-sendable", source.path, $0, "say why on the same or the next line, after //")
            }
    }

    /// One licence line, then the purpose of the file.
    static func header(_ source: SourceText) -> [Finding] {
        var result: [Finding] = []
        if source.lines.first != "// SPDX-License-Identifier: Apache-2.0" {
            result.append(Finding("header", source.path, 1, "the first line is the SPDX licence line"))
        }
        let purpose = source.lines.dropFirst().first { $0 != "//" && !$0.isEmpty } ?? ""
        if !purpose.hasPrefix("//") || purpose.count < 20 {
            result.append(Finding("header", source.path, 2, "a comment below it says what the file is for"))
        }
        return result
    }

    /// Tests use Swift Testing. Exceptions: articles run as they are written, the kit's base class for XCTest is tested
    /// with XCTest, and only XCTest runs tests on the main thread.
    static func swiftTesting(_ source: SourceText) -> [Finding] {
        let withXCTest = [
            "Tests/ArticleTests/", "Tests/RegnumTestKitTests/XCTest/",
            "Tests/IntegrationTests/Threading/MainThreadTests.swift",
        ]
        guard source.path.hasPrefix("Tests/"), !withXCTest.contains(where: { source.path.hasPrefix($0) }) else {
            return []
        }
        return imports(source).filter { $0.module == "XCTest" }.map {
            Finding("swift-testing", source.path, $0.line, "tests use Swift Testing, not XCTest")
        }
    }

    /// A time limit includes the time that a test waits among thousands that run in parallel: on a busy machine nearly
    /// the time of the whole run, without a fault. A limit exists to end a test that hangs.
    static func timeLimit(_ source: SourceText) -> [Finding] {
        matches(source.code, containing: ["timeLimit"]) { line in
            line.matches(of: #/timeLimit\(\.minutes\((\d+)\)\)/#).contains { (Int($0.1) ?? 0) < 240 }
        }.map { Finding("time-limit", source.path, $0, "a test has at least 240 minutes, most of which it waits") }
    }

    /// File names that work on every file system and in every shell, and folder names that describe their content.
    static func fileName(_ path: String) -> [Finding] {
        var result: [Finding] = []
        if !path.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) {
            result.append(Finding("file-name", path, 1, "file names are ASCII without spaces"))
        }
        let vague: Set = ["utils", "util", "common", "helpers", "misc"]
        if path.split(separator: "/").dropLast().contains(where: { vague.contains($0.lowercased()) }) {
            result.append(Finding("file-name", path, 1, "a folder is named after what is in it"))
        }
        return result
    }

    private static func matches(
        _ lines: [Substring], containing words: [String], where isMatch: (Substring) -> Bool
    ) -> [Int] {
        lines.enumerated().compactMap { number, line in
            words.contains(where: { line.contains($0) }) && isMatch(line) ? number + 1 : nil
        }
    }
}

extension String {
    fileprivate func trimmingSuffix(_ suffix: String) -> String {
        hasSuffix(suffix) ? String(dropLast(suffix.count)) : self
    }
}
