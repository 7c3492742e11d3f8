// SPDX-License-Identifier: Apache-2.0
// The base class of `List`, `MutableSet` and `Map`, with the location of a managed collection. While the owner's row is
// cached, reads of values of common types, and changes to them, do no reference counting. `PropertyLocation` finds the
// row by the owner's key.

internal import RegnumEngine

/// The base class of `List`, `MutableSet` and `Map`; only these are instantiated.
public class _ManagedCollection {
    /// The location of the elements in the file; nil while unmanaged.
    @exclusivity(unchecked) final private(set) var place: PropertyLocation?
    /// True if `place` is set. Stored, because getters compiled into the user's code read it.
    @exclusivity(unchecked) @usableFromInline final private(set) var isManaged = false
    /// The owner's row as last found. Unretained, so that reading it does no reference counting.
    @exclusivity(unchecked) final private var lastRow = OwnerRow()

    init() {}

    /// Makes the collection a view of the elements at `place`.
    final func becomeManaged(_ place: PropertyLocation) {
        self.place = place
        isManaged = true
        lastRow = OwnerRow()
        // Frozen collections are read by many threads at once; Realms confined to a queue or an actor check the caller
        // on each access.
        if place.path != nil || place.core.isFrozen || place.core.asksAlways { return }
        lastRow.context = place.binding.context
        lastRow.key = place.key
        lastRow.column = place.column
    }
}

/// The row that owns a collection. Valid while `epoch` equals the session's epoch.
private struct OwnerRow {
    /// Nil if each read must look the row up: the collection is unmanaged, frozen, confined to a queue or an actor, or
    /// nested in a mixed value. Kept alive by the Realm of `place`.
    var context: UnsafeMutablePointer<ClassContext>?
    var group: UnsafeMutablePointer<GroupView>?
    var epoch = Int.min
    var row = 0
    var key = ObjectKey(rawValue: 0)
    var column = 0
}

/// A managed collection that can be read now: its table and its owner's row. Valid until the epoch may change; do not
/// store it.
struct KnownCollection {
    fileprivate let binding: Unmanaged<ClassBinding>
    let column: Int
    let location: RowLocation
    let key: ObjectKey
    let isWriting: Bool

    /// Runs `body` with the table that holds the collection.
    @inline(__always)
    func withTable<R>(_ body: (Table) throws(EngineError) -> R) -> R {
        binding._withUnsafeGuaranteedRef { $0.withTable(body) }
    }

    /// The number of elements or entries.
    var count: Int { withTable { table throws(EngineError) in try table.elementCount(column, location) } }
}

extension Table {
    /// Returns the elements of a list or set of a common type that can be read from the file directly, otherwise nil.
    /// Each loop is over a concrete type: a loop over a generic type takes ten times as long.
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

/// Returns an element of a common type as an engine value, without a `_RawValue`; nil for other types.
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
    /// The information that reads need, if the owner's row is unchanged and the caller is on the Realm's thread (the
    /// same test as in accessors' getters). If nil, use `place` and pass the row found to `note`.
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

    /// Caches the owner's row.
    @inline(__always)
    final func note(_ location: RowLocation) {
        guard let context = lastRow.context else { return }
        lastRow.group = location.group
        lastRow.row = location.row
        lastRow.epoch = context.pointee.session.pointee.epoch
    }

    /// Points the collection at another object of the same class, when its accessor is reused for that object. The
    /// accessor must hold the only reference to the collection.
    final func repoint(to key: ObjectKey, rollbacks: Int, at location: RowLocation?) {
        place?.repoint(to: key, rollbacks: rollbacks)
        lastRow.key = key
        lastRow.epoch = .min
        if let location { note(location) }
    }
}
