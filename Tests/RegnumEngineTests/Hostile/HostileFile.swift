// SPDX-License-Identifier: Apache-2.0
// A small file with every kind of block, column, collection, index, constraint and rule, plain and encrypted, and ways
// to change its bytes with valid checksums: tags are recomputed from the changed block up to the commit slot, so that
// the damage reaches the decoders. `HostileContent` defines its content.

import RegnumEngine
import RegnumSimulation
import RegnumSystem

struct HostileFile {
    static let path = "/d/a.realm"

    var bytes: [UInt8]
    /// Byte offsets in the file that hold the ref of the block at a page.
    let holders: [Int: [Int]]
    /// First page of the block that contains a page.
    let blocks: [Int]
    let hash: ContentHash

    /// The file as it was written.
    static let good: HostileFile = {
        do { return try HostileFile(HostileContent.write(Database.OpenOptions())) } catch { fatalError("\(error)") }
    }()

    #if Encryption
        static var key: EncryptionKey {
            [UInt8](repeating: 7, count: EncryptionKey.byteCount).withUnsafeBytes { EncryptionKey($0) }
        }

        /// The bytes of a file with the same content, encrypted with `key`.
        static let encrypted: [UInt8] = {
            var options = Database.OpenOptions()
            options.encryptionKey = key
            do { return try HostileContent.write(options) } catch { fatalError("\(error)") }
        }()
    #endif

    init(_ bytes: [UInt8]) throws {
        self.bytes = bytes
        hash = try bytes.withUnsafeBytes { try FileHeader(reading: $0.baseAddress.unsafelyUnwrapped, path: "").hash }
        var holders: [Int: [Int]] = [:]
        var blocks: [Int] = []
        bytes.withUnsafeBytes { buffer in
            blocks = Array(0..<buffer.count / 4096)
            // The first bytes of refs to the block at a page; zero if there is no block.
            var locations = [UInt64](repeating: 0, count: blocks.count)
            for page in 16..<blocks.count {
                let at = page * 4096
                guard buffer.loadUnaligned(fromByteOffset: at, as: UInt16.self) == BlockHeader.magic,
                    buffer.loadUnaligned(fromByteOffset: at + 8, as: UInt64.self) == UInt64(page)
                else { continue }
                let count = Int(buffer.loadUnaligned(fromByteOffset: at + 4, as: UInt16.self)) + 1
                locations[page] = UInt64(page) << 16 | UInt64(count - 1)
                for i in page..<min(page + count, blocks.count) { blocks[i] = page }
            }
            // Refs to blobs lie anywhere in a row group.
            for offset in 16384..<buffer.count - 40 {
                let location = buffer.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
                guard location >= 16 << 16, location >> 16 < UInt64(blocks.count) else { continue }
                let page = Int(location >> 16)
                let birth = buffer.loadUnaligned(fromByteOffset: offset + 8, as: UInt64.self)
                if locations[page] == location,
                    birth == buffer.loadUnaligned(fromByteOffset: page * 4096 + 16, as: UInt64.self)
                {
                    holders[page, default: []].append(offset)
                }
            }
        }
        self.holders = holders
        self.blocks = blocks
    }

    /// First pages of blocks that a ref points to.
    var usedBlocks: [Int] { holders.keys.sorted() }

    func kind(_ page: Int) -> UInt8 { bytes[page * 4096 + 2] }

    /// All pages of the block that begins at `page`.
    func pages(of page: Int) -> Range<Int> { page..<(blocks.lastIndex(of: page) ?? page) + 1 }

    /// All pages, in order, that the newest version of a file needs, including its newest free log.
    static func reachablePages(_ bytes: [UInt8], key: EncryptionKey? = nil) throws -> [Int] {
        let files = SimulatedFileSystem(seed: 1, reservedByteCount: 64 << 20)
        files.setContents(of: path, bytes)
        var options = Database.OpenOptions()
        options.encryptionKey = key
        let database = try Database.open(path: path, fileSystem: files, options: options)
        var pages = Set(try BlockTraversal.pages(try database.makeSession()).map { Int($0) })
        let log = database.versions.newest.freeLog
        for i in 0..<log.pageCount { pages.insert(Int(log.page) + i) }
        return pages.sorted()
    }

    /// The same bytes without the newest commit's slot: the previous state.
    static func withoutNewestSlot(_ bytes: [UInt8], key: EncryptionKey? = nil) throws -> [UInt8] {
        let protection = try bytes.withUnsafeBytes {
            try FileProtection(FileHeader(reading: $0.baseAddress.unsafelyUnwrapped, path: ""), key, path: "")
        }
        var newest: (version: UInt64, offset: Int)?
        for offset in CommitSlot.byteOffsets {
            let slot = bytes.withUnsafeBytes {
                CommitSlot(reading: $0.baseAddress.unsafelyUnwrapped + offset, protection: protection)
            }
            if let slot, slot.version > newest?.version ?? 0 { newest = (slot.version, offset) }
        }
        var older = bytes
        if let newest { for i in 0..<CommitSlot.byteCount { older[newest.offset + i] = 0 } }
        return older
    }

    // MARK: Checksums

    /// Makes the tags above the block at `page` valid again. Both slots lose their manifests.
    mutating func retag(_ page: Int, depth: Int = 0) {
        guard depth < 16, let offsets = holders[page] else { return }
        let count = Int(blocks.lastIndex(of: page) ?? page) - page + 1
        let tag = bytes.withUnsafeBytes { hash.tag($0.baseAddress.unsafelyUnwrapped + page * 4096, count * 4096) }
        for offset in offsets {
            put(tag, at: offset + 16)
            let owner = offset / 4096
            if owner >= 16 { retag(blocks[owner], depth: depth + 1) }
        }
        if depth == 0 { retagSlots() }
    }

    mutating func retagSlots() {
        for slot in [FormatLimits.slotAByteOffset, FormatLimits.slotBByteOffset] {
            for i in 160..<164 { bytes[slot + i] = 0 }
            retag(slot, 4080, hash)
        }
    }

    mutating func retagHeaders() {
        for start in [0, FormatLimits.headerCopyByteOffset] {
            retag(start, 4080, ContentHash(seedLow: 0, seedHigh: 0))
        }
    }

    mutating func retag(_ start: Int, _ count: Int, _ hash: ContentHash) {
        put(bytes.withUnsafeBytes { hash.tag($0.baseAddress.unsafelyUnwrapped + start, count) }, at: start + count)
    }

    private mutating func put(_ tag: ContentHash.Tag, at offset: Int) {
        bytes.withUnsafeMutableBytes {
            $0.storeBytes(of: tag.low, toByteOffset: offset, as: UInt64.self)
            $0.storeBytes(of: tag.high, toByteOffset: offset + 8, as: UInt64.self)
        }
    }
}
