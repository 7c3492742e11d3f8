// SPDX-License-Identifier: Apache-2.0
// The general decoder of snapshots: decodes values of type Any. Used for unmanaged objects, and for the properties that
// `RowDecoder` does not read from the file itself: values of any type, maps, custom types stored as embedded objects.

internal import Foundation

/// A value, an object, a collection or nil, to be decoded as the user's type.
struct LiveNode: Decoder, SingleValueDecodingContainer {
    /// Limits the nesting: if links form a cycle, decoding a type that contains itself would never end.
    static let depthLimit = 100
    static let depthMessage = "More than \(depthLimit) values in one another: a link leads back."

    let value: Any?
    let codingPath: [any CodingKey]
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    init(value: Any?, path: [any CodingKey]) {
        let present = value.flatMap { unwrapped($0) }
        if let mixed = present as? AnyRealmValue {
            self.value = AnyRealmValue._dynamic(mixed)
        } else {
            self.value = present
        }
        codingPath = path
    }

    private func context(_ words: String) -> DecodingError.Context {
        DecodingError.Context(codingPath: codingPath, debugDescription: words)
    }

    private func mismatch(_ type: Any.Type) -> DecodingError {
        guard let value else { return .valueNotFound(type, context("There is no value.")) }
        return .typeMismatch(type, context("The object has \(Swift.type(of: value)) here."))
    }

    private func checkDepth() throws {
        if codingPath.count > Self.depthLimit { throw DecodingError.dataCorrupted(context(Self.depthMessage)) }
    }

    // MARK: Decoder

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        try checkDepth()
        switch value {
        case let object as ObjectBase: return KeyedDecodingContainer(ObjectContainer<Key>(object, codingPath))
        case let map as any AnyMap: return KeyedDecodingContainer(MapContainer<Key>(map, codingPath))
        default: throw mismatch([String: Any].self)
        }
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        try checkDepth()
        if let collection = value as? any AnyOwnedCollection, !(value is any AnyMap) {
            return ElementsContainer(collection.anyElements, codingPath)
        }
        if let elements = value as? [Any] { return ElementsContainer(elements, codingPath) }
        throw mismatch([Any].self)
    }

    func singleValueContainer() throws -> any SingleValueDecodingContainer { self }

    // MARK: Single values

    func decodeNil() -> Bool { value == nil }

    func decode(_ type: Bool.Type) throws -> Bool { try scalar(type) }
    func decode(_ type: String.Type) throws -> String { try scalar(type) }
    func decode(_ type: Double.Type) throws -> Double {
        if let value = value as? Float { return Double(value) }
        if let value = value as? Int, let exact = Double(exactly: value) { return exact }
        return try scalar(type)
    }
    func decode(_ type: Float.Type) throws -> Float {
        if let value = value as? Int, let exact = Float(exactly: value) { return exact }
        guard let value = value as? Double else { return try scalar(type) }
        if let number = Float(inRange: value) { return number }
        throw DecodingError.dataCorrupted(context("\(value) is out of the range of \(type)."))
    }
    func decode(_ type: Int.Type) throws -> Int { try integer(type) }
    func decode(_ type: Int8.Type) throws -> Int8 { try integer(type) }
    func decode(_ type: Int16.Type) throws -> Int16 { try integer(type) }
    func decode(_ type: Int32.Type) throws -> Int32 { try integer(type) }
    func decode(_ type: Int64.Type) throws -> Int64 { try integer(type) }
    func decode(_ type: UInt.Type) throws -> UInt { try integer(type) }
    func decode(_ type: UInt8.Type) throws -> UInt8 { try integer(type) }
    func decode(_ type: UInt16.Type) throws -> UInt16 { try integer(type) }
    func decode(_ type: UInt32.Type) throws -> UInt32 { try integer(type) }
    func decode(_ type: UInt64.Type) throws -> UInt64 { try integer(type) }

    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        try checkDepth()
        // Dates, data, identifiers and decimals are passed through, not decoded by their own types.
        if !(value is ObjectBase), let value = value as? Value { return value }
        if let value = converted(to: type) { return value }
        return try Value(from: self)
    }

    /// The value as a custom type that is stored in this form, or as a URL or Decimal, which their own initialisers
    /// would expect in several parts. Nil for other types and values.
    private func converted<Value>(to type: Value.Type) -> Value? {
        guard let value else { return nil }
        func open<Custom: _HasPersistedType>(_ type: Custom.Type) -> Any? { Custom._coerced(value) }
        if let custom = type as? any _HasPersistedType.Type, custom._shape.isCustom { return open(custom) as? Value }
        if type == URL.self { return (value as? String).flatMap { URL(string: $0) } as? Value }
        guard type == Decimal.self else { return nil }
        if let number = value as? Int { return Decimal(number) as? Value }
        guard let number = value as? Decimal128 else { return nil }
        let decimal = number.decimalValue
        return decimal.isNaN && !number.isNaN ? nil : decimal as? Value
    }

    private func scalar<Value>(_ type: Value.Type) throws -> Value {
        if let value = value as? Value { return value }
        guard let stored = value.flatMap({ storedForm(of: $0) }) as? Value else { throw mismatch(type) }
        return stored
    }

    func integer<Value: FixedWidthInteger>(_ type: Value.Type) throws -> Value {
        guard let value, let number = Coercion.integer(value) ?? storedForm(of: value).flatMap({ Coercion.integer($0) })
        else { throw mismatch(type) }
        guard let exact = Value(exactly: number) else {
            throw DecodingError.dataCorrupted(context("\(number) is out of the range of \(type)."))
        }
        return exact
    }
}

