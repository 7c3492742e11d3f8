// SPDX-License-Identifier: Apache-2.0
// Converts constants to the types of columns. What a comparison with nil tests is decided in `null`; how stored nulls
// pass other tests, in `ValueTest.matchesNull`.

import RegnumEngine

struct ConstantBinder {
    let path: ResolvedPath
    let options: ComparisonOptions

    private var type: ColumnType { path.type }

    func checkOperator(_ comparison: ComparisonOperator) throws(QueryError) {
        if type == .mixed, comparison != .matches, comparison != .text { return try checkOptions(comparison) }
        let isRefused: Bool
        switch comparison {
        case .equal, .notEqual, .in: isRefused = false
        case .less, .lessOrEqual, .greater, .greaterOrEqual:
            isRefused = type == .bool || type == .objectID || type == .uuid || type == .link
        case .between:
            isRefused =
                !(type == .int || type == .float || type == .double || type == .date || type == .decimal128)
        case .beginsWith, .endsWith, .contains, .like: isRefused = type != .string && type != .data
        case .matches, .text: isRefused = true
        }
        if isRefused {
            throw QueryError(
                .unsupported, "Operator '\(comparison.rawValue)' not supported for type '\(path.typeName)'")
        }
        try checkOptions(comparison)
    }

    private func checkOptions(_ comparison: ComparisonOperator) throws(QueryError) {
        if comparison.isOrdering, !options.isEmpty {
            throw QueryError(.unsupported, "Lexicographical comparisons must be case-sensitive.")
        }
        if comparison == .like, options.contains(.diacriticInsensitive) {
            throw QueryError(
                .unsupported, "Operator 'LIKE' not supported with diacritic-insensitive modifier.")
        }
    }

    func test(_ comparison: ComparisonOperator, _ constant: Constant) throws(QueryError) -> ValueTest {
        try checkOperator(comparison)
        switch comparison {
        case .between:
            let (low, high) = try bounds(constant)
            return .all([try one(.greaterOrEqual, low), try one(.lessOrEqual, high)])
        case .in:
            guard case .array(let constants) = constant else {
                throw QueryError(.argument, "IN clause requires an array of items. " + Self.spreads)
            }
            return try anyOf(constants)
        default: return try one(comparison, constant)
        }
    }

    /// The hint added to an error if an array may have been passed as several arguments.
    private static let spreads =
        "Swift passes an array of type [Any] as several arguments: write `array as NSArray` to pass it as one argument."

    func bounds(_ constant: Constant) throws(QueryError) -> (low: Constant, high: Constant) {
        try checkOperator(.between)
        guard case .array(let constants) = constant else {
            throw QueryError(.argument, "object must be of type NSArray for BETWEEN operations. " + Self.spreads)
        }
        guard constants.count == 2 else {
            throw QueryError(
                .argument, "NSArray object must contain exactly two objects for BETWEEN operations")
        }
        for constant in constants {
            do {
                _ = try one(.greaterOrEqual, constant)
            } catch {
                throw QueryError(
                    .value,
                    "NSArray objects must be of type \(path.typeName) for BETWEEN operations: \(error.message)"
                )
            }
            if constant.isNull {
                throw QueryError(
                    .value, "NSArray objects must be of type \(path.typeName) for BETWEEN operations")
            }
        }
        return (constants[0], constants[1])
    }

