// SPDX-License-Identifier: Apache-2.0
// What is known of one synchronised object: the stamps of its life, and its values with theirs. Clients and the hub
// store it in their own form; the rules see this one.

/// A value and the write that it comes from.
public struct Register: Hashable, Sendable {
    public var stamp: Stamp
    /// True for a write that only set the default of the class when the object was created.
    public var isDefault: Bool
    public var value: MergeValue

    public init(_ stamp: Stamp, _ value: MergeValue, isDefault: Bool = false) {
        self.stamp = stamp
        self.value = value
        self.isDefault = isDefault
    }
}

/// An element of a set or a map: its value, or nil if it was removed. The value of a set's element is `.null`.
public struct EntryRegister: Hashable, Sendable {
    public var stamp: Stamp
    public var value: MergeValue?

    public init(stamp: Stamp, value: MergeValue?) {
        self.stamp = stamp
        self.value = value
    }
}

/// An element of a list. It stays as a tombstone when it is removed, until its object is collected.
public struct ListElement: Hashable, Sendable {
    /// The write that inserted it; for a tombstone whose insertion is not known, the one that removed it.
    public var inserted: Stamp
    public var positionStamp: Stamp
    public var position: Position
    public var valueStamp: Stamp
    public var value: MergeValue
    public var isRemoved: Bool

    public init(
        inserted: Stamp, positionStamp: Stamp, position: Position, valueStamp: Stamp, value: MergeValue,
        isRemoved: Bool = false
    ) {
        self.inserted = inserted
        self.positionStamp = positionStamp
        self.position = position
        self.valueStamp = valueStamp
        self.value = value
        self.isRemoved = isRemoved
    }

    /// A tombstone has no place and no value. Its stamps are those of the removal.
    static func tombstone(_ removal: Stamp, inserted: Stamp) -> ListElement {
        ListElement(
            inserted: inserted, positionStamp: removal, position: Position(bytes: []), valueStamp: removal,
            value: .null, isRemoved: true)
    }
}

public struct EntryKey: Hashable, Comparable, Sendable {
    public var path: PropertyPath
    public var key: MergeValue

    public init(path: PropertyPath, key: MergeValue) {
        self.path = path
        self.key = key
    }

    public static func < (left: EntryKey, right: EntryKey) -> Bool {
        left.path == right.path ? left.key < right.key : left.path < right.path
    }
}

public struct ElementKey: Hashable, Comparable, Sendable {
    public var path: PropertyPath
    public var id: ElementID

    public init(path: PropertyPath, id: ElementID) {
        self.path = path
        self.id = id
    }

    public static func < (left: ElementKey, right: ElementKey) -> Bool {
        left.path == right.path ? left.id < right.id : left.path < right.path
    }
}

/// One object: the newest create, the newest delete, and its values. Properties that this schema does not know are kept
/// like all others (rule 22).
public struct ObjectState: Equatable, Sendable {
    public var created = Stamp.none
    public var deleted = Stamp.none
    /// Plain properties, links, mixed values, and the presence of embedded objects.
    public var registers = SortedTable<PropertyPath, Register>()
    /// Elements of sets and maps.
    public var entries = SortedTable<EntryKey, EntryRegister>()
    public var elements = SortedTable<ElementKey, ListElement>()
    public var counters = SortedTable<PropertyPath, Int64>()

    public init() {}

    public var isEmpty: Bool { registers.isEmpty && entries.isEmpty && elements.isEmpty && counters.isEmpty }

    /// The newest stamp of the object. An edit of it is later (rule 1).
    public func newestTime() -> Timestamp {
        var newest = max(created.time, deleted.time)
        for entry in registers.entries { newest = max(newest, entry.value.stamp.time) }
        for entry in entries.entries { newest = max(newest, entry.value.stamp.time) }
        for entry in elements.entries {
            newest = max(newest, entry.value.positionStamp.time, entry.value.valueStamp.time)
        }
        return newest
    }

    mutating func removeContents() {
        registers = SortedTable()
        entries = SortedTable()
        elements = SortedTable()
        counters = SortedTable()
    }

    /// Removes the contents that `isKept` refuses, by the property that they belong to and the write that they come
    /// from. Counters have no stamps.
    mutating func removeContents(unless isKept: (PropertyPath, Stamp) -> Bool) {
        registers.removeAll { !isKept($0.key, $0.value.stamp) }
        entries.removeAll { !isKept($0.key.path, $0.value.stamp) }
        elements.removeAll { !isKept($0.key.path, $0.value.inserted) }
    }
}