extension Float {
    /// The nearest Float; nil for a number that is out of the range of Float.
    init?(inRange number: Double) {
        self.init(number)
        if isInfinite, number.isFinite { return nil }
    }
}

/// The name of a property, or the index of an element, in a coding path.
struct SnapshotKey: CodingKey {
    let stringValue: String
    let intValue: Int?

    init(stringValue: String) {
        self.stringValue = stringValue
        intValue = nil
    }

    init(intValue: Int) {
        stringValue = "\(intValue)"
        self.intValue = intValue
    }
}

/// The common implementation for objects and maps.
private protocol LiveContainer: KeyedDecodingContainerProtocol {
    /// Nil if there is no value for the key.
    func node(_ key: Key) -> LiveNode?
}

extension LiveContainer {
    func contains(_ key: Key) -> Bool { node(key) != nil }

    private func required(_ key: Key) throws -> LiveNode {
        if let node = node(key) { return node }
        throw DecodingError.keyNotFound(
            key, DecodingError.Context(codingPath: codingPath, debugDescription: "There is no '\(key.stringValue)'."))
    }

    func decodeNil(forKey key: Key) throws -> Bool { try required(key).decodeNil() }
    func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool { try required(key).decode(type) }
    func decode(_ type: String.Type, forKey key: Key) throws -> String { try required(key).decode(type) }
    func decode(_ type: Double.Type, forKey key: Key) throws -> Double { try required(key).decode(type) }
    func decode(_ type: Float.Type, forKey key: Key) throws -> Float { try required(key).decode(type) }
    func decode(_ type: Int.Type, forKey key: Key) throws -> Int { try required(key).decode(type) }
    func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 { try required(key).decode(type) }
    func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 { try required(key).decode(type) }
    func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 { try required(key).decode(type) }
    func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 { try required(key).decode(type) }
    func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt { try required(key).decode(type) }
    func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 { try required(key).decode(type) }
    func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 { try required(key).decode(type) }
    func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 { try required(key).decode(type) }
    func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 { try required(key).decode(type) }
    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
        try required(key).decode(type)
    }

    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<Nested> { try required(key).container(keyedBy: type) }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try required(key).unkeyedContainer()
    }

    func superDecoder() throws -> any Decoder {
        throw DecodingError.dataCorrupted(
            DecodingError.Context(codingPath: codingPath, debugDescription: "A snapshot has no base class."))
    }

    func superDecoder(forKey key: Key) throws -> any Decoder { try required(key) }
}

private struct ObjectContainer<Key: CodingKey>: LiveContainer {
    let object: ObjectBase
    let codingPath: [any CodingKey]
    private let properties: [ClassProperty]

    init(_ object: ObjectBase, _ path: [any CodingKey]) {
        self.object = object
        codingPath = path
        properties = object.classSchema.properties
    }

    var allKeys: [Key] { properties.compactMap { Key(stringValue: $0.name) } }

