// SPDX-License-Identifier: Apache-2.0
// Writes the values of a `ModelSnapshot` to an object: those that differ, unless somebody else has changed them. The
// struct becomes an unmanaged copy of the object, which is then compared and written as a draft is (`Undo/Draft.swift`).

public import Foundation

/// The values of a snapshot cannot be applied, whatever the policy.
public enum SnapshotError: Error, Sendable, Equatable, CustomStringConvertible, LocalizedError {
    /// The object has another primary key than the snapshot.
    case otherObject(className: String)
    /// A property links to an object that does not exist, or to none that could be found without a Realm.
    case targetMissing(property: String, className: String)

    public var description: String {
        switch self {
        case .otherObject(let name):
            "The snapshot cannot be applied: the object of class '\(name)' has another primary key."
        case .targetMissing(let property, let name):
            "The snapshot cannot be applied: '\(property)' links to an object of class '\(name)' that does not exist. Add "
                + "it first."
        }
    }

    public var errorDescription: String? { description }
}

extension ModelSnapshot {
    /// Writes the values that differ from those of the object, in the running write transaction.
    ///
    /// ```swift
    /// let before = Dog.Snapshot(dog)                       // sent to a view, an actor, a browser
    /// var after = before
    /// after.name = "Rex"
    /// try realm.write { try after.apply(to: dog, since: before) }
    /// ```
    ///
    /// With `base`, only values that differ from `base` are written, and a property is in conflict if others have
    /// changed it since to a different value. Without it, all values that differ from the object's are written.
    ///
    /// A list, a set and a map count as one value; an embedded object is compared property by property if both have
    /// one. A link is written as the primary key says; the values of the linked object are not: apply them to that
    /// object. Links to classes without a primary key are not written, nor are properties that the struct lacks.
    ///
    /// - Parameters:
    ///   - object: The object, normally the one that the values are of.
    ///   - base: The values before they were edited; nil, the default, not to look for conflicts.
    ///   - policy: What happens to properties in conflict.
    /// - Returns: The properties that were in conflict, for `.merge` and `.overwrite`.
    /// - Throws: With nothing written, `DraftConflict` with the names of the properties, or without names if the object
    ///   was deleted, and `SnapshotError`.
    /// - Thread: That of the object. It is a programmer error to call this outside a write transaction, for an object
    ///   that is not in a Realm, or with a value that its property cannot hold, such as a map's key with a dot.
    /// - Complexity: O(size of the object).
    @discardableResult
    public func apply(
        to object: ModelClass, since base: Self? = nil, _ policy: DraftPolicy = .fail
    ) throws -> [String] {
        if object.rowContext == nil {
            misuse("A snapshot is applied to an object of a Realm. `object(linkedTo:)` makes a new object of it.")
        }
        object.core.requireWrite(
            "Cannot apply a snapshot outside of a write transaction. Put it into `realm.write { }`.")
        if object.isInvalidated {
            throw DraftConflict(
                className: type(of: object).className(), primaryKey: nil, properties: [], subject: .snapshot)
        }
        let schema = object.classSchema
        if Self._key(of: object) != _key { throw SnapshotError.otherObject(className: schema.name) }
        let before = base.map { copy(of: object, with: $0) }
        let now = copy(of: object, with: self)
        let known = before?.missing ?? []
        if let missing = now.missing.first(where: { !known.contains($0) }) { throw missing.error }
        return try DraftEdit.apply(
            now.object, to: object, since: before?.object, policy, subject: .snapshot)
    }

    /// Creates an unmanaged object with the values, whose links lead to objects of the Realm. Add it with
    /// `realm.add(_:update:)`.
    ///
    /// Links to classes without a primary key are left out.
    ///
    /// - Parameter realm: Where the targets of links are; nil if the values have no links.
    /// - Throws: `SnapshotError` if a link leads to an object that does not exist.
    /// - Thread: That of the Realm.
    /// - Complexity: O(size of the object).
    public func object(linkedTo realm: Realm?) throws -> ModelClass {
        let object = ModelClass()
        let writing = SnapshotWriting(realm)
        _write(to: object, writing)
        if let missing = writing.missing.first { throw missing.error }
        return object
    }

    /// An unmanaged copy of the object with the values in it, and the links that lead nowhere.
    private func copy(
        of object: ModelClass, with values: Self
    ) -> (object: ModelClass, missing: [SnapshotWriting.Missing]) {
        let copy = unsafeDowncast(Detaching.shell(of: object), to: ModelClass.self)
        let writing = SnapshotWriting((object as? Object)?.realm ?? (object as? EmbeddedObject)?.realm)
        values._write(to: copy, writing)
        return (copy, writing.missing)
    }
}

