// SPDX-License-Identifier: Apache-2.0
// During a write, stored integers keep their narrow width while all values fit, and become wide when one does not.

import RegnumEngine
import RegnumSimulation
import RegnumSystem
import Testing

@Suite struct NarrowColumnTests {
    /// A table of 200 rows with the numbers from 1,000, and its first column during a write.
    private func inWrite(
        from first: Int64 = 1000, step: Int64 = 1, _ body: (Table, UnsafeMutablePointer<ColumnView>) throws -> Void
    ) throws {
        let files = MemoryFileSystem()
        let database = try Database.open(path: "/n.realm", fileSystem: files)
        let session = try database.makeSession()
        try session.beginWrite()
        try session.addTables([NewTable(name: "T", columns: [NewColumn(name: "n", type: .int)])])
        let table = try #require(session.table(named: "T"))
        for number in 0..<Int64(200) {
            let location = try table.insertRow()
            try table.finishInsert(location)
            try table.set(.int(first &+ number &* step), 0, of: location.key)
        }
        try withExtendedLifetime(session) { () throws in
            try session.commitWrite()
            try session.beginWrite()
            try table.set(.int(first), 0, of: ObjectKey(1))
            try body(table, try table.place(ObjectKey(1)).group.columns)
            let values = try (1...UInt64(table.count)).map { try table.value(0, of: ObjectKey($0)) }
            try session.commitWrite()
            #expect(try (1...UInt64(table.count)).map { try table.value(0, of: ObjectKey($0)) } == values)
        }
        #expect(IntegrityCheck.run(database).findings == [])
    }

    @Test(
        "A value that fits keeps a column narrow, and one that does not makes it wide",
        arguments: [0, 1, 300, 70_000] as [Int64])
    func widths(step: Int64) throws {
        let forms: [Int64: ColumnForm] = [0: .uint8, 1: .uint8, 300: .uint16, 70_000: .uint32]
        let spans: [ColumnForm: Int64] = [.uint8: 0xff, .uint16: 0xffff, .uint32: 0xffff_ffff]
        let form = try #require(forms[step])
        let span = try #require(spans[form])
        for far in [-1, span + 1] {
            try inWrite(step: step) { table, column in
                #expect(column.pointee.isNarrow && column.pointee.form == form && !column.pointee.isWritable)
                try table.set(.int(1000 + span), 0, of: ObjectKey(7))
                try table.set(.int(1000), 0, of: ObjectKey(8))
                #expect(column.pointee.isNarrow && column.pointee.form == form)
                try table.set(.int(1000 + far), 0, of: ObjectKey(9))
                #expect(column.pointee.isWritable && !column.pointee.isNarrow && column.pointee.form == .int64)
                let expected = (1...200).map { (key: Int64) -> Value in
                    switch key {
                    case 7: .int(1000 + span)
                    case 8: .int(1000)
                    case 9: .int(1000 + far)
                    default: .int(1000 + (key - 1) * step)
                    }
                }
                #expect(try (1...200).map { try table.value(0, of: ObjectKey($0)) } == expected)
            }
        }
    }

    @Test("A number whose distance wraps around does not fit")
    func wrapping() throws {
        try inWrite(from: .max - 199) { table, column in
            #expect(column.pointee.isNarrow)
            // 2^64 - 199 above the minimum: 57 more than that, in 64 bits, if it were not below.
            try table.set(.int(.min), 0, of: ObjectKey(5))
            #expect(column.pointee.isWritable)
            #expect(try table.value(0, of: ObjectKey(5)) == .int(.min))
        }
    }

    @Test("Deletions keep columns narrow, and new rows make them wide")
    func rows() throws {
        try inWrite { table, column in
            try table.delete((150...200).map { ObjectKey($0) })
            #expect(column.pointee.isNarrow)
            try table.delete(ObjectKey(149))
            #expect(column.pointee.isNarrow)
            let location = try table.insertRow()
            try table.finishInsert(location)
            #expect(try table.value(0, of: location.key) == .int(0))
            try table.delete(location.key)
            #expect(try table.value(0, of: ObjectKey(148)) == .int(1147))
        }
    }
}
