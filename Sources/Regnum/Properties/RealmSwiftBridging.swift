// SPDX-License-Identifier: Apache-2.0
// Names that code compiled against RealmSwift uses: the stored type of a Swift type, and conversion between a type's
// own values and the form that subscripts return.

internal import Foundation

/// A type that can be part of a schema.
public protocol _RealmSchemaDiscoverable {
    /// The type it is stored as; for a collection, the type of its elements.
    static var _rlmType: PropertyType { get }
    /// True if the value may be null; for a collection, if its elements may be.
    static var _rlmOptional: Bool { get }
}

extension _HasPersistedType {
    /// The type it is stored as; for a collection, the type of its elements.
    public static var _rlmType: PropertyType { _shape.type }
    /// True if the value may be null; for a collection, if its elements may be.
    public static var _rlmOptional: Bool { _shape.isOptional }
}

extension Optional: _RealmSchemaDiscoverable where Wrapped: _PersistableInsideOptional {}

/// Converts `x`, in the form that subscripts return, to a value of type `T`. A value that does not fit is a programmer
/// error.
public func dynamicBridgeCast<T>(fromObjectiveC x: Any) -> T {
    func open<Value: _HasPersistedType>(_ type: Value.Type) -> Any? { Value._coerced(x) }
    if let type = T.self as? any _HasPersistedType.Type, let value = open(type) as? T { return value }
    if let value = x as? T { return value }
    misuse("Could not convert value '\(describe(x))' of type '\(type(of: x))' to type '\(T.self)'.")
}

/// Converts a value to the form that subscripts return: enums as raw values, numbers other than `Int` and `Double` as
/// `NSNumber`, nil as `NSNull`.
public func dynamicBridgeCast<T>(fromSwift x: T) -> Any {
    func open<Value: _HasPersistedType>(_ value: Value) -> Any? {
        byName(Value._dynamic(value), Value._isBridgedByName)
    }
    guard let value = x as? any _HasPersistedType else { return x }
    return open(value) ?? NSNull()
}
