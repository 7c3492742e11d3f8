// SPDX-License-Identifier: Apache-2.0
// Writes a version, or the state of a running write transaction, as a file of its own: every reachable block, children
// first, contiguous, without free space and with each row group in one piece. The file is complete before it has its
// name: it is written under another one, synced, and renamed.
//
// Memory: a few megabytes and 40 bytes per block. The copy has its own file UUID and commit numbers. It keeps the hash
// seed of its source, because indexes hold digests of long values.

import RegnumSystem

struct FileCopy {
    /// Pages that are collected before they are written.
    private static let flushPages = 2048

    private let source: BlockSpace
    private let file: any File
    private let header: FileHeader
    private let protection: FileProtection
    private let nonce: UInt64
    private let sealer = Sealer()
    /// The refs of the copied blocks by number: pending until they are written.
    private var refs: [BlockRef] = []
    private var firstPending = 0
    private var pendingPages = 0
    /// The free space of the copy: none, so every block is placed at the end.
    private var space = FreeSpace(highWater: FormatLimits.reservedPages)
    /// Keys of the columns of the table that is being copied. Row groups may hold other columns, which were dropped
    /// after the group was written, and whose blobs are gone.
    private var columns: Set<UInt32> = []
    /// Pages left free because a block must not cross a section boundary.
    private var skipped: [PendingExtent] = []
    /// Pages that may still be copied. Only a damaged file refers to more pages than it has.
    private var budget: Int

    /// Writes the state that `session` sees, including uncommitted changes, to `path`. Throws `.fileExists` if the path
    /// is taken, unless `replacing`. Encrypted if there is a key. Only users who can read the source can read the copy.
    static func write(
        _ session: Session, to path: String, in fileSystem: any FileSystem, key: EncryptionKey?, replacing: Bool
    ) throws(EngineError) {
        if key != nil, !BlockCipher.isAvailable { throw .encryption(path: path, .unavailable) }
        let temporary: String
        let file: any File
        do { (temporary, file) = try make(session.database, path, fileSystem, replacing) } catch {
            throw EngineError(wrapping: error)
        }
        var isRenamed = false
        do {
            let header = FileHeader(fileSystem: fileSystem, key: key, origin: session.database.header)
            var copy = FileCopy(session, file, header, try FileProtection(header, key, path: path), fileSystem)
            try copy.run(session)
            try file.sync(.full)
            if replacing {
                try fileSystem.rename(temporary, to: path)
            } else {
                try fileSystem.renameIfAbsent(temporary, to: path)
            }
            isRenamed = true
            try fileSystem.syncDirectory(containing: path)
            file.close()
        } catch {
            // In this order: while it is locked, no process takes it for a leftover. Once it is renamed, another file
            // may have the temporary name.
            if !isRenamed { try? fileSystem.remove(temporary) }
            file.close()
            let known = EngineError(wrapping: error)
            if case .system(let system) = known, system.kind == .exists { throw .fileExists(path: path) }
            throw known
        }
    }

    /// Creates the empty file that becomes the copy. One that replaces the source has its owner, group and permissions;
    /// for any other the process's umask removes some of them.
    private static func make(
        _ database: Database, _ path: String, _ fileSystem: any FileSystem, _ replacing: Bool
    ) throws -> (path: String, file: any File) {
        if replacing {
            // There is one at a time, so the leftover of a killed process is found here. If it is a link, the link
            // itself is removed, even if it leads nowhere.
            let temporary = path + ".compacting"
            do throws(SystemError) { try fileSystem.remove(temporary) } catch {
                if error.kind != .notFound { throw error }
            }
            let file = try fileSystem.open(temporary, .createNew(permissions: 0o600))
            guard file.takeAccess(of: database.file, asReplacement: true) else {
                file.close()
                try? fileSystem.remove(temporary)
                throw EngineError.system(SystemError(.permissionDenied, "keep the access list of", path))
            }
            return (temporary, file)
        }
        if try fileSystem.status(path) != nil { throw EngineError.fileExists(path: path) }
        // No other user may open it until its owner is set: a process that has opened it can continue reading.
        let made = try TemporaryFile.make(beside: path, permissions: 0o600, in: fileSystem)
        made.file.takeAccess(of: database.file, asReplacement: false)
        return (made.path, made.file)
    }

