// SPDX-License-Identifier: Apache-2.0
// The repository checks itself: lengths, import direction, access, headers, names, and forbidden constructs.

import Testing

@Suite("Tidy")
struct TidyTests {
    @Test("Files and functions keep their length, and the list of tolerated ones only shrinks")
    func lengths() {
        let findings = Repository.productCode.flatMap { Rules.fileLength($0) + Rules.functionLength($0) }
        let ratchet = Ratchet(tolerated: Repository.list("Tests/TidyTests/Ratchet.txt"))
        report(ratchet.newOffenders(findings))
        for entry in ratchet.staleEntries(findings) {
            Issue.record("Ratchet.txt: remove \"\(entry)\": it no longer offends")
        }
    }

    @Test("Modules import only lower modules")
    func importDirection() { report(Repository.sources.flatMap(Rules.importDirection)) }

    @Test("Modules below Regnum have no public symbols")
    func access() { report(Repository.sources.flatMap(Rules.accessBelowRegnum)) }

    @Test("The libraries print nothing")
    func prints() { report(Repository.sources.flatMap(Rules.noPrint)) }

    @Test("Locks work in the child of a fork")
    func locks() { report(Repository.sources.flatMap(Rules.locks)) }

    @Test("Locks do not store a bare function")
    func lockedFunctions() { report(Repository.swiftFiles.flatMap(Rules.lockedFunctions)) }

    @Test("A TODO names its issue")
    func openWork() { report(Repository.swiftFiles.flatMap(Rules.openWork)) }

    @Test("Every unchecked Sendable says why it is safe")
    func uncheckedSendable() { report(Repository.swiftFiles.flatMap(Rules.uncheckedSendable)) }

    @Test("Every file starts with its licence and its purpose")
    func headers() { report(Repository.swiftFiles.flatMap(Rules.header)) }

    @Test("Tests are written with Swift Testing")
    func swiftTesting() { report(Repository.swiftFiles.flatMap(Rules.swiftTesting)) }

    @Test("Time limits of tests are only for tests that hang")
    func timeLimits() { report(Repository.swiftFiles.flatMap(Rules.timeLimit)) }

    @Test("Comments, display names of tests and documents use the vocabulary")
    func refusedWords() {
        report(Repository.swiftFiles.flatMap { Rules.refusedWords($0) })
        report(Repository.documents.flatMap { Rules.refusedWords(inDocument: $0, text: Repository.text($0)) })
    }

    @Test("Every alternative of a test filter in a script matches a test")
    func testFilters() {
        let scripts = Repository.files.filter { $0.hasPrefix("Scripts/") || $0.hasPrefix(".ci/") }
        let tests = TestFilters.identifiers(of: Repository.swiftFiles)
        report(scripts.flatMap { TestFilters.findings(inScript: $0, text: Repository.text($0), tests: tests) })
    }

    @Test("File names are ASCII without spaces, and folder names describe their content")
    func fileNames() { report(Repository.files.flatMap(Rules.fileName)) }

    @Test("The repository is found and has sources")
    func found() {
        #expect(Repository.files.contains("Package.swift"))
        #expect(!Repository.sources.isEmpty)
    }

    private func report(_ findings: [Finding], sourceLocation: SourceLocation = #_sourceLocation) {
        for finding in findings { Issue.record("\(finding)", sourceLocation: sourceLocation) }
    }
}
