// SPDX-License-Identifier: Apache-2.0
// Verification refuses a file with a wrong value, even if the same class has reported losses.

import Foundation
import RealmSwift
import RegnumRealmFile
@testable import RegnumRealmImport
import Testing

/// Two objects of one class. The text of the first is reported as lossy, though it is read back as it was. The number
/// of the second can change from one pass to the next.
private final class ChangingSource: ObjectSource {
    final class Cursor: SourceCursor {
        let source: ChangingSource
        var key: Int64 = 0
        init(_ source: ChangingSource) { self.source = source }

        func next() -> Item? {
            key += 1
            return key <= 2 ? Item(source: source, key: key) : nil
        }
    }

    struct Item: SourceObject {
        let source: ChangingSource
        let key: Int64

        func value(at index: Int) -> RealmFileValue {
            if index == 0 {
                if key == 1 { source.replacedTextCount += 1 }
                return .string(key == 1 ? "\u{FFFD}" : "fine")
            }
            return .int(key == 2 ? source.number() : 1)
        }
    }

    let classes = [
        SourceClass(
            name: "Dog", kind: .topLevel,
            properties: [
                SourceProperty(
                    name: "name", storedName: "name", type: .string, collection: .none, isOptional: false),
                SourceProperty(name: "age", storedName: "age", type: .int, collection: .none, isOptional: false),
            ], objectCount: 2)
    ]
    let schemaVersion: UInt64? = nil
    var replacedTextCount = 0
    let deletedLinkCount = 0
    var omissions: [String] { [] }
    var omittedObjectCount: Int { 0 }
    private let changes: Bool
    private var reads: Int64 = 0

    init(changes: Bool) { self.changes = changes }

    private func number() -> Int64 {
        if changes { reads += 1 }
        return reads
    }

    func classIndex(ofTable table: Int) -> Int? { table == 0 ? 0 : nil }
    func objects(ofClass index: Int) -> Cursor { Cursor(self) }
}

@Suite("Verifying an import") struct ImportVerificationTests {
    private func run(_ source: ChangingSource, _ scratch: Scratch) throws -> RealmFileImportReport {
        let new = try NewFile(beside: scratch["new.realm"].path, like: nil, isReplacement: false, key: nil)
        return try NewFileImport(source: source, report: RealmFileImportReport(), verifies: true).run(into: new)
    }

    @Test("A reported loss of one value does not hide a wrong value of another")
    func hidden() throws {
        let scratch = try Scratch()
        let report = try run(ChangingSource(changes: false), scratch)
        #expect(report.losses.map { "\($0.property ?? "-") \($0.key)" } == ["name 1"])
        #expect {
            try run(ChangingSource(changes: true), scratch)
        } throws: { error in
            let error = error as? RealmFileImportError
            return error?.code == .verificationFailed && error?.message.contains("Dog.age of object 2") == true
        }
    }
}
