// SPDX-License-Identifier: Apache-2.0
// Makes unmanaged objects managed, with all objects they link to. The same instance becomes the accessor of its row,
// and its collections stay the same instances.
//
// First the row is created, with the values that depend on nothing else. Then the objects it links to are added,
// property by property; everything reachable from one property is added before the next property. Objects that wait for
// this are kept in a list instead of on the stack, because chains of objects may be as long as memory allows.
//
// An unmanaged object that is assigned to a property or appended to a collection is added by `adopt`.

internal import RegnumEngine

extension RealmCore {
    /// Adds an object. Programmer errors: calling it outside a write transaction, an existing primary key with
    /// `.error`, an object of another Realm, and `.modified` or `.all` for a class without a primary key.
    package func add(_ object: ObjectBase, update: Realm.UpdatePolicy) {
        requireWrite()
        if object.rowContext != nil { return addManaged(object) }
        let binding = binding(for: type(of: object))
        if update != .error, binding.schema.primaryKey == nil {
            misuse(binding.schema.noPrimaryKeyMessage)
        }
        add(object, binding, to: nil, update)
    }

    /// Stores an unmanaged object and all objects it links to, in the row of an existing object or in a new row.
    func add(_ object: ObjectBase, _ binding: ClassBinding, to existing: ObjectKey?, _ update: Realm.UpdatePolicy) {
        var addition = Addition(core: self, update: update)
        if let existing {
            addition.write(object, binding, to: existing)
        } else {
            addition.insert(object, binding)
        }
        addition.run()
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

    /// Returns the key of an object of this Realm that `place` will link to; an unmanaged object is added first. A
    /// managed embedded object is a programmer error.
    func adopt(_ object: ObjectBase, for place: LinkPlace) -> ObjectKey {
        requireNoOwner(object, place)
        if object.rowContext == nil {
            add(object, update: .error)
            return object.rowKey
        }
        object.requireValid()
        if object.core !== self {
            misuse(
                "Object is already managed by another Realm. Use create instead to copy it into this Realm.")
        }
        return object.rowKey
    }

    /// Returns the value to store for a property that is not a link; objects in a mixed value are added.
    func storedValue(_ raw: _RawValue, _ update: Realm.UpdatePolicy) -> Value {
        guard let mixed = raw.mixed else { return raw.value }
        var addition = Addition(core: self, update: update)
        return mixedValue(mixed) { object in
            addition.reach(AddedTarget(object: object, place: .property))
            addition.run()
            return object.rowKey
        }
    }

    /// Returns true in a migration that gives the class its primary key: until it ends, objects may have equal keys.
    @inline(never)
    func hasUnprovedKeys(_ binding: ClassBinding) -> Bool {
        openedWith?.work?.hasUnprovedKeys(binding.tableKey) ?? false
    }

    /// Stores a value. Unless `update` is `.all`, it is stored only if it differs.
    func replace(
        _ new: Value, _ binding: ClassBinding, _ column: Int, _ key: ObjectKey, _ update: Realm.UpdatePolicy
    ) {
        engine { () throws(EngineError) in
            if update != .all, try binding.table.value(column, of: key).isIdentical(to: new) { return }
            try binding.table.set(new, column, of: key)
        }
    }
}

/// An object that another object is to link to.
private struct AddedTarget {
    let object: ObjectBase
    let place: LinkPlace
    /// The required class; nil if any class is allowed.
    var wanted: ObjectBase.Type?
    /// The existing embedded object to write the values to.
    var existing: ObjectKey?
}

/// The state of one call of `add`.
private struct Addition {
    let core: RealmCore
    let update: Realm.UpdatePolicy
    /// Objects with rows whose properties are not all stored yet; the last one is being processed.
    private var frames: [Frame] = []

    private struct Frame {
        let object: ObjectBase
        let binding: ClassBinding
        /// The plan of a new row; nil if the object's values are written to an existing row.
        let plan: InsertPlan?
        /// The index of the next property, in `plan.deferred` or in the schema.
        var next = 0
        /// The property being processed: its values, the objects they lead to, and how many of these are in the Realm.
        var step: Step?
    }

    private struct Step {
        let property: ClassProperty
        let column: Int
        var raws: [_RawValue]
        var keys: [String] = []
        var collection: (any AnyOwnedCollection)?
        var targets: [AddedTarget] = []
        var reached = 0
    }

    init(core: RealmCore, update: Realm.UpdatePolicy) {
        self.core = core
        self.update = update
    }

