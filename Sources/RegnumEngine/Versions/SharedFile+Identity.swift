// SPDX-License-Identifier: Apache-2.0
// Whether a file is a lock file, and that of this database since the machine has started; and what one says that is at
// the path but not in use here.

import RegnumSystem

extension SharedFile {
    /// False for a file of somebody else, which is left as it is. A lock file of any database or layout begins with the
    /// magic. What holds nothing is nobody's: a file that is empty, or all zero and no longer than a lock file, as a power
    /// loss may leave it. One of the right length whose first page is damaged is ours too: its last page, that of the last
    /// slots, holds nothing, as no page of a text does.
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

    /// True if the name of the lock file beside a database is that of another file.
    static func isTaken(_ path: String, _ fileSystem: any FileSystem) throws(SystemError) -> Bool {
        guard let file = try? fileSystem.open(path + ".lock", .readOnlyNoFollow) else { return false }
        defer { file.close() }
        return try !isLockFile(file)
    }

    func isValid(_ header: FileHeader) -> Bool { file.map { isHead(base, of: $0, header) } ?? false }

    /// Whether such bytes are the head of a lock file of this database since the machine has started.
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

    /// The boot identifier as it lies in the file.
    static let bootWords: [UInt64] = {
        var words = [UInt64](repeating: 0, count: 5)
        for (i, byte) in Machine.bootIdentifier.utf8.prefix(40).enumerated() {
            words[i / 8] |= UInt64(byte) << UInt64(i % 8 * 8)
        }
        return words.map { UInt64(littleEndian: $0) }
    }()

    /// The last version that earlier processes knew to be on the medium, where the lock file that they have left tells of
    /// one since the machine has started. Below the opening lock, while nobody has the file open.
    func lastDurable(_ header: FileHeader) -> UInt64? { shownAtPath(header, at: Self.durableOffset) }

    /// The newest version, as the lock file says that is at the path and in use; for readers that do not take part. Others
    /// may have the database open by another name, with a lock file of that name.
    func newestAtPath(_ header: FileHeader) -> UInt64? { shownAtPath(header, at: 512, inUse: true) }

    /// A number of the lock file at the path, if that belongs to this database.
    private func shownAtPath(_ header: FileHeader, at offset: Int, inUse: Bool = false) -> UInt64? {
        guard let left = try? fileSystem.open(path, .readOnlyNoFollow) else { return nil }
        defer { left.close() }
        if inUse, (try? left.isLocked(bytes: Self.slotBytes)) != true { return nil }
        let head = UnsafeMutableRawBufferPointer.allocate(byteCount: FormatLimits.pageByteCount, alignment: 16)
        defer { head.deallocate() }
        guard let base = head.baseAddress, (try? left.read(head, at: 0)) == head.count, isHead(base, of: left, header)
        else { return nil }
        return Word(base, at: offset).checked
    }
}
