// SPDX-License-Identifier: Apache-2.0
// Tests of one value. `ConstantBinder.null` has replaced comparisons with the constant nil by tests of their own.

import RegnumEngine

extension ComparisonOperator {
    @inline(__always)
    var scanOperator: ScanOperator {
        switch self {
        case .notEqual: .notEqual
        case .less: .less
        case .lessOrEqual: .lessOrEqual
        case .greater: .greater
        case .greaterOrEqual: .greaterOrEqual
        default: .equal
        }
    }
}

extension ValueTest {
    /// True if a stored null passes. `Evaluator` uses it for each null in a column, and after a link that is null; two
    /// properties are compared by `Evaluator.compare`.
    var matchesNull: Bool {
        switch self {
        case .isNull, .always: true
        case .isNotNull, .never, .intSet, .bytesSet, .wideSet: false
        case .bool(let comparison, _), .int(let comparison, _), .float(let comparison, _),
            .double(let comparison, _), .date(let comparison, _), .objectID(let comparison, _, _),
            .uuid(let comparison, _, _), .decimal(let comparison, _), .link(let comparison, _):
            comparison == .notEqual
        case .mixed(let test): test.comparison == .notEqual
        case .bytes(let test): test.operation == .notEqual
        case .all(let tests): tests.allSatisfy(\.matchesNull)
        case .any(let tests): tests.contains(where: \.matchesNull)
        }
    }

    /// True if a value of a type that no test applies to passes.
    private var matchesOther: Bool {
        switch self {
        case .isNull: false
        case .isNotNull, .always: true
        case .all(let tests): tests.allSatisfy(\.matchesOther)
        case .any(let tests): tests.contains(where: \.matchesOther)
        default: matchesNull
        }
    }

    /// NaN is less than everything and equal to NaN.
    @inline(__always)
    static func compare<T: BinaryFloatingPoint>(_ found: T, _ comparison: ComparisonOperator, _ value: T)
        -> Bool
    {
        let order: Int
        if found.isNaN || value.isNaN {
            order = (found.isNaN ? 0 : 1) - (value.isNaN ? 0 : 1)
        } else {
            order = found < value ? -1 : found > value ? 1 : 0
        }
        return CompareScan.matches(order, comparison.scanOperator, 0)
    }

    /// Tests an integer as a whole number and as a number of other types.
    func matches(int found: Int64) -> Bool {
        switch self {
        case .isNotNull, .always: true
        case .int(let comparison, let value): CompareScan.matches(found, comparison.scanOperator, value)
        case .double(let comparison, let value): Self.compare(Double(found), comparison, value)
        case .float(let comparison, let value): Self.compare(Double(found), comparison, Double(value))
        case .intSet(let set): set.contains(found)
        case .link(let comparison, let key):
            CompareScan.matches(found, comparison.scanOperator, Int64(bitPattern: key.rawValue))
        case .all(let tests): tests.allSatisfy { $0.matches(int: found) }
        case .any(let tests): tests.contains { $0.matches(int: found) }
        default: false
        }
    }

    func matches(double found: Double) -> Bool {
        switch self {
        case .isNotNull, .always: true
        case .double(let comparison, let value): Self.compare(found, comparison, value)
        case .float(let comparison, let value): Self.compare(Float(found), comparison, value)
        case .int(let comparison, let value): Self.compare(found, comparison, Double(value))
        case .wideSet(let set): set.contains(WideKey(found))
        case .all(let tests): tests.allSatisfy { $0.matches(double: found) }
        case .any(let tests): tests.contains { $0.matches(double: found) }
        default: false
        }
    }

    func matches(bool found: Bool) -> Bool {
        switch self {
        case .isNotNull, .always: true
        case .bool(let comparison, let value): (found == value) == (comparison == .equal)
        case .all(let tests): tests.allSatisfy { $0.matches(bool: found) }
        case .any(let tests): tests.contains { $0.matches(bool: found) }
        default: false
        }
    }

    func matches(date found: Timestamp) -> Bool {
        switch self {
        case .isNotNull, .always: true
        case .date(let comparison, let value): CompareScan.matches(found, comparison.scanOperator, value)
        case .wideSet(let set): set.contains(WideKey(found))
        case .all(let tests): tests.allSatisfy { $0.matches(date: found) }
        case .any(let tests): tests.contains { $0.matches(date: found) }
        default: false
        }
    }

    func matches(low: UInt64, high: UInt64) -> Bool {
        switch self {
        case .isNotNull, .always: true
        case .objectID(let comparison, let a, let b):
            Self.compare(
                low, UInt64(UInt32(truncatingIfNeeded: high).byteSwapped), comparison, a, UInt64(b.byteSwapped))
        case .uuid(let comparison, let a, let b):
            Self.compare(low, high.byteSwapped, comparison, a, b.byteSwapped)
        case .wideSet(let set): set.contains(WideKey(low: low, high: high))
        case .decimal(let comparison, let value):
            CompareScan.matches(
                DecimalBits.compare(DecimalBits(low: low, high: high), value), comparison.scanOperator, 0)
        case .all(let tests): tests.allSatisfy { $0.matches(low: low, high: high) }
        case .any(let tests): tests.contains { $0.matches(low: low, high: high) }
        default: false
        }
    }

    /// Compares ids by words: `low` is in load order, `high` in comparison order.
    private static func compare(
        _ low: UInt64, _ high: UInt64, _ comparison: ComparisonOperator, _ a: UInt64, _ b: UInt64
    ) -> Bool {
        let order =
            low != a ? (low.byteSwapped < a.byteSwapped ? -1 : 1) : high == b ? 0 : high < b ? -1 : 1
        return CompareScan.matches(order, comparison.scanOperator, 0)
    }

    func matches(bytes found: UnsafeRawBufferPointer) -> Bool {
        switch self {
        case .isNotNull, .always: true
        case .bytes(let test): test.matches(found)
        case .bytesSet(let set): set.contains(found)
        case .all(let tests): tests.allSatisfy { $0.matches(bytes: found) }
        case .any(let tests): tests.contains { $0.matches(bytes: found) }
        default: false
        }
    }

    /// Tests an element of a list.
    func matches(_ list: ListCodec.Reader, _ index: Int, _ type: ColumnType) -> Bool {
        if list.isNull(index) { return matchesNull }
        switch type {
        case .int, .link: return matches(int: Int64(bitPattern: list.integer(index)))
        case .string, .data: return matches(bytes: list.bytes(index))
        default: return matches(list.value(index))
        }
    }

    func matches(_ value: Value) -> Bool {
        if case .null = value { return matchesNull }
        switch self {
        case .mixed(let test): return test.matches(value)
        case .all(let tests): return tests.allSatisfy { $0.matches(value) }
        case .any(let tests): return tests.contains { $0.matches(value) }
        default: return matchesPlain(value)
        }
    }

    private func matchesPlain(_ value: Value) -> Bool {
        switch value {
        case .null: matchesNull
        case .bool(let value): matches(bool: value)
        case .int(let value): matches(int: value)
        case .float(let value): matches(double: Double(value))
        case .double(let value): matches(double: value)
        case .date(let value): matches(date: value)
        case .objectID(let low, let high): matches(low: low, high: UInt64(high))
        case .uuid(let low, let high), .decimal128(let low, let high): matches(low: low, high: high)
        case .typedLink, .list, .dictionary: matchesOther
        case .link(let key): matches(int: Int64(bitPattern: key.rawValue))
        case .string(let value): Array(value.utf8).withUnsafeBytes { matches(bytes: $0) }
        case .data(let value): value.withUnsafeBytes { matches(bytes: $0) }
        }
    }
}
