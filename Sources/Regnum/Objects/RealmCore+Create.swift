// SPDX-License-Identifier: Apache-2.0
// `create`: creates an object from a dictionary, an array or another object, which is copied with the objects it links
// to.

internal import Foundation
internal import RegnumEngine

extension RealmCore {
    /// Creates an object, or updates the one with the same primary key. The programmer errors are those of `add`, and
    /// values that do not fit.
    package func create<T: ObjectBase>(_ type: T.Type, value: Any, update: Realm.UpdatePolicy) -> T {
        requireWrite()
        let binding = binding(for: type)
        return unsafeDowncast(binding.makeAccessor(create(binding, value, update: update)), to: T.self)
    }

    /// As `create(_:value:update:)`; returns the key of the object.
    func create(
        _ binding: ClassBinding, _ value: Any, update: Realm.UpdatePolicy, on unique: Int? = nil
    ) -> ObjectKey {
        if binding.schema.isEmbedded { refuseEmbedded() }
        if unique == nil, update != .error, binding.schema.primaryKey == nil {
            misuse("'\(binding.schema.name)' does not have a primary key and can not be updated")
        }
        var creation = Creation(core: self, update: update)
        return creation.create(binding, value, on: unique)
    }

    /// Creates an embedded object that its owner will link to.
    func createEmbedded(_ binding: ClassBinding, _ value: Any) -> ObjectKey {
        var creation = Creation(core: self, update: .error)
        return creation.create(binding, value)
    }
}

extension ObjectBase {
    /// Returns whether the object is of exactly this class, or is a dynamic object of its table.
    final func stands(for type: ObjectBase.Type) -> Bool {
        if Swift.type(of: self) == type { return true }
        return self is DynamicObject && classSchema.name == ClassNames.name(of: type)
    }
}

/// One call of `create`.
private struct Creation {
    let core: RealmCore
    let update: Realm.UpdatePolicy
    /// The keys of the copies made so far; objects may link in cycles.
    var copies: [Source: ObjectKey] = [:]
    /// Embedded objects whose copies are in progress: each owner gets a copy of its own, so a cycle would never end.
    private var running: Set<Source> = []
    /// The values are those of an object, so that what is in a file already is not refused.
    private var isCopy = false

    /// Identifies a managed object by its row, because each read of a link creates another accessor, and an unmanaged
    /// object by its address.
    struct Source: Hashable {
        private let place: UInt
        private let key: UInt64

        init(_ object: ObjectBase) {
            place =
                object.rowContext.map { UInt(bitPattern: $0) } ?? UInt(bitPattern: ObjectIdentifier(object))
            key = object.rowContext == nil ? 0 : object.rowKey.rawValue
        }
    }

    init(core: RealmCore, update: Realm.UpdatePolicy) {
        self.core = core
        self.update = update
    }

    /// `unique`: the number of the constraint by which an existing object is found.
    mutating func create(_ binding: ClassBinding, _ value: Any, on unique: Int? = nil) -> ObjectKey {
        let schema = binding.schema
        let entries = ObjectFilling.entries(value, of: schema)
        let given = unwrapped(value).flatMap(objectBase)
        let source = schema.isEmbedded ? nil : given
        let outer = isCopy
        isCopy = given != nil
        defer { isCopy = outer }
        var fresh: ObjectBase?
        let found = unique.flatMap { existing(binding, entries, on: $0) } ?? existing(binding, entries, &fresh)
        if let existing = found {
            if let source { copies[Source(source)] = existing }
            for (property, value) in entries where !property.isPrimaryKey {
                store(value, property, binding, existing, update)
            }
            return existing
        }
        let object = fresh ?? schema.type.init()
        var later: [(property: ClassProperty, value: Any)] = []
        var stored: [(property: ClassProperty, elements: OwnedElements)] = []
        for (property, value) in entries {
            if property.isPartial, property.isOwnedCollection {
                // Some may not fit into the unmanaged object. Those that fit nowhere are refused before it is added.
                stored.append((property, elements(value, property, binding, OwnedTargets())))
                continue
            }
            // The copied value may lead back to this object.
            if property.hasTarget || leadsElsewhere(value, property)
                || property.unknownRaw(value, isKnown: isCopy) != nil
            {
                later.append((property, value))
                // The class's default object must not be added if the link is given.
                if property.hasTarget { _ = property.set(object, NSNull()) }
            } else {
                ObjectFilling.set(value, property, object)
            }
        }
        core.add(object, update: schema.primaryKey == nil ? .error : update)
        if let source { copies[Source(source)] = object.rowKey }
        for (property, value) in later { store(value, property, binding, object.rowKey, .all) }
        for (property, elements) in stored {
            guard let place = schema.place(named: property.name) else { continue }
            core.replace(elements, binding, binding.columns[place], object.rowKey, .all)
        }
        return object.rowKey
    }

