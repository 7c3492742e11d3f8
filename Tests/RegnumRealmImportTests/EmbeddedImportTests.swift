// SPDX-License-Identifier: Apache-2.0
// Embedded objects are carried over with the object that owns them, and reported if there is none.

import Foundation
import RealmSwift
@testable import RegnumRealmImport
import Testing

@Suite("Importing embedded objects") struct EmbeddedImportTests {
    private static let schema =
        #"{"schemaVersion":7,"classes":["#
        + #"{"name":"Part","kind":"embedded","properties":[{"name":"n","type":"int"},"#
        + #"{"name":"part","type":"link","target":"Part"},{"name":"map","type":"link","target":"Part","collection":"dictionary"}]},"#
        + #"{"name":"Whole","properties":[{"name":"parts","type":"link","target":"Part","collection":"list"}]}]}"#

    private func part(_ key: Int, owns owned: Int? = nil, map: [String: Int] = [:]) -> String {
        func link(_ key: Int) -> String { "{\"$ref\":\"Part\",\"$id\":\(key)}" }
        let entries = map.sorted { $0.key < $1.key }.map { "\"\($0.key)\":\(link($0.value))" }
        return "{\"class\":\"Part\",\"key\":\(key),\"value\":{\"n\":\(key),\"part\":\(owned.map(link) ?? "null"),"
            + "\"map\":{\(entries.joined(separator: ","))}}}"
    }

    private func whole(_ key: Int, _ parts: [Int]) -> String {
        let links = parts.map { "{\"$ref\":\"Part\",\"$id\":\($0)}" }.joined(separator: ",")
        return "{\"class\":\"Whole\",\"key\":\(key),\"value\":{\"parts\":[\(links)]}}"
    }

    /// Imports the lines with verification, as an opening with `legacyFile` does, and returns the numbers of the parts
    /// in the new file.
    private func imported(_ lines: [String], _ scratch: Scratch) throws -> (RealmFileImportReport, [Int]) {
        try Data(([Self.schema] + lines).joined(separator: "\n").utf8).write(to: scratch["in.json"])
        let path = scratch["new.realm"].path
        let new = try NewFile(beside: path, like: nil, isReplacement: false, key: nil)
        let report = try NewFileImport(
            source: JSONSource(scratch["in.json"], schema: nil), report: RealmFileImportReport(), verifies: true
        ).run(into: new)
        try new.rename()
        let realm = try Realm(
            configuration: Realm.Configuration(fileURL: scratch["new.realm"], schemaVersion: 7, objectTypes: []))
        #expect(realm.configuration.integrityFindings().isEmpty)
        return (report, realm.dynamicObjects("Part").compactMap { $0["n"] as? Int })
    }

    @Test("An object without an owner is left out with everything it owns, and the file passes the verification")
    func ownerless() throws {
        let scratch = try Scratch()
        // 1 owns 2, which owns 3 and 4; 1 has no owner. The object 10 owns 5, which owns 6, which owns 7.
        let lines = [
            part(1, owns: 2), part(2, owns: 3, map: ["a": 4]), part(3), part(4), part(5, owns: 6), part(6, owns: 7),
            part(7), whole(10, [5]),
        ]
        let (report, parts) = try imported(lines, scratch)
        #expect(parts == [5, 6, 7])
        #expect(report.classes[0].read == 7 && report.classes[0].written == 3)
        #expect(report.losses.map(\.key) == [1, 2, 3, 4] && report.losses.allSatisfy { $0.property == nil })
        #expect(report.losses[0].reason.contains("belongs to no object"))
        #expect(report.losses[1].reason.contains("not carried over"))
        #expect(!report.isComplete && report.classes[1].written == 1)
    }

    @Test("Objects that own each other in a cycle are left out, with what they own")
    func circles() throws {
        let scratch = try Scratch()
        let lines = [
            part(1, owns: 2), part(2, owns: 3), part(3, owns: 1, map: ["x": 4]), part(4), part(5, owns: 5), part(6),
            whole(10, [6]),
        ]
        let (report, parts) = try imported(lines, scratch)
        #expect(parts == [6])
        #expect(report.losses.map(\.key) == [1, 2, 3, 4, 5])
        #expect(report.classes[0].written == 1)
    }

    @Test("An owner is found in whichever order the objects come, and a long chain is carried over")
    func chains() throws {
        let scratch = try Scratch()
        let count = 3000
        // Each owns the one before it, so that every owner comes after the object that it owns.
        let lines = (1...count).map { part($0, owns: $0 > 1 ? $0 - 1 : nil) } + [whole(1, [count])]
        let (report, parts) = try imported(lines, scratch)
        #expect(parts == Array(1...count) && report.isComplete)
    }

    @Test("An owner that is not carried over takes nothing from one that is")
    func secondOwner() throws {
        let scratch = try Scratch()
        let (report, parts) = try imported([part(1, owns: 2), part(2), whole(10, [2])], scratch)
        #expect(parts == [2])
        #expect(report.losses.map(\.key) == [1])
    }
}
