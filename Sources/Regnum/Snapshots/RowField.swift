// SPDX-License-Identifier: Apache-2.0
// A property of the object of a `RowDecoder` as a decoder of its own, for enums, arrays, and types with their own
// `init(from:)`; and the unkeyed container of a property that leads to objects.

internal import RegnumEngine

/// Two words, so that it fits into an existential without an allocation.
struct RowField: Decoder, SingleValueDecodingContainer {
    let decoder: RowDecoder
    let slot: Int

    private var key: SnapshotKey { SnapshotKey(stringValue: decoder.property(slot).name) }
    var codingPath: [any CodingKey] { decoder.codingPath + [key] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    // MARK: Decoder

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        try node.container(keyedBy: type)
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        switch decoder.form(slot) {
        case .links, .linking: RowElements(decoder, slot)
        default: try node.unkeyedContainer()
        }
    }

    func singleValueContainer() throws -> any SingleValueDecodingContainer { self }

    // MARK: Single values

    /// The property as the general decoder sees it.
    private var node: LiveNode { LiveNode(decoder.property(slot), of: decoder.current, path: codingPath) }

    func decodeNil() -> Bool { decoder.isNil(slot) }

    func decode(_ type: Bool.Type) throws -> Bool { try decoder.bool(slot) ?? node.decode(type) }
    func decode(_ type: String.Type) throws -> String { try decoder.storedString(slot) ?? node.decode(type) }
    func decode(_ type: Double.Type) throws -> Double { try decoder.double(slot) ?? node.decode(type) }
    func decode(_ type: Float.Type) throws -> Float { try decoder.float(slot) ?? node.decode(type) }
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

    private func integer<Value: FixedWidthInteger>(_ type: Value.Type) throws -> Value {
        if let number = decoder.storedInteger(slot), let exact = Value(exactly: number) { return exact }
        return try node.integer(type)
    }

    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try decoder.value(type, slot, key) }
}

/// The objects that a list, a set or linking objects lead to, as they are when the container is made.
private final class RowElements: UnkeyedDecodingContainer {
    private let decoder: RowDecoder
    private let slot: Int
    private let keys: [ObjectKey]
    private let binding: ClassBinding?
    private(set) var currentIndex = 0

    init(_ decoder: RowDecoder, _ slot: Int) {
        self.decoder = decoder
        self.slot = slot
        (keys, binding) = decoder.targets(slot)
    }

    private var key: SnapshotKey { SnapshotKey(stringValue: decoder.property(slot).name) }
    var codingPath: [any CodingKey] { decoder.codingPath + [key] }
    var count: Int? { keys.count }
    var isAtEnd: Bool { currentIndex >= keys.count }

    /// The next object and its class. Throws at the end.
    private func peek() throws -> (key: ObjectKey, binding: ClassBinding) {
        if !isAtEnd, let binding { return (keys[currentIndex], binding) }
        throw DecodingError.valueNotFound(
            Any.self,
            DecodingError.Context(
                codingPath: codingPath + [SnapshotKey(intValue: currentIndex)],
                debugDescription: "There are no more elements."))
    }

    /// Passes the next object, as the general decoder sees it, to `body`.
    private func take<Value>(_ body: (LiveNode) throws -> Value) throws -> Value {
        let (key, binding) = try peek()
        let value = try body(
            LiveNode(value: binding.makeAccessor(key), path: codingPath + [SnapshotKey(intValue: currentIndex)]))
        currentIndex += 1
        return value
    }

    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        let (target, binding) = try peek()
        let value = try decoder.linked(type, slot, target, in: binding, index: currentIndex, key)
        currentIndex += 1
        return value
    }

    func decodeNil() throws -> Bool {
        _ = try peek()
        return false
    }

    func decode(_ type: Bool.Type) throws -> Bool { try take { try $0.decode(type) } }
    func decode(_ type: String.Type) throws -> String { try take { try $0.decode(type) } }
    func decode(_ type: Double.Type) throws -> Double { try take { try $0.decode(type) } }
    func decode(_ type: Float.Type) throws -> Float { try take { try $0.decode(type) } }
    func decode(_ type: Int.Type) throws -> Int { try take { try $0.decode(type) } }
    func decode(_ type: Int8.Type) throws -> Int8 { try take { try $0.decode(type) } }
    func decode(_ type: Int16.Type) throws -> Int16 { try take { try $0.decode(type) } }
    func decode(_ type: Int32.Type) throws -> Int32 { try take { try $0.decode(type) } }
    func decode(_ type: Int64.Type) throws -> Int64 { try take { try $0.decode(type) } }
    func decode(_ type: UInt.Type) throws -> UInt { try take { try $0.decode(type) } }
    func decode(_ type: UInt8.Type) throws -> UInt8 { try take { try $0.decode(type) } }
    func decode(_ type: UInt16.Type) throws -> UInt16 { try take { try $0.decode(type) } }
    func decode(_ type: UInt32.Type) throws -> UInt32 { try take { try $0.decode(type) } }
    func decode(_ type: UInt64.Type) throws -> UInt64 { try take { try $0.decode(type) } }

    func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) throws -> KeyedDecodingContainer<Nested> {
        try take { try $0.container(keyedBy: type) }
    }

    func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer { try take { try $0.unkeyedContainer() } }

    func superDecoder() throws -> any Decoder { try take { $0 } }
}
