// SPDX-License-Identifier: Apache-2.0
// Names that code compiled against RealmSwift reaches into: what a type is stored as, and the way of values
// between their own types and what subscripts show.

internal import Foundation

/// A type that can be part of a schema.
public protocol _RealmSchemaDiscoverable {
    /// As what it is stored; of a collection the type of its elements.
    static var _rlmType: PropertyType { get }
    /// True where it may be null; of a collection where its elements may be.
    static var _rlmOptional: Bool { get }
}

extension _HasPersistedType {
    /// As what it is stored; of a collection the type of its elements.
    public static var _rlmType: PropertyType { _shape.type }
    /// True where it may be null; of a collection where its elements may be.
    public static var _rlmOptional: Bool { _shape.isOptional }
}

extension Optional: _RealmSchemaDiscoverable where Wrapped: _PersistableInsideOptional {}

/// The value that `x`, as a subscript shows it, stands for. Ends the program where it does not fit.
public func dynamicBridgeCast<T>(fromObjectiveC x: Any) -> T {
    func open<Value: _HasPersistedType>(_ type: Value.Type) -> Any? { Value._coerced(x) }
    if let type = T.self as? any _HasPersistedType.Type, let value = open(type) as? T { return value }
    if let value = x as? T { return value }
    misuse("Could not convert value '\(describe(x))' of type '\(type(of: x))' to type '\(T.self)'.")
}

/// What a subscript shows of the value: enums as raw values, numbers other than `Int` and `Double`
/// as `NSNumber`; `NSNull` for nil.
public func dynamicBridgeCast<T>(fromSwift x: T) -> Any {
    func open<Value: _HasPersistedType>(_ value: Value) -> Any? {
        byName(Value._dynamic(value), Value._isBridgedByName)
    }
    guard let value = x as? any _HasPersistedType else { return x }
    return open(value) ?? NSNull()
}
