// SPDX-License-Identifier: Apache-2.0
// The sizes and offsets of the file format, and the room it leaves: hidden columns, features by name, a root for a
// history. A change here is a change of the format.

import RegnumEngine
import RegnumSystem
import Testing

@Suite struct FormatTests {
    @Test("sizes and limits stand as they were released")
    func sizes() {
        #expect(FormatLimits.pageByteCount == 4096)
        #expect(FormatLimits.reservedPages == 16)
        #expect(
            [FormatLimits.slotAByteOffset, FormatLimits.slotBByteOffset, FormatLimits.headerCopyByteOffset] == [
                16384, 32768, 49152,
            ])
        #expect(FormatLimits.rowsPerGroup == 1024 && FormatLimits.nodeFanOut == 64)
        #expect(BlockRef.byteCount == 40 && BlockHeader.byteCount == 32 && BlobRecord.byteCount == 48)
        #expect(RowGroupLayout.headByteCount == 64 && RowGroupLayout.descriptorByteCount == 48)
        #expect(GroupNodeLayout.refs + FormatLimits.nodeFanOut * BlockRef.byteCount <= GroupNodeLayout.byteCount)
        #expect(FormatLimits.elementNodeFanOut == 84)
        #expect(
            ElementNodeLayout.refs + FormatLimits.elementNodeFanOut * BlockRef.byteCount <= ElementNodeLayout.byteCount)
        #expect(CommitSlot.byteCount == 4096 && 168 + CommitSlot.manifestLimit * 24 <= 4080)
        #expect(MemoryLayout<ColumnView>.stride == 64)
        #expect(BlockKind.allCases.map(\.rawValue) == Array(1...10))
        #expect(ColumnType.allCases.map(\.rawValue) == Array(1...12))
    }

    @Test("hidden system columns travel with the objects")
    func hiddenColumns() throws {
        let files = MemoryFileSystem()
        do {
            let session = try Database.open(path: "/h.realm", fileSystem: files).makeSession()
            try session.beginWrite()
            try session.addTables([
                NewTable(
                    name: "Note",
                    columns: [
                        NewColumn(name: "text", type: .string),
                        NewColumn(name: "$identity", type: .uuid, isHidden: true),
                        NewColumn(name: "$stamp.text", type: .int, isHidden: true),
                    ])
            ])
            let table = try #require(session.table(named: "Note"))
            for i in 0..<2000 {
                let location = try table.insertRow()
                let key = location.key
                try table.finishInsert(location)
                try table.set(.string("note \(i)"), 0, of: key)
                try table.set(.uuid(UInt64(i), 7), 1, of: key)
            }
            try session.commitWrite()
            try session.beginWrite()
            try table.set(.string("changed"), 0, of: ObjectKey(1500))
            try session.commitWrite()
        }
        let session = try Database.open(path: "/h.realm", fileSystem: files).makeSession()
        let table = try #require(session.table(named: "Note"))
        #expect(table.definition.columns.map(\.isHidden) == [false, true, true])
        #expect(try table.value(1, of: ObjectKey(1500)) == .uuid(1499, 7))
        #expect(try table.value(0, of: ObjectKey(1500)) == .string("changed"))
    }

    @Test("an unknown optional feature is passed over, an unknown required one is refused by its name")
    func features() throws {
        let files = MemoryFileSystem()
        for (name, isRequired) in [("colours", false), ("time travel", true)] {
            let session = try Database.open(path: "/\(name).realm", fileSystem: files).makeSession()
            try session.beginWrite()
            session.addFeature(Feature(name: name, isRequired: isRequired))
            try session.commitWrite()
        }
        let session = try Database.open(path: "/colours.realm", fileSystem: files).makeSession()
        #expect(session.features == [Feature(name: "colours", isRequired: false)])
        #expect(throws: EngineError.unsupported(path: "/time travel.realm", feature: "time travel")) {
            _ = try Database.open(path: "/time travel.realm", fileSystem: files)
        }
    }
}
