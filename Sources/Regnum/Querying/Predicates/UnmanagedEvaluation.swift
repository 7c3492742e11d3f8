// SPDX-License-Identifier: Apache-2.0
// Evaluation of predicates on unmanaged objects, to find the first element of an unmanaged list that satisfies one. The
// predicate is bound to the classes as in a Realm, and rejected with the same messages.

internal import RegnumEngine
internal import RegnumQuery

/// The classes that can be reached from one class, each as a table of its properties.
private final class UnmanagedSchema: QuerySchema {
    private var classes: [ClassSchema] = []

    func key(of type: ObjectBase.Type) -> TableKey {
        let schema = ClassSchema.of(type)
        if let known = classes.firstIndex(where: { $0 === schema }) { return TableKey(UInt32(known)) }
        classes.append(schema)
        return TableKey(UInt32(classes.count - 1))
    }

    func queryClass(_ table: TableKey) -> QueryClass? {
        let schema = classes[Int(table.rawValue)]
        var properties: [String: QueryProperty] = [:]
        for (number, property) in schema.properties.enumerated() {
            let target = property.shape.target.map { key(of: $0) }
            if property.isComputed {
                guard let type = property.shape.target, let target,
                    let origin = ClassSchema.of(type).place(named: property.originProperty ?? "")
                else { continue }
                properties[property.name] = .backlinks(
                    originTable: target, originColumn: origin, originClassName: ClassSchema.of(type).name)
                continue
            }
            let column = property.newColumn
            properties[property.name] = .column(
                number,
                ColumnDefinition(
                    key: ColumnKey(UInt32(number)), name: column.name, type: column.type,
                    collection: column.collection, isNullable: column.isNullable, target: target))
        }
        return QueryClass(
            name: schema.name, table: table, properties: properties, isEmbedded: schema.isEmbedded)
    }
}

/// An object whose columns are its properties.
private struct UnmanagedObject: PlainObject {
    let object: ObjectBase

    private func property(_ column: Int) -> ClassProperty { object.classSchema.properties[column] }

    private func collection(_ column: Int) -> any AnyOwnedCollection { property(column).collection(in: object) }

    func value(_ column: Int) -> Value {
        let property = property(column)
        return property.get(object).flatMap { property.coercedRaw($0)?.plainValue ?? property.storable($0) } ?? .null
    }

    func link(_ column: Int) -> (any PlainObject)? { Self.plain(property(column).get(object)) }

    func links(_ column: Int) -> [any PlainObject] { collection(column).anyElements.compactMap { Self.plain($0) } }

    func elements(_ column: Int) -> [Value] { collection(column).engineValues }

    func keys(_ column: Int) -> [String] { entries(column).map(\.key) }

    func entry(_ column: Int, _ key: String) -> Value {
        let keys = keys(column)
        return keys.firstIndex(of: key).map { elements(column)[$0] } ?? .null
    }

    func link(_ column: Int, _ key: String) -> (any PlainObject)? {
        Self.plain(entries(column).first { $0.key == key }?.value)
    }

    private func entries(_ column: Int) -> [(key: String, value: Any?)] {
        (collection(column) as? any AnyMap)?.anyEntries ?? []
    }

    private static func plain(_ value: Any?) -> (any PlainObject)? {
        value.flatMap { unwrapped($0) }.flatMap(objectBase).map { UnmanagedObject(object: $0) }
    }
}

/// A predicate for objects of a class and its subclasses, managed or not.
struct UnmanagedPredicate {
    private let predicate: QueryPredicate
    private let bound: BoundPredicate

    /// Creates the predicate. An invalid predicate is a programmer error.
    init(_ predicate: QueryPredicate, for type: ObjectBase.Type) {
        self.predicate = predicate
        let schema = UnmanagedSchema()
        do throws(QueryError) {
            bound = try PredicateBinder.bind(predicate, to: schema.key(of: type), in: schema)
        } catch { misuse(error.message) }
    }

