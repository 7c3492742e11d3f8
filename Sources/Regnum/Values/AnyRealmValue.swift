// SPDX-License-Identifier: Apache-2.0
// `AnyRealmValue`: a property or an element that can hold a value of any type, including nested lists and dictionaries.

public import Foundation
internal import RegnumEngine

/// A value of any type that can be stored.
///
/// ```swift
/// class Entry: Object {
///     @Persisted var payload: AnyRealmValue
/// }
/// entry.payload = .string("text")
/// entry.payload = .fromDictionary(["size": .int(3), "tags": .fromArray([.string("a")])])
/// ```
///
/// `.none` represents nil, so a property of this type is never optional. Values of different cases differ: `.int(1)` is
/// not equal to `.double(1)`; in queries and sorted results, however, numbers of all types are compared by value. A
/// link becomes `.none` when its object is deleted. Lists and dictionaries can be nested up to 100 levels; sets can
/// contain neither. A list or dictionary read from a managed object is a view of its location in the object: it is
/// `isInvalidated` when that location no longer holds a collection of its kind.
///
/// Finding a nested list or dictionary takes time proportional to its depth. An element of a list is then found in
/// O(1), and the value of a key in O(log n). In a write transaction, a change costs as much as in a sorted array; the
/// first change after a commit also costs time proportional to the size of the whole value.
public enum AnyRealmValue: Hashable {
    case none
    case int(Int)
    case bool(Bool)
    case float(Float)
    case double(Double)
    case string(String)
    case data(Data)
    case date(Date)
    case object(Object)
    case objectId(ObjectId)
    case decimal128(Decimal128)
    case uuid(UUID)
    case dictionary(Map<String, AnyRealmValue>)
    case list(List<AnyRealmValue>)

    /// Creates `.none`.
    public init() { self = .none }

    /// Hashes scalars and objects. The contents of lists and dictionaries are left out, because they may change.
    public func hash(into hasher: inout Hasher) {
        switch self {
        case .none: hasher.combine(0)
        case .int(let value): hasher.combine(value)
        case .bool(let value): hasher.combine(value)
        case .float(let value): hasher.combine(value)
        case .double(let value): hasher.combine(value)
        case .string(let value): hasher.combine(value)
        case .data(let value): hasher.combine(value)
        case .date(let value): hasher.combine(value)
        case .object(let value): hasher.combine(value)
        case .objectId(let value): hasher.combine(value)
        case .decimal128(let value): hasher.combine(value)
        case .uuid(let value): hasher.combine(value)
        case .dictionary: hasher.combine(1)
        case .list: hasher.combine(2)
        }
    }

    /// Creates a dictionary of values.
    public static func fromDictionary(_ dictionary: [String: AnyRealmValue]) -> AnyRealmValue {
        let map = Map<String, AnyRealmValue>()
        map.insert(dictionary.map { ($0.key, $0.value) })
        return .dictionary(map)
    }

    /// Creates a list of values.
    public static func fromArray(_ array: [AnyRealmValue]) -> AnyRealmValue {
        let list = List<AnyRealmValue>()
        list.append(objectsIn: array)
        return .list(list)
    }
}

// MARK: Equality

extension AnyRealmValue {
    /// Returns whether the cases are the same and hold equal values. Managed lists and dictionaries are equal only if
    /// they are the same collection. Unmanaged ones are compared without recursion, because they can be nested as
    /// deeply as memory allows.
    public static func == (left: AnyRealmValue, right: AnyRealmValue) -> Bool {
        switch (left, right) {
        case (.none, .none): true
        case (.int(let left), .int(let right)): left == right
        case (.bool(let left), .bool(let right)): left == right
        case (.float(let left), .float(let right)): left == right
        case (.double(let left), .double(let right)): left == right
        case (.string(let left), .string(let right)): left == right
        case (.data(let left), .data(let right)): left == right
        case (.date(let left), .date(let right)): left == right
        case (.object(let left), .object(let right)): left == right
        case (.objectId(let left), .objectId(let right)): left == right
        case (.decimal128(let left), .decimal128(let right)): left == right
        case (.uuid(let left), .uuid(let right)): left == right
        case (.list, .list), (.dictionary, .dictionary): areEqualCollections(left, right)
        default: false
        }
    }

