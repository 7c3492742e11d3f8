// SPDX-License-Identifier: Apache-2.0
// Makes unmanaged objects managed, with all that they link to. The same instance becomes the accessor of its
// row, and its collections stay the same instances.
//
// A row is made first, with the values that need nothing else; then what the object links to is added, property by
// property, and each time all of that before the next property. Objects that wait for this are on a list instead of
// on the stack, because chains of objects may be as long as memory allows.

internal import RegnumEngine

extension RealmCore {
    /// Adds an object. Misuse outside a write, for a primary key that exists with `.error`, for an object of
    /// another Realm, and for `.modified` or `.all` on a class without a primary key.
    package func add(_ object: ObjectBase, update: Realm.UpdatePolicy) {
        requireWrite()
        if object.rowContext != nil { return addManaged(object) }
        let binding = binding(for: type(of: object))
        if update != .error, binding.schema.primaryKey == nil {
            misuse("'\(binding.schema.name)' does not have a primary key and can not be updated")
        }
        add(object, binding, to: nil, update)
    }

    /// Stores an unmanaged object with all that it links to, in a row that is there or in a new one.
    func add(_ object: ObjectBase, _ binding: ClassBinding, to existing: ObjectKey?, _ update: Realm.UpdatePolicy) {
        var addition = Addition(core: self, update: update)
        if let existing {
            addition.write(object, binding, to: existing)
        } else {
            addition.insert(object, binding)
        }
        addition.run()
    }

    /// Of this Realm: nothing to do.
    func addManaged(_ object: ObjectBase) {
        if object.isInvalidated {
            misuse("Adding a deleted or invalidated object to a Realm is not permitted")
        }
        if object.core !== self {
            misuse(Self.managedElsewhere)
        }
    }

    /// The value of a property that is no link; objects in a mixed value are added.
    func storedValue(_ raw: _RawValue, _ update: Realm.UpdatePolicy) -> Value {
        guard let mixed = raw.mixed else { return raw.value }
        var addition = Addition(core: self, update: update)
        return mixedValue(mixed) { object in
            addition.reach(AddedTarget(object: object, place: .property))
            addition.run()
            return object.rowKey
        }
    }

    /// True in a migration that gives the class its primary key: objects may share one until it ends.
    @inline(never)
    func hasUnprovedKeys(_ binding: ClassBinding) -> Bool {
        (configurationBox as? RealmSettings)?.work?.hasUnprovedKeys(binding.tableKey) ?? false
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

/// An object that another one is to link to.
private struct AddedTarget {
    let object: ObjectBase
    let place: LinkPlace
    /// The class that it must be of; nil for any.
    var wanted: ObjectBase.Type?
    /// The embedded object that is there already, which its values are written to.
    var existing: ObjectKey?
}

/// One call of `add`.
private struct Addition {
    let core: RealmCore
    let update: Realm.UpdatePolicy
    /// Objects with rows, of which properties are still to be stored; the last one is in work.
    private var frames: [Frame] = []

    private struct Frame {
        let object: ObjectBase
        let binding: ClassBinding
        /// Of a new row; nil where the object's values are written to a row that was there.
        let plan: InsertPlan?
        /// The next property, in `plan.deferred` or in the schema.
        var next = 0
        /// The property in work: its values, what they lead to, and how many of that are in the Realm.
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

    /// Stores what is left of the objects that have rows, and adds what they lead to.
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

    /// Sees to it that an object that is to be linked to has a row. Misuse for one that is not of the class that is
    /// wanted: one of a subclass lies in another table.
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
            // The program's own code may end the write, and begin another one with other tables.
            let values = plan.genericValues(object)
            let table = binding.table
            return withExtendedLifetime(table) { insert(object, binding, plan, values, table) }
        }
        if !isComplete { binding.withInsertPlan { frames.append(Frame(object: object, binding: binding, plan: $0)) } }
    }

    /// Makes the row. `values`: of the plan's `generic` properties. False where properties are left to be stored.
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

    /// True where the object has made one of its collections.
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
            core.addManaged(target)
            target.requireClass(step.target, for: .property)
            core.requireNoOwner(target, .property)
            location.group.columns[Int(step.column)].putInteger(
                Int64(bitPattern: target.rowKey.rawValue), location.row)
            // The row holds the link now: a reference here would keep cycles of objects alive.
            field.pointee = nil
        }
        return isComplete
    }

    // MARK: Rows that are there

    /// Makes an unmanaged object the accessor of a row, whose values are to become the object's.
    mutating func write(_ object: ObjectBase, _ binding: ClassBinding, to existing: ObjectKey) {
        // Bound first, so that a cycle that leads back here finds it managed.
        binding.bind(object, existing)
        frames.append(Frame(object: object, binding: binding, plan: nil))
    }

    // MARK: Properties with links

    /// Takes up the next property that leads to objects. False where there is none.
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

    /// Of a new row; nil where there is nothing to store.
    private func newStep(_ object: ObjectBase, _ property: ClassProperty, _ column: Int) -> Step? {
        if property.isOwnedCollection {
            guard let collection = property.existingCollection(in: object) else { return nil }
            return step(of: collection, property, column, OwnedTargets())
        }
        if property.shape.code == .link {
            // What was stored with the row is nil here.
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

    /// Of a row that was there. Values that lead nowhere are stored at once: then it is nil.
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

    /// Stores a property: all that it leads to has a row.
    private func finish(_ step: Step, _ frame: Frame) {
        let (object, binding, property) = (frame.object, frame.binding, step.property)
        let values = step.raws.map { raw -> Value in
            if let target = raw.object { return .link(target.rowKey) }
            return raw.mixed.map { core.mixedValue($0) { $0.rowKey } } ?? raw.value
        }
        if let collection = step.collection {
            let elements = OwnedElements(kind: property.shape.collectionKind, keys: step.keys, values: values)
            collection.dropItems()
            collection.becomeManaged(ManagedPlace(object, column: step.column))
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
    /// The same bytes. Swift calls texts equal that differ in theirs (é in one scalar or in two), and the
    /// two zeros.
    func isIdentical(to other: Value) -> Bool {
        switch (self, other) {
        case (.string(let left), .string(let right)): left.utf8.elementsEqual(right.utf8)
        case (.double(let left), .double(let right)): left.bitPattern == right.bitPattern
        case (.float(let left), .float(let right)): left.bitPattern == right.bitPattern
        default: self == other
        }
    }

    /// Equal as queries see it: texts by their bytes.
    func matches(_ other: Value) -> Bool {
        if case .string = self { return isIdentical(to: other) }
        return self == other
    }
}
