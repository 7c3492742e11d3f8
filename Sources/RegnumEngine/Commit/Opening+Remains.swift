// SPDX-License-Identifier: Apache-2.0
// What is left of a file of which no commit is whole, for inspectors (`takesOlderCommit`): a file that was cut off, or
// whose slots are gone. The newest commit whose catalog and schema can be read is shown as it is; whoever reads it meets
// what is missing block by block.
//
// Where no slot holds, blocks say themselves what they are, and each block that wrote a catalog is a commit. Its tag was
// in the slot, so its bytes are believed; all that it leads to is checked. Blocks of encrypted files say nothing without
// the tags in their parents.

import RegnumSystem

extension Opening {
    /// Nil where there is no such commit. `slots`: newest first. `why`: what is wrong with them.
    func remains(
        _ slots: [CommitSlot], _ header: FileHeader, _ seal: FileSeal, _ reader: BlockReader, why: EngineError
    ) -> Database? {
        let pages = reader.readablePages
        for slot in slots + (seal.cipher == nil ? Self.catalogs(in: reader, pages) : []) {
            var slot = slot
            // Nobody counts pages that are not there.
            slot.highWater = min(slot.highWater, pages)
            guard (try? checkFeatures(slot, reader)) != nil else { continue }
            let database = Database(
                path: path, fileSystem: fileSystem, options: options, file: file, header: header, seal: seal,
                reader: reader, slot: slot, shared: nil)
            database.passedOver = PassedCommit(number: slot.version, why: why, isShown: true)
            return database
        }
        return nil
    }

    /// How many catalogs are tried: what they lead to is read anew for each.
    private static let catalogLimit = 8

    /// Slots for the catalogs in the file, newest first.
    private static func catalogs(in reader: BlockReader, _ pages: UInt64) -> [CommitSlot] {
        guard pages > FormatLimits.reservedPages else { return [] }
        var found: [(birth: UInt64, page: UInt64)] = []
        for page in FormatLimits.reservedPages..<pages {
            let block = reader.fileBase + Int(page) << 12
            let birth = block.load(fromByteOffset: 16, as: UInt64.self)
            if birth > 0, birth < CommitSlot.versionLimit, isCatalog(block, at: page, birth, below: pages) {
                found.append((birth, page))
            }
        }
        found.sort { $0.birth > $1.birth }
        return found.prefix(catalogLimit).map { birth, page in
            let block = reader.fileBase + Int(page) << 12
            let pageCount = UInt64(block.load(fromByteOffset: 4, as: UInt16.self)) + 1
            let tag = reader.hash.tag(block, Int(pageCount) << 12)
            let catalog = BlockRef(
                location: page << 16 | (pageCount - 1), birth: birth, tagLow: tag.low, tagHigh: tag.high,
                info: BlockRef.info(.catalog))
            return CommitSlot(
                version: birth, nonce: block.load(fromByteOffset: 24, as: UInt64.self), previousDurable: 0,
                highWater: pages, catalog: catalog, freeLog: .none)
        }
    }

    private static func isCatalog(
        _ block: UnsafeRawPointer, at page: UInt64, _ birth: UInt64, below pages: UInt64
    ) -> Bool {
        let last = UInt64(block.load(fromByteOffset: 4, as: UInt16.self))
        let ref = BlockRef(
            location: page << 16 | last, birth: birth, tagLow: 0, tagHigh: 0, info: BlockRef.info(.catalog))
        return page + last < pages && BlockHeader.matches(block, ref)
    }
}
