// SPDX-License-Identifier: Apache-2.0
// `EmbeddedObject`: objects that are a part of another one. The rules of ownership for those who link to objects; what
// happens to rows that lose their owner is the engine's (`Table+Ownership.swift`).

internal import RegnumEngine

/// RealmSwift's name of the same class.
public typealias RealmSwiftEmbeddedObject = EmbeddedObject

/// A class of objects that live within exactly one other object and go with it.
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
/// An embedded object becomes managed by being assigned to a property, or added to a collection, of a managed object.
/// One that is managed stays where it is: linking to it from elsewhere is misuse. Replacing it, removing it from its
/// collection and deleting its owner delete it, with what it embeds itself. It has no primary key.
open class EmbeddedObject: ObjectBase {
    /// An unmanaged object with the values its class declares.
    public required init() {}

    /// An unmanaged object from a dictionary, an array in the order of the properties, or another object.
    /// What is not given keeps the value its class declares. Misuse for a value that does not fit.
    public convenience init(value: Any) {
        self.init()
        ObjectFilling.fill(self, from: value)
    }

    public final override class func isEmbedded() -> Bool { true }
}

/// Where a link to an object is about to be stored.
enum LinkPlace {
    case property
    /// With the name of its kind in messages.
    case collection(String)
}

extension RealmCore {
    /// Misuse for an embedded object that is managed, and so has its owner already.
    @inline(__always)
    func requireNoOwner(_ object: ObjectBase, _ place: LinkPlace) {
        if object.isOwned { refuseOwned(object, place) }
    }

    /// Misuse: an embedded class where only others may be named.
    func refuseEmbedded() -> Never {
        misuse(
            "Embedded objects cannot be created directly. Assign one to a property of an object, or give its "
                + "values with the object's.")
    }

    @inline(never)
    private func refuseOwned(_ object: ObjectBase, _ place: LinkPlace) -> Never {
        object.requireValid()
        let advice =
            "An embedded object belongs to one object only: assign a copy made by 'init(value:)'."
        switch place {
        case .property: misuse("Can't set link to existing managed embedded object. \(advice)")
        case .collection(let kind):
            misuse("Cannot add an existing managed embedded object to a \(kind). \(advice)")
        }
    }
}

extension ObjectBase {
    /// Misuse unless the object is of the class `wanted` itself, or a dynamic object of its table; nil stands for any.
    @inline(__always)
    final func requireClass(_ wanted: ObjectBase.Type?, for place: LinkPlace) {
        guard let wanted, Swift.type(of: self) != wanted else { return }
        if !stands(for: wanted) { refuseClass(ClassNames.name(of: wanted), place) }
    }

    /// Misuse: an object of another class than the one of that name.
    @inline(never)
    final func refuseClass(_ wanted: String, _ place: LinkPlace) -> Never {
        switch place {
        case .property: misuse("Can't set object of type '\(classSchema.name)' to property of type '\(wanted)'")
        case .collection(let kind):
            let all: [CollectionWords] = [.list, .set, .dictionary]
            Regnum.refuseClass(of: self, wanted, all.first { $0.name == kind } ?? .list)
        }
    }

    /// True for a managed embedded object, whatever class it is seen as.
    final var isOwned: Bool { rowContext != nil && binding.table.definition.isEmbedded }

    /// True where the link property of `owner` leads to this managed object. O(log n).
    func isLinked(from owner: ObjectBase, _ column: Int) -> Bool {
        requireValid()
        let target = owner.binding.table.definition.columns[column].target
        guard core === owner.core, binding.tableKey == target else { return false }
        let value = engine { () throws(EngineError) in try owner.binding.table.value(column, of: owner.rowKey) }
        return value == .link(rowKey)
    }
}

extension ClassProperty {
    /// True where the property owns the objects it leads to.
    var isOwning: Bool { !isComputed && shape.target?.isEmbedded() ?? false }

    /// Where its links are stored.
    var linkPlace: LinkPlace {
        switch shape.collectionKind {
        case .none: .property
        case .list: .collection(CollectionWords.list.name)
        case .set: .collection(CollectionWords.set.name)
        case .dictionary: .collection(CollectionWords.dictionary.name)
        }
    }
}

/// The objects that a property owns, to be written to in place by `.modified`: of a link or list by number, of a map by
/// key. None where the property owns nothing, or they are to be replaced.
struct OwnedTargets {
    private var keys: [ObjectKey] = []
    private var keysByName: [[UInt8]: ObjectKey] = [:]

    /// None.
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
