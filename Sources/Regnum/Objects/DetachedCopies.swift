// SPDX-License-Identifier: Apache-2.0
// Copies that belong to no Realm, and copies in another one. Additions to RealmSwift's API, so members of protocol
// extensions: a member of the same name in a user's class wins.

internal import RegnumEngine

extension ThreadConfined where Self: ObjectBase {
    /// An unmanaged copy of the object and of what it links to, `depth` links deep: it may be changed without a write
    /// and go to any thread. Objects that are linked to twice, and circles, are copied once. Links beyond `depth` are
    /// nil or missing from their collections, also in values of any type. Linking objects are empty. A stored value
    /// that the type has no form for, as a raw value without a case, becomes the default of the class and is missing
    /// from collections. Misuse where the object is invalid or dynamic.
    ///
    /// A circle of unmanaged objects keeps itself in memory: break it, or copy less deep. Cost: reads every object it
    /// copies once.
    @_disfavoredOverload
    public func detached(depth: Int = .max) -> Self {
        var copying = Detaching(depth: depth)
        return unsafeDowncast(copying.copy([self])[0], to: Self.self)
    }

    /// The object's copy in another Realm, or the same one, which must be in a write: `create` with this object as the
    /// value. Misuse where the object is invalid, and as for `create`.
    @discardableResult
    @_disfavoredOverload
    public func copy(to realm: Realm, update: Realm.UpdatePolicy = .error) -> Self where Self: Object {
        realm.core.requireWrite()
        if rowContext != nil { requireValid() }
        let binding = realm.core.binding(for: type(of: self))
        let key = realm.core.create(binding, self, update: update)
        return unsafeDowncast(binding.makeAccessor(key), to: Self.self)
    }
}

extension RealmCollection where Element: ObjectBase {
    /// Unmanaged copies of the objects, in their order; see `detached(depth:)` of an object. What several of them link
    /// to is copied once.
    @_disfavoredOverload
    public func detached(depth: Int = .max) -> [Element] {
        var copying = Detaching(depth: depth)
        return copying.copy(Array(self)).map { unsafeDowncast($0, to: Element.self) }
    }
}

/// Copies objects breadth first, so that each gets the longest way down that is left to it, and without recursion.
private struct Detaching {
    /// A managed object by its row, because each read of a link makes another accessor; others by instance.
    private struct Source: Hashable {
        let place: UInt
        let key: UInt64

        init(_ object: ObjectBase) {
            let instance = UInt(bitPattern: ObjectIdentifier(object))
            place = object.rowContext.map { UInt(bitPattern: $0) } ?? instance
            key = object.rowContext == nil ? 0 : object.rowKey.rawValue
        }
    }

    private let depth: Int
    private var copies: [Source: ObjectBase] = [:]
    /// Objects whose copies are still empty, and how many links may be followed from there.
    private var waiting: [(object: ObjectBase, copy: ObjectBase, depth: Int)] = []

    init(depth: Int) { self.depth = depth }

    mutating func copy(_ objects: [ObjectBase]) -> [ObjectBase] {
        // All of them first: one that another links to has its full depth all the same.
        let copies = objects.map { started($0, depth) }
        var next = 0
        while next < waiting.count {
            let (object, copy, depth) = waiting[next]
            next += 1
            fill(copy, from: object, depth)
        }
        waiting = []
        return copies
    }

    private mutating func started(_ object: ObjectBase, _ depth: Int) -> ObjectBase {
        if let copy = copies[Source(object)] { return copy }
        if object.rowContext != nil { object.requireValid() }
        if object is DynamicObject {
            misuse("A dynamic object has no unmanaged form: take an object of its class.")
        }
        let copy = type(of: object).init()
        copies[Source(object)] = copy
        waiting.append((object, copy, depth))
        return copy
    }

    private mutating func fill(_ copy: ObjectBase, from object: ObjectBase, _ depth: Int) {
        for property in ClassSchema.of(type(of: object)).properties where !property.isComputed {
            let value = property.get(object)
            // There is no form for it in memory: the copy has nil, or the class's default.
            if let value, property.unknownRaw(value) != nil {
                if property.shape.isOptional { ObjectFilling.set(Any?.none as Any, property, copy) }
                continue
            }
            if property.isOwnedCollection, let collection = value as? any AnyOwnedCollection {
                ObjectFilling.set(elements(collection, property, copy, depth), property, copy)
            } else if property.shape.isCustom {
                // Made for this read, so it is a copy already.
                ObjectFilling.set(value as Any, property, copy)
            } else {
                ObjectFilling.set(value.flatMap { detached($0, depth) } as Any, property, copy)
            }
        }
    }

    private mutating func elements(
        _ collection: any AnyOwnedCollection, _ property: ClassProperty, _ copy: ObjectBase, _ depth: Int
    ) -> Any {
        // Values of a type of the user's own are made for this read, so they are copies already.
        if property.isPartial || property.shape.isCustom {
            return property.collection(in: copy).heldElements(of: collection)
        }
        if let map = collection as? any AnyMap { return entries(map, depth) }
        return collection.anyElements.compactMap { detached($0, depth) }
    }

    private mutating func entries(_ map: any AnyMap, _ depth: Int) -> [String: Any] {
        var entries: [String: Any] = [:]
        for (key, value) in map.anyEntries {
            // An object beyond the depth leaves its key.
            entries[key] = value.flatMap { detached($0, depth) } as Any
        }
        return entries
    }

    /// A value as it is, an object as its copy; nil for one beyond the depth.
    private mutating func detached(_ value: Any, _ depth: Int) -> Any? {
        if isPlain(value) { return value }
        switch unwrapped(value) {
        case let object as ObjectBase: return linked(object, depth)
        case let mixed as AnyRealmValue: return copied(mixed, depth).map { $0 as Any }
        case let list as List<AnyRealmValue>: return copied(.list(list), depth).map { $0 as Any }
        case let map as Map<String, AnyRealmValue>: return copied(.dictionary(map), depth).map { $0 as Any }
        default: return value
        }
    }

    private mutating func linked(_ object: ObjectBase, _ depth: Int) -> ObjectBase? {
        depth > 0 ? started(object, depth - 1) : copies[Source(object)]
    }

    /// Lists and dictionaries with copies of what they hold: those of a managed object are views of it. `level`: how
    /// many of them the value lies in; one that is an element of itself has no end.
    private mutating func copied(_ value: AnyRealmValue, _ depth: Int, _ level: Int = 0) -> AnyRealmValue? {
        if level >= MixedCodec.depthLimit { return value }
        switch value {
        case .object(let object):
            guard let copy = linked(object, depth) as? Object else { return nil }
            return .object(copy)
        case .list(let list):
            let copy = List<AnyRealmValue>()
            for element in list {
                if let element = copied(element, depth, level + 1) { copy.append(element) }
            }
            return .list(copy)
        case .dictionary(let map):
            let copy = Map<String, AnyRealmValue>()
            for entry in map {
                // An object beyond the depth leaves its key.
                copy.updateValue(copied(entry.value, depth, level + 1) ?? AnyRealmValue(), forKey: entry.key)
            }
            return .dictionary(copy)
        default: return value
        }
    }
}
