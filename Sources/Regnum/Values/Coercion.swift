// SPDX-License-Identifier: Apache-2.0
// Conversion of values of type Any for `init(value:)`, `create` and subscripts: numbers of other widths, optionals
// inside existentials, sequences of any kind.

internal import Foundation

/// Any Optional.
protocol OptionalBox {
    var contents: Any? { get }
}

extension Optional: OptionalBox {
    var contents: Any? { self }
}

/// Returns true for the most common types: a value of these needs no unwrapping and no casts, which cost 50 ns on
/// success and several times that on failure.
func isPlain(_ value: Any) -> Bool {
    let type = type(of: value)
    return type == String.self || type == Int.self || type == Bool.self || type == Double.self || type == Date.self
}

/// Returns whether the value is an instance of a class. A cast of a Swift value to a class would first bridge it to
/// Foundation, including all elements of an array or dictionary.
func isInstance(_ value: Any) -> Bool { type(of: value) is AnyObject.Type }

/// Returns the value as an instance of `type`; nil if it is not one. Never bridges a Swift value.
func instance<Instance: AnyObject>(_ value: Any, of type: Instance.Type) -> Instance? {
    isInstance(value) ? value as? Instance : nil
}

/// Returns the value as an object; nil if it is not one.
func objectBase(_ value: Any) -> ObjectBase? { instance(value, of: ObjectBase.self) }

/// Returns the value with Optionals around it removed; nil for a nil value or NSNull.
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
    /// Returns a whole number of any integer type; a Bool is 0 or 1, as `NSNumber` represents it on Apple's platforms.
    /// Returns nil for a Float or Double, even without a fraction and even inside an `NSNumber`, because RealmSwift
    /// rejects those.
    static func integer(_ value: Any) -> Int64? {
        if type(of: value) == Int.self { return (value as? Int).map(Int64.init) }
        if type(of: value) == Bool.self { return value as? Bool == true ? 1 : 0 }
        // A failing cast of an NSNumber to a protocol is slow.
        if !isInstance(value), let value = value as? any BinaryInteger { return Int64(exactly: value) }
        guard let value = value as? NSNumber else { return nil }
        switch UInt8(bitPattern: value.objCType.pointee) {
        // On Linux the smallest Int in a JSON text is decoded as a decimal.
        case UInt8(ascii: "d") where (value as? NSDecimalNumber)?.decimalValue == Decimal(Int64.min): return .min
        case UInt8(ascii: "d"), UInt8(ascii: "f"): return nil
        case UInt8(ascii: "Q"): return Int64(exactly: value.uint64Value)
        default: return value.int64Value
        }
    }

    /// Returns a number of any integer or floating-point type.
    static func number(_ value: Any) -> Double? {
        // Tested by the exact type: an NSNumber of 0 or 1 can be cast to Bool.
        if isInstance(value) { return (value as? NSNumber)?.doubleValue }
        switch value {
        case is Bool: return nil
        case let value as Double: return value
        case let value as Float: return Double(value)
        case let value as any BinaryInteger: return Double(value)
        default: return nil
        }
    }

    /// Returns the elements of an array, a Realm collection, or another sequence; nil for anything that is not a list
    /// of values.
    static func elements(_ value: Any) -> [Any]? {
        // Tested by the exact type: other casts examine the elements, recursively.
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

    /// Returns the entries of a Realm map, of `MapEntries`, or of a dictionary with String keys.
    static func mapEntries(_ value: Any) -> [(key: String, value: Any?)]? {
        if isInstance(value), let map = value as? any AnyMap { return map.anyEntries }
        if let entries = value as? MapEntries { return entries.list }
        return entries(value)?.map { ($0, $1) }
    }

    /// Returns the entries of a dictionary with String keys.
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

/// New values for the keys of a map. Not a dictionary with String keys, which would lose one of two keys that differ
/// only in normalisation; see `TextKey`.
struct MapEntries {
    var list: [(key: String, value: Any?)] = []
}