    /// The object that has the primary key given, or where none is given that of the class's default. `fresh`: the
    /// object of which the default was taken: a second one may have another.
    private func existing(
        _ binding: ClassBinding, _ entries: [(property: ClassProperty, value: Any)], _ fresh: inout ObjectBase?
    ) -> ObjectKey? {
        let schema = binding.schema
        guard update != .error, let place = schema.primaryKey else { return nil }
        let key: Value
        if let (property, value) = entries.first(where: { $0.property.isPrimaryKey }) {
            key = engineValue(value, property, binding)
        } else {
            let (object, property) = (schema.type.init(), schema.properties[place])
            fresh = object
            // An object that will be numbered is new.
            if property.isAutoIncremented, core.isUnnumbered(object, property) { return nil }
            key = core.storedValue(property.raw(object), update)
        }
        return engine { () throws(EngineError) in try binding.table.key(forPrimaryKey: key) }
    }

    /// Returns the object with the values given for a constraint; nil if a value is missing.
    private func existing(
        _ binding: ClassBinding, _ entries: [(property: ClassProperty, value: Any)], on unique: Int
    ) -> ObjectKey? {
        var values: [Value] = []
        for place in binding.schema.uniques[unique] {
            let name = binding.schema.properties[place].name
            guard let (property, value) = entries.first(where: { $0.property.name == name }) else { return nil }
            if property.hasTarget {
                guard let target = unwrapped(value) as? ObjectBase, target.rowContext != nil, target.core === core
                else { return nil }
                values.append(.link(target.rowKey))
            } else {
                values.append(engineValue(value, property, binding))
            }
        }
        return core.key(binding, withUnique: unique, values)
    }

    private func engineValue(_ value: Any, _ property: ClassProperty, _ binding: ClassBinding) -> Value {
        if let raw = property.coercedRaw(value) { return core.storedValue(raw, update) }
        guard let raw = property.unknownRaw(value, isKnown: isCopy) else {
            ObjectFilling.refuse(value, property, binding.schema)
        }
        return raw
    }

    private mutating func store(
        _ value: Any, _ property: ClassProperty, _ binding: ClassBinding, _ key: ObjectKey,
        _ update: Realm.UpdatePolicy
    ) {
        guard let place = binding.schema.place(named: property.name) else { return }
        let value = leadsElsewhere(value, property) ? copied(value, property) : value
        let column = binding.columns[place]
        let owned = OwnedTargets(property, binding, column, of: key, update)
        if property.isOwnedCollection {
            core.replace(elements(value, property, binding, owned), binding, column, key, update)
        } else if property.hasTarget {
            core.replace(link(value, property, binding, owned[0]), binding, column, key, update)
        } else if property.storage == .boxField, property.unknownRaw(value, isKnown: isCopy) == nil {
            let accessor = binding.makeAccessor(key)
            ObjectFilling.set(value, property, accessor)
        } else {
            core.replace(engineValue(value, property, binding), binding, column, key, update)
        }
    }

    private mutating func elements(
        _ value: Any, _ property: ClassProperty, _ binding: ClassBinding, _ owned: OwnedTargets
    ) -> OwnedElements {
        var elements = OwnedElements(kind: property.shape.collectionKind)
        guard let present = unwrapped(value) else { return elements }
        guard property.hasTarget else {
            // Through an unmanaged collection of the right type, which refuses what does not fit.
            let collection = property.newCollection()
            if property.isPartial {
                guard let stored = collection.storableElements(of: present) else {
                    ObjectFilling.refuse(value, property, binding.schema)
                }
                return stored
            }
            guard collection.replaceElements(with: present) else {
                ObjectFilling.refuse(value, property, binding.schema)
            }
            elements.keys = collection.rawKeys
            elements.values = collection.rawItems.map { core.storedValue($0, update) }
            return elements
        }
        if property.isMap {
            let given = (present as? any AnyMap)?.anyEntries ?? Coercion.entries(present)?.map { ($0, $1) }
            guard let given else { ObjectFilling.refuse(value, property, binding.schema) }
            for (key, value) in given {
                checkKey(key)
                elements.keys.append(key)
                elements.values.append(link(value as Any, property, binding, owned[key]))
            }
            return elements
        }
        guard let given = Coercion.elements(present) else {
            ObjectFilling.refuse(value, property, binding.schema)
        }
        for (number, element) in given.enumerated() {
            let value = link(element, property, binding, owned[number])
            if case .null = value {
                misuse(
                    "Invalid nil value for \(property.isSet ? "set" : "array") of '\(property.targetName ?? "")'.")
            }
            elements.values.append(value)
        }
        return elements
    }

