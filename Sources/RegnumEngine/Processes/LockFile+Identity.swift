// SPDX-License-Identifier: Apache-2.0
// Decides whether a file is a lock file, and whether it was written for this database since the machine started. Also
// reads numbers from a lock file at the path that this process does not use.

import RegnumSystem

extension LockFile {
    /// False for a file of another program, which is left untouched. A lock file of any database or layout begins with
    /// the magic. A file without content counts as ours: one that is empty, or all zero and no longer than a lock file,
    /// as a power loss may leave it. So does a file of the right length whose first page is damaged, if its last page,
    /// which holds the last slots, is all zero: no page of a text file is.
    static func isLockFile(_ file: any File) throws(SystemError) -> Bool {
        let page = UnsafeMutableRawBufferPointer.allocate(byteCount: FormatLimits.pageByteCount, alignment: 16)
        defer { page.deallocate() }
        guard let base = page.baseAddress else { return false }
        let length = try file.byteCount()
        if length == 0 { return true }
        let count = try file.read(page, at: 0)
        if count >= 4, base.load(as: UInt32.self) == UInt32(truncatingIfNeeded: magic) { return true }
        if length > byteCount { return false }
        if length == byteCount { return try isZero(file, page, at: length - page.count) }
        var offset = 0
        while offset < length {
            if try !isZero(file, page, at: offset) { return false }
            offset += page.count
        }
        return true
    }

    private static func isZero(
        _ file: any File, _ page: UnsafeMutableRawBufferPointer, at offset: Int
    ) throws(SystemError) -> Bool {
        try !page.prefix(file.read(page, at: offset)).contains { $0 != 0 }
    }

    /// True if another program's file has the name of the database's lock file.
    static func isTaken(_ path: String, _ fileSystem: any FileSystem) throws(SystemError) -> Bool {
        guard let file = try? fileSystem.open(path + ".lock", .readOnlyNoFollow) else { return false }
        defer { file.close() }
        return try !isLockFile(file)
    }

    func isValid(_ header: FileHeader) -> Bool {
        isInstanceKept && file.map { isHead(base, of: $0, header) } ?? false
    }

    /// True if the bytes at `base` are the header of a lock file of this database, written since the machine started.
    func isHead(_ base: UnsafeRawPointer, of file: any File, _ header: FileHeader) -> Bool {
        guard base.load(as: UInt64.self) == Self.magic,
            base.load(fromByteOffset: 8, as: UInt64.self) == header.identifierLow,
            base.load(fromByteOffset: 16, as: UInt64.self) == header.identifierHigh,
            base.load(fromByteOffset: 64, as: UInt64.self) == file.identity.device,
            base.load(fromByteOffset: 72, as: UInt64.self) == file.identity.inode,
            base.load(fromByteOffset: 80, as: UInt64.self) == database.identity.device,
            base.load(fromByteOffset: 88, as: UInt64.self) == database.identity.inode
        else { return false }
        for (i, word) in Self.bootWords.enumerated()
        where base.load(fromByteOffset: 24 + i * 8, as: UInt64.self) != word { return false }
        return true
    }

    /// The boot identifier, in the layout of the file.
    static let bootWords: [UInt64] = {
        var words = [UInt64](repeating: 0, count: 5)
        for (i, byte) in Machine.bootIdentifier.utf8.prefix(40).enumerated() {
            words[i / 8] |= UInt64(byte) << UInt64(i % 8 * 8)
        }
        return words.map { UInt64(littleEndian: $0) }
    }()

    /// The last version that earlier processes knew to be on stable storage, if the lock file that they left records
    /// one since the machine started. Requires the opening lock, while no process has the file open.
    func lastDurable(_ header: FileHeader) -> UInt64? { shownAtPath(header, at: Self.durableOffset) }

    /// The newest version according to the lock file at the path, if that is in use; for readers that do not join.
    /// Other processes may have the database open by another name, with a lock file next to that name.
    func newestAtPath(_ header: FileHeader) -> UInt64? { shownAtPath(header, at: 512, inUse: true) }

    /// Reads a number from the lock file at the path, if that belongs to this database.
    private func shownAtPath(_ header: FileHeader, at offset: Int, inUse: Bool = false) -> UInt64? {
        guard let left = try? fileSystem.open(path, .readOnlyNoFollow) else { return nil }
        defer { left.close() }
        if inUse, (try? left.isLocked(bytes: Self.slotBytes)) != true { return nil }
        let head = UnsafeMutableRawBufferPointer.allocate(byteCount: FormatLimits.pageByteCount, alignment: 16)
        defer { head.deallocate() }
        guard let base = head.baseAddress, (try? left.read(head, at: 0)) == head.count, isHead(base, of: left, header)
        else { return nil }
        return Word(base, at: offset, of: Self.instance(base)).checked
    }
}
