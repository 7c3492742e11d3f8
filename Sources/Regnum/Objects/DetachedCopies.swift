// SPDX-License-Identifier: Apache-2.0
// Unmanaged copies of objects, and copies in another Realm. These are additions to RealmSwift's API and therefore
// members of protocol extensions: a member of the same name in a user's class takes precedence.

internal import RegnumEngine

extension ThreadConfined where Self: ObjectBase {
    /// Returns an unmanaged copy of the object and of the objects it links to, up to `depth` links away.
    ///
    /// The copy can be changed without a write transaction and passed to any thread. An object that is linked to more
    /// than once, or that is part of a cycle, is copied once. Links beyond `depth` are nil, or missing from their
    /// collections, including those in values of any type. Linking objects are empty. A stored value that the type
    /// cannot represent, such as a raw value without a case, becomes the class's default and is missing from
    /// collections. It is a programmer error to copy an invalid or dynamic object.
    ///
    /// A cycle of unmanaged objects is a retain cycle: break it, or copy to a smaller depth. Cost: reads each copied
    /// object once.
    @_disfavoredOverload
    public func detached(depth: Int = .max) -> Self {
        var copying = Detaching(depth: depth)
        return unsafeDowncast(copying.copy([self])[0], to: Self.self)
    }

    /// Copies the object into a Realm, which may be its own and must be in a write transaction. The same as `create`
    /// with this object as the value, with the same programmer errors; it is also a programmer error to copy an invalid
    /// object.
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
    /// Returns unmanaged copies of the objects, in order; see `detached(depth:)` of an object. An object that several
    /// of them link to is copied once.
    @_disfavoredOverload
    public func detached(depth: Int = .max) -> [Element] {
        var copying = Detaching(depth: depth)
        return copying.copy(Array(self)).map { unsafeDowncast($0, to: Element.self) }
    }
}

/// Copies objects breadth first and without recursion, so that each object gets the largest remaining depth.
struct Detaching {
    /// Identifies a managed object by its row, because each read of a link creates another accessor, and an unmanaged
    /// object by its address.
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
    /// True if links to objects that are not embedded lead to these objects themselves, not to copies. Links to objects
    /// that were deleted since are left out.
    private let keepsLinks: Bool
    private var copies: [Source: ObjectBase] = [:]
    /// Objects whose copies are still empty, and the number of links to follow from each.
    private var waiting: [(object: ObjectBase, copy: ObjectBase, depth: Int)] = []

    init(depth: Int) { (self.depth, keepsLinks) = (depth, false) }

    private init() { (depth, keepsLinks) = (.max, true) }

    mutating func copy(_ objects: [ObjectBase]) -> [ObjectBase] {
        // Start all of them first, so that an object that another one links to keeps its full depth.
        let copies = objects.map { started($0, depth) }
        fillWaiting()
        return copies
    }

    /// Returns an unmanaged copy of one object and of the objects embedded in it, with links to the original targets.
    static func shell(of object: ObjectBase) -> ObjectBase {
        var copying = Detaching()
        return copying.copy([object])[0]
    }

    /// Returns the value of a property with copies of the objects embedded in it, to be stored in another object.
    static func value(of property: ClassProperty, in object: ObjectBase) -> Any {
        var copying = Detaching()
        let value = property.get(object)
        let copy: Any
        if property.isOwnedCollection, let collection = value as? any AnyOwnedCollection {
            copy = copying.elements(collection, property, object, .max)
        } else if property.shape.isCustom {
            copy = value as Any
        } else {
            copy = value.flatMap { copying.detached($0, .max) } as Any
        }
        copying.fillWaiting()
        return copy
    }

    private mutating func fillWaiting() {
        var next = 0
        while next < waiting.count {
            let (object, copy, depth) = waiting[next]
            next += 1
            fill(copy, from: object, depth)
        }
        waiting = []
    }

    private mutating func started(_ object: ObjectBase, _ depth: Int) -> ObjectBase {
        if let copy = copies[Source(object)] { return copy }
        if object.rowContext != nil { object.requireValid() }
        if object is DynamicObject {
            misuse("A dynamic object cannot be copied to an unmanaged object: use an object of its class.")
        }
        let copy = type(of: object).init()
        copies[Source(object)] = copy
        waiting.append((object, copy, depth))
        return copy
    }

    private mutating func fill(_ copy: ObjectBase, from object: ObjectBase, _ depth: Int) {
        for property in ClassSchema.of(type(of: object)).properties where !property.isComputed {
            let value = property.get(object)
            // The value has no unmanaged representation: the copy has nil, or the class's default.
            if let value, property.unknownRaw(value) != nil {
                if property.shape.isOptional { ObjectFilling.set(Any?.none as Any, property, copy) }
                continue
            }
            if property.isOwnedCollection, let collection = value as? any AnyOwnedCollection {
                ObjectFilling.set(elements(collection, property, copy, depth), property, copy)
            } else if property.shape.isCustom {
                // Created for this read, so it is already a copy.
                ObjectFilling.set(value as Any, property, copy)
            } else {
                ObjectFilling.set(value.flatMap { detached($0, depth) } as Any, property, copy)
            }
        }
    }

    private mutating func elements(
        _ collection: any AnyOwnedCollection, _ property: ClassProperty, _ copy: ObjectBase, _ depth: Int
    ) -> Any {
        // Values of custom types are created for this read, so they are already copies.
        if property.isPartial || property.shape.isCustom {
            return property.collection(in: copy).heldElements(of: collection)
        }
        if let map = collection as? any AnyMap { return entries(map, depth) }
        return collection.anyElements.compactMap { detached($0, depth) }
    }

    private mutating func entries(_ map: any AnyMap, _ depth: Int) -> MapEntries {
        var entries = MapEntries()
        for (key, value) in map.anyEntries {
            // For an object beyond the depth, the key stays with a nil value.
            entries.list.append((key, value.flatMap { detached($0, depth) }))
        }
        return entries
    }

    /// Returns the copy of an object, and any other value unchanged; nil for an object beyond the depth.
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
        if keepsLinks, !object.classSchema.isEmbedded { return object.isInvalidated ? nil : object }
        return depth > 0 ? started(object, depth - 1) : copies[Source(object)]
    }

    /// Copies lists and dictionaries with their elements, because those of a managed object are views of it. `level` is
    /// the nesting level of the value; it is limited because a collection may contain itself.
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
                // For an object beyond the depth, the key stays with a nil value.
                copy.updateValue(copied(entry.value, depth, level + 1) ?? AnyRealmValue(), forKey: entry.key)
            }
            return .dictionary(copy)
        default: return value
        }
    }
}