    private var isCollection: Bool {
        switch self {
        case .list, .dictionary: true
        default: false
        }
    }

    private static func areEqualCollections(_ left: AnyRealmValue, _ right: AnyRealmValue) -> Bool {
        var pairs = [(left, right)]
        // Collections that contain themselves lead to the same pair again.
        struct Pair: Hashable {
            let left: ObjectIdentifier
            let right: ObjectIdentifier
        }
        var seen: Set<Pair> = []
        /// Returns whether the collections are equal; nil if their elements must be compared.
        func areEqual<C: _ManagedCollection & Equatable>(_ left: C, _ right: C) -> Bool? {
            if left === right { return true }
            if left.isManaged || right.isManaged { return left == right }
            let isNew = seen.insert(Pair(left: ObjectIdentifier(left), right: ObjectIdentifier(right))).inserted
            return isNew ? nil : true
        }
        /// Returns false if the values differ; collections are appended to `pairs` for later.
        func isEqualSoFar(_ left: AnyRealmValue, _ right: AnyRealmValue) -> Bool {
            if !left.isCollection { return TextKey.areEqual(left, right) }
            pairs.append((left, right))
            return true
        }
        while let pair = pairs.popLast() {
            switch pair {
            case (.list(let left), .list(let right)):
                if let areEqual = areEqual(left, right) {
                    if areEqual { continue }
                    return false
                }
                let (items, others) = (left.items, right.items)
                guard items.count == others.count, zip(items, others).allSatisfy({ isEqualSoFar($0, $1) }) else {
                    return false
                }
            case (.dictionary(let left), .dictionary(let right)):
                if let areEqual = areEqual(left, right) {
                    if areEqual { continue }
                    return false
                }
                let (entries, others) = (left.entries, right.entries)
                guard entries.count == others.count else { return false }
                for (key, value) in entries {
                    guard let other = others[key], isEqualSoFar(value, other) else { return false }
                }
            default: return false
            }
        }
        return true
    }
}

// MARK: The value as one type; nil if it is of another type

extension AnyRealmValue {
    /// The value as an Int.
    public var intValue: Int? { if case .int(let value) = self { value } else { nil } }
    /// The value as a Bool.
    public var boolValue: Bool? { if case .bool(let value) = self { value } else { nil } }
    /// The value as a Float.
    public var floatValue: Float? { if case .float(let value) = self { value } else { nil } }
    /// The value as a Double.
    public var doubleValue: Double? { if case .double(let value) = self { value } else { nil } }
    /// The value as a String.
    public var stringValue: String? { if case .string(let value) = self { value } else { nil } }
    /// The value as Data.
    public var dataValue: Data? { if case .data(let value) = self { value } else { nil } }
    /// The value as a Date.
    public var dateValue: Date? { if case .date(let value) = self { value } else { nil } }
    /// The value as an ObjectId.
    public var objectIdValue: ObjectId? { if case .objectId(let value) = self { value } else { nil } }
    /// The value as a Decimal128.
    public var decimal128Value: Decimal128? { if case .decimal128(let value) = self { value } else { nil } }
    /// The value as a UUID.
    public var uuidValue: UUID? { if case .uuid(let value) = self { value } else { nil } }
    /// The value as a dictionary.
    public var dictionaryValue: Map<String, AnyRealmValue>? {
        if case .dictionary(let value) = self { value } else { nil }
    }
    /// The value as a list.
    public var listValue: List<AnyRealmValue>? { if case .list(let value) = self { value } else { nil } }

    /// The value as an object of the class; nil if it is anything else.
    public func object<T: Object>(_ objectType: T.Type) -> T? {
        guard case .object(let object) = self else { return nil }
        if let object = object as? T { return object }
        // For a dynamic object: the same object as an instance of its class.
        return (object as? DynamicObject)?.accessor(as: T.self) as? T
    }

    /// The value as an object whose properties are accessed by name. Its class need not be in the schema.
    public var dynamicObject: DynamicObject? {
        guard case .object(let object) = self else { return nil }
        if let dynamic = object as? DynamicObject { return dynamic }
        return object.accessor(as: DynamicObject.self).map { unsafeDowncast($0, to: DynamicObject.self) }
    }
}
