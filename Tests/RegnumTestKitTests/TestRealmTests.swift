// SPDX-License-Identifier: Apache-2.0
// Test Realms: separate data for each, and the leaks found at their end.

import Foundation
import Regnum
import RegnumTestKit
import Testing

@Suite("Test Realms")
struct TestRealmTests {
    @Test("Two test Realms have different data, in memory and in files", arguments: [TestStorage.memory, .file])
    func separate(_ storage: TestStorage) throws {
        let first = try TestRealm(Pup.self, storage: storage)
        let second = try TestRealm(Pup.self, storage: storage)
        try first.realm.seed { Pup(value: ["id": 1]) }
        #expect(first.realm.objects(Pup.self).count == 1)
        #expect(second.realm.isEmpty)
        #expect(try Realm(configuration: first.configuration).objects(Pup.self).count == 1)
    }

    @Test("The file of a test Realm is deleted with it")
    func deleted() throws {
        let url: URL
        do {
            let test = try TestRealm(Pup.self, storage: .file)
            url = try #require(test.configuration.fileURL)
            #expect(FileManager.default.fileExists(atPath: url.path))
        }
        #expect(!FileManager.default.fileExists(atPath: url.deletingLastPathComponent().path))
    }

    @Test("A test Realm can start from a copy of a file, and the original is not changed")
    func copied() throws {
        let original = try TestRealm(Pup.self, storage: .file)
        try original.realm.seed { Pup(value: ["id": 1, "name": "Rex"]) }
        let copy = try TestRealm(Pup.self, copyOf: original.configuration.fileURL)
        try copy.realm.write { copy.realm.deleteAll() }
        #expect(copy.realm.isEmpty)
        #expect(original.realm.objects(Pup.self).first?.name == "Rex")
    }

    @Test("Leaks of a Realm are found: the line that opened it, frozen copies, an open write")
    func leaks() throws {
        var held: [Any] = []
        let texts = issues {
            try withTestRealm(Pup.self) { realm in
                try realm.seed { Pup(value: ["id": 1]) }
                held.append(realm.objects(Pup.self))
                held.append(realm.objects(Pup.self).freeze())
                realm.beginWrite()
            }
        }
        #expect(texts.count == 3, "\(texts)")
        #expect(texts.contains { $0.hasPrefix("A write transaction was left open") })
        #expect(texts.contains { $0.hasPrefix("A Realm opened at RegnumTestKit/") })
        #expect(texts.contains { $0.hasPrefix("A frozen Realm of the one opened at") })
        #expect(texts.allSatisfy { $0.contains("The realm is kept at '") })
        for url in keptFiles(texts) { try FileManager.default.removeItem(at: url.deletingLastPathComponent()) }
        held = []
    }

    @Test("A token that was not invalidated is reported")
    @MainActor func tokens() throws {
        var tokens: [NotificationToken] = []
        let texts = issues {
            try withTestRealm(Pup.self) { realm in
                tokens.append(realm.objects(Pup.self).observe { _ in })
            }
        }
        #expect(texts.count == 1)
        #expect(texts.first?.contains("one of its notification tokens was not invalidated") == true, "\(texts)")
        for url in keptFiles(texts) { try FileManager.default.removeItem(at: url.deletingLastPathComponent()) }
        tokens = []
        let none = issues {
            try withTestRealm(Pup.self) { realm in
                let token = realm.objects(Pup.self).observe { _ in }
                token.invalidate()
            }
        }
        #expect(none == [])
    }

    @Test("The kept file of a failed test can be opened and has the data", arguments: [TestStorage.memory, .file])
    func kept(_ storage: TestStorage) throws {
        let test = try TestRealm(Pup.self, storage: storage)
        try test.realm.seed { Pup(value: ["id": 7]) }
        test.realm.beginWrite()
        var report = TestRealmReport?.none
        let texts = issues { report = test.finish() }
        #expect(texts.count == 1)
        let url = try #require(report?.keptFile)
        let realm = try Realm(configuration: Realm.Configuration(fileURL: url, objectTypes: [Pup.self]))
        #expect(realm.objects(Pup.self).map(\.id) == [7])
        try FileManager.default.removeItem(at: url.deletingLastPathComponent())
    }

    @Test("Realms abandoned by misuse are counted, but not reported as leaks")
    func abandoned() throws {
        let test = try TestRealm(Pup.self)
        let configuration = test.configuration
        for _ in 0..<3 {
            let words = catchMisuse {
                let realm = try? Realm(configuration: configuration)
                let pups = realm?.objects(Pup.self).freeze()
                realm?.beginWrite()
                realm?.beginWrite()
                _ = pups
            }
            #expect(words == "The Realm is already in a write transaction")
        }
        let report = test.finish()
        #expect(report.findings == [])
        #expect(report.abandonedRealms > 0)
    }

    @Test("A second finish has no effect")
    func twice() throws {
        let test = try TestRealm(Pup.self)
        test.realm.beginWrite()
        let texts = issues { test.finish() }
        #expect(texts.count == 1)
        #expect(issues { test.finish() } == [])
        for url in keptFiles(texts) { try FileManager.default.removeItem(at: url.deletingLastPathComponent()) }
    }

    private func keptFiles(_ texts: [String]) -> Set<URL> {
        Set(
            texts.compactMap { text in
                text.split(separator: "'").map(String.init).first { $0.hasSuffix("test.realm") }
                    .map { URL(fileURLWithPath: $0) }
            })
    }
}
