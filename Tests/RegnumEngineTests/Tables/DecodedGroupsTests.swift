// SPDX-License-Identifier: Apache-2.0
// The memory that a write-only session keeps for versions that are gone.

import RegnumEngine
import RegnumSystem
import Testing

@Suite struct DecodedGroupsTests {
    @Test("Decoded row groups of earlier versions do not accumulate when a session only commits")
    func ownCommits() throws {
        let database = try Database.open(path: "/g.realm", fileSystem: MemoryFileSystem())
        let session = try database.makeSession()
        try session.beginWrite()
        try session.addTables([NewTable(name: "T", columns: [NewColumn(name: "n", type: .int, isIndexed: true)])])
        let table = try #require(session.table(named: "T"))
        var keys: [ObjectKey] = []
        for _ in 0..<5_000 {
            let location = try table.insertRow()
            keys.append(location.key)
            try table.finishInsert(location)
        }
        try session.commitWrite(.relaxed)
        var most = 0
        for round in 0..<1_200 {
            let key = keys[round * 1_031 % keys.count]
            try session.beginWrite()
            try table.set(.int(Int64(round)), 0, of: key)
            try session.commitWrite(.relaxed)
            #expect(try table.value(0, of: key) == .int(Int64(round)))
            most = max(most, table.decodedGroupCount)
        }
        #expect(most > 5 && most <= 256 + 5_000 / 256 + 2)
    }
}
