// SPDX-License-Identifier: Apache-2.0
// How many rows the groups of a bulk insert get: as many as fill their pages.

import RegnumEngine
import RegnumSimulation
import RegnumSystem
import Testing

@Suite struct GroupFillTests {
    /// Rows of the groups that one transaction makes of `count` rows with a text of so many bytes each.
    private func groups(_ count: Int, textByteCount: Int) throws -> [Int] {
        let files = MemoryFileSystem()
        let database = try Database.open(path: "/g.realm", fileSystem: files)
        let session = try database.makeSession()
        try session.beginWrite()
        try session.addTables([NewTable(name: "Row", columns: [NewColumn(name: "text", type: .string)])])
        let table = try #require(session.table(named: "Row"))
        for number in 0..<count {
            let location = try table.insertRow()
            try table.finishInsert(location)
            let text = String(("\(number) " + String(repeating: "x", count: textByteCount)).prefix(textByteCount))
            try table.set(.string(text), 0, of: location.key)
        }
        try session.commitWrite()
        var rows: [Int] = []
        var wrong = 0
        try table.forEachGroup { group throws(EngineError) in
            for row in 0..<group.pointee.count {
                guard case .string(let text) = try table.value(0, at: RowLocation(group: group, row: row)),
                    text.hasPrefix("\(rows.reduce(0, +) + row) ".prefix(textByteCount))
                else {
                    wrong += 1
                    continue
                }
            }
            rows.append(group.pointee.count)
            return true
        }
        #expect(wrong == 0 && rows.reduce(0, +) == count)
        #expect(IntegrityCheck.run(database).isClean)
        return rows
    }

    @Test("groups of which little more than whole pages would be full get fewer rows")
    func cut() throws {
        // 40 bytes a row and 200 of the head: 1,024 rows begin an eleventh page.
        let rows = try groups(12_000, textByteCount: 38)
        // The first two are begun before one has been packed.
        let cut = rows.dropFirst(2).dropLast()
        #expect(cut.count > 8 && cut.allSatisfy { 990..<1024 ~= $0 }, "\(rows)")
        // So they take ten.
        #expect(cut.allSatisfy { $0 * 40 + 200 <= 40_960 })
    }

    @Test(
        "groups that fill their pages about, that are within one page, or that would get much smaller are left whole",
        arguments: [1, 8, 37])
    func whole(_ textByteCount: Int) throws {
        let rows = try groups(5000, textByteCount: textByteCount)
        #expect(rows.dropLast().allSatisfy { $0 == 1024 }, "\(rows)")
    }
}
