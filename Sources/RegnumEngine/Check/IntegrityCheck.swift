// SPDX-License-Identifier: Apache-2.0
// Proves that a database is undamaged by checking all blocks that its newest version reaches. Findings carry the
// numbers of the laws in `Documentation/FORMAT.md`: 1 to 3 and 8 to 15. This file checks pages, blocks and the parts of
// a table; the laws of rows are in `GroupCheck`, those of indexes and links in `IndexCheck`, of collections in
// `CollectionCheck`, of embedded rows in `OwnershipCheck`.
//
// Cost: reads everything once; memory one byte per page. Any thread; waits for the writer lock.

import RegnumSystem

package struct Finding: Sendable, Equatable, CustomStringConvertible {
    /// The number of the law in `Documentation/FORMAT.md`.
    package var law: Int
    /// The path to the violation, the first object or page concerned, and a description.
    package var text: String
    package var description: String { "law \(law): \(text)" }
}

package struct IntegrityReport: Sendable {
    package internal(set) var findings: [Finding] = []
    package internal(set) var blocks = 0
    package internal(set) var objects = 0
    package internal(set) var freePages = 0
    package internal(set) var pendingPages = 0
    /// The pages that only kept versions need.
    package internal(set) var keptPages = 0
    package internal(set) var keptVersions = 0
    package var isClean: Bool { findings.isEmpty }
}

