// SPDX-License-Identifier: Apache-2.0
// Salvage of files with damage in one kind of block after the other: exactly the content of the block is lost, and the
// saved values are compared with the originals.

import Foundation
import RegnumEngine
import RegnumInspect
import Testing

@Suite("Salvage, block by block") struct SalvageBlocksTests {
    #if Encryption
        static let encrypted = [false, true]
    #else
        static let encrypted = [false]
    #endif

    /// A file, its content, and the blocks of its large table, which are at the same pages if the file is encrypted.
    private struct Case {
        let folder: URL
        let key: Data?
        let good: Data
        let values: [Int64: [Value]]
        let blocks: [BlockFile.Block]

        init(_ folder: URL, isEncrypted: Bool) throws {
            self.folder = folder
            key = isEncrypted ? BlockFile.key : nil
            let url = folder.appendingPathComponent("good.realm")
            let plain = folder.appendingPathComponent("plain.realm")
            try BlockFile.make(plain, nil)
            if isEncrypted { try BlockFile.make(url, key) }
            let pages = try BlockFile.pages(plain, nil)
            if isEncrypted { try #require(try BlockFile.pages(url, key) == pages) }
            good = try Data(contentsOf: isEncrypted ? url : plain)
            values = try BlockFile.values(isEncrypted ? url : plain, key)
            // The first commit wrote the large table.
            blocks = try BlockFile.blocks(plain, at: pages).filter { $0.birth == 2 && $0.kind != .schema }
        }

        func pages(_ kinds: BlockKind...) -> [Int] { blocks.filter { kinds.contains($0.kind) }.map(\.page) }

        /// Salvages the file with a changed byte in each of these blocks: the report, the number of missing objects,
        /// and of changed values of others.
        func salvage(damaging pages: [Int]) throws -> (report: SalvageReport, missing: Int, changed: Int) {
            var bytes = good
            for page in pages { bytes[page * 4096 + 100] ^= 0x40 }
            return try salvage(bytes) { findings in
                let isTold = findings.contains { finding in
                    pages.contains { finding.contains("block at page \($0)") }
                }
                #expect(isTold != pages.isEmpty, "\(findings)")
            }
        }

        /// Salvages these bytes; `told` receives the findings of the integrity check.
        func salvage(
            _ bytes: Data, _ told: ([String]) -> Void
        ) throws -> (report: SalvageReport, missing: Int, changed: Int) {
            let name = UUID().uuidString
            let url = folder.appendingPathComponent("\(name).realm")
            let saved = folder.appendingPathComponent("\(name)-saved.realm")
            try bytes.write(to: url)
            let inspector = try Inspector(fileURL: url, isReadOnly: true, encryptionKey: key)
            told(inspector.integrityFindings())
            let report = try inspector.salvage(to: saved.path, encryptionKey: key)
            #expect(try Inspector(fileURL: saved, encryptionKey: key).integrityFindings() == [])
            let there = try BlockFile.values(saved, key)
            var changed = 0
            for (id, row) in there {
                guard let before = values[id] else {
                    Issue.record("object \(id) never existed")
                    continue
                }
                changed += zip(row, before).filter { $0 != $1 }.count
            }
            return (report, values.count - there.count, changed)
        }

        func expect(
            _ pages: [Int], missing: Int = 0, changed: Int = 0, losses: Int,
            sourceLocation: SourceLocation = #_sourceLocation
        ) throws {
            let (report, gone, other) = try salvage(damaging: pages)
            #expect(gone == missing && other == changed, "\(report.losses)", sourceLocation: sourceLocation)
            #expect(report.lossCount == losses, "\(report.losses)", sourceLocation: sourceLocation)
            let table = try #require(report.tables.first { $0.name == "All" })
            #expect(table.objects == BlockFile.rows - missing, sourceLocation: sourceLocation)
            #expect(table.expected == BlockFile.rows, sourceLocation: sourceLocation)
            #expect(report.isComplete == (losses == 0), sourceLocation: sourceLocation)
        }
    }

    @Test("A damaged row group loses its objects, a damaged node of row groups those below it", arguments: encrypted)
    func rowGroups(isEncrypted: Bool) throws {
        try BlockFile.withFolder { folder in
            let file = try Case(folder, isEncrypted: isEncrypted)
            let groups = file.blocks.filter { $0.kind == .rowGroup }
            try #require(groups.map(\.rows).sorted() == [76, 1024])
            for group in groups { try file.expect([group.page], missing: group.rows, losses: 1) }
            let nodes = file.pages(.groupNode)
            try #require(nodes.count == 1)
            try file.expect(nodes, missing: BlockFile.rows, losses: 1)
            // Two damaged blocks: both are named.
            try file.expect(groups.map(\.page), missing: BlockFile.rows, losses: 2)
        }
    }

    @Test("Damaged indexes, whether full-text, geospatial, unique or backlink, lose nothing", arguments: encrypted)
    func indexes(isEncrypted: Bool) throws {
        try BlockFile.withFolder { folder in
            let file = try Case(folder, isEncrypted: isEncrypted)
            let pages = file.pages(.indexLeaf, .indexBranch)
            // Primary key, index, full-text index, geospatial index, constraint, backlinks.
            try #require(pages.count >= 6)
            try file.expect([], losses: 0)
            try file.expect(pages, losses: 0)
        }
    }

    @Test("A damaged block of a long value or a large collection loses that value", arguments: encrypted)
    func values(isEncrypted: Bool) throws {
        try BlockFile.withFolder { folder in
            let file = try Case(folder, isEncrypted: isEncrypted)
            let nodes = file.pages(.elementNode)
            try #require(nodes.count == BlockFile.nodes)
            for node in nodes { try file.expect([node], changed: 1, losses: 1) }
            let blobs = file.pages(.blob)
            try #require(blobs.count > BlockFile.longValues)
            try file.expect([blobs[0]], changed: 1, losses: 1)
            try file.expect(blobs, changed: BlockFile.longValues, losses: BlockFile.longValues)
        }
    }

