// SPDX-License-Identifier: Apache-2.0
// The proof that a database is whole, over everything that its newest version reaches. Laws, by number in findings:
//
//  1  every page from 16 to the high-water mark is reachable once, or free, or pending: never two, never none
//  2  every reachable block matches its checksum and its kind's layout
//  3  no block is younger than the block that refers to it, none is younger than the version
//  4  a table's rows are as many as its record and its nodes say; keys ascend; the next key is above all
//  5  an index holds exactly the values of its column; a primary key value is there once, as are the values of the
//     columns of a unique constraint
//  6  a link leads to an object that is there, and has exactly its entry in the backlink tree, and the reverse
//  7  zone maps bound the values; texts are UTF-8; mixed values can be read
//  8  the elements of a set and the keys of a dictionary ascend, none is there twice; a node of a large collection
//     counts the elements below it, and no leaf is empty
//  9  exactly one link leads to each row of an embedded table
//
// Cost: reads everything once; memory one byte a page. Call it from any thread; it waits for the writer's turn.

import RegnumSystem

package struct Finding: Sendable, Equatable, CustomStringConvertible {
    package var law: Int
    package var text: String
    package var description: String { "law \(law): \(text)" }
}

package struct IntegrityReport: Sendable {
    package internal(set) var findings: [Finding] = []
    package internal(set) var blocks = 0
    package internal(set) var objects = 0
    package internal(set) var freePages = 0
    package internal(set) var pendingPages = 0
    package var isClean: Bool { findings.isEmpty }
}