package enum IntegrityCheck {
    /// The maximum number of findings that are collected.
    static let findingLimit = 100

    /// `progress` is called now and then with the checked part of the reachable pages, 0...1. After `stop` the report
    /// is not complete. With `isUnfinished`, embedded objects may have no owner yet.
    package static func run(
        _ database: Database, isUnfinished: Bool = false, stop: ScanStop? = nil, progress: (Double) -> Void = { _ in }
    ) -> IntegrityReport {
        do throws(EngineError) { try database.enterWriter() } catch {
            return IntegrityReport(findings: [Finding(law: 2, text: "\(error)")])
        }
        defer { database.leaveWriter() }
        database.settle()
        return withoutActuallyEscaping(progress) { progress in
            var walk = Walk(database, isUnfinished: isUnfinished, stop, progress)
            do throws(EngineError) { try walk.run() } catch { walk.find(2, "\(error)") }
            return walk.report
        }
    }

    struct Walk {
        enum PageUse: UInt8 {
            /// `source`: an older row group; a reachable row group refers to some of its columns. A kept version may
            /// refer to the whole row group.
            case none = 0, reachable, source, free, pending, kept, older

            var words: String {
                switch self {
                case .none: "unused"
                case .reachable, .source: "part of another block"
                case .free: "free"
                case .pending: "pending"
                case .kept, .older: "kept for older versions"
                }
            }
        }

        let database: Database
        let session: Session?
        private let isUnfinished: Bool
        var report = IntegrityReport()
        private(set) var pages: [UInt8] = []
        /// The kept versions.
        var history: History?
        private let stop: ScanStop?
        private let progress: (Double) -> Void
        private var checkedPages = 0
        /// True if rows of the table lead to the same blocks: further checks would read those blocks once per row.
        private var sharesBlocks = false

        init(
            _ database: Database, isUnfinished: Bool, _ stop: ScanStop?, _ progress: @escaping (Double) -> Void
        ) {
            self.database = database
            self.isUnfinished = isUnfinished
            self.stop = stop
            self.progress = progress
            do {
                session = try database.makeSession()
                session?.scanStop = stop
            } catch {
                session = nil
                find(2, "\(error)")
            }
        }

        /// True if no more findings are collected.
        private var isFull: Bool { report.findings.count >= IntegrityCheck.findingLimit }

        mutating func find(_ law: Int, _ text: String) {
            if isFull || report.findings.contains(Finding(law: law, text: text)) { return }
            report.findings.append(Finding(law: law, text: text))
        }

        mutating func run() throws(EngineError) {
            if let passed = database.passedOver { find(2, passed.words) }
            checkHeaders()
            guard let session else { return }
            pages = [UInt8](repeating: 0, count: Int(session.current.highWater))
            try markSpace()
            try mark(session.current.catalog, parentBirth: session.current.number, "catalog")
            let catalog = try Catalog.read(session.current.catalog, try session.space.bytes(session.current.catalog))
            try mark(catalog.schema, parentBirth: session.current.catalog.birth, "schema")
            for (table, record) in zip(session.tables, catalog.tables) { check(table, record, session) }
            if !database.isVolatile || database.spaceManager.recorded != nil {
                for page in Int(FormatLimits.reservedPages)..<pages.count where pages[page] == PageUse.none.rawValue {
                    find(1, "page \(page) is neither reachable nor free nor pending")
                }
            }
            attempt("history") { walk throws(EngineError) in try walk.checkHistory() }
        }

        /// Checks both headers: opening silently uses the copy if the first one is damaged.
        private mutating func checkHeaders() {
            if database.isVolatile { return }
            let page = UnsafeMutableRawBufferPointer.allocate(byteCount: FileHeader.byteCount, alignment: 16)
            defer { page.deallocate() }
            for offset in [0, FormatLimits.headerCopyByteOffset] {
                guard let base = page.baseAddress, (try? database.file.read(page, at: offset)) == page.count,
                    (try? FileHeader(reading: base, path: "")) == database.header
                else {
                    find(2, "the header at page \(offset >> 12) is damaged; the file is opened with the other copy")
                    continue
                }
            }
        }

        // MARK: Space

        private mutating func markSpace() throws(EngineError) {
            var space =
                try database.isVolatile
                ? database.spaceManager.load()
                : RecordedSpace.load(database.versions.newest, database.reader)
            try database.spaceManager.reclaim(&space.free)
            for extent in space.free.freeExtents { mark(extent, .free, "free pages") }
            for entry in space.free.pending { mark(entry.extent, .pending, "pending pages") }
            for ref in space.chain { mark(Extent(page: ref.page, pageCount: ref.pageCount), .reachable, "free log") }
            try markHistory(space.history)
            report.freePages = space.free.freePages
            report.pendingPages = space.free.pending.reduce(0) { $0 + $1.extent.pageCount }
        }

        mutating func mark(_ extent: Extent, _ use: PageUse, _ path: String) {
            guard extent.end <= UInt64(pages.count) else {
                find(1, "\(path): pages \(extent.page)..<\(extent.end) lie beyond the high-water mark")
                return
            }
            for page in Int(extent.page)..<Int(extent.end) {
                // A block may be visited once per row: do not build messages that are then discarded.
                if let other = PageUse(rawValue: pages[page]), other != PageUse.none, !isFull {
                    find(1, "\(path): page \(page) is also \(other.words)")
                }
                pages[page] = use.rawValue
            }
        }

        mutating func mark(
            _ ref: BlockRef, as use: PageUse = .reachable, parentBirth: UInt64, _ path: String
        ) throws(EngineError) {
            if ref.birth > parentBirth {
                find(3, "\(path): the block at page \(ref.page) is newer than the block that refers to it")
            }
            if let stop, stop.isStopped { throw .stopped }
            _ = try database.reader.bytes(ref)
            report.blocks += 1
            checkedPages += ref.pageCount
            if report.blocks % 256 == 0 {
                let reachable = pages.count - report.freePages - report.pendingPages
                progress(min(1, Double(checkedPages) / Double(max(reachable, 1))))
            }
            mark(Extent(page: ref.page, pageCount: ref.pageCount), use, path)
        }

        /// Returns the use of the block's first page; nil beyond the end.
        func use(of ref: BlockRef) -> PageUse? {
            ref.page + UInt64(ref.pageCount) <= UInt64(pages.count) ? PageUse(rawValue: pages[Int(ref.page)]) : nil
        }

        /// Records that a kept version needs a block.
        mutating func note(_ ref: BlockRef, as use: PageUse) {
            for page in 0..<ref.pageCount { pages[Int(ref.page) + page] = use.rawValue }
        }

        // MARK: Tables

        /// Runs a part of the check; damage that ends it becomes a finding with that path.
        mutating func attempt(
            _ path: String, _ body: (inout Walk) throws(EngineError) -> Void
        ) {
            do throws(EngineError) { try body(&self) } catch { find(2, "\(path): \(error.damage)") }
        }

        private mutating func check(_ table: Table, _ record: TableRecord, _ session: Session) {
            let name = table.definition.name
            let limit = session.current.catalog.birth
            attempt("\(name) > objects") { walk throws(EngineError) in
                var blocks: [(ref: BlockRef, isSource: Bool)] = []
                try table.groups.visitBlocks { blocks.append(($0, $1)) }
                for (ref, isSource) in blocks {
                    walk.attempt("\(name) > objects") { (walk) throws(EngineError) in
                        try walk.mark(
                            ref, as: isSource ? .source : .reachable, parentBirth: limit, "\(name) > objects")
                    }
                }
            }
            for (i, column) in table.definition.columns.enumerated() {
                let path = "\(name).\(column.name)"
                if let tree = table.indexes[i]?.tree { check(tree, "\(path) > index", 9, limit) }
                if let tree = table.contentIndexes[i]?.tree { check(tree, "\(path) > contents", 14, limit) }
                attempt("\(path) > backlinks") { walk throws(EngineError) in
                    if let tree = try table.backlinkTrees[i]?.settled() {
                        walk.check(tree, "\(path) > backlinks", 10, limit)
                    }
                }
            }
            for unique in table.uniques {
                if let tree = unique.tree { check(tree, "\(name) > \(unique.shown)", 9, limit) }
            }
            tellLostGroups(table)
            sharesBlocks = false
            checkRows(table, record, session)
            if sharesBlocks { return }
            for unique in table.uniques {
                attempt("\(name) > \(unique.shown)") { (walk) throws(EngineError) in
                    for text in try table.findings(unique) { walk.find(9, "\(name) > \(unique.shown): \(text)") }
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
                        for text in try table.contentFindings(i) { walk.find(14, "\(path) > contents: \(text)") }
                    }
                }
                if table.backlinkTrees[i] != nil {
                    attempt("\(path) > backlinks") { (walk) throws(EngineError) in
                        try walk.checkLinks(table, i, session)
                    }
                }
            }
            if table.definition.isEmbedded, !isUnfinished {
                attempt("\(name) > owners") { (walk) throws(EngineError) in try walk.checkOwners(table, session) }
            }
        }

        /// `law`: the law that the tree must obey.
        private mutating func check(_ tree: IndexTree, _ path: String, _ law: Int, _ limit: UInt64) {
            attempt(path) { walk throws(EngineError) in
                var blocks: [BlockRef] = []
                try tree.forEachBlock { blocks.append($0) }
                for ref in blocks {
                    walk.attempt(path) { (walk) throws(EngineError) in try walk.mark(ref, parentBirth: limit, path) }
                }
                for text in try tree.findings() { walk.find(law, "\(path): \(text)") }
            }
        }

        /// Reports every unreadable part of the table, not only the first.
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
            var groups = GroupCheck(table)
            var isWhole = false
            // The blobs of the groups before a damaged one are counted too: the checks that follow read them.
            attempt("\(name) > objects") { _ throws(EngineError) in
                try groups.run()
                isWhole = true
            }
            for finding in groups.findings { find(finding.law, finding.text) }
            // Each block belongs to one value, so there cannot be more of them, or more pages, than the file has.
            var left = ElementTree.blockLimit(session.space)
            var pagesLeft = Int(clamping: session.current.highWater)
            for blob in groups.blobs {
                // A damaged one is counted as well, and does not hide those after it.
                pagesLeft -= blob.ref.pageCount
                let path = "\(name).\(table.definition.columns[blob.column].name) of object \(blob.key)"
                attempt(path) { (walk) throws(EngineError) in
                    var blocks: [(BlockRef, UInt64)] = []
                    try ElementTree.forEachBlock(blob.ref, session.space, &left) { ref, birth in
                        // The row refers to the first one.
                        blocks.append((ref, min(birth, blob.parentBirth)))
                    }
                    pagesLeft += blob.ref.pageCount
                    for (ref, birth) in blocks {
                        pagesLeft -= ref.pageCount
                        guard pagesLeft >= 0 else { throw corrupted("values share their blocks", page: ref.page) }
                        try walk.mark(ref, parentBirth: birth, path)
                    }
                }
                if left < 0 || pagesLeft < 0 { break }
            }
            sharesBlocks = left < 0 || pagesLeft < 0
            guard isWhole else { return }
            if groups.rows != Int(record.count) {
                find(8, "\(name) > objects: \(groups.rows) rows, but the catalog states \(record.count)")
            }
            if groups.lastKey >= record.nextObjectKey {
                find(8, "\(name) > objects: key \(groups.lastKey) is not below the next key")
            }
            report.objects += groups.rows
        }
    }
}
