// SPDX-License-Identifier: Apache-2.0
// Predicates over objects that are not managed: which of an unmanaged list is the first to satisfy one. The predicate
// is bound to the classes as a Realm would have them, and refused in the same words.

internal import RegnumEngine
internal import RegnumQuery

/// The classes that can be reached from one, each as a table of its properties.
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
        return property.get(object).flatMap { property.coercedRaw($0)?.value ?? property.storable($0) } ?? .null
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
        (value.flatMap { unwrapped($0) } as? ObjectBase).map { UnmanagedObject(object: $0) }
    }
}

/// A predicate for objects of a class and of those deriving from it, managed or not.
struct UnmanagedPredicate {
    private let predicate: QueryPredicate
    private let bound: BoundPredicate

    /// Misuse where the predicate is not understood.
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
                "Searches of texts and places, and parts of values of any type, need objects that are managed. Add "
                    + "the object to a Realm first.")
        }
        return holds
    }
}

extension RealmCollection {
    /// Of an unmanaged collection of objects: the position of the first that satisfies the predicate.
    func unmanagedIndex(matching predicate: QueryPredicate) -> Int? {
        guard let target = Element._shape.target, !Element._shape.isCustom else {
            misuse(
                "Querying is currently only implemented for arrays of Realm Objects. Use `firstIndex { }` for values.")
        }
        let test = UnmanagedPredicate(predicate, for: target)
        return firstIndex { element in Element._toRaw(element).object.map { test.isSatisfied(by: $0) } ?? false }
    }
}
