// SPDX-License-Identifier: Apache-2.0
// Opens a file in Realm's format to read its schema, counts and objects. Never writes.

public import Foundation
internal import RegnumSystem

/// A database file in the format of Realm's own core, versions 2 to 11 and 20 to 24, plain or encrypted.
///
/// The file is never written, no lock file is created, and nothing is upgraded.
///
/// ```swift
/// let file = try RealmFile(url: url)
/// for table in file.classes {
///     print(table.name, table.objectCount)
///     try file.forEachObject(of: table) { object in print(try object.values()) }
/// }
/// ```
///
/// No other program may write to the file at the same time. Realm's own lock is not taken, because that would write to
/// the lock file. Reading a file while it changes may throw a damage error, or return values of two different states.
///
/// Thread: use an instance, its cursors and its objects from one thread at a time. Memory: at most about 64 MiB of the
/// file, and the contents of objects in use; address space for the whole file.
public final class RealmFile {
    /// The file's format, 2 to 11 or 20 to 24; 0 for a database that was never written.
    public let formatVersion: Int
    /// True for a compacted or copied file that has not been written since.
    public let isStreaming: Bool
    public let isEncrypted: Bool
    /// The number of the commit that is read.
    public let transactionVersion: UInt64
    /// The kind of history in the file: 0 none, 2 the changes of the last commits, 3 and 4 the history of a
    /// synchronised client or server.
    public let historyType: Int
    /// The schema version set by the program; nil if none was set, or if the table "metadata" is damaged.
    public let schemaVersion: UInt64?
    /// All tables, including Realm's internal ones and damaged ones.
    public let tables: [RealmFileTable]

    /// The tables of classes, in the order of the file.
    public var classes: [RealmFileTable] { tables.filter(\.isClass) }

    /// The number of texts read so far in which invalid UTF-8 was replaced by U+FFFD. Increases each time a value with
    /// such a text is read.
    package var replacedTextCount: Int { reader.replacedTexts }

    /// The number of links read so far whose target was deleted on another device. Increases each time such a link is
    /// read.
    package var deletedLinkCount: Int { reader.deletedLinks }

    let path: String
    let reader: NodeReader
    private let names: TableNames
    private let clusterShift: Int

    /// Opens the file and reads its schema.
    ///
    /// - Parameters:
    ///   - url: The file, which must exist.
    ///   - encryptionKey: The 64-byte key of an encrypted file.
    ///   - snapshot: `.previous` reads the commit before the newest one, to examine damaged files.
    /// - Throws: `RealmFileError` if the file cannot be read, is not in Realm's format, has an unknown format version,
    ///   or does not match the key. If the schema of one table is damaged, its `damage` has the error, and the other
    ///   tables can be read.
    /// - Complexity: O(schema).
    public init(
        url: URL, encryptionKey: Data? = nil, snapshot: RealmFileSnapshot = .current
    ) throws(RealmFileError) {
        let path = url.path
        self.path = path
        do throws(RealmFileError) {
            let status = try reading { () throws(SystemError) in try PosixFileSystem.shared.status(path) }
            // Opening a pipe would block until another program opens it for writing.
            if status?.kind == .other {
                throw RealmFileError(.notARealmFile, "it is a device, a pipe or a socket, not a file")
            }
            let file = try reading { () throws(SystemError) in try PosixFileSystem.shared.open(path, .readOnly) }
            let bytes = try Self.bytes(file, encryptionKey)
            isEncrypted = encryptionKey != nil
            let header = try RealmFileHeader(bytes, snapshot)
            formatVersion = header.format
            isStreaming = header.isStreaming
            reader = NodeReader(bytes)
            let group = RealmSchemaReader(reader: reader, format: header.format)
            let contents =
                try header.topRef.map { ref throws(RealmFileError) in try group.contents(ref) } ?? GroupContents()
            var tables = contents.tables
            transactionVersion = contents.transactionVersion
            historyType = contents.historyType
            names = TableNames(tables)
            clusterShift = try Self.clusterShift(tables, reader)
            schemaVersion = try Self.schemaVersion(&tables, reader, names, clusterShift)
            for index in tables.indices { tables[index].damage = tables[index].damage?.of(path) }
            self.tables = tables
        } catch {
            throw error.of(path)
        }
    }

    /// The class of that name, or nil. If no class has the name, a table of that name.
    public func table(named name: String) -> RealmFileTable? {
        tables.first { $0.name == name && $0.isClass } ?? tables.first { $0.name == name }
    }

    /// The objects of a class, in the order of their keys.
    ///
    /// - Complexity: O(1); iteration over all objects is linear in their size.
    public func objects(of table: RealmFileTable) -> RealmFileCursor {
        RealmFileCursor(self, table, names, clusterShift: clusterShift)
    }

    /// Calls `body` with each object of a class, in the order of their keys. The object is valid until `body` returns.
    ///
    /// - Throws: `RealmFileError` with code `.damaged`, or the error that `body` throws.
    public func forEachObject(of table: RealmFileTable, _ body: (RealmFileObject) throws -> Void) throws {
        let cursor = objects(of: table)
        while let object = try cursor.next() { try body(object) }
    }

