// SPDX-License-Identifier: Apache-2.0
// Where the objects of an import or an export come from: a file in Realm's format, a Regnum file, or lines of JSON. All of them
// show their classes and values in the terms of RegnumRealmFile.

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
    /// True for what Realm's synchronisation has added.
    var isInternal = false
}

/// One object. It is good until its cursor moves on.
protocol SourceObject {
    /// Links name the object by this key.
    var key: Int64 { get }
    func value(at index: Int) throws -> RealmFileValue
}

/// Goes through the objects of one class.
protocol SourceCursor {
    associatedtype Item: SourceObject
    /// The next object; nil after the last one.
    func next() throws -> Item?
}

/// A set of classes with their objects.
protocol ObjectSource: AnyObject {
    associatedtype Cursor: SourceCursor
    var classes: [SourceClass] { get }
    var schemaVersion: UInt64? { get }
    /// Texts read so far in which bytes that are no UTF-8 were replaced.
    var replacedTextCount: Int { get }
    /// The class that the table number of a `RealmFileLink` names; nil for a table that is no class.
    func classIndex(ofTable table: Int) -> Int?
    func objects(ofClass index: Int) throws -> Cursor
}

// MARK: Files in Realm's format

extension RealmFileObject: SourceObject {}
extension RealmFileCursor: SourceCursor {
    typealias Item = RealmFileObject
}

final class RealmFileSource: ObjectSource {
    let file: RealmFile
    let classes: [SourceClass]
    private let tables: [RealmFileTable]
    private var indexes: [Int: Int] = [:]

    /// Throws if two classes have one name.
    init(_ file: RealmFile, path: String) throws(RealmFileError) {
        self.file = file
        tables = file.classes.filter { !$0.name.isEmpty }
        classes = tables.map { SourceClass($0) }
        for (index, table) in tables.enumerated() { indexes[table.index] = index }
        try SourceClass.check(classes, path)
    }

    var schemaVersion: UInt64? { file.schemaVersion }
    var replacedTextCount: Int { file.replacedTextCount }
    func classIndex(ofTable table: Int) -> Int? { indexes[table] }
    func objects(ofClass index: Int) -> RealmFileCursor { file.objects(of: tables[index]) }
}

extension SourceClass {
    /// Throws if names are there twice: of a file, that is damage.
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

    init(_ table: RealmFileTable) {
        name = table.name
        kind = table.kind
        // A damaged file may claim any number: sums of them must not overflow.
        objectCount = min(max(table.objectCount, 0), 1 << 40)
        properties = table.properties.map { property in
            SourceProperty(
                name: property.name, storedName: property.storedName, type: property.type,
                collection: property.collection, isOptional: property.isOptional,
                isPrimaryKey: property.isPrimaryKey, isIndexed: property.isIndexed,
                hasFullTextIndex: property.hasFullTextIndex, isInternal: property.isInternal)
        }
    }
}
