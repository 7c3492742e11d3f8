// SPDX-License-Identifier: Apache-2.0
// A value as the merge sees it: it is compared and passed on, never interpreted.

/// The value of a property, an element, or a key. A value of `AnyRealmValue` with nested lists and dictionaries is one
/// value of bytes, so it is replaced as a whole. Equal values must have equal bytes: a set finds its elements by them.
public enum MergeValue: Hashable, Comparable, Sendable {
    case null
    /// The presence of an embedded object, whose values are at paths below it.
    case object
    case integer(Int64)
    case bytes([UInt8])

    public static func < (left: MergeValue, right: MergeValue) -> Bool {
        switch (left, right) {
        case (.integer(let left), .integer(let right)): left < right
        case (.bytes(let left), .bytes(let right)): left.lexicographicallyPrecedes(right)
        default: left.rank < right.rank
        }
    }

    private var rank: Int {
        switch self {
        case .null: 0
        case .object: 1
        case .integer: 2
        case .bytes: 3
        }
    }
}
