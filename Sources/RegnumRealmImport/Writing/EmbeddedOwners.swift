// SPDX-License-Identifier: Apache-2.0
// Determines which embedded objects are carried over: those that belong, directly or through other embedded objects, to
// an object that is not embedded. The others are objects without an owner, everything that these own, and embedded
// objects that own each other in a cycle.

internal import RegnumEngine

/// The ownership of the imported embedded objects. First `add` each ownership, then `resolve` once, then query the
/// result.
///
/// Memory: 2 bits for each embedded object, and 32 bytes for each that another embedded object owns and that was added
/// before its owner was known to be carried over.
struct EmbeddedOwners {
    /// An embedded object: the index of its class and its new key.
    private struct Object: Comparable {
        var place: Int
        var key: UInt64

        static func < (a: Object, b: Object) -> Bool { a.place == b.place ? a.key < b.key : a.place < b.place }
    }

    private struct Ownership {
        var owner: Object
        var owned: Object
    }

    /// By class: the objects to which an ownership leads.
    private var owned: [KeyBits]
    /// By class: the objects that are carried over.
    private var carried: [KeyBits]
    /// Ownerships of embedded objects that were not known to be carried over.
    private var open: [Ownership] = []

    init(classCount: Int) {
        owned = Array(repeating: KeyBits(), count: classCount)
        carried = owned
    }

    /// Adds an ownership by an object that is not embedded.
    mutating func add(_ key: ObjectKey, ofClass place: Int) {
        _ = owned[place].insert(key)
        _ = carried[place].insert(key)
    }

    /// Adds an ownership by another embedded object.
    mutating func add(_ key: ObjectKey, ofClass place: Int, owner: ObjectKey, ofClass ownerPlace: Int) {
        _ = owned[place].insert(key)
        if carried[ownerPlace].contains(owner) {
            _ = carried[place].insert(key)
        } else {
            open.append(
                Ownership(
                    owner: Object(place: ownerPlace, key: owner.rawValue),
                    owned: Object(place: place, key: key.rawValue)))
        }
    }

    /// Follows the ownerships of embedded objects. O(n log n) for n open ownerships.
    mutating func resolve() {
        open.sort { $0.owner < $1.owner }
        var rest = open.indices.filter { carried[open[$0].owner.place].contains(ObjectKey(open[$0].owner.key)) }
        while let index = rest.popLast() {
            let object = open[index].owned
            guard carried[object.place].insert(ObjectKey(object.key)) else { continue }
            var next = firstOwnership(of: object)
            while next < open.count, open[next].owner == object {
                rest.append(next)
                next += 1
            }
        }
        open = []
    }

    /// Returns the index of the first open ownership by `owner`, or the index at which it would be.
    private func firstOwnership(of owner: Object) -> Int {
        var (low, high) = (0, open.count)
        while low < high {
            let middle = (low + high) / 2
            if open[middle].owner < owner { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// True if the object is carried over.
    func isCarried(_ key: ObjectKey, ofClass place: Int) -> Bool { carried[place].contains(key) }

    /// True if an object, carried over or not, owns the object.
    func isOwned(_ key: ObjectKey, ofClass place: Int) -> Bool { owned[place].contains(key) }
}
