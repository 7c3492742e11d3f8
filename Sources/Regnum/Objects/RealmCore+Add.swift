// SPDX-License-Identifier: Apache-2.0
// Makes unmanaged objects managed, with all that they link to. The same instance becomes the accessor of its
// row, and its collections stay the same instances.

internal import RegnumEngine

extension RealmCore {
    /// Adds an object. Programmer errors: calling it outside a write transaction, an existing primary key with
    /// `.error`, an object of another Realm, and `.modified` or `.all` for a class without a primary key.
    package func add(_ object: ObjectBase, update: Realm.UpdatePolicy) {
        requireWrite()
        if object.rowContext != nil { return addManaged(object) }
        let binding = binding(for: type(of: object))
        if update != .error, binding.schema.primaryKey == nil {
            misuse("'\(binding.schema.name)' does not have a primary key and can not be updated")
        }
        insert(object, binding, update)
    }

    /// Checks an object that is already managed. Nothing is stored if it belongs to this Realm.
    func addManaged(_ object: ObjectBase) {
        if object.isInvalidated {
            misuse("Adding a deleted or invalidated object to a Realm is not permitted")
        }
        if object.core !== self {
            misuse(Self.managedElsewhere)
        }
    }

    /// The key of an object that something links to; an unmanaged one is added. Misuse for one that is not of the class
    /// `wanted`: one of a subclass lies in another table.
    private func key(
        of object: ObjectBase, _ update: Realm.UpdatePolicy, for place: LinkPlace, _ wanted: ObjectBase.Type?
    ) -> ObjectKey {
        object.requireClass(wanted, for: place)
        if object.rowContext == nil {
            insert(object, binding(for: type(of: object)), update)
        } else {
            addManaged(object)
            requireNoOwner(object, place)
        }
        return object.rowKey
    }

    func insert(_ object: ObjectBase, _ binding: ClassBinding, _ update: Realm.UpdatePolicy) {
        binding.withInsertPlan { plan in
            if plan.generic.isEmpty {
                binding.withTable { table in insert(object, binding, update, plan, [], table) }
            } else {
                // The program's own code may end the write, and begin another one with other tables.
                let values = plan.genericValues(object)
                let table = binding.table
                withExtendedLifetime(table) { insert(object, binding, update, plan, values, table) }
            }
        }
    }

    /// `values`: of the plan's `generic` properties.
    private func insert(
        _ object: ObjectBase, _ binding: ClassBinding, _ update: Realm.UpdatePolicy, _ plan: InsertPlan,
        _ values: [Value], _ table: Table
    ) {
        if let place = plan.autoIncrement { number(object, binding, place) }
        if let step = plan.primaryKey, let existing = existingKey(object, step, binding, table) {
            if update != .error { return self.update(object, binding, existing, update) }
            if !hasUnprovedKeys(binding) { refuseDuplicate(object, step, binding) }
        }
        var isComplete = plan.collections.isEmpty && plan.mixed.isEmpty
        let location = engine { () throws(EngineError) in
            let location = try table.insertRow()
            plan.store(object, at: location, in: table)
            plan.store(values, at: location, in: table)
            if !plan.links.isEmpty, !storeKnownLinks(object, plan, location) { isComplete = false }
            try table.finishInsert(location)
            return location
        }
        let key = ObjectKey(rawValue: location.group.pointee.key(at: location.row))
        binding.bind(object, key, at: location)
        if !isComplete {
            addLinks(object, binding, plan, update)
            addCollections(object, binding, plan, update)
            addMixed(object, binding, plan, update)
        }
    }

    // MARK: Primary keys

    private func existingKey(
        _ object: ObjectBase, _ step: InsertStep, _ binding: ClassBinding, _ table: Table
    ) -> ObjectKey? {
        engine { () throws(EngineError) in
            if step.code == .int64, !step.isOptional {
                let memory = Unmanaged.passUnretained(object).toOpaque()
                return try table.key(
                    forIntegerPrimaryKey: memory.load(fromByteOffset: Int(step.offset), as: Int64.self))
            }
            let value = binding.schema.properties[Int(step.property)].raw(object).value
            return try table.key(forPrimaryKey: value)
        }
    }