    /// Stores the remaining properties of the objects that have rows, and adds the objects they lead to.
    mutating func run() {
        while let top = frames.indices.last {
            guard var step = frames[top].step.take() else {
                if !begin(top) { frames.removeLast() }
                continue
            }
            while step.reached < step.targets.count, frames.count == top + 1 {
                step.reached += 1
                reach(step.targets[step.reached - 1])
            }
            if frames.count == top + 1 { finish(step, frames[top]) } else { frames[top].step = step }
        }
    }

    /// Ensures that an object to link to has a row. An object of a class other than the required one is a programmer
    /// error: a subclass has its own table.
    mutating func reach(_ target: AddedTarget) {
        let object = target.object
        object.requireClass(target.wanted, for: target.place)
        if let existing = target.existing {
            core.requireNoOwner(object, target.place)
            write(object, core.binding(for: type(of: object)), to: existing)
        } else if object.rowContext == nil {
            insert(object, core.binding(for: type(of: object)))
        } else {
            core.addManaged(object)
            core.requireNoOwner(object, target.place)
        }
    }

    // MARK: New rows

    mutating func insert(_ object: ObjectBase, _ binding: ClassBinding) {
        let isComplete = binding.withInsertPlan { plan in
            if plan.generic.isEmpty {
                return binding.withTable { table in insert(object, binding, plan, [], table) }
            }
            // The program's own code may end the write transaction and begin another one with other tables.
            let values = plan.genericValues(object)
            let table = binding.table
            return withExtendedLifetime(table) { insert(object, binding, plan, values, table) }
        }
        if !isComplete { binding.withInsertPlan { frames.append(Frame(object: object, binding: binding, plan: $0)) } }
    }

    /// Creates the row. `values` are those of the plan's `generic` properties. Returns false if properties remain to be
    /// stored.
    private mutating func insert(
        _ object: ObjectBase, _ binding: ClassBinding, _ plan: InsertPlan, _ values: [Value], _ table: Table
    ) -> Bool {
        if let place = plan.autoIncrement { core.number(object, binding, place) }
        if let step = plan.primaryKey, let existing = existingKey(object, step, binding, table) {
            if update != .error {
                write(object, binding, to: existing)
                return true
            }
            if !core.hasUnprovedKeys(binding) { refuseDuplicate(object, step, binding) }
        }
        var isComplete = plan.mixed.isEmpty && !hasCollections(object, plan)
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
        return isComplete
    }

    /// Returns whether the object has created any of its collections.
    private func hasCollections(_ object: ObjectBase, _ plan: InsertPlan) -> Bool {
        let memory = Unmanaged.passUnretained(object).toOpaque()
        for step in plan.collections where memory.load(fromByteOffset: Int(step.offset), as: UInt.self) != 0 {
            return true
        }
        return false
    }

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

    @inline(never)
    private func refuseDuplicate(_ object: ObjectBase, _ step: InsertStep, _ binding: ClassBinding) -> Never {
        let value = binding.schema.properties[Int(step.property)].get(object)
        misuse(
            "Attempting to create an object of type '\(binding.schema.name)' with an existing primary key "
                + "value "
                + "'\(describe(value as Any))'.")
    }

