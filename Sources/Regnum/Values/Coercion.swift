// SPDX-License-Identifier: Apache-2.0
// What `init(value:)`, `create` and subscripts make of a value of type Any: numbers of other widths,
// optionals in a box, sequences of any kind.

internal import Foundation

/// Anything that is an Optional.
protocol OptionalBox {
    var contents: Any? { get }
}

extension Optional: OptionalBox {
    var contents: Any? { self }
}

/// True for the types that most values have: nothing is around them and nothing else is to be found out by a cast,
/// which costs 50 ns where it succeeds and several times that where it fails.
func isPlain(_ value: Any) -> Bool {
    let type = type(of: value)
    return type == String.self || type == Int.self || type == Bool.self || type == Double.self || type == Date.self
}

/// True for an instance of a class. A cast of a Swift value to a class would bridge it to Foundation first, arrays and
/// dictionaries with all that is in them.
func isInstance(_ value: Any) -> Bool { type(of: value) is AnyObject.Type }

/// The object that the value is, without Optionals around it.
func objectBase(_ value: Any) -> ObjectBase? { isInstance(value) ? value as? ObjectBase : nil }

/// The value without any Optional or NSNull around it; nil where there is none.
func unwrapped(_ value: Any) -> Any? {
    let type = type(of: value)
    if isPlain(value) || type == [String: Any].self || type == [Any].self { return value }
    // A cast of a Swift value to NSNull would bridge it first.
    if type == NSNull.self { return nil }
    guard let optional = value as? any OptionalBox else { return value }
    guard let contents = optional.contents else { return nil }
    return unwrapped(contents)
}

enum Coercion {
    /// A whole number of any integer type; of Bool 0 or 1, as `NSNumber` has it on Apple's systems. Nil for a Float
    /// or Double, also one without a fraction, and also in an `NSNumber`: RealmSwift refuses those.
    static func integer(_ value: Any) -> Int64? {
        if type(of: value) == Int.self { return (value as? Int).map(Int64.init) }
        if type(of: value) == Bool.self { return value as? Bool == true ? 1 : 0 }
        // A cast of an NSNumber to a protocol fails slowly.
        if !isInstance(value), let value = value as? any BinaryInteger { return Int64(exactly: value) }
        guard let value = value as? NSNumber else { return nil }
        switch UInt8(bitPattern: value.objCType.pointee) {
        // The least Int of a JSON text is a decimal on Linux.
        case UInt8(ascii: "d") where (value as? NSDecimalNumber)?.decimalValue == Decimal(Int64.min): return .min
        case UInt8(ascii: "d"), UInt8(ascii: "f"): return nil
        case UInt8(ascii: "Q"): return Int64(exactly: value.uint64Value)
        default: return value.int64Value
        }
    }

    /// A number of any integer or floating-point type.
    static func number(_ value: Any) -> Double? {
        // By its type: an NSNumber of 0 or 1 can be cast to Bool.
        if isInstance(value) { return (value as? NSNumber)?.doubleValue }
        switch value {
        case is Bool: return nil
        case let value as Double: return value
        case let value as Float: return Double(value)
        case let value as any BinaryInteger: return Double(value)
        default: return nil
        }
    }

    /// The elements of an array, a collection of ours, or another sequence; nil for what is no list of
    /// values.
    static func elements(_ value: Any) -> [Any]? {
        // By its type: other casts look at what is in it, and in that.
        if type(of: value) == [Any].self { return value as? [Any] }
        if type(of: value) == [String: Any].self { return nil }
        return switch value {
        case is String, is Data, is [AnyHashable: Any]: nil
        case let array as [Any]: array
        case let sequence as any Sequence: erased(sequence)
        default: nil
        }
    }

    private static func erased(_ sequence: some Sequence) -> [Any] { sequence.map { $0 as Any } }

    /// The entries of a dictionary with text keys.
    static func entries(_ value: Any) -> [String: Any]? {
        if type(of: value) == [Any].self { return nil }
        if let dictionary = value as? [String: Any] { return dictionary }
        guard let dictionary = value as? [AnyHashable: Any] else { return nil }
        var entries: [String: Any] = [:]
        for (key, value) in dictionary {
            guard let key = key.base as? String else { return nil }
            entries[key] = value
        }
        return entries
    }
}