    private init(
        _ session: Session, _ file: any File, _ header: FileHeader, _ protection: FileProtection,
        _ fileSystem: any FileSystem
    ) {
        self.protection = protection
        source = session.space
        self.file = file
        self.header = header
        var nonce: UInt64 = 0
        withUnsafeMutableBytes(of: &nonce) { fileSystem.fillRandom($0) }
        self.nonce = nonce
        budget = Int(clamping: session.current.highWater) + session.space.sealer.livePages
    }

    private mutating func run(_ session: Session) throws(EngineError) {
        try sealer.reserve(encrypting: protection.cipher != nil)
        var (catalog, schema) = try session.contents()
        // A copy has one version only.
        schema.keepsHistory = false
        budget += session.space.sealer.livePages
        for i in catalog.tables.indices {
            let definition = schema.tables.first { $0.key == catalog.tables[i].key }
            columns = Set(definition?.columns.map(\.key.rawValue) ?? [])
            catalog.tables[i].root = try copied(catalog.tables[i].root)
            for j in catalog.tables[i].trees.indices {
                catalog.tables[i].trees[j].root = try copied(catalog.tables[i].trees[j].root)
            }
        }
        try flush()
        var schemaWriter = ByteWriter()
        schema.write(&schemaWriter)
        catalog.schema = schemaWriter.seal(.schema, into: sealer).ref
        var catalogWriter = ByteWriter()
        catalog.write(&catalogWriter)
        let root = catalogWriter.seal(.catalog, into: sealer)
        let log = sealer.addBlock(.freeLog, byteCount: FreeLog.byteCount(freed: skipped.count + 3, taken: 0))
        let pages = try placement()
        FreeLog.write(
            FreeLog.Record(
                isSnapshot: true, version: 1, highWater: space.highWater, previous: .none, freed: skipped, taken: []),
            to: log.bytes, room: sealer.byteCount(log.ref))
        sealer.place(at: pages, birth: 1, nonce: nonce, protection: protection)
        try write()
        var slot = CommitSlot(
            version: 1, nonce: nonce, previousDurable: 0, highWater: space.highWater, catalog: sealer.placed(root.ref),
            freeLog: sealer.placed(log.ref))
        slot.isTwoStep = true
        try writeHead(slot)
    }

    /// Writes the slot and the header, after everything else. No process can see them before the file has its name.
    private func writeHead(_ slot: CommitSlot) throws(EngineError) {
        let page = UnsafeMutableRawPointer.allocate(byteCount: 4096, alignment: 16)
        defer { page.deallocate() }
        let bytes = UnsafeRawBufferPointer(start: page, count: 4096)
        do {
            slot.write(to: page, protection: protection)
            try file.write(bytes, at: FormatLimits.slotBByteOffset)
            header.write(to: page)
            try file.write(bytes, at: FormatLimits.headerCopyByteOffset)
            try file.write(bytes, at: 0)
        } catch { throw .system(error) }
    }

    // MARK: Placement

    /// Returns the pages for all blocks in the sealer, one after another.
    private mutating func placement() throws(EngineError) -> [UInt64] {
        let pages = try space.place(sealer.pageCounts).pages
        skipped += space.takeSkipped().map { PendingExtent(extent: $0, birth: 0, death: 0) }
        return pages
    }

    private func write() throws(EngineError) {
        try sealer.forEachSealed { ref, bytes throws(EngineError) in
            do throws(SystemError) {
                try file.write(
                    UnsafeRawBufferPointer(start: bytes, count: ref.byteCount), at: Int(ref.page) << 12)
            } catch { throw .system(error) }
        }
    }

