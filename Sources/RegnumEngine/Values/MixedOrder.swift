// SPDX-License-Identifier: Apache-2.0
// The order of values: of the elements of sets, and of mixed values.
//
//   null < bool < numbers < string < data < date < object id < UUID < link < list < dictionary
//
// Numbers of all types are compared exactly, by numeric value: 1, 1.0 and the decimal 1.00 are equal. NaN equals NaN
// and is below all other numbers; -0 equals 0. Texts and data are compared as unsigned bytes.

import RegnumSystem

package enum MixedOrder {
    /// Negative, 0 or positive if `a` is before, equal to or after `b`.
    package static func compare(_ a: Value, _ b: Value) -> Int {
        // The most common types first, without computing ranks.
        switch (a, b) {
        case (.int(let a), .int(let b)): return order(a, b)
        case (.string(let a), .string(let b)): return compare(a, b)
        default: break
        }
        let rank = rank(a)
        let other = self.rank(b)
        if rank != other { return rank < other ? -1 : 1 }
        switch (a, b) {
        case (.bool(let a), .bool(let b)): return a == b ? 0 : a ? 1 : -1
        case (.data(let a), .data(let b)):
            return a.withUnsafeBytes { a in b.withUnsafeBytes { b in compare(a, b) } }
        case (.date(let a), .date(let b)): return a == b ? 0 : a < b ? -1 : 1
        case (.objectID(let a, let aTail), .objectID(let b, let bTail)):
            return a == b ? order(aTail.byteSwapped, bTail.byteSwapped) : order(a.byteSwapped, b.byteSwapped)
        case (.uuid(let a, let aTail), .uuid(let b, let bTail)):
            return a == b ? order(aTail.byteSwapped, bTail.byteSwapped) : order(a.byteSwapped, b.byteSwapped)
        case (.list(let a), .list(let b)): return compare(a, b)
        case (.dictionary(let a), .dictionary(let b)): return compare(a, b)
        default: break
        }
        if rank == numberRank { return compareNumbers(a, b) }
        if rank == linkRank { return order(linkWord(a), linkWord(b)) }
        return 0
    }

    /// True if the values are ordered by content rather than by type.
    package static func areComparable(_ a: Value, _ b: Value) -> Bool { rank(a) == rank(b) }

    /// True if storage treats both as the same value.
    package static func areEqual(_ a: Value, _ b: Value) -> Bool { compare(a, b) == 0 }

    /// Compares UTF-8 bytes, unsigned.
    package static func compare(_ a: String, _ b: String) -> Int {
        var (a, b) = (a, b)
        return a.withUTF8 { a in
            b.withUTF8 { b in compare(UnsafeRawBufferPointer(a), UnsafeRawBufferPointer(b)) }
        }
    }

    /// Compares bytes, unsigned; a prefix before any value that it begins.
    package static func compare(_ a: UnsafeRawBufferPointer, _ b: UnsafeRawBufferPointer) -> Int {
        guard let start = a.baseAddress, let other = b.baseAddress else { return a.count - b.count }
        return IndexKey.compare(start, a.count, other, b.count)
    }

    private static let numberRank = 2
    private static let linkRank = 8

    private static func rank(_ value: Value) -> Int {
        switch value {
        case .null: 0
        case .bool: 1
        case .int, .float, .double, .decimal128: numberRank
        case .string: 3
        case .data: 4
        case .date: 5
        case .objectID: 6
        case .uuid: 7
        case .link, .typedLink: linkRank
        case .list: 9
        case .dictionary: 10
        }
    }

    private static func linkWord(_ value: Value) -> UInt64 {
        switch value {
        case .link(let key): key.rawValue
        case .typedLink(let table, let key): Value.targetWord(table, key)
        default: 0
        }
    }

    @inline(__always)
    private static func order<T: Comparable>(_ a: T, _ b: T) -> Int { a == b ? 0 : a < b ? -1 : 1 }

    private static func compare(_ a: [Value], _ b: [Value]) -> Int {
        for (a, b) in zip(a, b) {
            let order = compare(a, b)
            if order != 0 { return order }
        }
        return a.count - b.count
    }

    private static func compare(_ a: [DictionaryEntry], _ b: [DictionaryEntry]) -> Int {
        for (a, b) in zip(a, b) {
            let keys = compare(a.key, b.key)
            if keys != 0 { return keys }
            let order = compare(a.value, b.value)
            if order != 0 { return order }
        }
        return a.count - b.count
    }

    // MARK: Numbers

    private static func compareNumbers(_ a: Value, _ b: Value) -> Int {
        switch (a, b) {
        case (.float(let a), .float(let b)): return compare(Double(a), Double(b))
        case (.double(let a), .double(let b)): return compare(a, b)
        case (.float(let a), .double(let b)): return compare(Double(a), b)
        case (.double(let a), .float(let b)): return compare(a, Double(b))
        default:
            guard let a = ExactNumber(a), let b = ExactNumber(b) else { return 0 }
            return a.compare(b)
        }
    }

    private static func compare(_ a: Double, _ b: Double) -> Int {
        if a.isNaN || b.isNaN { return order(a.isNaN ? 0 : 1, b.isNaN ? 0 : 1) }
        return order(a, b)
    }
}