    /// True in a migration that gives the class its primary key: objects may share one until it ends.
    @inline(never)
    func hasUnprovedKeys(_ binding: ClassBinding) -> Bool {
        (configurationBox as? RealmSettings)?.work?.hasUnprovedKeys(binding.tableKey) ?? false
    }

    @inline(never)
    private func refuseDuplicate(_ object: ObjectBase, _ step: InsertStep, _ binding: ClassBinding) -> Never {
        let value = binding.schema.properties[Int(step.property)].get(object)
        misuse(
            "Attempting to create an object of type '\(binding.schema.name)' with an existing primary key "
                + "value "
                + "'\(describe(value as Any))'.")
    }

    // MARK: Links and collections

    /// Stores the links that are nil or lead to objects of this Realm. False where others are left.
    private func storeKnownLinks(_ object: ObjectBase, _ plan: InsertPlan, _ location: RowLocation) -> Bool {
        let memory = Unmanaged.passUnretained(object).toOpaque()
        var isComplete = true
        for step in plan.links {
            let field = (memory + Int(step.offset)).assumingMemoryBound(to: ObjectBase?.self)
            guard let target = field.pointee else { continue }
            if target.rowContext == nil {
                isComplete = false
                continue
            }
            addManaged(target)
            target.requireClass(step.target, for: .property)
            requireNoOwner(target, .property)
            location.group.columns[Int(step.column)].putInteger(
                Int64(bitPattern: target.rowKey.rawValue), location.row)
            // The row holds the link now; keeping the reference would keep cycles of objects alive.
            field.pointee = nil
        }
        return isComplete
    }

    private func addLinks(
        _ object: ObjectBase, _ binding: ClassBinding, _ plan: InsertPlan, _ update: Realm.UpdatePolicy
    ) {
        let memory = Unmanaged.passUnretained(object).toOpaque()
        for step in plan.links {
            let field = (memory + Int(step.offset)).assumingMemoryBound(to: ObjectBase?.self)
            guard let target = field.pointee else { continue }
            let targetKey = key(of: target, update, for: .property, step.target)
            field.pointee = nil
            engine { () throws(EngineError) in
                try binding.table.set(.link(targetKey), Int(step.column), of: object.rowKey)
            }
        }
    }

    private func addCollections(
        _ object: ObjectBase, _ binding: ClassBinding, _ plan: InsertPlan, _ update: Realm.UpdatePolicy
    ) {
        for step in plan.collections {
            let property = binding.schema.properties[Int(step.property)]
            guard let collection = property.existingCollection(in: object) else { continue }
            let new = elements(of: collection, property, update, OwnedTargets())
            collection.dropItems()
            collection.becomeManaged(PropertyLocation(object, column: Int(step.column)))
            insert(new, binding, Int(step.column), object.rowKey)
        }
    }

    /// The elements of an unmanaged collection; objects that are not managed yet are added, or written to the ones
    /// that are there.
    private func elements(
        of collection: any AnyOwnedCollection, _ property: ClassProperty, _ update: Realm.UpdatePolicy,
        _ existing: OwnedTargets
    ) -> OwnedElements {
        var elements = OwnedElements(kind: property.shape.collectionKind, keys: collection.rawKeys)
        let place = property.linkPlace
        for (number, raw) in collection.rawItems.enumerated() {
            let target = property.isMap ? existing[elements.keys[number]] : existing[number]
            elements.values.append(value(raw, update, for: place, property.shape.target, target))
        }
        return elements
    }

