// SPDX-License-Identifier: Apache-2.0
// Bindings of tables for dynamic objects, the targets of their links, and creation of dynamic objects.

internal import RegnumEngine

extension RealmCore {
    /// Returns the binding of the table with that name for dynamic objects; nil if there is none.
    func dynamicBinding(named name: String) -> ClassBinding? {
        touch()
        return session.table(named: name).map { dynamicBinding($0) }
    }

    func dynamicBinding(_ table: Table) -> ClassBinding { alone { madeDynamicBinding(table) } }

    private func madeDynamicBinding(_ table: Table) -> ClassBinding {
        let key = table.definition.key
        if let known = dynamicBindings[key] { return known }
        let work = openedWith?.work
        let schema = ClassSchema.dynamic(
            table.definition, known: binding(forTable: key)?.schema, in: session,
            isSorted: work?.goesByColumns ?? false)
        let made = ClassBinding(core: self, schema: schema, table: table)
        remember(dynamic: made)
        return made
    }

    /// Like `dynamicBinding(named:)`. Nil if a read-only file has no table for a class of the schema; an unknown name
    /// is a programmer error.
    func dynamicFetchable(_ name: String) -> ClassBinding? {
        if let binding = dynamicBinding(named: name) { return binding }
        if settings.schema.classes.contains(where: { $0.name == name }) { return nil }
        refuseClass(name)
    }

    /// Returns the table that the links of a column point to.
    func dynamicTarget(of binding: ClassBinding, _ column: Int) -> ClassBinding {
        guard let key = binding.table.definition.columns[column].target, let table = session.table(key) else {
            fatalError("column \(column) of '\(binding.schema.name)' does not hold links")
        }
        return dynamicBinding(table)
    }

    /// Returns the key of the object that `value` represents. An unmanaged object is added; a dictionary or an array
    /// creates an object. Returns nil for nil.
    func dynamicKey(_ value: Any, _ target: ClassBinding, for place: LinkPlace = .property) -> ObjectKey? {
        guard let present = unwrapped(value) else { return nil }
        guard let object = objectBase(present) else { return dynamicCreate(target, present, .all) }
        if object.classSchema.name != target.schema.name { object.refuseClass(target.schema.name, place) }
        return adopt(object, for: place)
    }

    /// Creates an object, through its class if there is one. Values can be nested as deeply as memory allows, except
    /// those of embedded objects.
    func dynamicCreate(_ binding: ClassBinding, _ value: Any, _ update: Realm.UpdatePolicy) -> ObjectKey {
        var creation = DynamicCreation(core: self)
        return creation.create(binding, value, update)
    }

    fileprivate func newRow(_ binding: ClassBinding) -> ObjectKey {
        engine { () throws(EngineError) in
            let location = try binding.table.insertRow()
            try binding.table.finishInsert(location)
            return ObjectKey(rawValue: location.group.pointee.key(at: location.row))
        }
    }
}

/// The state of one call of `dynamicCreate`. Like `create`, this keeps its own list of the objects that wait for those
/// they link to. All values of an object are stored before the next value at the same level is read, so that if a
/// primary key occurs twice, the last values win.
private struct DynamicCreation {
    let core: RealmCore
    /// Objects with rows whose values are not all stored yet; the last one is being processed.
    private var frames: [Frame] = []

    private struct Frame {
        let object: ObjectBase
        /// The values that may lead to other objects.
        let entries: [(property: ClassProperty, value: Any)]
        var next = 0
        var step: Step?
    }

    /// A property whose objects are being created.
    private struct Step {
        let property: ClassProperty
        let target: ClassBinding
        /// For a map: the keys of `given`.
        var keys: [String] = []
        let given: [Any]
        /// The values with objects in place of the values that represent them.
        var made: [Any] = []
    }

    init(core: RealmCore) { self.core = core }

    mutating func create(_ binding: ClassBinding, _ value: Any, _ update: Realm.UpdatePolicy) -> ObjectKey {
        let key = begin(binding, value, update)
        while let top = frames.indices.last {
            if var step = frames[top].step.take() {
                while step.made.count < step.given.count, frames.count == top + 1 {
                    step.made.append(linked(step.given[step.made.count], step.target))
                }
                if frames.count == top + 1 { finish(step, frames[top].object) } else { frames[top].step = step }
            } else if frames[top].next < frames[top].entries.count {
                frames[top].next += 1
                store(frames[top].entries[frames[top].next - 1], top)
            } else {
                frames.removeLast()
            }
        }
        return key
    }