    /// Stores the links that are nil or point to objects of this Realm. Returns false if other links remain.
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
            core.addManaged(target)
            target.requireClass(step.target, for: .property)
            core.requireNoOwner(target, .property)
            location.group.columns[Int(step.column)].putInteger(
                Int64(bitPattern: target.rowKey.rawValue), location.row)
            // The row holds the link now; keeping the reference would keep cycles of objects alive.
            field.pointee = nil
        }
        return isComplete
    }

    // MARK: Existing rows

    /// Makes an unmanaged object the accessor of an existing row, whose values are to be replaced by the object's.
    mutating func write(_ object: ObjectBase, _ binding: ClassBinding, to existing: ObjectKey) {
        // Bound first, so that a cycle that leads back here finds it managed.
        binding.bind(object, existing)
        frames.append(Frame(object: object, binding: binding, plan: nil))
    }

    // MARK: Properties with links

    /// Begins the next property that leads to objects. Returns false if there is none.
    private mutating func begin(_ top: Int) -> Bool {
        let object = frames[top].object
        let binding = frames[top].binding
        if let plan = frames[top].plan {
            while frames[top].next < plan.deferred.count {
                let step = plan.deferred[frames[top].next]
                frames[top].next += 1
                frames[top].step = newStep(object, binding.schema.properties[Int(step.property)], Int(step.column))
                if frames[top].step != nil { return true }
            }
            return false
        }
        let schema = binding.schema
        while frames[top].next < schema.properties.count {
            let number = frames[top].next
            frames[top].next += 1
            let (property, column) = (schema.properties[number], binding.columns[number])
            if column < 0 || property.isPrimaryKey { continue }
            if property.isAutoIncremented, core.isUnnumbered(object, property) { continue }
            frames[top].step = rewritingStep(object, binding, property, column)
            if frames[top].step != nil { return true }
        }
        return false
    }

    /// Returns the step for a property of a new row; nil if there is nothing to store.
    private func newStep(_ object: ObjectBase, _ property: ClassProperty, _ column: Int) -> Step? {
        if property.isOwnedCollection {
            guard let collection = property.existingCollection(in: object) else { return nil }
            return step(of: collection, property, column, OwnedTargets())
        }
        if property.shape.code == .link {
            // A link that was stored with the row is nil here.
            let memory = Unmanaged.passUnretained(object).toOpaque()
            let field = (memory + property.offset).assumingMemoryBound(to: ObjectBase?.self)
            guard let target = field.pointee else { return nil }
            var raw = _RawValue(.null)
            raw.object = target
            return step(of: raw, property, column, nil)
        }
        let raw = property.shape.type == .any ? property.takeMixed(object) : property.raw(object)
        if case .null = raw.value, raw.object == nil, raw.mixed == nil { return nil }
        return step(of: raw, property, column, nil)
    }

    /// Returns the step for a property of an existing row. Values that lead to no objects are stored immediately, and
    /// nil is returned.
    private func rewritingStep(
        _ object: ObjectBase, _ binding: ClassBinding, _ property: ClassProperty, _ column: Int
    ) -> Step? {
        let key = object.rowKey
        let owned = OwnedTargets(property, binding, column, of: key, update)
        if property.isOwnedCollection {
            if let collection = property.existingCollection(in: object) {
                return step(of: collection, property, column, owned)
            }
            core.replace(OwnedElements(kind: property.shape.collectionKind), binding, column, key, update)
            return nil
        }
        let raw =
            property.shape.type == .any
            ? property.takeMixed(object)
            : property.storage == .boxField ? property.box(in: object).unmanagedValue : property.raw(object)
        if raw.object != nil || raw.mixed != nil { return step(of: raw, property, column, owned[0]) }
        core.replace(raw.value, binding, column, key, update)
        return nil
    }

    private func step(
        of collection: any AnyOwnedCollection, _ property: ClassProperty, _ column: Int, _ owned: OwnedTargets
    ) -> Step {
        var step = Step(property: property, column: column, raws: collection.rawItems, keys: collection.rawKeys)
        step.collection = collection
        for number in step.raws.indices {
            let existing = property.isMap ? owned[step.keys[number]] : owned[number]
            appendTargets(of: step.raws[number], property, existing, to: &step.targets)
        }
        return step
    }

    private func step(of raw: _RawValue, _ property: ClassProperty, _ column: Int, _ existing: ObjectKey?) -> Step {
        var step = Step(property: property, column: column, raws: [raw])
        appendTargets(of: raw, property, existing, to: &step.targets)
        return step
    }

    private func appendTargets(
        of raw: _RawValue, _ property: ClassProperty, _ existing: ObjectKey?, to targets: inout [AddedTarget]
    ) {
        if let object = raw.object {
            targets.append(
                AddedTarget(
                    object: object, place: property.linkPlace, wanted: property.shape.target, existing: existing))
        } else if let mixed = raw.mixed {
            mixed.forEachObject { targets.append(AddedTarget(object: $0, place: .property)) }
        }
    }

    /// Stores a property after all objects it leads to have rows.
    private func finish(_ step: Step, _ frame: Frame) {
        let (object, binding, property) = (frame.object, frame.binding, step.property)
        let values = step.raws.map { raw -> Value in
            if let target = raw.object { return .link(target.rowKey) }
            return raw.mixed.map { core.mixedValue($0) { $0.rowKey } } ?? raw.value
        }
        if let collection = step.collection {
            let elements = OwnedElements(kind: property.shape.collectionKind, keys: step.keys, values: values)
            collection.dropItems()
            collection.becomeManaged(PropertyLocation(object, column: step.column))
            if frame.plan == nil {
                core.replace(elements, binding, step.column, object.rowKey, update)
            } else {
                core.insert(elements, binding, step.column, object.rowKey)
            }
            return
        }
        if property.shape.code == .link {
            let memory = Unmanaged.passUnretained(object).toOpaque()
            // The row holds the link now.
            (memory + property.offset).assumingMemoryBound(to: ObjectBase?.self).pointee = nil
        }
        if frame.plan == nil {
            core.replace(values[0], binding, step.column, object.rowKey, update)
        } else {
            engine { () throws(EngineError) in try binding.table.set(values[0], step.column, of: object.rowKey) }
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