    func isSatisfied(by object: ObjectBase) -> Bool {
        guard let holds = bound.isSatisfied(by: UnmanagedObject(object: object)) else {
            misuse(
                "Full-text and geospatial searches, and paths into mixed values, need managed objects. Add the "
                    + "object to a Realm first.")
        }
        return holds
    }
}

extension RealmCollection {
    /// Returns the position of the first element of an unmanaged collection of objects that satisfies the predicate.
    func unmanagedIndex(matching predicate: QueryPredicate) -> Int? {
        guard let target = Element._shape.target, !Element._shape.isCustom else {
            return unmanagedValueIndex(matching: predicate)
        }
        let test = UnmanagedPredicate(predicate, for: target)
        return firstIndex { element in Element._toRaw(element).object.map { test.isSatisfied(by: $0) } ?? false }
    }

    /// Like `unmanagedIndex`, for values, which a predicate calls SELF.
    private func unmanagedValueIndex(matching predicate: QueryPredicate) -> Int? {
        guard let schema = UnmanagedValueSchema(Element._shape) else {
            misuse(
                "Querying is currently only implemented for arrays of Realm Objects and of values that are stored as "
                    + "they are. Use `firstIndex { }` for others.")
        }
        let bound: BoundPredicate
        do throws(QueryError) {
            bound = try PredicateBinder.bind(predicate, to: UnmanagedValueSchema.table, in: schema)
        } catch {
            misuse(
                "Querying is currently only implemented for arrays of Realm Objects, and of values by SELF: "
                    + error.message)
        }
        return firstIndex { element in
            guard let holds = bound.isSatisfied(by: UnmanagedValue(value: Element._toRaw(element).plainValue)) else {
                misuse("Full-text and geospatial searches need managed objects.")
            }
            return holds
        }
    }
}

/// Presents each value as an object with one property, SELF.
private struct UnmanagedValueSchema: QuerySchema {
    static let table = TableKey(0)
    private let properties: [String: QueryProperty]

    /// Creates the schema; nil for values that are stored as objects.
    init?(_ shape: _PropertyShape) {
        guard shape.target == nil else { return nil }
        let property = QueryProperty.column(
            0,
            ColumnDefinition(
                key: ColumnKey(0), name: "self", type: shape.type.columnType, collection: .none,
                isNullable: shape.isOptional || shape.type == .any, target: nil))
        properties = ["self": property, "SELF": property, "Self": property]
    }

    func queryClass(_ table: TableKey) -> QueryClass? {
        QueryClass(name: "SELF", table: table, properties: properties)
    }
}

private struct UnmanagedValue: PlainObject {
    let value: Value

    func value(_ column: Int) -> Value { value }
    func link(_ column: Int) -> (any PlainObject)? { nil }
    func links(_ column: Int) -> [any PlainObject] { [] }
    func elements(_ column: Int) -> [Value] { [] }
    func keys(_ column: Int) -> [String] { [] }
    func entry(_ column: Int, _ key: String) -> Value { .null }
    func link(_ column: Int, _ key: String) -> (any PlainObject)? { nil }
}

extension _RawValue {
    /// The engine value; for a value of any type it includes the contents of its collections.
    fileprivate var plainValue: Value { mixed.map { Self.plain($0, depth: 0) } ?? value }

    private static func plain(_ value: AnyRealmValue, depth: Int) -> Value {
        if let scalar = value.scalar { return scalar }
        if depth >= MixedCodec.depthLimit {
            misuse("Lists and dictionaries can be nested at most \(MixedCodec.depthLimit) levels deep.")
        }
        switch value {
        case .list(let list): return .list(list.map { plain($0, depth: depth + 1) })
        case .dictionary(let map):
            var entries = map.pairs.map { DictionaryEntry(key: $0.key, value: plain($0.value, depth: depth + 1)) }
            entries.sort { MixedOrder.compare($0.key, $1.key) < 0 }
            return .dictionary(entries)
        case .object(let object):
            // An unmanaged object equals no object that a predicate can name.
            guard object.realm != nil, !object.isInvalidated else { return .link(ObjectKey(.max)) }
            return .typedLink(object.binding.tableKey, object.rowKey)
        default: return .null
        }
    }
}
