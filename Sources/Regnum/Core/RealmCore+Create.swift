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

    /// Like `create(_:value:update:)`, but returns the key of the object.
    func create(
        _ binding: ClassBinding, _ value: Any, update: Realm.UpdatePolicy, on unique: Int? = nil
    ) -> ObjectKey {
        if binding.schema.isEmbedded { refuseEmbedded() }
        if unique == nil, update != .error, binding.schema.primaryKey == nil {
            misuse(binding.schema.noPrimaryKeyMessage)
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

/// The state of one call of `create`. Like `add`, this keeps its own list of the objects that wait for those they link
/// to: values can be nested, and objects linked in chains, as deep as memory allows.
private struct Creation {
    let core: RealmCore
    let update: Realm.UpdatePolicy
    /// The keys of the copies made so far; the links between objects may form cycles.
    var copies: [Source: ObjectKey] = [:]
    /// Embedded objects whose copies are in progress: each owner gets a copy of its own, so a cycle would never end.
    private var running: Set<Source> = []
    /// Objects with rows whose values are not all stored yet; the last one is being processed.
    private var frames: [Frame] = []

    /// An object to copy, identified by its row if it is managed, because each read of a link creates another
    /// accessor, and by its address if not. Retains the object, because the address of a freed object may be reused.
    struct Source: Hashable {
        private let place: UInt
        private let key: UInt64
        private let object: ObjectBase

        init(_ object: ObjectBase) {
            self.object = object
            place =
                object.rowContext.map { UInt(bitPattern: $0) } ?? UInt(bitPattern: ObjectIdentifier(object))
            key = object.rowContext == nil ? 0 : object.rowKey.rawValue
        }

        static func == (left: Source, right: Source) -> Bool { left.place == right.place && left.key == right.key }

        func hash(into hasher: inout Hasher) {
            hasher.combine(place)
            hasher.combine(key)
        }
    }

    private struct Frame {
        let binding: ClassBinding
        let key: ObjectKey
        let update: Realm.UpdatePolicy
        /// True if the values come from an object: then a value already present in a file is not rejected.
        let isCopy: Bool
        let entries: [(property: ClassProperty, value: Any)]
        var next = 0
        var step: Step?
        /// Collections that are stored after all other properties.
        var stored: [(property: ClassProperty, elements: OwnedElements)] = []
        /// The embedded object that is being copied.
        var source: Source?
    }

    /// A property whose objects are being created.
    private struct Step {
        let property: ClassProperty
        let column: Int
        /// The values to create the objects from.
        var given: [Any] = []
        var made: OwnedElements
        var owned = OwnedTargets()
        /// For a property of values of any type: the value to store once all its objects are copied.
        var value: Any?
        var next = 0
    }

    init(core: RealmCore, update: Realm.UpdatePolicy) {
        self.core = core
        self.update = update
    }

    /// `unique`: the number of the constraint by which an existing object is found.
    mutating func create(_ binding: ClassBinding, _ value: Any, on unique: Int? = nil) -> ObjectKey {
        let key = begin(binding, value, on: unique)
        run()
        return key
    }

    /// Finds the object or creates its row. Values that lead to other objects are left in a frame.
    private mutating func begin(
        _ binding: ClassBinding, _ value: Any, on unique: Int? = nil, running: Source? = nil
    ) -> ObjectKey {
        let schema = binding.schema
        let entries = ObjectFilling.entries(value, of: schema)
        let given = unwrapped(value).flatMap(objectBase)
        let isCopy = given != nil
        let source = schema.isEmbedded ? nil : given.map { Source($0) }
        var fresh: ObjectBase?
        let found =
            unique.flatMap { existing(binding, entries, on: $0, isCopy) }
            ?? existing(binding, entries, &fresh, isCopy)
        if let existing = found {
            if let source { copies[source] = existing }
            frames.append(
                Frame(
                    binding: binding, key: existing, update: update, isCopy: isCopy,
                    entries: entries.filter { !$0.property.isPrimaryKey }, source: running))
            return existing
        }
        let object = fresh ?? schema.type.init()
        var later: [(property: ClassProperty, value: Any)] = []
        var stored: [(property: ClassProperty, elements: OwnedElements)] = []
        for (property, value) in entries {
            if property.isPartial, property.isOwnedCollection {
                // Some values may not fit into the unmanaged object. Those that cannot be stored either are rejected
                // before it is added.
                stored.append((property, plainElements(value, property, binding)))
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
        if let source { copies[source] = object.rowKey }
        if !later.isEmpty || !stored.isEmpty || running != nil {
            frames.append(
                Frame(
                    binding: binding, key: object.rowKey, update: .all, isCopy: isCopy, entries: later, stored: stored,
                    source: running))
        }
        return object.rowKey
    }

    /// Stores the remaining values of the objects that have rows, and creates the objects they lead to.
    private mutating func run() {
        while let top = frames.indices.last {
            if var step = frames[top].step.take() {
                while step.next < step.given.count, frames.count == top + 1 { make(&step, frames[top].binding) }
                if frames.count == top + 1 { finish(step, frames[top]) } else { frames[top].step = step }
            } else if frames[top].next < frames[top].entries.count {
                frames[top].next += 1
                store(frames[top].entries[frames[top].next - 1], top)
            } else {
                let frame = frames.removeLast()
                for (property, elements) in frame.stored {
                    guard let place = frame.binding.schema.place(named: property.name) else { continue }
                    core.replace(elements, frame.binding, frame.binding.columns[place], frame.key, .all)
                }
                if let source = frame.source { running.remove(source) }
            }
        }
    }

    /// Returns the object with the given primary key, or with the class's default key if none is given. `fresh` is set
    /// to the object that provided the default, because another instance may have a different default.
    private func existing(
        _ binding: ClassBinding, _ entries: [(property: ClassProperty, value: Any)], _ fresh: inout ObjectBase?,
        _ isCopy: Bool
    ) -> ObjectKey? {
        let schema = binding.schema
        guard update != .error, let place = schema.primaryKey else { return nil }
        let key: Value
        if let (property, value) = entries.first(where: { $0.property.isPrimaryKey }) {
            key = engineValue(value, property, binding, isCopy)
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
        _ binding: ClassBinding, _ entries: [(property: ClassProperty, value: Any)], on unique: Int, _ isCopy: Bool
    ) -> ObjectKey? {
        var values: [Value] = []
        for place in binding.schema.uniques[unique] {
            let name = binding.schema.properties[place].name
            guard let (property, value) = entries.first(where: { $0.property.name == name }) else { return nil }
            if property.hasTarget {
                guard let target = unwrapped(value).flatMap(objectBase), target.rowContext != nil, target.core === core
                else { return nil }
                values.append(.link(target.rowKey))
            } else {
                values.append(engineValue(value, property, binding, isCopy))
            }
        }
        return core.key(binding, withUnique: unique, values)
    }

    private func engineValue(
        _ value: Any, _ property: ClassProperty, _ binding: ClassBinding, _ isCopy: Bool
    ) -> Value {
        if let raw = property.coercedRaw(value) { return core.storedValue(raw, update) }
        guard let raw = property.unknownRaw(value, isKnown: isCopy) else {
            ObjectFilling.refuse(value, property, binding.schema)
        }
        return raw
    }

    /// Stores a value, or makes it the step of the frame if it leads to objects.
    private mutating func store(_ entry: (property: ClassProperty, value: Any), _ top: Int) {
        let (property, value) = entry
        let (binding, key, update) = (frames[top].binding, frames[top].key, frames[top].update)
        guard let place = binding.schema.place(named: property.name) else { return }
        let column = binding.columns[place]
        var step = Step(property: property, column: column, made: OwnedElements(kind: property.shape.collectionKind))
        if leadsElsewhere(value, property) {
            step.given = objectsElsewhere(value, property)
            step.value = value
            frames[top].step = step
        } else if property.hasTarget {
            step.owned = OwnedTargets(property, binding, column, of: key, update)
            (step.made.keys, step.given) = given(value, property, binding)
            frames[top].step = step
        } else {
            store(value, property, column, frames[top])
        }
    }

    /// Stores a value that leads to no objects still to be created.
    private func store(_ value: Any, _ property: ClassProperty, _ column: Int, _ frame: Frame) {
        let binding = frame.binding
        if property.isOwnedCollection {
            core.replace(plainElements(value, property, binding), binding, column, frame.key, frame.update)
        } else if property.storage == .boxField, property.unknownRaw(value, isKnown: frame.isCopy) == nil {
            ObjectFilling.set(value, property, binding.makeAccessor(frame.key))
        } else {
            let new = engineValue(value, property, binding, frame.isCopy)
            core.replace(new, binding, column, frame.key, frame.update)
        }
    }

    /// Converts the elements of a collection of values.
    private func plainElements(_ value: Any, _ property: ClassProperty, _ binding: ClassBinding) -> OwnedElements {
        var elements = OwnedElements(kind: property.shape.collectionKind)
        guard let present = unwrapped(value) else { return elements }
        // Uses an unmanaged collection of the right type, which rejects values that do not fit.
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

    /// Returns the values that represent the objects a property leads to; for a map also their keys.
    private func given(
        _ value: Any, _ property: ClassProperty, _ binding: ClassBinding
    ) -> (keys: [String], values: [Any]) {
        if !property.isOwnedCollection { return ([], [value]) }
        guard let present = unwrapped(value) else { return ([], []) }
        if property.isMap {
            guard let given = Coercion.mapEntries(present) else {
                ObjectFilling.refuse(value, property, binding.schema)
            }
            for (key, _) in given { checkKey(key) }
            return (given.map(\.key), given.map { $0.value as Any })
        }
        guard let elements = Coercion.elements(present) else {
            ObjectFilling.refuse(value, property, binding.schema)
        }
        return ([], elements)
    }

    /// Creates the next object of a step.
    private mutating func make(_ step: inout Step, _ binding: ClassBinding) {
        let property = step.property
        let value = step.given[step.next]
        defer { step.next += 1 }
        if step.value != nil {
            guard let object = objectBase(value), copies[Source(object)] == nil else { return }
            object.requireValid()
            _ = begin(core.binding(for: type(of: object)), object)
            return
        }
        let existing = property.isMap ? step.owned[step.made.keys[step.next]] : step.owned[step.next]
        let made = link(value, property, binding, existing)
        if case .null = made, property.isList || property.isSet {
            misuse(
                "Invalid nil value for \(property.isSet ? "set" : "array") of '\(property.targetName ?? "")'.")
        }
        step.made.values.append(made)
    }

    /// Stores a property after all objects it leads to are created.
    private func finish(_ step: Step, _ frame: Frame) {
        if let value = step.value {
            store(copied(value, step.property), step.property, step.column, frame)
        } else if step.property.isOwnedCollection {
            core.replace(step.made, frame.binding, step.column, frame.key, frame.update)
        } else {
            core.replace(step.made.values[0], frame.binding, step.column, frame.key, frame.update)
        }
    }

    /// Returns the link for `value`. An object of this Realm is linked to directly; anything else is created. An
    /// embedded object is always created, or `existing` is updated.
    private mutating func link(
        _ value: Any, _ property: ClassProperty, _ binding: ClassBinding, _ existing: ObjectKey?
    ) -> Value {
        guard let given = unwrapped(value), let target = property.shape.target else { return .null }
        let present = embeddedForm(of: given) ?? given
        if let object = objectBase(present) {
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
        return .link(property.isOwning ? makeOwned(present, binding, existing) : begin(binding, present))
    }

    /// Creates an embedded object from `value`, or updates the existing one with its values.
    private mutating func makeOwned(_ value: Any, _ binding: ClassBinding, _ existing: ObjectKey?) -> ObjectKey {
        let source = objectBase(value).map { Source($0) }
        if let source, !running.insert(source).inserted {
            misuse("Can't set link to existing managed embedded object: it would be embedded in itself.")
        }
        guard let existing else { return begin(binding, value, running: source) }
        frames.append(
            Frame(
                binding: binding, key: existing, update: .modified, isCopy: source != nil,
                entries: ObjectFilling.entries(value, of: binding.schema), source: source))
        return existing
    }
}

// MARK: Values of any type

extension Creation {
    /// Returns whether a value of any type, or an element of a collection of such values, is or contains an object of
    /// another Realm.
    private func leadsElsewhere(_ value: Any, _ property: ClassProperty) -> Bool {
        guard property.shape.type == .any, !isPlain(value) else { return false }
        return !objectsElsewhere(value, property).isEmpty
    }

    /// Returns the objects of other Realms that the value is or contains.
    private func objectsElsewhere(_ value: Any, _ property: ClassProperty) -> [ObjectBase] {
        var found: [ObjectBase] = []
        for element in anyValues(value, property) {
            element.forEachObject { if isElsewhere($0) { found.append($0) } }
        }
        return found
    }

    /// Returns the value, or the elements of a collection of values of any type.
    private func anyValues(_ value: Any, _ property: ClassProperty) -> [AnyRealmValue] {
        guard let value = unwrapped(value) else { return [] }
        if property.shape.collectionKind == .none { return AnyRealmValue._coerced(value).map { [$0] } ?? [] }
        let elements = Coercion.mapEntries(value)?.map { $0.value as Any }
        return (elements ?? Coercion.elements(value) ?? []).compactMap { AnyRealmValue._coerced($0) }
    }

    /// Returns whether the object belongs to another Realm. False for dynamic objects: the program may not have their
    /// class, and they are rejected like other foreign objects.
    private func isElsewhere(_ object: ObjectBase) -> Bool {
        object.rowContext != nil && !(object is DynamicObject) && object.core !== core
    }

    /// Returns the value with objects of other Realms replaced by their copies.
    private func copied(_ value: Any, _ property: ClassProperty) -> Any {
        guard let value = unwrapped(value) else { return value }
        if property.shape.collectionKind == .none { return AnyRealmValue._coerced(value).map { copied($0) } ?? value }
        if let given = Coercion.mapEntries(value) {
            return MapEntries(
                list: given.map { entry -> (key: String, value: Any?) in
                    let present = entry.value as Any
                    return (entry.key, AnyRealmValue._coerced(present).map { copied($0) as Any } ?? present)
                })
        }
        return (Coercion.elements(value) ?? []).map { element in
            AnyRealmValue._coerced(element).map { copied($0) } ?? element
        }
    }

    private func copied(_ value: AnyRealmValue, _ depth: Int = 0) -> AnyRealmValue {
        // Values nested too deeply are rejected when they are stored.
        if depth >= MixedCodec.depthLimit { return value }
        switch value {
        case .object(let object) where isElsewhere(object):
            guard let key = copies[Source(object)] else { return value }
            return .object(unsafeDowncast(core.binding(for: type(of: object)).makeAccessor(key), to: Object.self))
        case .list(let list): return .fromArray(list.map { copied($0, depth + 1) })
        case .dictionary(let map):
            var entries: [String: AnyRealmValue] = [:]
            for entry in map { entries[entry.key] = copied(entry.value, depth + 1) }
            return .fromDictionary(entries)
        default: return value
        }
    }
}
