// SPDX-License-Identifier: Apache-2.0
// The properties of dynamic objects: the schema of a table, and conversion of values directly between columns and
// `Any`.

internal import Foundation
internal import RegnumEngine

extension ClassSchema {
    /// Returns the schema of a table for dynamic objects: the properties of the class `known` if given, otherwise the
    /// table's columns. If `isSorted` is true, columns are sorted by name, as in a `goldenText`, instead of in the
    /// order in which they were added to the file.
    static func dynamic(
        _ definition: TableDefinition, known: ClassSchema?, in session: Session, isSorted: Bool = false
    ) -> ClassSchema {
        if let known {
            let properties = known.properties.enumerated().map { dynamic($1, number: $0) }
            return ClassSchema(dynamic: definition.name, isEmbedded: definition.isEmbedded, properties: properties)
        }
        var columns = definition.columns.filter { !$0.isHidden }
        if isSorted { columns.sort { $0.name < $1.name } }
        let uniques = definition.uniques.map { unique in
            unique.columns.compactMap { key in columns.firstIndex { $0.key == key } }
        }
        return ClassSchema(
            dynamic: definition.name, isEmbedded: definition.isEmbedded,
            properties: columns.enumerated().map { dynamic($1, number: $0, in: session) }, uniques: uniques)
    }

    private static func dynamic(_ property: ClassProperty, number: Int) -> ClassProperty {
        var shape = property.shape
        if shape.target != nil { shape.target = DynamicObject.self }
        let dynamic = ClassProperty(
            name: property.name, offset: number, shape: shape, storage: .column, type: shape.dynamicType,
            fieldType: Any.self)
        dynamic.columnName = property.columnName
        dynamic.isIndexed = property.isIndexed
        dynamic.isPrimaryKey = property.isPrimaryKey
        dynamic.isContentIndexed = property.isContentIndexed
        dynamic.isAutoIncremented = property.isAutoIncremented
        dynamic.targetName = property.targetName
        dynamic.originProperty = property.originProperty
        return dynamic
    }

    private static func dynamic(_ column: ColumnDefinition, number: Int, in session: Session) -> ClassProperty {
        var shape = _PropertyShape(column.type.propertyType)
        shape.isOptional =
            column.isNullable && column.type != .mixed
            || column.type == .link && (column.collection == .none || column.collection == .dictionary)
        shape.collection = column.collection.shape
        if column.type == .link { shape.target = DynamicObject.self }
        let property = ClassProperty(
            name: column.name, offset: number, shape: shape, storage: .column, type: shape.dynamicType,
            fieldType: Any.self)
        property.isIndexed = column.isIndexed
        property.isPrimaryKey = column.isPrimaryKey
        property.isContentIndexed = column.isContentIndexed
        property.targetName = column.target.flatMap { session.table($0)?.definition.name }
        if column.type == .link {
            property.deleteRule = column.deleteRule
            property.originRule = column.originRule
        }
        return property
    }
}

extension ColumnType {
    /// The corresponding type in the public API.
    var propertyType: PropertyType {
        switch self {
        case .bool: .bool
        case .int: .int
        case .float: .float
        case .double: .double
        case .string: .string
        case .data: .data
        case .date: .date
        case .objectID: .objectId
        case .uuid: .UUID
        case .link: .object
        case .decimal128: .decimal128
        case .mixed: .any
        }
    }
}

extension CollectionKind {
    fileprivate var shape: _PropertyShape.Collection {
        switch self {
        case .none: .none
        case .list: .list
        case .set: .set
        case .dictionary: .dictionary
        }
    }
}

extension _PropertyShape {
    /// The type of the values that dynamic objects return; nil if this version cannot represent them.
    var dynamicType: (any _Persistable.Type)? {
        func type<V: _Persistable & _PersistableInsideOptional & _RealmCollectionValueInsideOptional>(
            _ value: V.Type
        ) -> any _Persistable.Type {
            switch (collection, isOptional) {
            case (.list, false): List<V>.self
            case (.list, true): List<V?>.self
            case (.set, false): MutableSet<V>.self
            case (.set, true): MutableSet<V?>.self
            case (.dictionary, false): Map<String, V>.self
            case (.dictionary, true): Map<String, V?>.self
            case (_, false): V.self
            case (_, true): V?.self
            }
        }
        switch self.type {
        case .int: return type(Int.self)
        case .bool: return type(Bool.self)
        case .string: return type(String.self)
        case .data: return type(Data.self)
        case .date: return type(Date.self)
        case .float: return type(Float.self)
        case .double: return type(Double.self)
        case .objectId: return type(ObjectId.self)
        case .UUID: return type(UUID.self)
        case .object:
            switch collection {
            case .list: return List<DynamicObject>.self
            case .set: return MutableSet<DynamicObject>.self
            case .dictionary: return Map<String, DynamicObject?>.self
            case .none, .linkingObjects: return DynamicObject?.self
            }
        case .linkingObjects: return LinkingObjects<DynamicObject>.self
        case .decimal128: return type(Decimal128.self)
        case .any:
            switch collection {
            case .list: return List<AnyRealmValue>.self
            case .set: return MutableSet<AnyRealmValue>.self
            case .dictionary: return Map<String, AnyRealmValue>.self
            case .none, .linkingObjects: return AnyRealmValue.self
            }
        }
    }
}

