// SPDX-License-Identifier: Apache-2.0
// Plain values and comparisons of them, written from the rules independently of the executor: numbers are compared by
// their positions in a list, not by arithmetic of the engine.

import RegnumEngine
import RegnumQuery

enum ReferenceValues {
    static let words = ["", "a", "A", "ab", "Ab", "b", "aé", "É", "é", "b a", "a*"]

    /// Decimals with their positions among all numbers of the tests (`place`), and constants of other types that a
    /// decimal column treats as equal.
    private static let decimals: [(value: Value, place: Int, other: Constant)] = [
        (decimal("nan"), 0, .string("NaN")), (decimal("-1"), 3, .double(-1)), (decimal("0"), 4, .int(0)),
        (decimal("0.1"), 5, .double(0.1)), (decimal("1"), 8, .float(1)), (decimal("1.5"), 9, .string("1.50")),
        (decimal("300"), 11, .int(300)), (decimal("18446744073709551616"), 13, .string("18446744073709551616")),
        (decimal("18446744073709552000"), 14, .double(0x1p64)), (decimal("inf"), 15, .double(.infinity)),
    ]

    private static func decimal(_ text: String) -> Value {
        let bits = DecimalBits(text)
        return .decimal128(bits.low, bits.high)
    }

    static func value(_ type: ColumnType, _ random: inout QueryRandom) -> Value {
        func pick<T>(_ choices: [T]) -> T { choices[Int(random.next() % UInt64(choices.count))] }
        switch type {
        case .bool: return .bool(pick([true, false]))
        case .int: return .int(pick([0, 1, 2, -1, .max, .min, 300]))
        case .float: return .float(pick([0, -0.0, 1.5, -1, .nan, .infinity, 0.1, 0x1p64]))
        case .double: return .double(pick([0, -0.0, 1.5, -1, .nan, -.infinity, 0.1, 0x1p64]))
        case .decimal128: return pick(decimals).value
        case .string: return .string(pick(words))
        case .data: return .data(Array(pick(words).utf8))
        case .date: return .date(Timestamp(seconds: pick([0, 5, 1000]), nanoseconds: pick([0, 7])))
        case .objectID: return .objectID(pick([1, 256, 77]), pick([0, 9]))
        case .mixed:
            let types: [ColumnType] = [
                .bool, .int, .float, .double, .decimal128, .string, .data, .date, .objectID, .uuid,
            ]
            return value(pick(types), &random)
        default: return .uuid(pick([1, 256, 77]), pick([0, 9]))
        }
    }

    /// A constant of another type that a decimal column treats as equal.
    static func otherForm(_ value: Value) -> Constant { decimals.first { $0.value == value }?.other ?? .null }

    // MARK: Comparisons

    static func isTextual(_ name: String) -> Bool {
        ["BEGINSWITH", "ENDSWITH", "CONTAINS", "LIKE"].contains { name.hasPrefix($0) }
    }

    static func isNumber(_ value: Value) -> Bool { kind(value) == 2 }

    /// `isOfAnyType`: in an any-value property data is compared as it is, with [c] too.
    /// `isNullLess`: compared with a constant; null is then less than each text and all data.
    static func holds(
        _ found: Value, _ name: String, _ value: Value, isOfAnyType: Bool, isNullLess: Bool = false
    ) -> Bool {
        if isNullLess, !isOfAnyType, value == .null, bytes(found, "") != nil, name == ">" || name == ">=" {
            return true
        }
        let operation = String(name.split(separator: "[")[0])
        var options = String(name.split(separator: "[").dropFirst().first ?? "")
        if isOfAnyType, case .data = value { options = "" }
        if let isSame = holdsForNull(found, operation, value) { return isSame }
        if let found = bytes(found, options), let value = bytes(value, options) {
            switch operation {
            case "BEGINSWITH": return !value.isEmpty && found.starts(with: value)
            case "ENDSWITH": return !value.isEmpty && found.reversed().starts(with: value.reversed())
            case "CONTAINS":
                return !value.isEmpty && found.indices.contains { found[$0...].starts(with: value) }
            case "LIKE":
                // The only pattern among the words is "a*".
                return value.last == 0x2A ? found.starts(with: value.dropLast()) : found == value
            case "==": return found == value
            case "!=": return found != value
            default: break
            }
        }
        if isTextual(operation) { return false }
        // Values of types that do not compare are different, and neither less nor greater.
        if kind(found) != kind(value) { return operation == "!=" }
        return holds(order(found, value, isQuestion: true), operation)
    }

