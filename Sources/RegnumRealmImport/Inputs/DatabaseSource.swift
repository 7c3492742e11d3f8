// SPDX-License-Identifier: Apache-2.0
// The classes and objects of a Regnum file, as a source. An object's key is its `ObjectKey`.

internal import Foundation
internal import RegnumEngine
internal import RegnumRealmFile

final class DatabaseSource: ObjectSource {
    private let session: Session
    private let tables: [Table]
    private let places: [TableKey: Int]
    let classes: [SourceClass]
    let schemaVersion: UInt64?
    let replacedTextCount = 0
    let deletedLinkCount = 0
    let omissions: [String] = []
    let omittedObjectCount = 0

    init(_ session: Session) {
        self.session = session
        tables = session.tables
        var places: [TableKey: Int] = [:]
        for (index, table) in tables.enumerated() { places[table.definition.key] = index }
        self.places = places
        schemaVersion = session.schemaVersion == .max ? nil : session.schemaVersion
        classes = tables.map { table in
            let definition = table.definition
            return SourceClass(
                name: definition.name, kind: definition.isEmbedded ? .embedded : .topLevel,
                properties: definition.columns.filter { !$0.isHidden }.map { column in
                    SourceProperty(
                        column, target: column.target.flatMap { session.table($0)?.definition.name } ?? "")
                }, objectCount: table.count)
        }
    }

    func classIndex(ofTable table: Int) -> Int? { tables.indices.contains(table) ? table : nil }

    func objects(ofClass index: Int) -> DatabaseCursor { DatabaseCursor(tables[index], places) }
}

extension SourceProperty {
    fileprivate init(_ column: ColumnDefinition, target: String) {
        let type: RealmFileProperty.ValueType =
            switch column.type {
            case .bool: .bool
            case .int: .int
            case .float: .float
            case .double: .double
            case .string: .string
            case .data: .data
            case .date: .date
            case .objectID: .objectId
            case .uuid: .uuid
            case .decimal128: .decimal
            case .mixed: .any
            case .link: .link(target)
            }
        let collection: RealmFileProperty.Collection =
            switch column.collection {
            case .none: .none
            case .list: .list
            case .set: .set
            case .dictionary: .dictionary
            }
        let isLinkToMaybe = column.type == .link && (collection == .none || collection == .dictionary)
        self.init(
            name: column.name, storedName: column.name, type: type, collection: collection,
            isOptional: column.isNullable || isLinkToMaybe, isPrimaryKey: column.isPrimaryKey,
            isIndexed: column.isIndexed, hasFullTextIndex: column.isContentIndexed && column.type == .string)
    }
}

/// Iterates over the objects of a table in the order of their keys.
final class DatabaseCursor: SourceCursor {
    private let table: Table
    private let places: [TableKey: Int]
    private let columns: [Int]
    private var position = 0

    init(_ table: Table, _ places: [TableKey: Int]) {
        self.table = table
        self.places = places
        columns = table.definition.columns.indices.filter { !table.definition.columns[$0].isHidden }
    }

    func next() throws -> DatabaseObject? {
        guard let location = try table.locationIfAny(atPosition: position) else { return nil }
        position += 1
        return DatabaseObject(table: table, places: places, columns: columns, location: location)
    }
}

struct DatabaseObject: SourceObject {
    let table: Table
    let places: [TableKey: Int]
    let columns: [Int]
    let location: RowLocation

    var key: Int64 { Int64(bitPattern: location.key.rawValue) }

    func value(at index: Int) throws -> RealmFileValue {
        let column = columns[index]
        let definition = table.definition.columns[column]
        switch definition.collection {
        case .none: return convert(try table.value(column, at: location), definition.target)
        case .list: return .list(try table.listValues(column, at: location).map { convert($0, definition.target) })
        case .set: return .set(try table.listValues(column, at: location).map { convert($0, definition.target) })
        case .dictionary:
            return convert(.dictionary(try table.dictionaryEntries(column, of: location.key)), definition.target)
        }
    }

    private func convert(_ value: Value, _ target: TableKey?) -> RealmFileValue {
        switch value {
        case .null: return .null
        case .bool(let bit): return .bool(bit)
        case .int(let number): return .int(number)
        case .float(let number): return .float(number)
        case .double(let number): return .double(number)
        case .string(let text): return .string(text)
        case .data(let bytes): return .data(Data(bytes))
        case .date(let date): return .date(RealmFileDate(seconds: date.seconds, nanoseconds: date.nanoseconds))
        case .objectID(let low, let high):
            return withUnsafeBytes(of: (low.littleEndian, high.littleEndian)) {
                .objectId(RealmFileObjectId($0.baseAddress!))
            }
        case .uuid(let low, let high):
            return withUnsafeBytes(of: (low.littleEndian, high.littleEndian)) {
                .uuid(UUID(uuid: $0.loadUnaligned(as: uuid_t.self)))
            }
        case .decimal128(let low, let high): return .decimal(RealmFileDecimal(DecimalBits(low: low, high: high)))
        case .link(let key):
            guard let place = target.flatMap({ places[$0] }) else { return .null }
            return .link(RealmFileLink(tableIndex: place, key: Int64(bitPattern: key.rawValue)))
        case .typedLink(let table, let key):
            guard let place = places[table] else { return .null }
            return .link(RealmFileLink(tableIndex: place, key: Int64(bitPattern: key.rawValue)))
        case .list(let values): return .list(values.map { convert($0, nil) })
        case .dictionary(let entries):
            return .dictionary(entries.map { RealmFileEntry(key: .string($0.key), value: convert($0.value, target)) })
        }
    }
}

extension RealmFileDecimal {
    fileprivate init(_ bits: DecimalBits) {
        let canonical = bits.canonical
        if canonical.isNaN {
            self.init(kind: .notANumber, isNegative: false)
        } else if canonical.isInfinite {
            self.init(kind: .infinity, isNegative: canonical.isNegative)
        } else {
            self.init(
                kind: .finite, isNegative: canonical.isNegative,
                coefficient: (canonical.high & 0x1_FFFF_FFFF_FFFF, canonical.low),
                exponent: Int(canonical.high >> 49 & 0x3FFF) - 6176)
        }
    }
}
