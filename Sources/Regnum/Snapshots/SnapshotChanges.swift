// SPDX-License-Identifier: Apache-2.0
// The differences between two snapshots of an object.

/// A value that differs between two snapshots.
public struct SnapshotChange: Sendable, Hashable {
    /// The names from the object to the value, joined by dots: "name", "owner.name"; "sizes.large" for a key of a map.
    public let path: String
    /// The value in the older snapshot; nil if it had none, for example for a new key of a map.
    public let oldValue: SnapshotValue?
    /// The value in the newer snapshot; nil if it has none.
    public let newValue: SnapshotValue?
}

extension ObjectSnapshot {
    /// The differences from an older snapshot of the object, in the order of the properties. Compares the content of
    /// maps, and of linked objects if both snapshots link to the same object. A list or a set counts as one value;
    /// compare its elements with `difference(from:)`, as for any array.
    public func changes(since older: ObjectSnapshot) -> [SnapshotChange] {
        var found: [SnapshotChange] = []
        compare(older, "", &found)
        return found
    }

    private func compare(_ older: ObjectSnapshot, _ path: String, _ found: inout [SnapshotChange]) {
        for name in names { Self.compare(older[name], self[name], path + name, &found) }
        for name in older.names where self[name] == nil { Self.compare(older[name], nil, path + name, &found) }
    }

    /// Like `==`, except that NaN equals NaN, including within collections.
    private static func areSame(_ old: SnapshotValue?, _ new: SnapshotValue?) -> Bool {
        switch (old, new) {
        case (.float(let old)?, .float(let new)?) where old.isNaN: new.isNaN
        case (.double(let old)?, .double(let new)?) where old.isNaN: new.isNaN
        case (.list(let old)?, .list(let new)?), (.set(let old)?, .set(let new)?):
            old.count == new.count && zip(old, new).allSatisfy { areSame($0, $1) }
        case (.map(let old)?, .map(let new)?):
            old.count == new.count && old.allSatisfy { areSame($0.value, new[$0.key]) }
        case (.object(let old)?, .object(let new)?):
            old.className == new.className && old.names == new.names
                && old.names.allSatisfy { areSame(old[$0], new[$0]) }
        default: old == new
        }
    }

    private static func compare(
        _ old: SnapshotValue?, _ new: SnapshotValue?, _ path: String, _ found: inout [SnapshotChange]
    ) {
        if areSame(old, new) { return }
        switch (old, new) {
        case (.object(let before)?, .object(let now)?)
        where before.className == now.className && before.primaryKey == now.primaryKey:
            now.compare(before, path + ".", &found)
        case (.map(let before)?, .map(let now)?):
            for key in Set(before.keys).union(now.keys).sorted() {
                compare(before[key], now[key], "\(path).\(key)", &found)
            }
        default: found.append(SnapshotChange(path: path, oldValue: old, newValue: new))
        }
    }
}

extension SnapshotValue {
    /// Returns whether both are the same as stored: texts and numbers are compared by their bytes, sets in any order.
    /// `==` treats texts as equal that differ only in normalisation, also the two zeros, and a NaN as different from
    /// itself.
    static func areIdentical(_ left: SnapshotValue?, _ right: SnapshotValue?) -> Bool {
        switch (left, right) {
        case (.string(let left)?, .string(let right)?): left.utf8.elementsEqual(right.utf8)
        case (.float(let left)?, .float(let right)?): left.bitPattern == right.bitPattern
        case (.double(let left)?, .double(let right)?): left.bitPattern == right.bitPattern
        case (.list(let left)?, .list(let right)?):
            left.count == right.count && zip(left, right).allSatisfy { areIdentical($0, $1) }
        case (.set(let left)?, .set(let right)?):
            left.count == right.count
                && (zip(left, right).allSatisfy { areIdentical($0, $1) } || Set(left) == Set(right))
        case (.map(let left)?, .map(let right)?):
            left.count == right.count && left.allSatisfy { areIdentical($0.value, right[$0.key]) }
        case (.object(let left)?, .object(let right)?):
            left.className == right.className && left.names == right.names
                && left.names.allSatisfy { areIdentical(left[$0], right[$0]) }
        default: left == right
        }
    }
}