    /// Nil if neither is null.
    private static func holdsForNull(_ found: Value, _ operation: String, _ value: Value) -> Bool? {
        guard found == .null || value == .null else { return nil }
        switch operation {
        case "==", "<=", ">=", "LIKE": return found == value
        case "!=": return found != value
        default: return false
        }
    }

    private static func holds(_ order: Int, _ operation: String) -> Bool {
        switch operation {
        case "==": order == 0
        case "!=": order != 0
        case "<": order < 0
        case "<=": order <= 0
        case ">": order > 0
        default: order >= 0
        }
    }

    /// Strings, and data interpreted as text, folded as far as the words need it.
    private static func bytes(_ value: Value, _ options: String) -> [UInt8]? {
        var text: String
        switch value {
        case .string(let string): text = string
        case .data(let bytes): text = String(decoding: bytes, as: UTF8.self)
        default: return nil
        }
        if options.contains("d") { text = text.replacing("é", with: "e").replacing("É", with: "E") }
        return Array((options.contains("c") ? text.lowercased() : text).utf8)
    }

    // MARK: Order

    /// `isQuestion`: the order of queries, in which a decimal and a binary fraction compare as decimals. In sorts,
    /// which need one order of all values, they compare as exact numbers, as whole numbers always do.
    static func order(_ a: Value, _ b: Value, isQuestion: Bool = false) -> Int {
        if kind(a) != kind(b) { return compare(kind(a), kind(b)) }
        switch (a, b) {
        case (.bool(let a), .bool(let b)): return compare(a ? 1 : 0, b ? 1 : 0)
        case (.date(let a), .date(let b)): return compare(a, b)
        case (.objectID(let a, let c), .objectID(let b, let d)):
            return a != b ? compare(a.byteSwapped, b.byteSwapped) : compare(c.byteSwapped, d.byteSwapped)
        case (.uuid(let a, let c), .uuid(let b, let d)):
            return a != b ? compare(a.byteSwapped, b.byteSwapped) : compare(c.byteSwapped, d.byteSwapped)
        case (.link(let a), .link(let b)): return compare(a.rawValue, b.rawValue)
        case (.typedLink(let a, let c), .typedLink(let b, let d)):
            return a != b ? compare(a.rawValue, b.rawValue) : compare(c.rawValue, d.rawValue)
        case (.list(let a), .list(let b)):
            for (left, right) in zip(a, b) where order(left, right) != 0 { return order(left, right) }
            return compare(a.count, b.count)
        case (.dictionary(let a), .dictionary(let b)):
            for (left, right) in zip(a, b) {
                let keys = order(.string(left.key), .string(right.key))
                let both = keys != 0 ? keys : order(left.value, right.value)
                if both != 0 { return both }
            }
            return compare(a.count, b.count)
        default: break
        }
        if let left = bytes(a, ""), let right = bytes(b, "") {
            return left == right ? 0 : left.lexicographicallyPrecedes(right) ? -1 : 1
        }
        let (left, right) = (place(a), place(b))
        let meetAsDecimals = isQuestion && (isDecimal(a) && isFraction(b) || isFraction(a) && isDecimal(b))
        return meetAsDecimals ? compare(decimalPlace(left), decimalPlace(right)) : compare(left, right)
    }

    private static func compare<T: Comparable>(_ a: T, _ b: T) -> Int { a < b ? -1 : a > b ? 1 : 0 }

    /// The positions of all values of a type among all values.
    private static func kind(_ value: Value) -> Int {
        switch value {
        case .null: 0
        case .bool: 1
        case .int, .float, .double, .decimal128: 2
        case .string: 3
        case .data: 4
        case .date: 5
        case .objectID: 6
        case .uuid: 7
        case .link, .typedLink: 8
        case .list: 9
        case .dictionary: 10
        }
    }

    /// The position of a number among those of the tests: NaN, -inf, least Int, -1, 0, then 0.1 as decimal, as Double
    /// and as Float (each slightly more than the one before), 1, 1.5, 2, 300, greatest Int, 2 to the 64th, the decimal
    /// with the shortest digits of that as Double, inf.
    private static func place(_ value: Value) -> Int {
        switch value {
        case .int(let number): place(of: number)
        case .float(let number): number == 0.1 ? 7 : place(of: Double(number))
        case .double(let number): number == 0.1 ? 6 : place(of: number)
        default: decimals.first { $0.value == value }?.place ?? -1
        }
    }