// MARK: Plain values

/// The types whose values dynamic objects read from and store to columns directly.
enum PlainForm: UInt8 {
    /// Any other type, which goes through its property.
    case other
    case int, bool, float, double, string

    init(_ shape: _PropertyShape) {
        self = .other
        if shape.target != nil || shape.collection != .none { return }
        switch shape.type {
        case .int: self = .int
        case .bool: self = .bool
        case .float: self = .float
        case .double: self = .double
        case .string: self = .string
        default: break
        }
    }
}

extension ObjectBase {
    /// Returns the value of a dynamic object's property whose form is not `other`.
    final func plainValue(_ form: PlainForm, _ place: Int) -> Any? {
        requireValid()
        return plainColumn(form, binding.columns[place])
    }

    /// Returns the value of a column whose form is not `other`. The caller has checked the object.
    final func plainColumn(_ form: PlainForm, _ number: Int) -> Any? {
        // A read-only file of an older version may lack the column.
        if number < 0 { return nil }
        let column = rowColumns.unsafelyUnwrapped + number
        let row = Int(rowNumber)
        if column.pointee.isNull(row) { return nil }
        switch form {
        case .int: return Int(column.pointee.integer(row))
        case .bool: return column.pointee.bit(row)
        case .float: return column.pointee.float(row)
        case .double: return column.pointee.double(row)
        case .string: return String._load(column, row, self, 0)
        case .other: preconditionFailure("a property of another type has no plain value")
        }
    }

    /// Stores a value whose type is exactly that of a dynamic object's property, which is not a primary key. Returns
    /// false for a value of another type, which must be set through the property. The caller has checked that the
    /// object can be changed.
    final func setPlain(_ value: Any, _ form: PlainForm, _ column: Int) -> Bool {
        let type = Swift.type(of: value)
        let new: Value
        switch form {
        case .int where type == Int.self: new = .int(Int64(contents(value, as: Int.self)))
        case .bool where type == Bool.self: new = .bool(contents(value, as: Bool.self))
        case .float where type == Float.self: new = .float(contents(value, as: Float.self))
        case .double where type == Double.self: new = .double(contents(value, as: Double.self))
        case .string where type == String.self: new = String._toRaw(contents(value, as: String.self)).value
        default: return false
        }
        let binding = binding
        engine { () throws(EngineError) in try binding.table.set(new, column, of: rowKey) }
        return true
    }
}

/// Reads the value inside an existential whose type is known and small enough to be stored inline. A cast would
/// determine the type again, which takes 30 ns.
@inline(__always)
private func contents<Contents>(_ box: Any, as type: Contents.Type) -> Contents {
    withUnsafePointer(to: box) { UnsafeRawPointer($0).load(as: Contents.self) }
}

// MARK: Values

extension ClassProperty {
    /// Returns the value of a dynamic object's property.
    func dynamicValue(of object: ObjectBase) -> Any? {
        object.requireValid()
        let binding = object.binding
        let column = binding.columns[offset]
        if isComputed { return dynamicBacklinks(of: object) }
        // A read-only file of an older version may lack the column.
        if column < 0 { return nil }
        if isOwnedCollection { return dynamicCollection(of: object) }
        let value = engine { () throws(EngineError) in try binding.table.value(column, of: object.rowKey) }
        func open<V: _Persistable>(_ type: V.Type) -> Any? {
            var raw = _RawValue(value)
            if case .link = value { raw.binding = binding.core.dynamicTarget(of: binding, column) }
            raw.place = PropertyLocation(object, column: column, path: [])
            return V._dynamic(V._fromRaw(raw))
        }
        guard let type else { refuseType(binding) }
        return open(type)
    }