package enum IntegrityCheck {
    /// Findings beyond this many are not collected.
    static let findingLimit = 100

    package static func run(_ database: Database) -> IntegrityReport {
        do throws(EngineError) { try database.enterWriter() } catch {
            return IntegrityReport(findings: [Finding(law: 2, text: "\(error)")])
        }
        defer { database.leaveWriter() }
        database.settle()
        var walk = Walk(database)
        do throws(EngineError) { try walk.run() } catch { walk.find(2, "\(error)") }
        return walk.report
    }

    struct Walk {
        private enum PageUse: UInt8 { case none = 0, reachable, free, pending }

        let database: Database
        let session: Session?
        var report = IntegrityReport()
        private var pages: [UInt8] = []
        /// True where rows of the table lead to the same blocks: as many as its rows would be read, times those blocks.
        private var sharesBlocks = false

        init(_ database: Database) {
            self.database = database
            do {
                session = try database.makeSession()
            } catch {
                session = nil
                find(2, "\(error)")
            }
        }

        /// True where no more findings are collected.
        private var isFull: Bool { report.findings.count >= IntegrityCheck.findingLimit }

        mutating func find(_ law: Int, _ text: String) {
            if isFull || report.findings.contains(Finding(law: law, text: text)) { return }
            report.findings.append(Finding(law: law, text: text))
        }

        mutating func run() throws(EngineError) {
            guard let session else { return }
            pages = [UInt8](repeating: 0, count: Int(session.current.highWater))
            try markSpace()
            try mark(session.current.catalog, parentBirth: session.current.number)
            let catalog = try Catalog.read(session.current.catalog, try session.space.bytes(session.current.catalog))
            try mark(catalog.schema, parentBirth: session.current.catalog.birth)
            for (table, record) in zip(session.tables, catalog.tables) { check(table, record, session) }
            if !database.isVolatile || database.recorded != nil {
                for page in Int(FormatLimits.reservedPages)..<pages.count where pages[page] == PageUse.none.rawValue {
                    find(1, "page \(page) is neither reachable nor free nor pending")
                }
            }
        }

        // MARK: Space

        private mutating func markSpace() throws(EngineError) {
            var space =
                try database.isVolatile
                ? database.loadRecordedSpace()
                : RecordedSpace.load(
                    database.versions.newest.freeLog, highWater: database.versions.newest.highWater, database.reader)
            try database.reclaim(&space.free)
            for extent in space.free.freeExtents { mark(extent, .free) }
            for entry in space.free.pending { mark(entry.extent, .pending) }
            for ref in space.chain { mark(Extent(page: ref.page, pageCount: ref.pageCount), .reachable) }
            report.freePages = space.free.freePages
            report.pendingPages = space.free.pending.reduce(0) { $0 + $1.extent.pageCount }
        }

        private mutating func mark(_ extent: Extent, _ use: PageUse) {
            guard extent.end <= UInt64(pages.count) else {
                find(1, "pages \(extent.page)..<\(extent.end) lie beyond the high-water mark")
                return
            }
            for page in Int(extent.page)..<Int(extent.end) {
                // A block may be met as often as there are rows: no words that nobody reads.
                if pages[page] != 0, !isFull {
                    find(1, "page \(page) is used twice (\(pages[page]) and \(use.rawValue))")
                }
                pages[page] = use.rawValue
            }
        }

        mutating func mark(_ ref: BlockRef, parentBirth: UInt64) throws(EngineError) {
            if ref.birth > parentBirth { find(3, "the block at page \(ref.page) is younger than its parent") }
            _ = try database.reader.bytes(ref)
            report.blocks += 1
            mark(Extent(page: ref.page, pageCount: ref.pageCount), .reachable)
        }

        // MARK: Tables

        /// Runs a part of the check; damage that ends it is a finding, with the way to it.
        private mutating func attempt(
            _ path: String, _ body: (inout Walk) throws(EngineError) -> Void
        ) {
            do throws(EngineError) { try body(&self) } catch { find(2, "\(path): \(error.damage)") }
        }

        private mutating func check(_ table: Table, _ record: TableRecord, _ session: Session) {
            let name = table.definition.name
            let limit = session.current.catalog.birth
            attempt("\(name) > objects") { walk throws(EngineError) in
                var blocks: [BlockRef] = []
                try table.groups.forEachBlock { blocks.append($0) }
                for ref in blocks {
                    walk.attempt("\(name) > objects") { (walk) throws(EngineError) in
                        try walk.mark(ref, parentBirth: limit)
                    }
                }
            }
            for (i, column) in table.definition.columns.enumerated() {
                let path = "\(name).\(column.name)"
                if let tree = table.indexes[i]?.tree { check(tree, "\(path) > index", limit) }
                if let tree = table.contentIndexes[i]?.tree { check(tree, "\(path) > contents", limit) }
                attempt("\(path) > backlinks") { walk throws(EngineError) in
                    if let tree = try table.backlinkTrees[i]?.settled() {
                        walk.check(tree, "\(path) > backlinks", limit)
                    }
                }
            }
            for unique in table.uniques {
                if let tree = unique.tree { check(tree, "\(name) > \(unique.shown)", limit) }
            }
            tellLostGroups(table)
            sharesBlocks = false
            checkRows(table, record, session)
            if sharesBlocks { return }
            for unique in table.uniques {
                attempt("\(name) > \(unique.shown)") { (walk) throws(EngineError) in
                    for text in try table.findings(unique) { walk.find(5, "\(name) > \(unique.shown): \(text)") }
                }
            }
            for (i, column) in table.definition.columns.enumerated() {
                let path = "\(name).\(column.name)"
                if table.indexes[i] != nil {
                    attempt("\(path) > index") { (walk) throws(EngineError) in try walk.checkIndex(table, i) }
                }
                attempt(path) { (walk) throws(EngineError) in try walk.checkElements(table, i) }
                if table.contentIndexes[i] != nil {
                    attempt("\(path) > contents") { (walk) throws(EngineError) in
                        for text in try table.contentFindings(i) { walk.find(5, "\(path): \(text)") }
                    }
                }
                if table.backlinkTrees[i] != nil {
                    attempt("\(path) > backlinks") { (walk) throws(EngineError) in
                        try walk.checkLinks(table, i, session)
                    }
                }
            }
            if table.definition.isEmbedded {
                attempt("\(name) > owners") { (walk) throws(EngineError) in try walk.checkOwners(table, session) }
            }
        }

        private mutating func check(_ tree: IndexTree, _ path: String, _ limit: UInt64) {
            attempt(path) { walk throws(EngineError) in
                var blocks: [BlockRef] = []
                try tree.forEachBlock { blocks.append($0) }
                for ref in blocks {
                    walk.attempt(path) { (walk) throws(EngineError) in try walk.mark(ref, parentBirth: limit) }
                }
                for text in try tree.findings() { walk.find(5, "\(path): \(text)") }
            }
        }

        /// Each part of the table that cannot be read, not only the first.
        private mutating func tellLostGroups(_ table: Table) {
            var parts: [LostPart] = []
            attempt("\(table.definition.name) > objects") { _ throws(EngineError) in
                try table.forEachReadableGroup({ _ in }, lost: { parts.append($0) })
            }
            for part in parts {
                let columns = part.columns.map { numbers in
                    " (" + numbers.map { table.definition.columns[$0].name }.joined(separator: ", ") + ")"
                }
                find(2, "\(part.path)\(columns ?? ""): \(part.why.damage)")
            }
        }

        private mutating func checkRows(_ table: Table, _ record: TableRecord, _ session: Session) {
            let name = table.definition.name
            var rows = 0
            var last: UInt64 = 0
            var blobs: [BlockRef] = []
            var findings: [Finding] = []
            var isWhole = false
            // The blobs of the groups before a damaged one are counted too: what is checked next reads them.
            attempt("\(name) > objects") { _ throws(EngineError) in
                try table.forEachGroup { group throws(EngineError) in
                    rows += group.pointee.count
                    if group.pointee.key(at: 0) <= last {
                        findings.append(Finding(law: 4, text: "\(name): keys do not ascend"))
                    }
                    last = group.pointee.key(at: group.pointee.count - 1)
                    for column in table.definition.columns.indices {
                        GroupCheck.check(group, column, table, &findings, &blobs)
                    }
                    return true
                }
                isWhole = true
            }
            for finding in findings { find(finding.law, finding.text) }
            // Each block belongs to one value, so there are no more of them, and no more pages, than the file has.
            var left = ElementTree.blockLimit(session.space)
            var pagesLeft = Int(clamping: session.current.highWater)
            for blob in blobs {
                // One that is damaged counts as well, and does not hide what is behind it.
                pagesLeft -= blob.pageCount
                attempt("\(name) > objects") { (walk) throws(EngineError) in
                    var blocks: [(BlockRef, UInt64)] = []
                    try ElementTree.forEachBlock(blob, session.space, &left) { ref, birth in
                        blocks.append((ref, birth))
                    }
                    pagesLeft += blob.pageCount
                    for (ref, birth) in blocks {
                        pagesLeft -= ref.pageCount
                        guard pagesLeft >= 0 else { throw corrupted("values share their blocks", page: ref.page) }
                        try walk.mark(ref, parentBirth: birth)
                    }
                }
                if left < 0 || pagesLeft < 0 { break }
            }
            sharesBlocks = left < 0 || pagesLeft < 0
            guard isWhole else { return }
            if rows != Int(record.count) { find(4, "\(name): \(rows) rows, the catalog says \(record.count)") }
            if last >= record.nextObjectKey { find(4, "\(name): key \(last) is not below the next key") }
            report.objects += rows
        }

        private mutating func checkIndex(_ table: Table, _ column: Int) throws(EngineError) {
            guard let index = table.indexes[column] else { return }
            let name = "\(table.definition.name).\(table.definition.columns[column].name)"
            if Int(index.tree.count) != table.count {
                find(5, "\(name): \(index.tree.count) entries for \(table.count) objects")
            }
            var missing = 0
            var doubled = 0
            let isUnique = table.definition.columns[column].isPrimaryKey
            try table.forEachGroup { group throws(EngineError) in
                for row in 0..<group.pointee.count {
                    let location = RowLocation(group: group, row: row)
                    if try !index.contains(location, column, group.pointee.key(at: row), table) { missing += 1 }
                    // Two are enough: where many are equal, each would look at all of them.
                    if isUnique, try index.all(table.value(column, at: location), table, limit: 2).count > 1 {
                        doubled += 1
                    }
                }
                return true
            }
            if missing > 0 { find(5, "\(name): \(missing) objects are not in the index") }
            if doubled > 0 { find(5, "\(name): \(doubled) objects share their primary key") }
        }

        private mutating func checkLinks(_ table: Table, _ column: Int, _ session: Session) throws(EngineError) {
            let target = table.definition.columns[column].target
            guard let tree = try table.backlinkTrees[column]?.settled(),
                target.flatMap({ session.table($0) }) != nil || table.definition.columns[column].type == .mixed
            else { return find(6, "\(table.definition.name): a link column without a target") }
            let name = "\(table.definition.name).\(table.definition.columns[column].name)"
            var links: [UInt64: [UInt64]] = [:]
            var count = 0
            try table.forEachGroup { group throws(EngineError) in
                for row in 0..<group.pointee.count {
                    let location = RowLocation(group: group, row: row)
                    for link in try table.links(column, location) {
                        links[link, default: []].append(group.pointee.key(at: row))
                        count += 1
                    }
                }
                return true
            }
            if count != Int(tree.count) { find(6, "\(name): \(count) links, \(tree.count) backlinks") }
            for (link, origins) in links {
                // A mixed column says in each link which table it leads to.
                let targetTable = session.table(target ?? TableKey(UInt32(link >> 48)))
                if try targetTable?.contains(ObjectKey(target == nil ? link & (1 << 48 - 1) : link)) != true {
                    find(6, "\(name): a link leads to object \(link), which is not there")
                }
                var entries: [UInt64] = []
                try tree.forEachKey(value: link) { entries.append($0) }
                if entries.sorted() != origins.sorted() { find(6, "\(name): backlinks of object \(link) are wrong") }
            }
        }
    }
}