    /// Returns the link for `value`. An object of this Realm is linked to directly; anything else is created. An
    /// embedded object is always created, or `existing` is updated.
    private mutating func link(
        _ value: Any, _ property: ClassProperty, _ binding: ClassBinding, _ existing: ObjectKey?
    ) -> Value {
        guard let given = unwrapped(value), let target = property.shape.target else { return .null }
        let present = embeddedForm(of: given) ?? given
        if let object = present as? ObjectBase {
            guard object.stands(for: target) else { ObjectFilling.refuse(value, property, binding.schema) }
            if object.rowContext != nil {
                object.requireValid()
                if object.core === core, !property.isOwning { return .link(object.rowKey) }
            }
            if let copy = copies[Source(object)] { return .link(copy) }
        } else if Coercion.entries(present) == nil, Coercion.elements(present) == nil {
            ObjectFilling.refuse(value, property, binding.schema)
        }
        let binding = core.binding(for: target)
        return .link(property.isOwning ? makeOwned(present, binding, existing) : create(binding, present))
    }

    /// Creates an embedded object from `value`, or updates the existing one with its values.
    private mutating func makeOwned(_ value: Any, _ binding: ClassBinding, _ existing: ObjectKey?) -> ObjectKey {
        let source = (value as? ObjectBase).map { Source($0) }
        if let source, !running.insert(source).inserted {
            misuse("Can't set link to existing managed embedded object: it would be embedded in itself.")
        }
        defer { if let source { running.remove(source) } }
        guard let existing else { return create(binding, value) }
        let outer = isCopy
        isCopy = source != nil
        defer { isCopy = outer }
        for (property, value) in ObjectFilling.entries(value, of: binding.schema) {
            store(value, property, binding, existing, .modified)
        }
        return existing
    }
}

// MARK: Values of any type

extension Creation {
    /// Returns whether a value of any type, or an element of a collection of such values, is or contains an object of
    /// another Realm.
    private func leadsElsewhere(_ value: Any, _ property: ClassProperty) -> Bool {
        guard property.shape.type == .any, !isPlain(value), let value = unwrapped(value) else { return false }
        if property.shape.collectionKind == .none {
            return AnyRealmValue._coerced(value).map { leadsElsewhere($0, 0) } ?? false
        }
        let elements =
            (value as? any AnyMap)?.anyEntries.map { $0.1 as Any } ?? Coercion.entries(value).map { Array($0.values) }
        return (elements ?? Coercion.elements(value) ?? []).contains { element in
            AnyRealmValue._coerced(element).map { leadsElsewhere($0, 0) } ?? false
        }
    }

    /// A collection that is an element of itself is refused where it is stored.
    private func leadsElsewhere(_ value: AnyRealmValue, _ depth: Int) -> Bool {
        if depth >= MixedCodec.depthLimit { return false }
        switch value {
        case .object(let object): return isElsewhere(object)
        case .list(let list): return list.contains { leadsElsewhere($0, depth + 1) }
        case .dictionary(let map): return map.contains { leadsElsewhere($1, depth + 1) }
        default: return false
        }
    }

    /// Returns whether the object belongs to another Realm. False for dynamic objects: the program may not have their
    /// class, and they are rejected like other foreign objects.
    private func isElsewhere(_ object: ObjectBase) -> Bool {
        object.rowContext != nil && !(object is DynamicObject) && object.core !== core
    }

    /// The same with copies of the objects of other Realms.
    private mutating func copied(_ value: Any, _ property: ClassProperty) -> Any {
        guard let value = unwrapped(value) else { return value }
        if property.shape.collectionKind == .none { return AnyRealmValue._coerced(value).map { copied($0) } ?? value }
        if let given = (value as? any AnyMap)?.anyEntries ?? Coercion.entries(value)?.map({ ($0, $1) }) {
            var entries: [String: Any] = [:]
            for (key, value) in given {
                let present = value as Any
                entries[key] = AnyRealmValue._coerced(present).map { copied($0) } ?? present
            }
            return entries
        }
        return (Coercion.elements(value) ?? []).map { element in
            AnyRealmValue._coerced(element).map { copied($0) } ?? element
        }
    }

    private mutating func copied(_ value: AnyRealmValue) -> AnyRealmValue {
        switch value {
        case .object(let object) where isElsewhere(object):
            object.requireValid()
            let binding = core.binding(for: type(of: object))
            let key = copies[Source(object)] ?? create(binding, object)
            return .object(unsafeDowncast(binding.makeAccessor(key), to: Object.self))
        case .list(let list): return .fromArray(list.map { copied($0) })
        case .dictionary(let map):
            var entries: [String: AnyRealmValue] = [:]
            for entry in map { entries[entry.key] = copied(entry.value) }
            return .fromDictionary(entries)
        default: return value
        }
    }
}
