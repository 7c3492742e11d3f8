// SPDX-License-Identifier: Apache-2.0
// The sources of imports and exports: a file in Realm's format, a Regnum file, or lines of JSON. Each describes its
// classes and values with the types of RegnumRealmFile.

internal import Foundation
internal import RegnumRealmFile

/// One class of a source.
struct SourceClass: Equatable, Sendable {
    var name: String
    var kind: RealmFileTable.Kind
    var properties: [SourceProperty]
    var objectCount: Int

    var primaryKeyIndex: Int? { properties.firstIndex { $0.isPrimaryKey } }
}

/// One property of a class of a source.
struct SourceProperty: Equatable, Sendable {
    /// The name by which a program reads the property, unique in its class.
    var name: String
    /// The name in the file.
    var storedName: String
    var type: RealmFileProperty.ValueType
    var collection: RealmFileProperty.Collection
    var isOptional: Bool
    var isPrimaryKey = false
    var isIndexed = false
    var hasFullTextIndex = false
    /// True for properties that Realm's synchronisation has added.
    var isInternal = false
}

/// One object of a source. It is valid until its cursor advances.
protocol SourceObject {
    /// The object's key, to which links refer.
    var key: Int64 { get }
    /// Returns the value of the property at `index` in the properties of its class.
    func value(at index: Int) throws -> RealmFileValue
}

/// Iterates over the objects of one class, ascending by key.
protocol SourceCursor {
    associatedtype Item: SourceObject
    /// Returns the next object; nil after the last one.
    func next() throws -> Item?
}

/// A set of classes with their objects.
protocol ObjectSource: AnyObject {
    associatedtype Cursor: SourceCursor
    var classes: [SourceClass] { get }
    var schemaVersion: UInt64? { get }
    /// The number of texts read so far in which invalid UTF-8 was replaced by U+FFFD.
    var replacedTextCount: Int { get }
    /// The number of links read so far whose target was deleted on another device.
    var deletedLinkCount: Int { get }
    /// A sentence for each table of the file that is not among `classes`, or has another name there.
    var omissions: [String] { get }
    /// The number of objects of the tables that are not among `classes`.
    var omittedObjectCount: Int { get }
    /// Returns the index in `classes` for the table number of a `RealmFileLink`; nil if the table is left out.
    func classIndex(ofTable table: Int) -> Int?
    /// Returns a cursor before the first object of the class at `index` in `classes`.
    func objects(ofClass index: Int) throws -> Cursor
    /// Throws `.sourceChanged` if another program has written to the source since it was opened: the values read so far
    /// may then be those of two states.
    func checkUnchanged() throws
}

extension ObjectSource {
    /// The others read one state, or find changes themselves.
    func checkUnchanged() throws {}

    /// Calls `body`, which reads the source. If another program has written to the source by then, an error of reading
    /// or comparing is only a consequence, and this throws `.sourceChanged` instead.
    func reading<R>(_ body: () throws -> R) throws -> R {
        do { return try body() } catch {
            if error is RealmFileError || error is RealmFileImportError { try checkUnchanged() }
            throw error
        }
    }
}

// MARK: Files in Realm's format

extension RealmFileObject: SourceObject {}
extension RealmFileCursor: SourceCursor {
    typealias Item = RealmFileObject
}

final class RealmFileSource: ObjectSource {
    let file: RealmFile
    /// The state of the file before it was opened; nil if the owner of the source compares it.
    let state: SourceState?
    private let path: String
    let classes: [SourceClass]
    private let tables: [RealmFileTable]
    private var indexes: [Int: Int] = [:]

    /// Throws `.damaged` if a table cannot be read, or if two classes, or two properties of one class, have the same
    /// name.
    init(_ file: RealmFile, path: String, state: SourceState? = nil) throws(RealmFileError) {
        if let damage = file.tables.lazy.compactMap(\.damage).first { throw damage }
        self.file = file
        self.path = path
        self.state = state
        tables = file.tables.filter(\.isCarriedOver)
        classes = tables.map { SourceClass($0) }
        for (index, table) in tables.enumerated() { indexes[table.index] = index }
        try SourceClass.check(classes, path)
    }

