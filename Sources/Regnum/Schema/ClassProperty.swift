// SPDX-License-Identifier: Apache-2.0
// One property of a class: its schema, and access to its value in any object of the class.

package import RegnumEngine

/// A class, so that passing a property around costs one word; one instance for each property of a class.
package final class ClassProperty: @unchecked Sendable {
    // Sendable: immutable once the schema is built; metatypes can be used on any thread.

    /// How the property is stored in the object.
    package enum Storage: Sendable {
        /// `@Persisted var`.
        case wrapper
        /// `let x = List<E>()`, a set or a map.
        case collectionField
        /// `let x = LinkingObjects(fromType:property:)`.
        case linkingField
        /// `let x = RealmProperty<T?>()`.
        case boxField
        /// In no field: the object is a `DynamicObject`, and `offset` is the index of the property.
        case column
    }

    @exclusivity(unchecked) package internal(set) var name: String
    @exclusivity(unchecked) package internal(set) var columnName: String
    /// Bytes from the start of the object.
    @exclusivity(unchecked) package internal(set) var offset: Int
    @exclusivity(unchecked) package internal(set) var shape: _PropertyShape
    @exclusivity(unchecked) package internal(set) var storage: Storage
    @exclusivity(unchecked) package internal(set) var isIndexed = false
    @exclusivity(unchecked) package internal(set) var isContentIndexed = false
    @exclusivity(unchecked) package internal(set) var isPrimaryKey = false
    /// The rule for the objects that the links point to when an object of the class is deleted.
    @exclusivity(unchecked) package internal(set) var deleteRule = LinkRule.nullify
    /// The rule for the objects of the class when an object that they link to is deleted. Known for columns and for
    /// schema texts; nil for declared classes, whose rule is declared by the class that they link to.
    @exclusivity(unchecked) package internal(set) var originRule: LinkRule?
    /// True if a new object gets a number.
    @exclusivity(unchecked) package internal(set) var isAutoIncremented = false
    /// The name of the class that the links refer to.
    @exclusivity(unchecked) package internal(set) var targetName: String?
    /// For linking objects: the property of the target class that holds the links.
    @exclusivity(unchecked) package internal(set) var originProperty: String?
    /// The type of the value; nil for `boxField`.
    let type: (any _Persistable.Type)?
    /// The type of the field in the object.
    let fieldType: Any.Type
    /// True if the column may hold values that the type cannot represent.
    let isPartial: Bool
    /// How the column is read by name if it may hold such values and has a plain type; otherwise `other`.
    let storedForm: PlainForm
    /// True for `@Persisted` properties of a user-defined type that is stored as an embedded object.
    let hasEmbeddedForm: Bool
    /// True if its numbers are read by name as `NSNumber`; see `byName`.
    let isBridgedByName: Bool

    package init(
        name: String, offset: Int, shape: _PropertyShape, storage: Storage, type: (any _Persistable.Type)?,
        fieldType: Any.Type
    ) {
        self.name = name
        columnName = name
        self.offset = offset
        self.shape = shape
        self.storage = storage
        self.type = type
        self.fieldType = fieldType
        isPartial = shape.isPartial && storage != .column
        storedForm = isPartial && storage == .wrapper ? PlainForm(shape) : .other
        hasEmbeddedForm = shape.hasEmbeddedForm && !shape.isCollection && storage == .wrapper
        let boxed = (fieldType as? any AnyRealmProperty.Type)?.valueType
        isBridgedByName = storage == .column || type?._isBridgedByName ?? boxed?._isBridgedByName ?? false
    }

    /// True if the property has no column: linking objects.
    package var isComputed: Bool { shape.collection == .linkingObjects }
    package var isList: Bool { shape.collection == .list }
    package var isSet: Bool { shape.collection == .set }
    package var isMap: Bool { shape.collection == .dictionary }
    /// A list, a set or a map.
    package var isOwnedCollection: Bool { shape.collectionKind != .none }
    package var isField: Bool { storage != .wrapper && storage != .column }
    /// A link or a collection of links.
    package var hasTarget: Bool { shape.target != nil }

    package var columnType: ColumnType { shape.type.columnType }
    /// The type as messages spell it.
    package var typeName: String { shape.type.text }

    /// The column that stores the property. Linking objects have none.
    package var newColumn: NewColumn {
        NewColumn(
            name: columnName, type: columnType, collection: shape.collectionKind,
            isNullable: shape.isOptional && !hasTarget || shape.type == .any, isIndexed: isIndexed,
            isPrimaryKey: isPrimaryKey, isContentIndexed: isContentIndexed, targetName: targetName)
    }

    // MARK: Values of an object

    /// The value that a subscript returns: like `get`, except that a user-defined type stored as an embedded object is
    /// returned as that live object.
    func shown(of object: ObjectBase) -> Any? { embeddedObject(of: object) ?? get(object) }

    /// The value that a user reads by name: like `shown`, but with numbers as `NSNumber` if `byName` requires it.
    func named(of object: ObjectBase) -> Any? { byName(shown(of: object), isBridgedByName) }

    /// The value as type Any: enums as raw values, collections themselves, nil for null. For a user-defined type stored
    /// as an embedded object, a new unmanaged object.
    func get(_ object: ObjectBase) -> Any? {
        if storage == .column { return dynamicValue(of: object) }
        if isPartial, let stored = storedValue(of: object) { return stored }
        func open<V: _Persistable>(_ type: V.Type) -> Any? { V._dynamic(persistedGet(object, offset)) }
        guard let type else { return box(in: object).dynamicValue }
        return open(type)
    }

    /// Stores a value of type Any. Returns false if it does not fit.
    func set(_ object: ObjectBase, _ value: Any) -> Bool {
        if storage == .column { return setDynamic(value, of: object) }
        func open<V: _Persistable>(_ type: V.Type) -> Bool {
            guard let value = coerced(value, as: V.self) else { return false }
            persistedSet(object, offset, value)
            return true
        }
        guard let type else { return box(in: object).setDynamic(value) }
        if isOwnedCollection { return collection(in: object).replaceElements(with: value) }
        return open(type)
    }

    /// Removes the stored value of a user-defined type stored as an embedded object: such a link can always be nil, and
    /// the property then reads as the type's default. Returns false for all other properties.
    func clear(_ object: ObjectBase) -> Bool {
        func open<V: _Persistable>(_ type: V.Type) { storedPointer(object, offset, V.self).pointee = V._unset }
        guard hasEmbeddedForm, let type else { return false }
        if let context = object.rowContext {
            guard prepareAccess(object) else { return true }
            requireModifiable(object)
            assignRaw(_RawValue(.null), nil, object, Int(context.pointee.columnNumbers[offset]))
        } else {
            open(type)
        }
        return true
    }

    /// The embedded object in which a managed object stores a value of a user-defined type. Nil if there is none, for
    /// unmanaged objects, and for all other properties.
    private func embeddedObject(of object: ObjectBase) -> ObjectBase? {
        guard hasEmbeddedForm, let target = shape.target, let context = object.rowContext,
            context.pointee.kind == .managed
        else { return nil }
        object.requireValid()
        let column = Int(context.pointee.columnNumbers[offset])
        if context.pointee.isTracked { trackRead(of: object, column) }
        // The column is missing in a read-only file of an older version.
        if column < 0 { return nil }
        let key = (object.rowColumns.unsafelyUnwrapped + column).pointee.integer(Int(object.rowNumber))
        if key == 0 { return nil }
        return object.core.binding(for: target).makeAccessor(ObjectKey(rawValue: UInt64(bitPattern: key)))
    }

    /// The value of an unmanaged object, for the engine.
    func raw(_ object: ObjectBase) -> _RawValue {
        func open<V: _Persistable>(_ type: V.Type) -> _RawValue {
            let value: V = unmanagedGet(object, offset)
            return V._toRaw(value)
        }
        guard let type else { return box(in: object).rawValue }
        return open(type)
    }

    /// The mixed value that an object held before it became managed. A wrapper's field is cleared, because a reference
    /// left in it would keep cycles of objects alive.
    func takeMixed(_ object: ObjectBase) -> _RawValue {
        if storage == .boxField { return box(in: object).unmanagedValue }
        let field = address(in: object).assumingMemoryBound(to: AnyRealmValue.self)
        defer { field.pointee = .none }
        return AnyRealmValue._toRaw(field.pointee)
    }

    /// True for a plain `Int`, which can represent every stored value.
    var isInt: Bool { type.map { ObjectIdentifier($0) == ObjectIdentifier(Int.self) } ?? false }

    /// Converts a value of type Any for the engine; nil if it does not fit.
    func coercedRaw(_ value: Any) -> _RawValue? {
        func open<V: _HasPersistedType>(_ type: V.Type) -> _RawValue? {
            coerced(value, as: V.self).map { V._toRaw($0) }
        }
        if let type { return open(type) }
        return (fieldType as? any AnyRealmProperty.Type).flatMap { open($0.valueType) }
    }

    // MARK: Fields

    private func address(in object: ObjectBase) -> UnsafeMutableRawPointer {
        Unmanaged.passUnretained(object).toOpaque() + offset
    }

    /// The box of a `boxField`.
    func box(in object: ObjectBase) -> any AnyRealmProperty {
        let box = address(in: object).assumingMemoryBound(to: AnyObject.self).pointee
        guard let box = box as? any AnyRealmProperty else {
            fatalError("field '\(name)' is not a RealmProperty")
        }
        return box
    }

    /// The collection of an unmanaged or a managed object; created at the first access.
    func collection(in object: ObjectBase) -> any AnyOwnedCollection {
        func open<V: _Persistable>(_ type: V.Type) -> Any { persistedGet(object, offset) as V }
        guard let type, let collection = open(type) as? any AnyOwnedCollection else {
            fatalError("property '\(name)' is not a collection")
        }
        return collection
    }

    /// A new unmanaged collection of the property's type.
    func newCollection() -> any AnyOwnedCollection {
        guard let type = type as? any AnyOwnedCollection.Type else {
            fatalError("property '\(name)' is not a collection")
        }
        return type.init()
    }

    /// The collection if it exists already, otherwise nil.
    func existingCollection(in object: ObjectBase) -> (any AnyOwnedCollection)? {
        address(in: object).assumingMemoryBound(to: AnyObject?.self).pointee as? any AnyOwnedCollection
    }

    /// Marks the property wrapper as managed.
    func markManaged(in object: ObjectBase) {
        (fieldType as? any AnyPersisted.Type)?.markManaged(at: address(in: object))
    }

    /// Sets the field of a managed object, which is already bound. The field is empty (the object was made from an
    /// image) or holds the value from the user's initialiser.
    func placeField(in object: ObjectBase, column: Int) {
        let address = address(in: object)
        switch storage {
        case .wrapper, .column:
            break
        case .collectionField:
            if let existing = existingCollection(in: object) {
                return existing.becomeManaged(PropertyLocation(object, column: column))
            }
            guard let type = fieldType as? any AnyOwnedCollection.Type else { return }
            let collection = type.init()
            collection.becomeManaged(PropertyLocation(object, column: column))
            address.assumingMemoryBound(to: AnyObject?.self).pointee = collection
        case .boxField:
            let field = address.assumingMemoryBound(to: AnyObject?.self)
            if field.pointee == nil, let type = fieldType as? any AnyRealmProperty.Type {
                field.pointee = type.init()
            }
            box(in: object).becomeManaged(PropertyLocation(object, column: column))
        case .linkingField:
            func open<L: _LinkingObjectsProtocol>(_ type: L.Type) {
                let bound = L._bound(to: object, originProperty: originProperty ?? "")
                let field = address.assumingMemoryBound(to: L.self)
                // Destroying zeros has no effect, so this is correct for both kinds of field.
                field.pointee = bound
            }
            if let type = fieldType as? any _LinkingObjectsProtocol.Type { open(type) }
        }
    }

    /// Puts a recording value into the field of a traced object.
    func placeTraced(in object: ObjectBase, _ recorder: _KeyPathRecorder) {
        let address = address(in: object)
        switch storage {
        case .wrapper, .column: break
        case .collectionField:
            guard let type = fieldType as? any AnyOwnedCollection.Type else { return }
            let collection = type.init()
            collection.trace(recorder, as: name)
            address.assumingMemoryBound(to: AnyObject?.self).pointee = collection
        case .boxField:
            guard let type = fieldType as? any AnyRealmProperty.Type else { return }
            let box = type.init()
            box.trace(recorder, as: name)
            address.assumingMemoryBound(to: AnyObject?.self).pointee = box
        case .linkingField:
            func open<L: _LinkingObjectsProtocol>(_ type: L.Type) {
                let links = L(_originProperty: originProperty ?? "")
                (links as? any TraceableLinks)?.handle.trace(recorder, as: name)
                address.assumingMemoryBound(to: L.self).pointee = links
            }
            if let type = fieldType as? any _LinkingObjectsProtocol.Type { open(type) }
        }
    }
}

extension PropertyType {
    /// How the engine stores the type. Linking objects are not stored.
    package var columnType: ColumnType {
        switch self {
        case .int: .int
        case .bool: .bool
        case .string: .string
        case .data: .data
        case .date: .date
        case .float: .float
        case .double: .double
        case .object, .linkingObjects: .link
        case .any: .mixed
        case .objectId: .objectID
        case .decimal128: .decimal128
        case .UUID: .uuid
        }
    }
}