    private static func place(of number: Int64) -> Int {
        switch number {
        case Int64.min: 2
        case -1: 3
        case 0: 4
        case 1: 8
        case 2: 10
        case 300: 11
        case Int64.max: 12
        default: -1
        }
    }

    private static func place(of number: Double) -> Int {
        if number.isNaN { return 0 }
        switch number {
        case -Double.infinity: return 1
        case -1: return 3
        case 0: return 4
        case 1: return 8
        case 1.5: return 9
        case 0x1p64: return 13
        case Double.infinity: return 15
        default: return -1
        }
    }

    /// By shortest digits, 0.1 equals 0.1.
    private static func decimalPlace(_ place: Int) -> Int { place == 6 || place == 7 ? 5 : place }

    private static func isDecimal(_ value: Value) -> Bool { if case .decimal128 = value { true } else { false } }

    private static func isFraction(_ value: Value) -> Bool {
        switch value {
        case .float, .double: true
        default: false
        }
    }

    // MARK: Aggregates

    /// `@count`, `@min` and `@max`. Nulls and NaN do not count for the last two; among any-values only numbers and
    /// dates do.
    static func figure(_ figure: String, _ values: [Value], _ type: ColumnType) -> Value {
        if figure == "@count" { return .int(Int64(values.count)) }
        let counted = values.filter { value in
            if case .date = value { return type == .date || type == .mixed }
            return type != .date && kind(value) == 2 && place(value) != 0
        }
        if figure == "@min" { return counted.min { order($0, $1) < 0 } ?? .null }
        return counted.max { order($0, $1) < 0 } ?? .null
    }

    /// `@sum` and `@avg` of integers or of binary fractions.
    static func total(_ figure: String, _ values: [Value]) -> Value {
        let counted = values.filter { kind($0) == 2 && place($0) != 0 }
        let doubles = counted.map { value -> Double in
            switch value {
            case .int(let number): Double(number)
            case .float(let number): Double(number)
            case .double(let number): number
            default: 0
            }
        }
        let sum = doubles.reduce(0, +)
        if figure == "@avg" { return counted.isEmpty ? .null : .double(sum / Double(counted.count)) }
        if counted.contains(where: isFraction) { return .double(sum) }
        var whole: Int64 = 0
        for case .int(let number) in counted { whole &+= number }
        return .int(whole)
    }

    /// `@sum` and `@avg` of decimals or of any-values: binary numbers count by their shortest digits.
    static func decimalTotal(_ figure: String, _ values: [Value]) -> Value {
        let counted = values.filter { kind($0) == 2 && place($0) != 0 }
        var total = DecimalBits.zero
        for value in counted { total = total + digits(value) }
        if figure == "@avg" {
            if counted.isEmpty { return .null }
            total = total / DecimalBits(Int64(counted.count))
        }
        return .decimal128(total.low, total.high)
    }

    /// A number as it is written.
    private static func digits(_ value: Value) -> DecimalBits {
        switch value {
        case .int(let number): DecimalBits("\(number)")
        case .float(let number): DecimalBits("\(number)")
        case .double(let number): DecimalBits("\(number)")
        case .decimal128(let low, let high): DecimalBits(low: low, high: high)
        default: .zero
        }
    }

    /// A total is not one of the numbers of the tests: it is compared as a decimal if it is one, as Int, as Float with
    /// a Float, otherwise as Double.
    static func holdsTotal(_ total: Value, _ operation: String, _ value: Value) -> Bool {
        if let isSame = holdsForNull(total, operation, value) { return isSame }
        func compareDoubles(_ a: Double, _ b: Double) -> Int {
            a.isNaN || b.isNaN ? compare(a.isNaN ? 0 : 1, b.isNaN ? 0 : 1) : compare(a, b)
        }
        let order: Int
        switch (total, value) {
        case (.int(let a), .int(let b)): order = compare(a, b)
        case (.int(let a), .float(let b)): order = compareDoubles(Double(a), Double(b))
        case (.int(let a), .double(let b)): order = compareDoubles(Double(a), b)
        case (.double(let a), .int(let b)): order = compareDoubles(a, Double(b))
        case (.double(let a), .float(let b)): order = compareDoubles(Double(Float(a)), Double(b))
        case (.double(let a), .double(let b)): order = compareDoubles(a, b)
        case (.decimal128(let low, let high), .double):
            order = DecimalBits.compare(DecimalBits(low: low, high: high), digits(value))
        default: return false
        }
        return holds(order, operation)
    }
}