/// Stores the values of a `ModelSnapshot` in an unmanaged object. Each `write` stores those of one property.
public final class SnapshotWriting {
    /// A link to an object that does not exist.
    struct Missing: Hashable {
        let property: String
        let className: String
        let key: AnyHashable

        var error: SnapshotError { .targetMissing(property: property, className: className) }
    }

    private let realm: Realm?
    private(set) var missing: [Missing] = []
    /// The names of the embedded objects around the one that is written, each followed by a dot.
    private var path = ""

    init(_ realm: Realm?) { self.realm = realm }

    // MARK: Single values

    public func write<Value>(_ value: Value, to place: inout Value, _ name: String) { place = value }

    public func write<Target: Object & SnapshotModel>(
        _ link: LinkedSnapshot<Target>?, to place: inout Target?, _ name: String
    ) {
        guard let link else {
            place = nil
            return
        }
        if let found = target(link, name) { place = found }
    }

    public func write<Target: EmbeddedObject & SnapshotModel>(
        _ value: Target.Snapshot?, to place: inout Target?, _ name: String
    ) {
        guard let value else {
            place = nil
            return
        }
        place = embedded(value, in: place, name)
    }

    // MARK: Collections

    public func write<Element>(_ values: [Element], to list: List<Element>, _ name: String) {
        list.removeAll()
        list.append(objectsIn: values)
    }

    public func write<Target: Object & SnapshotModel>(
        _ links: [LinkedSnapshot<Target>], to list: List<Target>, _ name: String
    ) {
        guard let targets = targets(links, name) else { return }
        list.removeAll()
        list.append(objectsIn: targets)
    }

    public func write<Target: EmbeddedObject & SnapshotModel>(
        _ values: [Target.Snapshot], to list: List<Target>, _ name: String
    ) {
        let old = Array(list)
        list.removeAll()
        for (index, value) in values.enumerated() {
            list.append(embedded(value, in: index < old.count ? old[index] : nil, name))
        }
    }

    public func write<Element>(_ values: Set<Element>, to set: MutableSet<Element>, _ name: String) {
        set.removeAll()
        set.insert(objectsIn: values)
    }

    public func write<Target: Object & SnapshotModel>(
        _ links: Set<LinkedSnapshot<Target>>, to set: MutableSet<Target>, _ name: String
    ) {
        guard let targets = targets(Array(links), name) else { return }
        set.removeAll()
        set.insert(objectsIn: targets)
    }

    public func write<Key, Value>(_ entries: [Key: Value], to map: Map<Key, Value>, _ name: String) {
        map.removeAll()
        for (key, value) in entries { map[key] = value }
    }

    public func write<Key, Target: Object & SnapshotModel>(
        _ entries: [Key: LinkedSnapshot<Target>?], to map: Map<Key, Target?>, _ name: String
    ) {
        if entries.values.contains(where: { $0.map { $0.key == nil } ?? false }) { return }
        map.removeAll()
        for (key, link) in entries { map[key] = .some(link.flatMap { target($0, name) ?? nil }) }
    }

    public func write<Key, Target: EmbeddedObject & SnapshotModel>(
        _ entries: [Key: Target.Snapshot?], to map: Map<Key, Target?>, _ name: String
    ) {
        var old: [Key: Target] = [:]
        for entry in map { old[entry.key] = entry.value }
        map.removeAll()
        for (key, value) in entries { map[key] = .some(value.map { embedded($0, in: old[key], name) }) }
    }

    // MARK: Objects

    /// Returns the values in an embedded object: in `old`, so that properties that the struct lacks keep their values,
    /// or in a new one.
    private func embedded<Target: EmbeddedObject & SnapshotModel>(
        _ value: Target.Snapshot, in old: Target?, _ name: String
    ) -> Target {
        let target = old ?? Target()
        let outer = path
        path += name + "."
        value._write(to: target.structuredModel, self)
        path = outer
        return target
    }

    /// Returns the object that a link leads to, or nil in the inner optional if it does not exist; nil if the class has
    /// no primary key.
    private func target<Target: Object & SnapshotModel>(_ link: LinkedSnapshot<Target>, _ name: String) -> Target?? {
        guard let key = link.key else { return nil }
        if let found = realm?.object(ofType: Target.self, forPrimaryKey: key) { return found }
        missing.append(Missing(property: path + name, className: Target.className(), key: key))
        return .some(nil)
    }

    /// Returns the objects that links lead to; nil if their class has no primary key.
    private func targets<Target: Object & SnapshotModel>(
        _ links: [LinkedSnapshot<Target>], _ name: String
    ) -> [Target]? {
        var found: [Target] = []
        for link in links {
            guard let target = target(link, name) else { return nil }
            if let target { found.append(target) }
        }
        return found
    }
}
