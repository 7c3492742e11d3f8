// SPDX-License-Identifier: Apache-2.0
// Groups whose rows have keys far apart list the keys instead of marking them in a bitmap. Deletions create such
// groups.

@testable import RegnumEngine
import RegnumSystem
import Testing

@Suite struct SortedKeyGroupTests {
    /// The key encodings of the table's groups.
    private func forms(_ table: Table) throws -> Set<KeyForm> {
        var forms: Set<KeyForm> = []
        try table.forEachGroup { group throws(EngineError) in
            forms.insert(group.pointee.keyForm)
            return true
        }
        return forms
    }

    // No test of this module made such groups: a decoder that refused all of them passed every test.
    @Test(
        "Rows whose keys lie far apart are found by key and in order after the file is reopened",
        arguments: [
            (3, KeyForm.bitmap), (150, .sorted), (1000, .sorted),
        ])
    func farApart(step: Int, form: KeyForm) throws {
        let files = MemoryFileSystem()
        let kept = Array(stride(from: step, through: 6000, by: step))
        do {
            let session = try Database.openAsOtherProcess(path: "/a.realm", fileSystem: files).makeSession()
            try session.beginWrite()
            try session.addTables([NewTable(name: "T", columns: [NewColumn(name: "n", type: .int)])])
            let table = try #require(session.table(named: "T"))
            for i in 1...6000 { _ = try DatabaseTests.insert(table, [.int(Int64(i))]) }
            try session.commitWrite()
            try session.beginWrite()
            for i in 1...6000 where i % step != 0 { try table.delete(ObjectKey(UInt64(i))) }
            try session.commitWrite()
        }
        for turn in 0..<2 {
            let database = try Database.openAsOtherProcess(path: "/a.realm", fileSystem: files)
            let session = try database.makeSession()
            let table = try #require(session.table(named: "T"))
            #expect(try forms(table).contains(form))
            #expect(try (0..<table.count).map { try table.key(atPosition: $0).rawValue } == kept.map { UInt64($0) })
            for i in kept {
                let key = ObjectKey(UInt64(i))
                #expect(try table.value(0, of: key) == .int(Int64(i + (turn == 1 && i == kept[2] ? 1 : 0))))
                #expect(try !table.contains(ObjectKey(UInt64(i - 1))))
            }
            #expect(IntegrityCheck.run(database).isClean)
            if turn == 0 {
                try session.beginWrite()
                try table.set(.int(Int64(kept[2] + 1)), 0, of: ObjectKey(UInt64(kept[2])))
                try session.commitWrite()
            }
        }
    }
}