/// The laws of one column of one row group.
enum GroupCheck {
    static func check(
        _ group: UnsafeMutablePointer<GroupView>, _ column: Int, _ table: Table, _ findings: inout [Finding],
        _ blobs: inout [BlockRef]
    ) {
        let view = group.pointee.columns[column]
        let definition = table.definition.columns[column]
        let name = "\(table.definition.name).\(definition.name)"
        let count = group.pointee.count
        if definition.writableForm == .slots {
            for row in 0..<count {
                let bytes = view.bytes(row)
                if view.isBlob(row) {
                    if let record = bytes.baseAddress { blobs.append(BlockRef(reading: record)) }
                } else if definition.type == .string, definition.collection == .none,
                    String(validating: bytes, as: UTF8.self) == nil
                {
                    findings.append(Finding(law: 7, text: "\(name): row \(row) is not UTF-8"))
                }
            }
        }
        guard view.hasZone else { return }
        for row in 0..<count where !view.isNull(row) {
            let isInside =
                switch view.form {
                case .float64, .float32:
                    inZone(view.form == .float64 ? view.double(row) : Double(view.float(row)), view)
                default: view.integer(row) >= view.zoneMin && view.integer(row) <= view.zoneMax
                }
            if !isInside { findings.append(Finding(law: 7, text: "\(name): row \(row) lies outside of its zone")) }
        }
    }

    private static func inZone(_ value: Double, _ view: ColumnView) -> Bool {
        value >= Double(bitPattern: UInt64(bitPattern: view.zoneMin))
            && value <= Double(bitPattern: UInt64(bitPattern: view.zoneMax))
    }
}