    /// An object is added, or written to the one that is there.
    private func value(
        _ raw: _RawValue, _ update: Realm.UpdatePolicy, for place: LinkPlace, _ wanted: ObjectBase.Type?,
        _ existing: ObjectKey?
    ) -> Value {
        guard let object = raw.object else { return storedValue(raw, update) }
        guard let existing else { return .link(key(of: object, update, for: place, wanted)) }
        object.requireClass(wanted, for: place)
        requireNoOwner(object, place)
        self.update(object, binding(for: type(of: object)), existing, update)
        return .link(existing)
    }

    private func addMixed(
        _ object: ObjectBase, _ binding: ClassBinding, _ plan: InsertPlan, _ update: Realm.UpdatePolicy
    ) {
        for step in plan.mixed {
            let property = binding.schema.properties[Int(step.property)]
            let isMixed = property.shape.type == .any
            let raw = isMixed ? property.takeMixed(object) : property.raw(object)
            let new = value(raw, update, for: .property, step.target, nil)
            if case .null = new { continue }
            engine { () throws(EngineError) in
                try binding.table.set(new, Int(step.column), of: object.rowKey)
            }
        }
    }

    /// The value of a property that is no link; objects in a mixed value are added.
    func storedValue(_ raw: _RawValue, _ update: Realm.UpdatePolicy) -> Value {
        raw.mixed.map { mixedValue($0) { key(of: $0, update, for: .property, nil) } } ?? raw.value
    }

    // MARK: Updating

    /// Writes the values of an unmanaged object into the row that has its primary key, and makes it its
    /// accessor.
    func update(
        _ object: ObjectBase, _ binding: ClassBinding, _ existing: ObjectKey, _ update: Realm.UpdatePolicy
    ) {
        // Bound first, so that a cycle that leads back here finds it managed.
        binding.bind(object, existing)
        let memory = Unmanaged.passUnretained(object).toOpaque()
        for (number, property) in binding.schema.properties.enumerated() where binding.columns[number] >= 0 {
            let column = binding.columns[number]
            if property.isPrimaryKey || property.isAutoIncremented && isUnnumbered(object, property) { continue }
            let owned = OwnedTargets(property, binding, column, of: existing, update)
            if property.isOwnedCollection {
                let collection = property.existingCollection(in: object)
                let new =
                    collection.map { elements(of: $0, property, update, owned) }
                    ?? OwnedElements(kind: property.shape.collectionKind)
                collection?.dropItems()
                collection?.becomeManaged(PropertyLocation(object, column: column))
                replace(new, binding, column, existing, update)
                continue
            }
            let raw =
                property.shape.type == .any
                ? property.takeMixed(object)
                : property.storage == .boxField
                    ? property.box(in: object).unmanagedValue : property.raw(object)
            let new = value(raw, update, for: .property, property.shape.target, owned[0])
            if property.shape.code == .link {
                (memory + property.offset).assumingMemoryBound(to: ObjectBase?.self).pointee = nil
            }
            replace(new, binding, column, existing, update)
        }
    }

    /// Stores a value; with `.modified` only where it differs.
    func replace(
        _ new: Value, _ binding: ClassBinding, _ column: Int, _ key: ObjectKey, _ update: Realm.UpdatePolicy
    ) {
        engine { () throws(EngineError) in
            if update != .all, try binding.table.value(column, of: key).isIdentical(to: new) { return }
            try binding.table.set(new, column, of: key)
        }
    }
}

extension Value {
    /// Returns whether both values have the same bytes. Swift treats strings as equal if they differ only in
    /// normalisation (é as one scalar or as two), and also the two zeros.
    func isIdentical(to other: Value) -> Bool {
        switch (self, other) {
        case (.string(let left), .string(let right)): left.utf8.elementsEqual(right.utf8)
        case (.double(let left), .double(let right)): left.bitPattern == right.bitPattern
        case (.float(let left), .float(let right)): left.bitPattern == right.bitPattern
        default: self == other
        }
    }

    /// Returns whether the values are equal as in queries: strings are compared by their bytes.
    func matches(_ other: Value) -> Bool {
        if case .string = self { return isIdentical(to: other) }
        return self == other
    }
}
