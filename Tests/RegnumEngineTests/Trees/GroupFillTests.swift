// SPDX-License-Identifier: Apache-2.0
// The number of rows that the groups of a bulk insert get: as many as fill their pages.

import RegnumEngine
import RegnumSimulation
import RegnumSystem
import Testing

@Suite struct GroupFillTests {
    /// The row counts of the groups that one transaction makes from `count` rows with a text of this length each.
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

    @Test("Groups get fewer rows if their last page would be nearly empty")
    func cut() throws {
        // 40 bytes per row and 200 of the header: 1,024 rows begin an eleventh page.
        let rows = try groups(12_000, textByteCount: 38)
        // The first two are begun before one has been packed.
        let cut = rows.dropFirst(2).dropLast()
        #expect(cut.count > 8 && cut.allSatisfy { 990..<1024 ~= $0 }, "\(rows)")
        // So they take ten.
        #expect(cut.allSatisfy { $0 * 40 + 200 <= 40_960 })
    }

    @Test(
        "Groups that nearly fill their pages, fit one page, or would become much smaller keep all rows",
        arguments: [1, 8, 37])
    func whole(_ textByteCount: Int) throws {
        let rows = try groups(5000, textByteCount: textByteCount)
        #expect(rows.dropLast().allSatisfy { $0 == 1024 }, "\(rows)")
    }
}
