// SPDX-License-Identifier: Apache-2.0
// The checks that RegnumReactive makes before it begins an operation on a Realm: whether the caller may use it, how to
// get back to its thread, queue or actor, and whether the operation would be a programmer error.

internal import RegnumEngine

extension RealmCore {
    /// True if the caller may use the Realm; `check` traps if it may not.
    package var isHere: Bool {
        if session.database.isForked { return false }
        if isFrozen || session.state.pointee.owner == currentThreadWord() && !asksAlways { return true }
        return adoptsCaller?() == true
    }

    /// Runs work on the Realm's thread, queue or actor, in the order of the calls. Nil on a thread without a run loop,
    /// which cannot be called back. Must be read on the Realm's thread, queue or actor; the result can be used on any
    /// thread.
    package var turns: (@Sendable (@escaping @Sendable () -> Void) -> Void)? {
        guard let place = deliveryPlace else { return nil }
        return { work in place.perform(work) }
    }

    /// True if both Realms show the same file or in-memory store.
    package func sharesFile(with other: RealmCore) -> Bool { settings.database === other.settings.database }

    /// Throws if beginning a write would be a programmer error because of the kind of this Realm.
    package func checkMayWrite() throws {
        if isFrozen { throw refusal("Can't perform transactions on a frozen Realm") }
        if isReadOnly { throw refusal("Can't perform transactions on read-only Realms.") }
    }

    /// Throws if one of the objects does not belong to this Realm, so that deleting it would be a programmer error.
    /// Must be called on the thread, queue or actor of the objects, with objects that are not invalidated.
    package func checkMayDelete(_ objects: [Object]) throws {
        for object in objects where object._homeCore !== self { throw refusal(Self.foreignObject) }
    }

    /// Throws if adding the objects, or one that they lead to, would be a programmer error. Returns the unmanaged ones
    /// among all of these. O(objects visited).
    package func checkMayAdd(_ objects: [Object], update: Realm.UpdatePolicy) throws -> [ObjectBase] {
        for object in objects where update != .error && object.classSchema.primaryKey == nil {
            throw refusal(object.classSchema.noPrimaryKeyMessage)
        }
        var waiting: [ObjectBase] = objects.reversed()
        var found: [ObjectBase] = []
        var seen: Set<ObjectIdentifier> = []
        /// Embedded objects that have an owner among the objects visited.
        var owned: Set<ObjectIdentifier> = []
        while let object = waiting.popLast() {
            if !seen.insert(ObjectIdentifier(object)).inserted { continue }
            if object.isInvalidated {
                throw refusal("Adding a deleted or invalidated object to a Realm is not permitted")
            }
            if let home = object._homeCore, home !== self { throw refusal(Self.managedElsewhere) }
            if object.rowContext != nil { continue }
            guard let binding = bindingIfAny(for: type(of: object)) else {
                throw refusal(unknownClass(ClassNames.name(of: type(of: object))))
            }
            found.append(object)
            for property in binding.schema.properties {
                var problem: String?
                property.forEachTarget(of: object) { target, wanted in
                    if let wanted, !target.stands(for: wanted) {
                        problem =
                            problem ?? "Can't set object of type '\(target.classSchema.name)' to property of type "
                            + "'\(ClassNames.name(of: wanted))'"
                    }
                    if target.isOwned || target is EmbeddedObject && !owned.insert(ObjectIdentifier(target)).inserted {
                        problem = problem ?? property.linkPlace.ownedMessage
                    }
                    waiting.append(target)
                } problem: {
                    problem = problem ?? $0
                }
                if let problem { throw refusal(problem) }
            }
        }
        return found
    }

    /// The error of an operation whose counterpart in the synchronous API ends the program.
    package func refusal(_ words: String) -> Realm.Error {
        Realm.Error(.fail, .unspecified, words, fileURL: fileURL)
    }

    /// The error of deleting an unmanaged object.
    package static var deletesUnmanaged: Realm.Error { Realm.Error(.fail, .unspecified, foreignObject, fileURL: nil) }

    /// The message for objects of different files in one call.
    package static let managedElsewhere =
        "Object is already managed by another Realm. Use create instead to copy it into this Realm."

    /// True if adding these objects without an update policy would duplicate a primary key, in the Realm or among the
    /// objects. O(objects * log n).
    package func wouldRepeatPrimaryKey(_ objects: [ObjectBase]) -> Bool {
        var seen: [TableKey: [AnyHashable: ObjectIdentifier]] = [:]
        for object in objects where object.rowContext == nil {
            let binding = binding(for: type(of: object))
            guard let index = binding.schema.primaryKey else { continue }
            let property = binding.schema.properties[index]
            // It is assigned an unused number when it is added.
            if property.isAutoIncremented, isUnnumbered(object, property) { continue }
            let value = property.raw(object).value
            if engine({ () throws(EngineError) in try binding.table.key(forPrimaryKey: value) }) != nil {
                return true
            }
            guard let key = property.get(object) as? AnyHashable else { continue }
            let identity = ObjectIdentifier(object)
            if let other = seen[binding.tableKey, default: [:]].updateValue(identity, forKey: key), other != identity {
                return true
            }
        }
        return false
    }
}

extension ClassProperty {
    /// Calls `body` with each object that an unmanaged object refers to through this property, and the class that it
    /// must have, if any; and `problem` with the reason if the property's value cannot be stored.
    fileprivate func forEachTarget(
        of object: ObjectBase, _ body: (ObjectBase, ObjectBase.Type?) -> Void, problem: (String) -> Void
    ) {
        guard !isComputed, hasTarget || shape.type == .any || isMap else { return }
        let collection = isOwnedCollection ? existingCollection(in: object) : nil
        // Not `rawKeys`, which reports such a key as a programmer error.
        for entry in (collection as? any AnyMap)?.anyEntries ?? [] {
            if let reason = keyProblem(entry.key) { problem(reason) }
        }
        let raws =
            if isOwnedCollection {
                collection?.rawItems ?? []
            } else {
                [storage == .boxField ? box(in: object).unmanagedValue : raw(object)]
            }
        for raw in raws {
            if let target = raw.object { body(target, shape.target) }
            guard let mixed = raw.mixed else { continue }
            if !mixed.isStorable() {
                problem(AnyRealmValue.depthMessage)
                continue
            }
            mixed.forEachObject { body($0, nil) }
        }
    }
}

extension ObjectBase {
    /// The Realm that the object belongs to, even after its deletion; nil while it is unmanaged. Any thread.
    package final var _homeCore: RealmCore? {
        guard let context = rowContext, context.pointee.kind != .traced else { return nil }
        return core
    }
}