    func node(_ key: Key) -> LiveNode? {
        guard let property = properties.first(where: { $0.name == key.stringValue }) else { return nil }
        return LiveNode(property, of: object, path: codingPath + [key])
    }
}

extension LiveNode {
    /// The value of a property; nil if the property is optional and its type cannot represent the stored value.
    init(_ property: ClassProperty, of object: ObjectBase, path: [any CodingKey]) {
        var value = property.get(object)
        if let linking = value as? any Collection & ThreadConfined, property.isComputed {
            value = linking.map { $0 as Any }
        }
        if let raw = value, property.shape.isOptional, property.unknownRaw(raw) != nil { value = nil }
        self.init(value: value, path: path)
    }
}

private struct MapContainer<Key: CodingKey>: LiveContainer {
    let codingPath: [any CodingKey]
    private let entries: [TextKey: Any?]

    init(_ map: any AnyMap, _ path: [any CodingKey]) {
        entries = Dictionary(
            map.anyEntries.map { (TextKey($0.key), $0.value) }, uniquingKeysWith: { first, _ in first })
        codingPath = path
    }

    var allKeys: [Key] { entries.keys.map(\.text).sorted().compactMap { Key(stringValue: $0) } }

    func node(_ key: Key) -> LiveNode? {
        entries[TextKey(key.stringValue)].map { LiveNode(value: $0, path: codingPath + [key]) }
    }
}

private struct ElementsContainer: UnkeyedDecodingContainer {
    private let elements: [Any]
    let codingPath: [any CodingKey]
    private(set) var currentIndex = 0

    init(_ elements: [Any], _ path: [any CodingKey]) {
        self.elements = elements
        codingPath = path
    }

    var count: Int? { elements.count }
    var isAtEnd: Bool { currentIndex >= elements.count }

    private func peek() throws -> LiveNode {
        let path = codingPath + [SnapshotKey(intValue: currentIndex)]
        if isAtEnd {
            throw DecodingError.valueNotFound(
                Any.self, DecodingError.Context(codingPath: path, debugDescription: "There are no more elements."))
        }
        return LiveNode(value: elements[currentIndex], path: path)
    }

    private mutating func take<Value>(_ body: (LiveNode) throws -> Value) throws -> Value {
        let value = try body(peek())
        currentIndex += 1
        return value
    }

    mutating func decodeNil() throws -> Bool {
        guard try peek().decodeNil() else { return false }
        currentIndex += 1
        return true
    }

    mutating func decode(_ type: Bool.Type) throws -> Bool { try take { try $0.decode(type) } }
    mutating func decode(_ type: String.Type) throws -> String { try take { try $0.decode(type) } }
    mutating func decode(_ type: Double.Type) throws -> Double { try take { try $0.decode(type) } }
    mutating func decode(_ type: Float.Type) throws -> Float { try take { try $0.decode(type) } }
    mutating func decode(_ type: Int.Type) throws -> Int { try take { try $0.decode(type) } }
    mutating func decode(_ type: Int8.Type) throws -> Int8 { try take { try $0.decode(type) } }
    mutating func decode(_ type: Int16.Type) throws -> Int16 { try take { try $0.decode(type) } }
    mutating func decode(_ type: Int32.Type) throws -> Int32 { try take { try $0.decode(type) } }
    mutating func decode(_ type: Int64.Type) throws -> Int64 { try take { try $0.decode(type) } }
    mutating func decode(_ type: UInt.Type) throws -> UInt { try take { try $0.decode(type) } }
    mutating func decode(_ type: UInt8.Type) throws -> UInt8 { try take { try $0.decode(type) } }
    mutating func decode(_ type: UInt16.Type) throws -> UInt16 { try take { try $0.decode(type) } }
    mutating func decode(_ type: UInt32.Type) throws -> UInt32 { try take { try $0.decode(type) } }
    mutating func decode(_ type: UInt64.Type) throws -> UInt64 { try take { try $0.decode(type) } }
    mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try take { try $0.decode(type) } }

    mutating func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type
    ) throws -> KeyedDecodingContainer<Nested> { try take { try $0.container(keyedBy: type) } }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        try take { try $0.unkeyedContainer() }
    }

    mutating func superDecoder() throws -> any Decoder { try take { $0 } }
}