    /// Stores a value of type Any in a dynamic object. Returns false if the value does not fit.
    func setDynamic(_ value: Any, of object: ObjectBase) -> Bool {
        let binding = object.binding
        let column = binding.columns[offset]
        if isPrimaryKey {
            guard let work = object.core.settings.work else {
                refusePrimaryKeyChange(to: value)
            }
            work.noteKey(of: binding.tableKey)
        }
        if hasTarget, binding.table.ownsTargets(of: column) { return setDynamicOwned(value, of: object, column) }
        if isOwnedCollection {
            let collection = dynamicCollection(of: object)
            guard hasTarget, let present = unwrapped(value) else { return collection.replaceElements(with: value) }
            if isMap { return setDynamicMap(present, collection, binding.core.dynamicTarget(of: binding, column)) }
            guard let elements = Coercion.elements(present) else { return false }
            let target = binding.core.dynamicTarget(of: binding, column)
            let objects = elements.map { element -> DynamicObject in
                guard let key = binding.core.dynamicKey(element, target, for: linkPlace) else {
                    misuse("Invalid nil value for array of '\(targetName ?? "")'.")
                }
                return unsafeDowncast(target.makeAccessor(key), to: DynamicObject.self)
            }
            return collection.replaceElements(with: objects)
        }
        let new: Value
        if hasTarget {
            let target = binding.core.dynamicTarget(of: binding, column)
            new = binding.core.dynamicKey(value, target).map { .link($0) } ?? .null
        } else {
            guard let raw = coercedRaw(value) else { return false }
            new = binding.core.storedValue(raw, .error)
        }
        engine { () throws(EngineError) in try binding.table.set(new, column, of: object.rowKey) }
        return true
    }

    /// Like `setDynamic`, for a property that owns the objects it links to.
    private func setDynamicOwned(_ value: Any, of object: ObjectBase, _ column: Int) -> Bool {
        let core = object.core
        var new = OwnedElements(kind: shape.collectionKind)
        var given: [Any] = []
        if let present = unwrapped(value), isMap {
            guard let entries = Coercion.mapEntries(present) else { return false }
            for (key, _) in entries { checkKey(key) }
            new.keys = entries.map(\.key)
            given = entries.map { $0.value as Any }
        } else if let present = unwrapped(value) {
            guard let elements = isOwnedCollection ? Coercion.elements(present) : [present] else { return false }
            given = elements
        }
        for element in given {
            guard let element = unwrapped(element).flatMap(objectBase) else { continue }
            if !isOwnedCollection, element.isOwned, element.isLinked(from: object, column) { return true }
            core.requireNoOwner(element, linkPlace)
        }
        let target = core.dynamicTarget(of: object.binding, column)
        new.values = given.map { element in
            if let key = core.dynamicKey(element, target, for: linkPlace) { return .link(key) }
            if isList { misuse("Invalid nil value for array of '\(targetName ?? "")'.") }
            return .null
        }
        if isOwnedCollection {
            core.replace(new, object.binding, column, object.rowKey, .all)
        } else {
            core.replace(new.values.first ?? .null, object.binding, column, object.rowKey, .all)
        }
        return true
    }

    private func setDynamicMap(
        _ value: Any, _ map: any AnyOwnedCollection, _ target: ClassBinding
    ) -> Bool {
        guard let entries = Coercion.mapEntries(value) else { return false }
        let objects = entries.map { entry -> (key: String, value: Any?) in
            let made = target.core.dynamicKey(entry.value as Any, target, for: linkPlace)
            return (entry.key, made.map { target.makeAccessor($0) as Any } ?? NSNull())
        }
        return map.replaceElements(with: MapEntries(list: objects))
    }

    func dynamicCollection(of object: ObjectBase) -> any AnyOwnedCollection {
        guard let type = type as? any AnyOwnedCollection.Type else { refuseType(object.binding) }
        let collection = type.init()
        collection.becomeManaged(PropertyLocation(object, column: object.binding.columns[offset]))
        return collection
    }

    private func dynamicBacklinks(of object: ObjectBase) -> LinkingObjects<DynamicObject> {
        let handle = LinkingObjectsHandle(originType: DynamicObject.self, originProperty: originProperty ?? "")
        let core = object.core
        if let origin = targetName.flatMap({ core.dynamicBinding(named: $0) }),
            let place = origin.schema.place(named: originProperty ?? "")
        {
            let owner = RowReference(
                binding: object.binding, key: object.rowKey, rollbacks: Int(object.rowRollbacks))
            handle.bind(to: owner, origin: origin, column: origin.columns[place])
        }
        return LinkingObjects(handle: handle)
    }

    private func refuseType(_ binding: ClassBinding) -> Never {
        misuse(
            "Property '\(binding.schema.name).\(name)' of type '\(shape.type.text)' cannot be read from a "
                + "dynamic object.")
    }
}