    /// Finds the object or creates its row. Values that may lead to other objects are left in a frame.
    private mutating func begin(_ binding: ClassBinding, _ value: Any, _ update: Realm.UpdatePolicy) -> ObjectKey {
        if let typed = core.binding(forTable: binding.tableKey) {
            if typed.schema.isEmbedded { return core.createEmbedded(typed, value) }
            let policy = typed.schema.primaryKey == nil && update == .all ? .error : update
            return core.create(typed, value, update: policy)
        }
        let schema = binding.schema
        // All values are checked before anything is created.
        var plain: [(column: Int, value: Value)] = []
        var others: [(property: ClassProperty, value: Any)] = []
        var key: ObjectKey?
        var hasKey = schema.primaryKey == nil
        for (property, value) in ObjectFilling.entries(value, of: schema) {
            if property.hasTarget || property.isOwnedCollection {
                others.append((property, value))
                continue
            }
            guard let raw = property.coercedRaw(value).map({ core.storedValue($0, update) }) else {
                ObjectFilling.refuse(value, property, schema)
            }
            if property.isPrimaryKey {
                hasKey = true
                key = engine { () throws(EngineError) in try binding.table.key(forPrimaryKey: raw) }
                if key != nil, update == .error {
                    if core.hasUnprovedKeys(binding) {
                        key = nil
                        plain.append((binding.columns[property.offset], raw))
                        continue
                    }
                    misuse(
                        "Attempting to create an object of type '\(schema.name)' with an existing primary key "
                            + "value '\(describe(value))'.")
                }
            }
            plain.append((binding.columns[property.offset], raw))
        }
        if key == nil, let number = number(schema, binding, plain) {
            hasKey = hasKey || schema.properties[number.place].isPrimaryKey
            plain.removeAll { $0.column == number.column }
            plain.append((number.column, .int(number.value)))
        }
        if !hasKey, let place = schema.primaryKey {
            misuse("Missing value for property '\(schema.name).\(schema.properties[place].name)'")
        }
        let made = key ?? core.newRow(binding)
        for (column, value) in plain { core.replace(value, binding, column, made, key == nil ? .all : .modified) }
        let object = binding.makeAccessor(made)
        if !others.isEmpty { frames.append(Frame(object: object, entries: others)) }
        return made
    }

    /// Stores a value, or makes it the step of the frame if it leads to objects that may have to be created.
    private mutating func store(_ entry: (property: ClassProperty, value: Any), _ top: Int) {
        let (property, value) = entry
        let object = frames[top].object
        let column = object.binding.columns[property.offset]
        guard property.hasTarget, let present = unwrapped(value), !object.binding.table.ownsTargets(of: column),
            !isInstance(present) || !(present is any AnyOwnedCollection)
        else { return ObjectFilling.set(value, property, object) }
        let target = core.dynamicTarget(of: object.binding, column)
        if !property.isOwnedCollection {
            frames[top].step = Step(property: property, target: target, given: [present])
        } else if property.isMap, let entries = Coercion.entries(present) {
            frames[top].step = Step(
                property: property, target: target, keys: Array(entries.keys), given: Array(entries.values))
        } else if !property.isMap, let elements = Coercion.elements(present) {
            frames[top].step = Step(property: property, target: target, given: elements)
        } else {
            // Reports the value that does not fit.
            ObjectFilling.set(present, property, object)
        }
    }

    /// Returns the object for a value that represents one, and any other value as it is.
    private mutating func linked(_ value: Any, _ target: ClassBinding) -> Any {
        guard let present = unwrapped(value), objectBase(present) == nil else { return value }
        return target.makeAccessor(begin(target, present, .all))
    }

    /// Stores a property after all objects it leads to are created.
    private func finish(_ step: Step, _ object: ObjectBase) {
        if !step.property.isOwnedCollection {
            ObjectFilling.set(step.made[0], step.property, object)
        } else if step.property.isMap {
            let entries = Dictionary(uniqueKeysWithValues: zip(step.keys, step.made))
            ObjectFilling.set(entries, step.property, object)
        } else {
            ObjectFilling.set(step.made, step.property, object)
        }
    }

    /// Returns the auto-increment number for a new object whose values do not include one.
    private func number(
        _ schema: ClassSchema, _ binding: ClassBinding, _ given: [(column: Int, value: Value)]
    ) -> (place: Int, column: Int, value: Int64)? {
        guard let place = schema.autoIncremented else { return nil }
        let column = binding.columns[place]
        if let value = given.first(where: { $0.column == column })?.value, value != .int(0), value != .null {
            return nil
        }
        return (place, column, core.nextNumber(binding, column))
    }
}
