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

    /// As `dynamicBinding(named:)`; nil if a read-only file has no table for a class of the schema. An unknown name is
    /// a programmer error.
    func dynamicFetchable(_ name: String) -> ClassBinding? {
        if let binding = dynamicBinding(named: name) { return binding }
        if settings.schema.classes.contains(where: { $0.name == name }) { return nil }
        refuseClass(name)
    }

    /// Returns the table that the links of a column lead to.
    func dynamicTarget(of binding: ClassBinding, _ column: Int) -> ClassBinding {
        guard let key = binding.table.definition.columns[column].target, let table = session.table(key) else {
            fatalError("column \(column) of '\(binding.schema.name)' holds no links")
        }
        return dynamicBinding(table)
    }

    /// Returns the key of the object that `value` represents: an object of this Realm itself; an unmanaged object is
    /// added; a dictionary or an array creates a new object. Returns nil for nil.
    func dynamicKey(_ value: Any, _ target: ClassBinding, for place: LinkPlace = .property) -> ObjectKey? {
        guard let present = unwrapped(value) else { return nil }
        guard let object = objectBase(present) else { return dynamicCreate(target, present, .all) }
        if object.classSchema.name != target.schema.name { object.refuseClass(target.schema.name, place) }
        return adopt(object, for: place)
    }

    /// Creates an object, through its class if there is one. Values can be nested as deeply as memory allows, except
    /// those of embedded objects.
    func dynamicCreate(_ binding: ClassBinding, _ value: Any, _ update: Realm.UpdatePolicy) -> ObjectKey {
        var waiting: [Unset] = []
        let key = dynamicBegin(binding, value, update, &waiting)
        while let next = waiting.popLast() {
            let value = linked(next, &waiting)
            ObjectFilling.set(value, next.property, next.object)
        }
        return key
    }

    /// Finds the object or creates its row. Values that lead to other objects are appended to `waiting`.
    private func dynamicBegin(
        _ binding: ClassBinding, _ value: Any, _ update: Realm.UpdatePolicy, _ waiting: inout [Unset]
    ) -> ObjectKey {
        if let typed = self.binding(forTable: binding.tableKey) {
            if typed.schema.isEmbedded { return createEmbedded(typed, value) }
            let policy = typed.schema.primaryKey == nil && update == .all ? .error : update
            return create(typed, value, update: policy)
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
            guard let raw = property.coercedRaw(value).map({ self.storedValue($0, update) }) else {
                ObjectFilling.refuse(value, property, schema)
            }
            if property.isPrimaryKey {
                hasKey = true
                key = engine { () throws(EngineError) in try binding.table.key(forPrimaryKey: raw) }
                if key != nil, update == .error {
                    if hasUnprovedKeys(binding) {
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
        let made = key ?? newRow(binding)
        for (column, value) in plain { replace(value, binding, column, made, key == nil ? .all : .modified) }
        let object = binding.makeAccessor(made)
        waiting += others.reversed().map { Unset(object: object, property: $0.property, value: $0.value) }
        return made
    }

    /// A property that leads to other objects, and the value still to be set.
    private struct Unset {
        let object: ObjectBase
        let property: ClassProperty
        let value: Any
    }

    /// Returns the value with the values that represent objects replaced by new objects.
    private func linked(_ unset: Unset, _ waiting: inout [Unset]) -> Any {
        let (property, binding) = (unset.property, unset.object.binding)
        let column = binding.columns[property.offset]
        guard property.hasTarget, let present = unwrapped(unset.value), !binding.table.ownsTargets(of: column),
            !isInstance(present) || !(present is any AnyOwnedCollection)
        else { return unset.value }
        let target = dynamicTarget(of: binding, column)
        if !property.isOwnedCollection { return linked(present, target, &waiting) }
        if property.isMap {
            guard var entries = Coercion.entries(present) else { return present }
            for (key, value) in entries { entries[key] = linked(value, target, &waiting) }
            return entries
        }
        return Coercion.elements(present)?.map { linked($0, target, &waiting) } ?? present
    }

    private func linked(_ value: Any, _ target: ClassBinding, _ waiting: inout [Unset]) -> Any {
        guard let present = unwrapped(value), objectBase(present) == nil else { return value }
        return target.makeAccessor(dynamicBegin(target, present, .all, &waiting))
    }

    /// Returns the number for a new object whose values provide none.
    private func number(
        _ schema: ClassSchema, _ binding: ClassBinding, _ given: [(column: Int, value: Value)]
    ) -> (place: Int, column: Int, value: Int64)? {
        guard let place = schema.autoIncremented else { return nil }
        let column = binding.columns[place]
        if let value = given.first(where: { $0.column == column })?.value, value != .int(0), value != .null {
            return nil
        }
        return (place, column, nextNumber(binding, column))
    }

    private func newRow(_ binding: ClassBinding) -> ObjectKey {
        engine { () throws(EngineError) in
            let location = try binding.table.insertRow()
            try binding.table.finishInsert(location)
            return ObjectKey(rawValue: location.group.pointee.key(at: location.row))
        }
    }
}