    private func anyOf(_ constants: [Constant]) throws(QueryError) -> ValueTest {
        var others: [ValueTest] = []
        var integers: [Int64] = []
        var strings: [[UInt8]] = []
        var wide: [WideKey] = []
        for constant in constants {
            // Most sets contain these types and may be large: avoid a separate test for each value.
            switch (type, constant) {
            case (.int, .int(let value)):
                integers.append(value)
                continue
            case (.string, .string(let text)) where !options.contains(.diacriticInsensitive):
                strings.append(Array(text.utf8))
                continue
            default: break
            }
            switch try one(.equal, constant) {
            case .int(_, let value): integers.append(value)
            case .link(_, let key): integers.append(Int64(bitPattern: key.rawValue))
            case .double(_, let value): wide.append(WideKey(value))
            case .float(_, let value): wide.append(WideKey(Double(value)))
            case .date(_, let value): wide.append(WideKey(value))
            case .objectID(_, let low, let high): wide.append(WideKey(low: low, high: UInt64(high)))
            case .uuid(_, let low, let high): wide.append(WideKey(low: low, high: high))
            case .decimal(_, let value): wide.append(WideKey(low: value.low, high: value.high))
            case .bytes(let test) where !test.isDiacriticInsensitive: strings.append(test.needle)
            case .never: continue
            case let other: others.append(other)
            }
        }
        var tests = others.inOneOrder()
        if !integers.isEmpty { tests.append(.intSet(IntegerSet(integers))) }
        if !wide.isEmpty { tests.append(.wideSet(WideSet(wide))) }
        if !strings.isEmpty {
            tests.append(.bytesSet(ByteStringSet(strings, isFolded: options.contains(.caseInsensitive))))
        }
        return tests.isEmpty ? .never : tests.count == 1 ? tests[0] : .any(tests)
    }

    // MARK: One constant

    func mismatch(_ constant: Constant) -> QueryError {
        let name = constant.isNull && !path.isNullable ? "; it is not optional" : ""
        return QueryError(
            .value,
            "Cannot compare value '\(constant.shown)' of type '\(constant.typeName)' to property "
                + "'\(path.property)' of type '\(path.typeName)'\(name)")
    }

    private func one(_ comparison: ComparisonOperator, _ constant: Constant) throws(QueryError) -> ValueTest {
        if constant.isNull { return try null(comparison) }
        switch type {
        case .bool:
            switch constant {
            case .bool(let value): return .bool(comparison, value)
            case .int(0), .double(0), .float(0): return .bool(comparison, false)
            case .int(1), .double(1), .float(1): return .bool(comparison, true)
            default: throw mismatch(constant)
            }
        case .int:
            guard let value = Self.integer(constant) else { throw mismatch(constant) }
            return .int(comparison, value)
        case .float:
            guard let value = Self.double(constant) else { throw mismatch(constant) }
            let narrow = Float(value)
            if value.isFinite, narrow.isInfinite { throw mismatch(constant) }
            return .float(comparison, narrow)
        case .double:
            guard let value = Self.double(constant) else { throw mismatch(constant) }
            return .double(comparison, value)
        case .date:
            guard case .date(let value) = constant else { throw mismatch(constant) }
            return .date(comparison, value)
        case .string:
            guard case .string(let value) = constant else { throw mismatch(constant) }
            return .bytes(bytesTest(comparison, Array(value.utf8)))
        case .data:
            guard case .data(let value) = constant else { throw mismatch(constant) }
            return .bytes(bytesTest(comparison, value))
        case .objectID:
            guard case .objectID(let low, let high) = constant else { throw mismatch(constant) }
            return .objectID(comparison, low, high)
        case .uuid: return try uuid(comparison, constant)
        case .link: return try link(comparison, constant)
        case .decimal128:
            guard let value = Self.decimal(constant) else { throw mismatch(constant) }
            return .decimal(comparison, value)
        case .mixed: return try mixed(comparison, constant)
        }
    }

    private func null(_ comparison: ComparisonOperator) throws(QueryError) -> ValueTest {
        if case .object = path.end {
            if path.bound.steps.last.map({ if case .backlinks = $0 { true } else { false } }) == true {
                throw mismatch(.null)
            }
            return comparison == .notEqual ? .isNotNull : .isNull
        }
        guard path.isNullable || path.isToMany && !path.bound.steps.isEmpty else { throw mismatch(.null) }
        if type == .string || type == .data {
            // Null is less than every string and all data; it has no order with values of other types.
            if comparison == .greater { return .isNotNull }
            if comparison == .greaterOrEqual { return .always }
        }
        switch comparison {
        case .equal, .lessOrEqual, .greaterOrEqual, .like: return .isNull
        case .notEqual: return .isNotNull
        default: return .never
        }
    }

