// SPDX-License-Identifier: Apache-2.0
// What numbers look like to users who read them by name, as type Any.
//
// RealmSwift's users cast what they read by name, `dog["age"] as? Int64`, and Objective-C makes every number type fit
// that has the value. On Linux a cast from one Swift number type to another fails, but a cast from `NSNumber` to any
// of them succeeds if that type has the value. So:
//
// - `Int`, `Double` and `Bool` properties of a declared class are read as what they are, in any values as `NSNumber`;
// - its other number properties (`Int8` ... `Int64`, `Float`, enums and custom types that are stored as these), and all
//   whole and floating-point numbers of a `DynamicObject`, are read as `NSNumber`.

internal import Foundation

/// The number as an `NSNumber` if `isBridged`; all other values as they are.
func byName(_ value: Any?, _ isBridged: Bool) -> Any? {
    guard isBridged, let value else { return value }
    let type = type(of: value)
    // By its type: a cast that fails costs several hundred nanoseconds.
    if type == Int.self { return (value as? Int).map { NSNumber(value: $0) } }
    if type == Double.self { return (value as? Double).map { NSNumber(value: $0) } }
    if type == Float.self { return (value as? Float).map { NSNumber(value: $0) } }
    return value
}

/// A value among those of a collection: a null is a nil that casts to every optional type.
func elementByName(_ value: Any?) -> Any { value ?? Optional<Any>.none as Any }
