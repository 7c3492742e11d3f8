// SPDX-License-Identifier: Apache-2.0
// A version as the bytes of a file: the blocks that it needs, at the pages where they are, and a header, a commit slot
// and a free log that make them a database. Backups copy images. Blocks of an encrypted file are copied encrypted, so
// no key is needed to write the image to a file, and nothing readable leaves the database.
//
//   pages 0 ..< 16        the header, its copy, one slot; the rest is zero
//   pages of the version  the same bytes as in the database
//   blocks of its own     a free log, in which all other pages are free; in files with a history also the schema and
//                         the catalog, because an image has one version and no history
//
// The database may be written in the meantime: the session of the image pins the version. Confined to one thread.

import RegnumSystem

package final class VersionImage {
    /// The number of the version.
    package let version: UInt64
    /// The ref of the version's catalog. Two versions with equal refs have equal contents.
    package let catalog: BlockRef
    private let session: Session
    private let space: BlockSpace
    private let reader: BlockReader
    /// An encrypted block is decrypted into it to verify its tag; nil if the file is not encrypted.
    private var scratch: UnsafeMutableRawPointer?
    private var scratchByteCount = 0
    /// The number of blocks that a traversal may still visit. Only a damaged file has more refs than pages.
    private var left = 0
    /// The keys of the columns of the table that is being visited. Row groups may hold columns that were dropped after
    /// the group was written, and whose long values are gone.
    private var columns: Set<UInt32> = []

    /// Pins the newest version of `database`.
    package init(newestOf database: Database) throws(EngineError) {
        session = try database.makeSession()
        space = session.space
        reader = database.reader
        version = session.version
        catalog = session.current.catalog
    }

    deinit { scratch?.deallocate() }

    package var database: Database { session.database }
    /// The identifier of the file, equal in all its copies that are images.
    package var fileIdentifier: SIMD2<UInt64> {
        SIMD2(session.database.header.identifierLow, session.database.header.identifierHigh)
    }
    package var isEncrypted: Bool { session.database.isEncrypted }

    // MARK: Reading

    /// Calls `body` with the ref of each block of the version, a parent before its children. Omits a block for which
    /// `isKnown` returns true, and everything below it: a ref names the content of the block and all that it refers to.
    /// Reads all blocks that have children.
    package func visit(isKnown: (BlockRef) -> Bool, _ body: (BlockRef) throws -> Void) throws {
        left = Int(clamping: reader.readablePages) + 1
        let root = try Catalog.read(catalog, try space.bytes(catalog))
        if !session.schema.keepsHistory {
            if !isKnown(catalog) { try body(catalog) }
            if !isKnown(root.schema) { try body(root.schema) }
        }
        for table in root.tables {
            let definition = session.schema.tables.first { $0.key == table.key }
            columns = Set(definition?.columns.map(\.key.rawValue) ?? [])
            try visit(table.root, depth: 0, isKnown, body)
            for tree in table.trees { try visit(tree.root, depth: 0, isKnown, body) }
        }
    }

    /// True if `visit` reads the block after it has called `body` with it: it has children.
    package func isReadByVisit(_ ref: BlockRef) -> Bool {
        switch BlockKind(rawValue: ref.kind) {
        case .indexLeaf, .blob: false
        default: true
        }
    }

    private func visit(
        _ ref: BlockRef, depth: Int, _ isKnown: (BlockRef) -> Bool, _ body: (BlockRef) throws -> Void
    ) throws {
        if ref.isNone || isKnown(ref) { return }
        left -= 1
        guard depth <= FormatLimits.treeDepth + 2, left >= 0 else {
            throw corrupted("a tree is too deep or too large", page: ref.page)
        }
        try body(ref)
        func descend(_ child: BlockRef) throws { try visit(child, depth: depth + 1, isKnown, body) }
        switch BlockKind(rawValue: ref.kind) {
        case .rowGroup:
            let bytes = try space.bytes(ref)
            for i in 0..<RowGroupLayout.externalCount(bytes) {
                let external = RowGroupLayout.external(bytes, i)
                if !isKnown(external) { try body(external) }
            }
            for blob in try GroupCopy(ref, bytes, columns, space).blobs { try descend(blob.ref) }
        case .groupNode:
            let bytes = try space.bytes(ref)
            for i in 0..<GroupNodeLayout.count(bytes) { try descend(GroupNodeLayout.ref(bytes, i)) }
        case .elementNode:
            let bytes = try space.bytes(ref)
            for i in 0..<ElementNodeLayout.count(bytes) { try descend(ElementNodeLayout.ref(bytes, i)) }
        case .indexBranch:
            let branch = IndexBranchView(try space.bytes(ref))
            for i in 0..<branch.count { try descend(branch.ref(i)) }
        case .indexLeaf, .blob: break
        default: throw corrupted("a tree refers to a block of another kind", page: ref.page)
        }
    }

    /// Returns the bytes of a block as they are in the file, encrypted if the file is, after comparing them with the
    /// tag. They stay valid as long as this object. Throws `.corrupted` if they do not match.
    package func bytes(_ ref: BlockRef) throws(EngineError) -> UnsafeRawBufferPointer {
        let (end, overflow) = ref.page.addingReportingOverflow(UInt64(ref.pageCount))
        guard !overflow, ref.page >= FormatLimits.reservedPages, end <= reader.readablePages else {
            throw corrupted("a reference points outside the file", page: ref.page)
        }
        let bytes = UnsafeRawBufferPointer(start: reader.fileBase + Int(ref.page) << 12, count: ref.byteCount)
        try check(bytes, ref)
        return bytes
    }

    /// Throws `.corrupted` unless `bytes`, as they are in a file, are those of the block.
    package func check(_ bytes: UnsafeRawBufferPointer, _ ref: BlockRef) throws(EngineError) {
        guard let base = bytes.baseAddress, bytes.count == ref.byteCount else {
            throw corrupted("a block ends too soon", page: ref.page)
        }
        if let cipher = reader.protection.cipher {
            guard cipher.open(base, ref, to: room(ref.byteCount)) else {
                throw corrupted("an encrypted block does not match its tag", page: ref.page)
            }
            return
        }
        let tag = reader.hash.tag(base, ref.byteCount)
        guard tag.low == ref.tagLow, tag.high == ref.tagHigh else {
            throw corrupted("a block does not match its checksum", page: ref.page)
        }
    }

    private func room(_ byteCount: Int) -> UnsafeMutableRawPointer {
        if let scratch, scratchByteCount >= byteCount { return scratch }
        scratch?.deallocate()
        let made = UnsafeMutableRawPointer.allocate(byteCount: byteCount, alignment: 4096)
        (scratch, scratchByteCount) = (made, byteCount)
        return made
    }

    // MARK: Space

    /// The pages that no block of the version has, according to the record of free space: those that are free, or that
    /// only older versions need, and the blocks of the record itself.
    package struct UnusedPages {
        fileprivate let vacant: FreeSpace
        fileprivate let records: Set<UInt64>
        /// The number of pages that blocks of the version have.
        package let usedPageCount: Int
        package let highWater: UInt64

        /// True if no page of the extent is unused and all are below the high-water mark.
        package func isUsed(_ extent: Extent) -> Bool {
            vacant.isTaken(extent) && !(extent.page..<extent.end).contains { records.contains($0) }
        }
    }

    /// Reads the record of free space: at most 65 blocks.
    package func unusedPages() throws(EngineError) -> UnusedPages {
        let recorded = try RecordedSpace.load(session.current, reader)
        let vacant = try recorded.vacant()
        var records: Set<UInt64> = []
        var blocks = recorded.chain + (recorded.history?.blocks ?? [])
        if session.schema.keepsHistory { blocks += [catalog, session.catalog.schema] }
        for ref in blocks { records.formUnion(ref.page..<ref.page + UInt64(ref.pageCount)) }
        let pages = Int(session.current.highWater - FormatLimits.reservedPages)
        return UnusedPages(
            vacant: vacant, records: records, usedPageCount: pages - vacant.freePages - records.count,
            highWater: session.current.highWater)
    }

    // MARK: The end of an image

    /// The parts of an image that are not blocks of the version.
    package struct Ending {
        /// The blocks made for the image, as they are to be written.
        package var blocks: [(ref: BlockRef, bytes: [UInt8])] = []
        /// The bytes of the slot, the header's copy and the header, with their offsets. To be written last, in this
        /// order: without them the file does not open.
        package var head: [(offset: Int, bytes: [UInt8])] = []
        /// The length of the file in pages.
        package var highWater: UInt64
    }

    /// Makes the end of the image. `used`: the pages of all blocks that `visit` calls its body with if no block is
    /// known, ascending.
    package func makeEnding(used: [Extent]) throws(EngineError) -> Ending {
        var free = FreeSpace(highWater: session.current.highWater)
        var next = FormatLimits.reservedPages
        for extent in used {
            guard extent.page >= next else { throw corrupted("two blocks share a page", page: extent.page) }
            if extent.page > next { try free.release(Extent(page: next, pageCount: Int(extent.page - next))) }
            next = extent.end
        }
        guard next <= free.highWater else { throw corrupted("a block lies outside the file") }
        if next < free.highWater { try free.release(Extent(page: next, pageCount: Int(free.highWater - next))) }

        let sealer = Sealer(reserving: 1 << 30)
        try sealer.reserve(encrypting: isEncrypted)
        var root = catalog
        if session.schema.keepsHistory {
            var schema = session.schema
            schema.keepsHistory = false
            var schemaWriter = ByteWriter()
            schema.write(&schemaWriter)
            var contents = try Catalog.read(catalog, try space.bytes(catalog))
            contents.schema = schemaWriter.seal(.schema, into: sealer).ref
            var catalogWriter = ByteWriter()
            contents.write(&catalogWriter)
            root = catalogWriter.seal(.catalog, into: sealer).ref
        }
        // Placing a block divides at most one free extent, and may skip one at a section boundary.
        let entries = free.countFreeExtents() + 2 * (sealer.blockCount + 1) + 2
        let log = sealer.addBlock(.freeLog, byteCount: FreeLog.byteCount(freed: entries, taken: 0))
        let pages = try free.place(sealer.pageCounts).pages
        for extent in free.takeSkipped() { try free.release(extent) }
        FreeLog.write(
            FreeLog.Record(
                isSnapshot: true, version: version, highWater: free.highWater, previous: .none,
                freed: free.freeExtents.map { PendingExtent(extent: $0, birth: 0, death: 0) }, taken: []),
            to: log.bytes, room: sealer.byteCount(log.ref))
        var nonce: UInt64 = 0
        withUnsafeMutableBytes(of: &nonce) { session.database.fileSystem.fillRandom($0) }
        sealer.place(at: pages, birth: version, nonce: nonce, protection: reader.protection)

        var ending = Ending(highWater: free.highWater)
        try sealer.forEachSealed { ref, bytes throws(EngineError) in
            ending.blocks.append((ref, [UInt8](UnsafeRawBufferPointer(start: bytes, count: ref.byteCount))))
        }
        var slot = CommitSlot(
            version: version, nonce: nonce, previousDurable: 0, highWater: free.highWater,
            catalog: sealer.placed(root), freeLog: sealer.placed(log.ref))
        slot.isTwoStep = true
        ending.head = head(slot)
        return ending
    }

    private func head(_ slot: CommitSlot) -> [(offset: Int, bytes: [UInt8])] {
        let page = UnsafeMutableRawPointer.allocate(byteCount: FileHeader.byteCount, alignment: 16)
        defer { page.deallocate() }
        let bytes = UnsafeRawBufferPointer(start: page, count: FileHeader.byteCount)
        slot.write(to: page, protection: reader.protection)
        let slotBytes = [UInt8](bytes)
        session.database.header.write(to: page)
        let header = [UInt8](bytes)
        return [
            (FormatLimits.slotBByteOffset, slotBytes), (FormatLimits.headerCopyByteOffset, header), (0, header),
        ]
    }
}