    /// Writes the collected blocks; their refs are final from now on.
    private mutating func flush() throws(EngineError) {
        guard firstPending < refs.count else { return }
        let pages = try placement()
        sealer.place(at: pages, birth: 1, nonce: nonce, protection: protection)
        try write()
        for i in firstPending..<refs.count { refs[i] = sealer.placed(refs[i]) }
        firstPending = refs.count
        pendingPages = 0
        sealer.reset()
    }

    /// Adds a block for the copy of `ref`, whose children have been copied.
    private mutating func room(_ ref: BlockRef, byteCount: Int) throws(EngineError) -> SealedBlock {
        if pendingPages >= Self.flushPages { try flush() }
        guard let kind = BlockKind(rawValue: ref.kind) else {
            throw corrupted("a block of unknown kind", page: ref.page)
        }
        let aux = UInt32(truncatingIfNeeded: ref.info)
        let block = sealer.addBlock(kind, byteCount: byteCount, rows: ref.rows, aux: aux)
        let pages = (byteCount + 4095) >> 12
        pendingPages += pages
        budget -= pages
        guard budget >= 0 else { throw corrupted("the file refers to more blocks than it has") }
        refs.append(block.ref)
        return block
    }

    // MARK: Blocks

    /// Returns the root of the copy of a tree, or `.none` if there is no tree. Writes the collected blocks, so that the
    /// ref is final.
    private mutating func copied(_ root: BlockRef) throws(EngineError) -> BlockRef {
        if root.isNone { return .none }
        let number = try copy(root, depth: 0)
        try flush()
        return refs[number]
    }

    /// Copies a block and its descendants. Returns its number in `refs`.
    private mutating func copy(_ ref: BlockRef, depth: Int) throws(EngineError) -> Int {
        guard depth <= FormatLimits.treeDepth + 2 else { throw corrupted("a tree is too deep", page: ref.page) }
        let bytes = try source.bytes(ref)
        var places: [(offset: Int, child: BlockRef)] = []
        switch BlockKind(rawValue: ref.kind) {
        case .rowGroup: return try copyGroup(ref, bytes)
        case .groupNode:
            for i in 0..<GroupNodeLayout.count(bytes) {
                places.append((GroupNodeLayout.refs + i * BlockRef.byteCount, GroupNodeLayout.ref(bytes, i)))
            }
        case .elementNode:
            for i in 0..<ElementNodeLayout.count(bytes) {
                places.append((ElementNodeLayout.refs + i * BlockRef.byteCount, ElementNodeLayout.ref(bytes, i)))
            }
        case .indexBranch:
            let branch = IndexBranchView(bytes)
            for i in 0..<branch.count { places.append((branch.refOffset(i), branch.ref(i))) }
        case .indexLeaf, .blob: break
        default: throw corrupted("a tree refers to a block of another kind", page: ref.page)
        }
        var children: [Int] = []
        for place in places { children.append(try copy(place.child, depth: depth + 1)) }
        let byteCount = source.byteCount(ref)
        let block = try room(ref, byteCount: byteCount)
        let head = BlockHeader.byteCount
        Memory.copy(block.bytes + head, bytes + head, byteCount - head)
        for (place, child) in zip(places, children) { sealer.setRef(refs[child], in: block, at: place.offset) }
        return refs.count - 1
    }

    /// Copies a row group into one block.
    private mutating func copyGroup(_ ref: BlockRef, _ bytes: UnsafeRawPointer) throws(EngineError) -> Int {
        let group = try GroupCopy(ref, bytes, columns, source)
        var blobs: [(offset: Int, number: Int)] = []
        for blob in group.blobs { blobs.append((blob.offset, try copy(blob.ref, depth: 1))) }
        let block = try room(ref, byteCount: group.byteCount)
        group.write(to: block)
        for blob in blobs { sealer.setRef(refs[blob.number], in: block, at: blob.offset) }
        return refs.count - 1
    }
}

extension EngineError {
    /// Wraps one of the two error types that the engine's calls throw; traps for any other.
    init(wrapping error: any Error) {
        switch error {
        case let error as EngineError: self = error
        case let error as SystemError: self = .system(error)
        default: fatalError("an error of another type: \(error)")
        }
    }
}
