// SPDX-License-Identifier: Apache-2.0
// The base of `List`, `MutableSet` and `Map`: where the elements of a managed one lie. Reads, and changes by values of
// common types, that find the owner's row known cost no reference counting; the way from the key is `ManagedPlace`.

internal import RegnumEngine

/// What `List`, `MutableSet` and `Map` are; made only as one of these.
public class _ManagedCollection {
    /// Where the elements lie while they are managed.
    @exclusivity(unchecked) final private(set) var place: ManagedPlace?
    /// True where there is a place; stored, because getters that are compiled into the user's code ask for it.
    @exclusivity(unchecked) @usableFromInline final private(set) var isManaged = false
    /// Where the owner was found last. Plain words, so that reading them keeps nothing alive.
    @exclusivity(unchecked) final private var lastRow = OwnerRow()

    init() {}

    /// From now on it is the view of what lies at `place`.
    final func becomeManaged(_ place: ManagedPlace) {
        self.place = place
        isManaged = true
        lastRow = OwnerRow()
        // Frozen collections are read by many threads at once; other Realms want to know at each use who it is.
        if place.path != nil || place.core.isFrozen || place.core.asksAlways { return }
        lastRow.context = place.binding.context
        lastRow.key = place.key
        lastRow.column = place.column
    }
}

/// The row that owns a collection. Good while `epoch` is the session's.
private struct OwnerRow {
    /// Nil where each read goes the long way: not managed, frozen, confined to a queue or an actor, or within a mixed
    /// value. Kept alive by the place's Realm.
    var context: UnsafeMutablePointer<ClassContext>?
    var group: UnsafeMutablePointer<GroupView>?
    var epoch = Int.min
    var row = 0
    var key = ObjectKey(rawValue: 0)
    var column = 0
}

/// A managed collection that may be read now: its table, and where its owner lies. Good until something may move the
/// epoch: not to be kept.
struct KnownCollection {
    fileprivate let binding: Unmanaged<ClassBinding>
    let column: Int
    let location: RowLocation
    let key: ObjectKey
    let isWriting: Bool

    /// Runs `body` with the table that the collection is in.
    @inline(__always)
    func withTable<R>(_ body: (Table) throws(EngineError) -> R) -> R {
        binding._withUnsafeGuaranteedRef { $0.withTable(body) }
    }

    /// How many elements or entries there are.
    var count: Int { withTable { table throws(EngineError) in try table.elementCount(column, location) } }
}

extension Table {
    /// The elements of a list or set, where they are of a common type that needs no more than the file; else nil. In a
    /// loop over a type that is known: one over any type takes ten times as long.
    func plainElements<Element: _HasPersistedType>(
        of column: Int, at location: RowLocation, as type: Element.Type
    ) -> [Element]? {
        engine { () throws(EngineError) in
            if type == Int.self, let numbers = try listIntegers(column, at: location) {
                return unsafeBitCast(numbers, to: [Element].self)
            }
            if type == String.self, let texts = try listTexts(column, at: location) {
                return unsafeBitCast(texts, to: [Element].self)
            }
            return nil
        }
    }
}

/// An element of a common type as the engine has it, without the box for everything that a value may be; else nil.
@inline(__always)
func plainEngineValue<Element: _HasPersistedType>(_ element: Element) -> Value? {
    if Element.self == Int.self { return .int(Int64(unsafeBitCast(element, to: Int.self))) }
    if Element.self == String.self {
        let text = unsafeBitCast(element, to: String.self)
        checkLength("String", text.utf8.count, ByteLimits.string)
        return .string(text)
    }
    if Element.self == Double.self { return .double(unsafeBitCast(element, to: Double.self)) }
    return nil
}

extension _ManagedCollection {
    /// What reads need, where the owner is known to be where it was and this is the Realm's thread: the test of
    /// accessors' getters. Else nil: then ask `place`, and tell `note`.
    @inline(__always)
    final var known: KnownCollection? {
        guard let context = lastRow.context, context.pointee.state.pointee.epoch == lastRow.epoch,
            context.pointee.state.pointee.owner == currentThreadWord(), let group = lastRow.group,
            let binding = context.pointee.binding
        else { return nil }
        return KnownCollection(
            binding: Unmanaged.fromOpaque(binding), column: lastRow.column,
            location: RowLocation(group: group, row: lastRow.row), key: lastRow.key,
            isWriting: context.pointee.state.pointee.isWriting)
    }

    /// Notes where the place was found.
    @inline(__always)
    final func note(_ location: RowLocation) {
        guard let context = lastRow.context else { return }
        lastRow.group = location.group
        lastRow.row = location.row
        lastRow.epoch = context.pointee.session.pointee.epoch
    }

    /// Makes it the collection of another object of the same class: of an accessor that is pointed at that.
    /// Only where nobody holds it but that accessor.
    final func repoint(to key: ObjectKey, rollbacks: Int, at location: RowLocation?) {
        place?.repoint(to: key, rollbacks: rollbacks)
        lastRow.key = key
        lastRow.epoch = .min
        if let location { note(location) }
    }
}