    /// The object at the target of a link, or nil if there is none.
    ///
    /// - Complexity: O(log n).
    public func object(_ link: RealmFileLink) throws(RealmFileError) -> RealmFileObject? {
        guard tables.indices.contains(link.tableIndex) else { return nil }
        return try objects(of: tables[link.tableIndex]).seek(link.key)
    }

    // MARK: Opening

    private static func bytes(_ file: any File, _ key: Data?) throws(RealmFileError) -> FileBytes {
        let plain = try PlainSource(file)
        guard plain.byteCount > 0 else {
            throw RealmFileError(.notARealmFile, "it is empty (0 bytes): no database was ever written to it")
        }
        let bytes = try FileBytes(plain)
        let isPlain = try RealmFileHeader.isPlain(bytes)
        guard let key else {
            guard isPlain else {
                throw RealmFileError(
                    .notARealmFile,
                    bytes.byteCount < RealmFileHeader.byteCount
                        ? "its \(bytes.byteCount) bytes are fewer than the \(RealmFileHeader.byteCount) of a header: it is not a file in Realm's format, "
                            + "or was cut off"
                        : "it does not begin like a file in Realm's format. If it is encrypted, pass its key")
            }
            guard bytes.byteCount % 8 == 0 else {
                throw RealmFileError(.damaged, "its \(bytes.byteCount) bytes are not a multiple of 8: it was cut off")
            }
            return bytes
        }
        if isPlain { throw RealmFileError(.notEncrypted, "it is not encrypted: open it without a key") }
        guard key.count == 64 else {
            throw RealmFileError(.wrongKey, "an encryption key has exactly 64 bytes, not \(key.count)")
        }
        #if Encryption
            return try decrypted(plain, key)
        #else
            throw RealmFileError(
                .encryptionUnavailable,
                "this build cannot read encrypted files: the package's trait \"Encryption\" is off")
        #endif
    }

    #if Encryption
        private static func decrypted(_ plain: PlainSource, _ key: Data) throws(RealmFileError) -> FileBytes {
            let source = try EncryptedSource(plain, key: Array(key))
            let bytes = try FileBytes(source)
            var isPlain = false
            do throws(RealmFileError) {
                isPlain = try RealmFileHeader.isPlain(bytes)
            } catch {
                // A first page that does not match the key is classified below.
                guard error.code == .damaged else { throw error }
            }
            if isPlain { return bytes }
            guard source.fitsAnyPage() else {
                throw RealmFileError(
                    .wrongKey, "no page of it matches the key: the key is wrong, or it is not a file in Realm's format")
            }
            throw RealmFileError(
                .damaged,
                "pages of it match the last 32 bytes of the key, but its first page does not decrypt to a "
                    + "header: the first 32 bytes of the key are wrong, or the page is damaged")
        }
    #endif

    /// See `ClusterCursor.shift`. Damage is found again when the objects are read.
    private static func clusterShift(
        _ tables: [RealmFileTable], _ reader: NodeReader
    ) throws(RealmFileError) -> Int {
        let roots = tables.compactMap { table -> Int? in
            if case .clusters(_, let root, _) = table.layout { root } else { nil }
        }
        let shift = try damageOrResult { () throws(RealmFileError) in try ClusterCursor.shift(reader, roots) }
        return (try? shift.get()) ?? 8
    }

    /// The number in the table "metadata". If it cannot be read, the table gets the damage.
    private static func schemaVersion(
        _ tables: inout [RealmFileTable], _ reader: NodeReader, _ names: TableNames, _ shift: Int
    ) throws(RealmFileError) -> UInt64? {
        guard let index = tables.firstIndex(where: { $0.tableName == "metadata" }),
            let property = tables[index].index(of: "version")
        else { return nil }
        let cursor = RealmFileCursor(reader, tables[index], names, clusterShift: shift)
        let version = try damageOrResult { () throws(RealmFileError) -> RealmFileValue? in
            try cursor.next()?.value(at: property)
        }
        switch version {
        case .success(.int(let version)?): return version == -1 ? nil : UInt64(bitPattern: version)
        case .success: return nil
        case .failure(let damage):
            tables[index].damage = damage
            return nil
        }
    }
}

/// Finds tables by their keys.
final class TableNames: TableKeys {
    private var indexes: [Int64: Int] = [:]

    init(_ tables: [RealmFileTable]) {
        for table in tables {
            if case .clusters(let key, _, _) = table.layout { indexes[key] = table.index }
        }
    }

    func tableIndex(forKey key: Int64) -> Int? { indexes[key] }
}

/// The result of `body`, or the damage that it finds. Throws other errors.
func damageOrResult<Success>(
    _ body: () throws(RealmFileError) -> Success
) throws(RealmFileError) -> Result<Success, RealmFileError> {
    do throws(RealmFileError) {
        return .success(try body())
    } catch {
        guard error.code == .damaged else { throw error }
        return .failure(error)
    }
}

extension RealmFileError {
    func of(_ path: String) -> RealmFileError {
        var error = self
        if error.filePath.isEmpty { error.filePath = path }
        return error
    }
}
