// SPDX-License-Identifier: Apache-2.0
// Salvages a file without an intact commit, for inspectors (`takesOlderCommit`): a file that was truncated, or whose
// slots are lost. The newest commit with a readable catalog and schema is shown as it is; damaged blocks are found when
// they are read.
//
// If no slot is valid, the catalogs are found by searching the file: blocks identify themselves, and each catalog block
// is a commit. The tag of the catalog was in the slot, so its bytes are trusted; every block that it leads to is
// checked. Blocks of encrypted files cannot be identified without the tags in their parents.

import RegnumSystem

extension Opening {
    /// Returns nil if there is no such commit. `slots`: newest first. `why`: the error that they caused.
    func salvaged(
        _ slots: [CommitSlot], _ header: FileHeader, _ protection: FileProtection, _ reader: BlockReader,
        why: EngineError
    ) -> Database? {
        let pages = reader.readablePages
        for slot in slots + (protection.cipher == nil ? Self.catalogs(in: reader, pages) : []) {
            var slot = slot
            // The file may end before the high-water mark.
            slot.highWater = min(slot.highWater, pages)
            guard let schema = try? readSchema(slot, reader) else { continue }
            let database = Database(
                path: path, fileSystem: fileSystem, options: options, file: file, header: header,
                protection: protection, reader: reader, slot: slot, shared: nil, schema: schema)
            database.passedOver = PassedCommit(number: slot.version, why: why, isShown: true)
            return database
        }
        return nil
    }

    /// The maximum number of catalogs to try. It is small because the blocks below each catalog are read again.
    private static let catalogLimit = 8

    /// Returns slots made from the catalogs in the file, newest first.
    private static func catalogs(in reader: BlockReader, _ pages: UInt64) -> [CommitSlot] {
        guard pages > FormatLimits.reservedPages else { return [] }
        var found: [BlockRef] = []
        for page in FormatLimits.reservedPages..<pages {
            let block = reader.fileBase + Int(page) << 12
            let last = UInt64(block.load(fromByteOffset: 4, as: UInt16.self))
            let ref = BlockRef(
                location: page << 16 | last, birth: block.load(fromByteOffset: 16, as: UInt64.self), tagLow: 0,
                tagHigh: 0, info: BlockRef.info(.catalog))
            let isCommit = ref.birth > 0 && ref.birth < CommitSlot.versionLimit
            if isCommit, page + last < pages, BlockHeader.matches(block, ref) { found.append(ref) }
        }
        found.sort { $0.birth > $1.birth }
        return found.prefix(catalogLimit).map { ref in
            let block = reader.fileBase + Int(ref.page) << 12
            let tag = reader.hash.tag(block, ref.byteCount)
            var catalog = ref
            (catalog.tagLow, catalog.tagHigh) = (tag.low, tag.high)
            return CommitSlot(
                version: ref.birth, nonce: block.load(fromByteOffset: 24, as: UInt64.self), previousDurable: 0,
                highWater: pages, catalog: catalog, freeLog: .none)
        }
    }
}