    // Nothing was once saved: opening refused the file.
    @Test("The rest of a truncated file is saved, and the losses are named", arguments: encrypted)
    func cutOff(isEncrypted: Bool) throws {
        try BlockFile.withFolder { folder in
            let file = try Case(folder, isEncrypted: isEncrypted)
            // The newest commit's catalog is at the end of the written pages.
            let plain = folder.appendingPathComponent("plain.realm")
            let end = try #require(try BlockFile.blocks(plain).map { $0.page + $0.pageCount }.max())
            var saved: Set<Int> = []
            for pages in Array(stride(from: 16, to: end - 1, by: 7)) + [end - 1] {
                do {
                    let (report, missing, _) = try file.salvage(file.good.prefix(pages * 4096)) { findings in
                        #expect(findings.contains { $0.contains("its readable parts are shown") }, "\(findings)")
                    }
                    #expect(report.lossCount > 0)
                    saved.insert(BlockFile.rows - missing)
                } catch let error as InspectionError {
                    #expect(error.description.contains("the file ends before its content does"), "\(error)")
                }
            }
            // In an encrypted file, only data that a slot leads to.
            if !isEncrypted { #expect(saved.contains(BlockFile.rows), "\(saved)") }
        }
    }

    @Test("Everything is saved from a file without slots if its blocks identify themselves")
    func slotsGone() throws {
        try BlockFile.withFolder { folder in
            let file = try Case(folder, isEncrypted: false)
            var bytes = file.good
            for page in [2, 4, 8, 14] {
                bytes.replaceSubrange(page * 4096..<(page + 1) * 4096, with: Data(count: 4096))
            }
            let (report, missing, changed) = try file.salvage(bytes) { findings in
                #expect(findings.contains { $0.contains("no commit of the file is complete") }, "\(findings)")
            }
            #expect(missing == 0 && changed == 0)
            #expect(report.lossCount == 1)
        }
    }

    @Test("The check finds a damaged header, and opening uses the other one", arguments: [0, 12])
    func header(page: Int) throws {
        try BlockFile.withFolder { folder in
            let file = try Case(folder, isEncrypted: false)
            var bytes = file.good
            bytes[page * 4096 + 20] ^= 1
            let (report, missing, changed) = try file.salvage(bytes) { findings in
                let words = "law 2: the header at page \(page) is damaged; the file is opened with the other copy"
                #expect(findings == [words])
            }
            #expect(missing == 0 && changed == 0 && report.isComplete)
        }
    }

    @Test(
        "If the newest catalog or schema is damaged, the state of the previous commit is saved",
        arguments: [BlockKind.catalog, .schema])
    func olderCommit(kind: BlockKind) throws {
        try BlockFile.withFolder { folder in
            let url = folder.appendingPathComponent("a.realm")
            let saved = folder.appendingPathComponent("saved.realm")
            try Self.makeTwoCommits(url)
            var bytes = try Data(contentsOf: url)
            let blocks = try BlockFile.blocks(url).filter { $0.kind == kind }
            let victim = try #require(blocks.max { $0.birth < $1.birth })
            try #require(victim.birth == 3)
            bytes[victim.page * 4096 + 100] ^= 0x40
            try bytes.write(to: url)
            #expect(throws: InspectionError.self) { try Inspector(fileURL: url) }
            let inspector = try Inspector(fileURL: url, isReadOnly: true)
            let findings = inspector.integrityFindings()
            #expect(findings.first?.hasPrefix("law 2: commit 3: ") == true, "\(findings)")
            let report = try inspector.salvage(to: saved.path)
            #expect(report.tables.map(\.name) == ["Row"])
            #expect(report.tables.map { [$0.objects, $0.expected] } == [[50, 50]])
            #expect(report.lossCount == 1 && !report.isComplete)
            let loss = report.losses.first ?? ""
            #expect(loss.hasPrefix("commit 3: ") && loss.contains("block at page \(victim.page)"), "\(loss)")
            let table = try #require(try BlockFile.open(saved).makeSession().table(named: "Row"))
            #expect(try table.value(0, of: ObjectKey(1)) == .data([0]))

            // Without either, the meaning of the bytes is unknown.
            for block in blocks {
                bytes.replaceSubrange(block.page * 4096..<(block.page + 1) * 4096, with: Data(count: 4096))
            }
            try bytes.write(to: url)
            #expect(throws: InspectionError.self) { try Inspector(fileURL: url, isReadOnly: true) }
        }
    }

    /// The second commit adds a table and writes more than 1 MiB: it has no manifest, whose failure would make damage
    /// look like an incomplete commit.
    private static func makeTwoCommits(_ url: URL) throws {
        let session = try BlockFile.open(url).makeSession()
        try session.beginWrite()
        try session.addTables([NewTable(name: "Row", columns: [NewColumn(name: "data", type: .data)])])
        let table = try #require(session.table(named: "Row"))
        for i in 0..<50 {
            let row = try table.insertRow()
            let key = row.key
            try table.finishInsert(row)
            try table.set(.data([UInt8(i)]), 0, of: key)
        }
        try session.commitWrite()
        try session.beginWrite()
        try session.addTables([NewTable(name: "Later", columns: [NewColumn(name: "n", type: .int)])])
        try #require(session.table(named: "Row")).set(
            .data([UInt8](repeating: 7, count: 2 << 20)), 0, of: ObjectKey(1))
        try session.commitWrite()
    }
}