    private func uuid(_ comparison: ComparisonOperator, _ constant: Constant) throws(QueryError) -> ValueTest {
        switch constant {
        case .uuid(let low, let high): return .uuid(comparison, low, high)
        case .string(let text):
            guard let (low, high) = Constant.uuidWords(text) else { throw mismatch(constant) }
            return .uuid(comparison, low, high)
        default: throw mismatch(constant)
        }
    }

    private func mixed(_ comparison: ComparisonOperator, _ constant: Constant) throws(QueryError) -> ValueTest {
        let isTextual = [.beginsWith, .endsWith, .contains, .like].contains(comparison)
        if case .object = constant, isTextual { throw mismatch(constant) }
        guard let value = try mixedValue(constant) else { return comparison == .notEqual ? .always : .never }
        if isTextual {
            switch value {
            case .string, .data: break
            default: return .never
            }
        }
        return .mixed(MixedTest(comparison, value, options))
    }

    /// The constant as a mixed value. Nil if it contains an object that is not in a Realm, which no stored value can
    /// equal.
    private func mixedValue(_ constant: Constant) throws(QueryError) -> Value? {
        switch constant {
        case .object(let object):
            if object.isOfOtherRealm {
                throw QueryError(.argument, "Object must be from the Realm being queried.")
            }
            guard let table = object.table, !object.isDeleted else { return nil }
            return .typedLink(table, object.key)
        case .array(let constants):
            var values: [Value] = []
            values.reserveCapacity(constants.count)
            for constant in constants {
                guard let value = try mixedValue(constant) else { return nil }
                values.append(value)
            }
            return .list(values)
        case .dictionary(let members):
            var entries: [DictionaryEntry] = []
            for member in members {
                guard let value = try mixedValue(member.value) else { return nil }
                entries.append(DictionaryEntry(key: member.name, value: value))
            }
            entries.sort { MixedOrder.compare($0.key, $1.key) < 0 }
            return .dictionary(entries)
        default:
            guard let value = constant.value else { throw mismatch(constant) }
            return value
        }
    }

    private func link(_ comparison: ComparisonOperator, _ constant: Constant) throws(QueryError) -> ValueTest {
        guard case .object(let object) = constant else { throw mismatch(constant) }
        if object.isOfOtherRealm {
            throw QueryError(.argument, "Object must be from the Realm being queried.")
        }
        guard let table = object.table, !object.isDeleted else {
            return comparison == .notEqual ? .always : .never
        }
        guard table == path.targetClass?.table else { throw mismatch(constant) }
        return .link(comparison, object.key)
    }

    private func bytesTest(_ comparison: ComparisonOperator, _ needle: [UInt8]) -> BytesTest {
        BytesTest(comparison, needle, options)
    }

    // MARK: Numbers

    static func integer(_ constant: Constant) -> Int64? {
        switch constant {
        case .int(let value): value
        case .bool(let value): value ? 1 : 0
        case .double(let value): Int64(exactly: value)
        case .float(let value): Int64(exactly: value)
        case .decimal128(let low, let high): DecimalBits(low: low, high: high).integer
        default: nil
        }
    }

    static func double(_ constant: Constant) -> Double? {
        switch constant {
        case .int(let value): Double(value)
        case .bool(let value): value ? 1 : 0
        case .double(let value): value
        case .float(let value): Double(value)
        case .decimal128(let low, let high): DecimalBits(low: low, high: high).double
        default: nil
        }
    }

