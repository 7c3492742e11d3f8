// SPDX-License-Identifier: Apache-2.0
// `EmbeddedObject`: objects that are part of another object. This file has the ownership rules for storing links; the
// engine deletes the rows of objects that lose their owner (`Table+Ownership.swift`).

internal import RegnumEngine

/// RealmSwift's other name for `EmbeddedObject`.
public typealias RealmSwiftEmbeddedObject = EmbeddedObject

/// The base class of objects that belong to exactly one other object and are deleted with it.
///
/// ```swift
/// class Address: EmbeddedObject {
///     @Persisted var street = ""
///     @Persisted var city = ""
///     @Persisted(originProperty: "address") var residents: LinkingObjects<Person>
/// }
/// class Person: Object {
///     @Persisted var address: Address?
///     @Persisted var formerAddresses: List<Address>
/// }
/// ```
///
/// An embedded object becomes managed when it is assigned to a property, or added to a collection, of a managed object.
/// Once managed it keeps its owner: storing a link to it elsewhere is a programmer error. An embedded object is
/// deleted, with the objects embedded in it, when it is replaced or removed from its collection, or when its owner is
/// deleted. It has no primary key.
open class EmbeddedObject: ObjectBase {
    /// Creates an unmanaged object with the default values of its class.
    public required init() {}

    /// Creates an unmanaged object from a dictionary, an array in the order of the properties, or another object.
    /// Missing values keep the defaults of the class. A value that does not fit is a programmer error.
    public convenience init(value: Any) {
        self.init()
        ObjectFilling.fill(self, from: value)
    }

    public final override class func isEmbedded() -> Bool { true }
}

/// The destination of a link that is about to be stored.
enum LinkPlace {
    case property
    /// The associated value is the name of the collection's kind in messages.
    case collection(String)
}

extension RealmCore {
    /// Reports a programmer error for an embedded object that is managed and therefore already has an owner.
    @inline(__always)
    func requireNoOwner(_ object: ObjectBase, _ place: LinkPlace) {
        if object.isOwned { refuseOwned(object, place) }
    }

    /// Reports a programmer error: an embedded class was given where only other classes are allowed.
    func refuseEmbedded() -> Never {
        misuse(
            "Embedded objects cannot be created directly. Assign one to a property of an object, or pass its "
                + "values together with the object's.")
    }

    @inline(never)
    private func refuseOwned(_ object: ObjectBase, _ place: LinkPlace) -> Never {
        object.requireValid()
        misuse(place.ownedMessage)
    }
}

extension LinkPlace {
    /// The message for a link to an embedded object that has an owner.
    var ownedMessage: String {
        let start =
            switch self {
            case .property: "Can't set link to existing managed embedded object."
            case .collection(let kind): "Cannot add an existing managed embedded object to a \(kind)."
            }
        return start + " An embedded object belongs to one object only: assign a copy made by 'init(value:)'."
    }
}

extension ObjectBase {
    /// Reports a programmer error unless the object's class is exactly `wanted`, or it is a dynamic object of that
    /// class's table. If `wanted` is nil, any class is allowed.
    @inline(__always)
    final func requireClass(_ wanted: ObjectBase.Type?, for place: LinkPlace) {
        guard let wanted, Swift.type(of: self) != wanted else { return }
        if !stands(for: wanted) { refuseClass(ClassNames.name(of: wanted), place) }
    }

    /// Reports a programmer error: the object's class is not the one with this name.
    @inline(never)
    final func refuseClass(_ wanted: String, _ place: LinkPlace) -> Never {
        switch place {
        case .property: misuse("Can't set object of type '\(classSchema.name)' to property of type '\(wanted)'")
        case .collection(let kind):
            let all: [CollectionNames] = [.list, .set, .dictionary]
            Regnum.refuseClass(of: self, wanted, all.first { $0.name == kind } ?? .list)
        }
    }

    /// True for a managed embedded object, whatever class its accessor has.
    final var isOwned: Bool { rowContext != nil && binding.table.definition.isEmbedded }

    /// Returns whether the link property of `owner` links to this managed object. O(log n).
    func isLinked(from owner: ObjectBase, _ column: Int) -> Bool {
        requireValid()
        let target = owner.binding.table.definition.columns[column].target
        guard core === owner.core, binding.tableKey == target else { return false }
        let value = engine { () throws(EngineError) in try owner.binding.table.value(column, of: owner.rowKey) }
        return value == .link(rowKey)
    }
}

extension ClassProperty {
    /// True if the property owns the objects it links to.
    var isOwning: Bool { !isComputed && shape.target?.isEmbedded() ?? false }

    /// The destination of the property's links.
    var linkPlace: LinkPlace {
        switch shape.collectionKind {
        case .none: .property
        case .list: .collection(CollectionNames.list.name)
        case .set: .collection(CollectionNames.set.name)
        case .dictionary: .collection(CollectionNames.dictionary.name)
        }
    }
}

/// The objects owned by a property that `.modified` updates in place: by number for a link or list, by key for a map.
/// Empty if the property owns nothing, or if its objects are to be replaced.
struct OwnedTargets {
    private var keys: [ObjectKey] = []
    private var keysByName: [[UInt8]: ObjectKey] = [:]

    /// Creates an empty value.
    init() {}

    init(
        _ property: ClassProperty, _ binding: ClassBinding, _ column: Int, of key: ObjectKey,
        _ update: Realm.UpdatePolicy
    ) {
        guard update == .modified, property.isOwning else { return }
        let table = binding.table
        engine { () throws(EngineError) in
            switch property.shape.collectionKind {
            case .none:
                if case .link(let target) = try table.value(column, of: key) { keys = [target] }
            case .list, .set:
                for case .link(let target) in try table.listValues(column, of: key) { keys.append(target) }
            case .dictionary:
                for entry in try table.dictionaryEntries(column, of: key) {
                    if case .link(let target) = entry.value { keysByName[Array(entry.key.utf8)] = target }
                }
            }
        }
    }

    subscript(number: Int) -> ObjectKey? { number < keys.count ? keys[number] : nil }
    subscript(name: String) -> ObjectKey? { keysByName[Array(name.utf8)] }
}
