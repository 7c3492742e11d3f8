// SPDX-License-Identifier: Apache-2.0
// Adding, creating, finding and deleting objects.

internal import RegnumEngine

// MARK: Finding

extension Realm {
    /// All objects of a class, as live results.
    public func objects<Element: RealmFetchable>(_ type: Element.Type) -> Results<Element> {
        core.check()
        if let type = type as? ObjectBase.Type { return Results(state: core.allObjects(type)) }
        guard let root = type._shape.target else { misuse("\(type) is not a class of objects.") }
        return Results(state: core.allObjects(root))
    }

    /// The object with the given primary key, or nil. O(log n).
    public func object<Element: Object, KeyType>(
        ofType type: Element.Type, forPrimaryKey key: KeyType
    ) -> Element? {
        core.check()
        guard let binding = core.fetchable(type) else { return nil }
        let found: ObjectKey?
        if binding.isKeyedByInt, KeyType.self == Int.self {
            let number = Int64(unsafeBitCast(key, to: Int.self))
            found = engine { () throws(EngineError) in try binding.table.key(forIntegerPrimaryKey: number) }
        } else {
            found = core.key(of: binding, forPrimaryKey: key)
        }
        guard let found else { return nil }
        let location = engine { () throws(EngineError) in try binding.table.locate(found) }
        let object = location.map { binding.makeAccessor(found, at: $0) } ?? binding.makeAccessor(found)
        return unsafeDowncast(object, to: Element.self)
    }
}

extension RealmCore {
    /// The object with the given primary key, or nil. It is a programmer error if the class has no primary key or the
    /// key does not fit.
    func key(of binding: ClassBinding, forPrimaryKey key: Any) -> ObjectKey? {
        guard let index = binding.schema.primaryKey else {
            misuse("'\(binding.schema.name)' does not have a primary key defined")
        }
        let property = binding.schema.properties[index]
        guard let value = property.coercedRaw(key)?.value ?? property.storable(key) else {
            misuse(
                "Invalid value '\(describe(key))' of type '\(Swift.type(of: key))' for "
                    + "'\(property.shape.type.text)' property '\(binding.schema.name).\(property.name)'.")
        }
        return engine { () throws(EngineError) in try binding.table.key(forPrimaryKey: value) }
    }

    /// The binding of a class; nil if a read-only file has no table for it. It is a programmer error if the class is
    /// not in the schema.
    func fetchable(_ type: ObjectBase.Type) -> ClassBinding? {
        touch()
        if let binding = bindingIfAny(for: type) { return binding }
        if settings.knows(type) { return nil }
        if let clash = settings.schema.clashes[ObjectIdentifier(type)] { misuse(clash) }
        return binding(for: type)
    }

    func allObjects(_ type: ObjectBase.Type) -> ResultsState {
        let binding = fetchable(type)
        return ResultsState(realm: self, elementType: type, binding: binding, source: .table)
    }
}

// MARK: Adding

extension Realm {
    /// Adds an object to the Realm, with all objects that it links to. An object of this Realm is left unchanged. It is
    /// a programmer error to call this outside a write transaction. `update` determines what happens if the primary key
    /// already exists.
    public func add(_ object: Object, update: UpdatePolicy = .error) {
        core.add(object, update: update)
    }

    /// Adds objects to the Realm; see `add(_:update:)`.
    public func add<S: Sequence>(_ objects: S, update: UpdatePolicy = .error) where S.Element: Object {
        for object in objects { core.add(object, update: update) }
    }

    /// Creates an object from a dictionary, an array in the order of the properties, or another object.
    @discardableResult
    public func create<T: Object>(_ type: T.Type, value: Any = [:], update: UpdatePolicy = .error) -> T {
        core.create(type, value: value, update: update)
    }
}

// MARK: Deleting

extension Realm {
    /// Deletes an object of this Realm, together with the objects embedded in it. Links to it become nil; lists lose
    /// their entries for it.
    public func delete(_ object: Object) { core.delete(object) }

    /// Deletes an object of this Realm, together with the objects embedded in it. Links to it become nil; lists lose
    /// their entries for it.
    public func delete(_ object: ObjectBase) { core.delete(object) }

    /// Deletes the objects.
    public func delete<S: Sequence>(_ objects: S) where S.Element: ObjectBase {
        core.requireWrite()
        // The sequence may change while its elements are deleted.
        core.delete(Array(objects))
    }

    /// Deletes the objects in the list, which is empty afterwards.
    public func delete<Element: ObjectBase>(_ objects: List<Element>) {
        core.requireWrite()
        core.deleteElements(Array(objects))
        if !objects.isInvalidated && objects.count > 0 && !core.session.isRefused { objects.removeAll() }
    }

    /// Deletes the objects in the set, which is empty afterwards.
    public func delete<Element: ObjectBase>(_ objects: MutableSet<Element>) {
        core.requireWrite()
        core.delete(Array(objects).filter { !$0.isInvalidated })
        if !objects.isInvalidated && objects.count > 0 && !core.session.isRefused { objects.removeAll() }
    }

    /// Deletes the objects that are values of the map, which is empty afterwards.
    public func delete<Key, Value: ObjectBase>(_ map: Map<Key, Value?>) {
        core.requireWrite()
        core.deleteElements(map.values.compactMap { $0 })
        if !map.isInvalidated && map.count > 0 && !core.session.isRefused { map.removeAll() }
    }

    /// Deletes the objects of the results.
    public func delete<Element: ObjectBase>(_ objects: Results<Element>) {
        core.requireWrite()
        let state = objects.state
        state.check()
        guard state.realm === core else { misuse(RealmCore.foreignObject) }
        guard let table = state.binding?.table else { return }
        engine { () throws(EngineError) in
            if state.isWholeTable { return try table.deleteAll() }
            try table.delete(state.currentKeys())
        }
    }

    /// Deletes all objects, including those of classes that are not in the schema.
    public func deleteAll() {
        core.requireWrite()
        engine { () throws(EngineError) in try core.session.deleteAll() }
    }
}

extension RealmCore {
    static let foreignObject = "Can only delete an object from the Realm it belongs to."

    /// Deletes all of the objects, or none if a delete rule denies it.
    func delete(_ objects: [ObjectBase]) {
        let rows = objects.map { rowToDelete($0) }
        engine { () throws(EngineError) in try session.delete(rows) }
    }

    /// Deletes the objects of a list or a map; one that occurs twice is deleted once.
    func deleteElements(_ objects: [ObjectBase]) {
        delete(objects.filter { !$0.isInvalidated })
    }

    func delete(_ object: ObjectBase) {
        let row = rowToDelete(object)
        engine { () throws(EngineError) in try object.binding.table.delete(row.key) }
    }

    /// The row of an object to delete. It is a programmer error if the object cannot be deleted here and now.
    func rowToDelete(_ object: ObjectBase) -> RowKey {
        requireWrite()
        return rowOfOurs(object)
    }

    /// The row of an object. It is a programmer error if the object does not belong to this Realm.
    func rowOfOurs(_ object: ObjectBase) -> RowKey {
        guard let realm = object.realm?.core else {
            misuse(object.isInvalidated ? "Object has been deleted or invalidated." : Self.foreignObject)
        }
        guard realm === self else { misuse(Self.foreignObject) }
        object.requireValid()
        return RowKey(table: object.binding.tableKey, key: object.rowKey)
    }
}
