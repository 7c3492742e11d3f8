// SPDX-License-Identifier: Apache-2.0
// The form of numbers that users read by name, as type Any.
//
// RealmSwift's users cast the values they read by name, `dog["age"] as? Int64`, and Objective-C lets a number cast to
// every number type that can represent it. On Linux a cast from one Swift number type to another fails, but a cast from
// `NSNumber` to any of them succeeds if the type can represent the value. Therefore:
//
// - `Int`, `Double` and `Bool` properties of a declared class are returned as these types, and in mixed values as
//   `NSNumber`;
// - its other number properties (`Int8` ... `Int64`, `Float`, enums and custom types that are stored as these), and all
//   whole and floating-point numbers of a `DynamicObject`, are returned as `NSNumber`.

internal import Foundation

/// Returns a number as an `NSNumber` if `isBridged` is true, and any other value unchanged.
func byName(_ value: Any?, _ isBridged: Bool) -> Any? {
    guard isBridged, let value else { return value }
    let type = type(of: value)
    // Tested by the exact type: a cast that fails costs several hundred nanoseconds.
    if type == Int.self { return (value as? Int).map { NSNumber(value: $0) } }
    if type == Double.self { return (value as? Double).map { NSNumber(value: $0) } }
    if type == Float.self { return (value as? Float).map { NSNumber(value: $0) } }
    return value
}

/// Returns an element of a collection; null becomes a nil that casts to every optional type.
func elementByName(_ value: Any?) -> Any { value ?? Optional<Any>.none as Any }