    /// Opens a file whose later changes `checkUnchanged` notices.
    static func open(
        _ url: URL, encryptionKey: Data?, snapshot: RealmFileSnapshot = .current
    ) throws(RealmFileError) -> RealmFileSource {
        let state = SourceState.ofFile(url.path)
        let file = try RealmFile(url: url, encryptionKey: encryptionKey, snapshot: snapshot)
        guard let state else {
            throw RealmFileError(.unreadable, "its beginning could not be read", filePath: url.path)
        }
        return try RealmFileSource(file, path: url.path, state: state)
    }

    func checkUnchanged() throws {
        guard let state, SourceState.ofFile(path) != state else { return }
        throw RealmFileImportError(
            .sourceChanged,
            "Another program has written to '\(path)' in the meantime: end that program, and start again.")
    }

    var schemaVersion: UInt64? { file.schemaVersion }
    var replacedTextCount: Int { file.replacedTextCount }
    var deletedLinkCount: Int { file.deletedLinkCount }
    var omissions: [String] { file.omissions }
    var omittedObjectCount: Int { file.omittedObjectCount }
    func classIndex(ofTable table: Int) -> Int? { indexes[table] }
    func objects(ofClass index: Int) -> RealmFileCursor { file.objects(of: tables[index]) }
}

extension RealmFile {
    /// The tables that are not carried over, except those in which Realm keeps its own state.
    fileprivate var omittedTables: [RealmFileTable] { tables.filter { !$0.isInternal && !$0.isCarriedOver } }

    /// The number of objects of the tables that are not carried over.
    var omittedObjectCount: Int { omittedTables.reduce(0) { $0 + SourceClass.objectCount(of: $1) } }

    /// A sentence for each table that is not carried over, or under another name than its own.
    var omissions: [String] {
        let omitted = omittedTables.map { table in
            table.kind == .asymmetric
                ? "Class '\(table.name)' is asymmetric and is left out: its \(table.objectCount) objects wait to be "
                    + "sent."
                : "Class '\(table.name)' belongs to Realm's synchronisation and is left out."
        }
        let renamed = tables.filter { $0.isCarriedOver && !$0.isClass && $0.name != $0.tableName }
        return omitted
            + renamed.map { "Table '\($0.tableName)' belongs to no class. It becomes class '\($0.name)'." }
    }
}

extension SourceClass {
    /// Throws `.damaged` if two classes, or two properties of one class, have the same name.
    static func check(_ classes: [SourceClass], _ path: String) throws(RealmFileError) {
        var names: Set<String> = []
        for sourceClass in classes {
            guard names.insert(sourceClass.name).inserted else {
                throw RealmFileError(.damaged, "it has two classes '\(sourceClass.name)'", filePath: path)
            }
            var properties: Set<String> = []
            for property in sourceClass.properties where !properties.insert(property.name).inserted {
                throw RealmFileError(
                    .damaged, "class '\(sourceClass.name)' has two properties '\(property.name)'", filePath: path)
            }
        }
    }

    /// A damaged file may claim any count: the clamp keeps sums of counts from overflowing.
    static func objectCount(of table: RealmFileTable) -> Int { min(max(table.objectCount, 0), 1 << 40) }

    init(_ table: RealmFileTable) {
        name = table.name
        kind = table.kind
        objectCount = Self.objectCount(of: table)
        properties = table.properties.map { property in
            SourceProperty(
                name: property.name, storedName: property.storedName, type: property.type,
                collection: property.collection, isOptional: property.isOptional,
                isPrimaryKey: property.isPrimaryKey, isIndexed: property.isIndexed,
                hasFullTextIndex: property.hasFullTextIndex, isInternal: property.isInternal)
        }
    }
}