    /// Converts numbers of all types, floating-point ones by their shortest digits, and text that represents a number.
    static func decimal(_ constant: Constant) -> DecimalBits? {
        switch constant {
        case .int(let value): return DecimalBits(value)
        case .bool(let value): return DecimalBits(value ? 1 : 0 as Int64)
        case .double(let value): return DecimalBits(value)
        case .float(let value): return DecimalBits(value)
        case .decimal128(let low, let high): return DecimalBits(low: low, high: high)
        case .string(let text):
            let value = DecimalBits(text)
            return value.isNaN && !DecimalBits.isNaNText(text) ? nil : value
        default: return nil
        }
    }

    /// The test of an aggregate's value. `@min` and `@max` have the type of the aggregated values, `@count` is an
    /// integer, `@avg` a double, and `@sum` an integer or a double.
    static func aggregateTest(
        _ aggregate: ResolvedAggregate, _ comparison: ComparisonOperator, _ constant: Constant
    ) throws(QueryError) -> ValueTest {
        let kind = aggregate.kind
        let isRefused = comparison != .equal && comparison != .notEqual && !comparison.isOrdering
        if isRefused, comparison != .between, comparison != .in {
            throw QueryError(
                .unsupported,
                "Operator '\(comparison.rawValue)' not supported for type '\(aggregate.type.shown)'")
        }
        if comparison == .between || comparison == .in {
            guard case .array(let constants) = constant, comparison == .in || constants.count == 2 else {
                throw QueryError(
                    .argument,
                    comparison == .in
                        ? "IN clause requires an array of items."
                        : "NSArray object must contain exactly two objects for BETWEEN operations")
            }
            if comparison == .between {
                return .all([
                    try aggregateTest(aggregate, .greaterOrEqual, constants[0]),
                    try aggregateTest(aggregate, .lessOrEqual, constants[1]),
                ])
            }
            var tests: [ValueTest] = []
            for constant in constants { tests.append(try aggregateTest(aggregate, .equal, constant)) }
            return .any(tests.inOneOrder())
        }
        if kind == .count {
            guard let value = double(constant) else {
                throw QueryError(.value, "@count can only be compared with a numeric value.")
            }
            if let whole = integer(constant) { return .int(comparison, whole) }
            return .double(comparison, value)
        }
        let bad = QueryError(
            .value,
            "\(kind.rawValue) on a property of type \(aggregate.type.shown) cannot be compared with "
                + "'\(constant.isNull ? "<null>" : constant.shown)'")
        if constant.isNull {
            if kind == .sum { throw bad }
            return comparison == .notEqual
                ? .isNotNull : comparison == .less || comparison == .greater ? .never : .isNull
        }
        if aggregate.type == .date {
            guard case .date(let value) = constant else { throw bad }
            return .date(comparison, value)
        }
        if aggregate.type == .mixed {
            guard double(constant) != nil, var value = constant.value else { throw bad }
            // Only numbers count, so a Bool is a number here, as for aggregates of integers.
            if case .bool(let isOne) = value { value = .int(isOne ? 1 : 0) }
            if BoundAggregate.isOfDigits(kind, aggregate.type) { value = value.byDigits }
            return .mixed(MixedTest(comparison, value, []))
        }
        if aggregate.type == .decimal128 {
            guard let value = decimal(constant) else { throw bad }
            return .decimal(comparison, value)
        }
        guard let value = double(constant) else { throw bad }
        if aggregate.type == .int, kind != .avg {
            guard let whole = integer(constant) else { throw bad }
            return .int(comparison, whole)
        }
        if aggregate.type == .float, kind == .min || kind == .max { return .float(comparison, Float(value)) }
        return .double(comparison, value)
    }
}

extension Array where Element: Hashable {
    /// The distinct elements, in an order that does not depend on the order of this sequence and is stable within one
    /// run of the program, so that equal sets make equal predicates.
    func inOneOrder() -> [Element] {
        if count < 2 { return self }
        return Set(self).map { (hash: $0.hashValue, element: $0) }.sorted { $0.hash < $1.hash }.map(\.element)
    }
}
