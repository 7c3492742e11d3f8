// SPDX-License-Identifier: Apache-2.0
// The keyed container of `RowDecoder`: finds the column for a key, and reads it.
//
// The standard library copies the container for each property, so it has no reference to count. A key of one byte, as
// the compiler synthesises them for up to 256 properties, is an index in a table; the texts of other keys are looked up.

internal import RegnumEngine

struct RowContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
    // The decoder holds the container, and is never freed if anything else does.
    private let decoder: Unmanaged<RowDecoder>
    /// Owned by the decoder; nil if a key is larger than a byte.
    private let slotsByKey: UnsafeMutablePointer<UInt16>?

    init(_ decoder: Unmanaged<RowDecoder>, _ slotsByKey: UnsafeMutablePointer<UInt16>?) {
        self.decoder = decoder
        self.slotsByKey = slotsByKey
    }

    // MARK: Keys

    @inline(__always)
    private func slot(_ key: Key) -> Int {
        if let slotsByKey {
            let slot = slotsByKey[byte(key)]
            if slot != RowDecoder.unknownSlot { return Int(slot) }
        }
        return newSlot(key)
    }

    @inline(__always)
    private func byte(_ key: Key) -> Int {
        MemoryLayout<Key>.size == 0 ? 0 : Int(unsafeBitCast(key, to: UInt8.self))
    }

    @inline(never)
    private func newSlot(_ key: Key) -> Int {
        let slot = decoder._withUnsafeGuaranteedRef { $0.slot(named: key.stringValue) }
        if let slotsByKey, let small = UInt16(exactly: slot), small != RowDecoder.unknownSlot {
            slotsByKey[byte(key)] = small
        }
        return slot
    }

    /// The property as the general decoder sees it. Throws if the class has no such property.
    @inline(never)
    private func node(_ slot: Int, _ key: Key) throws -> LiveNode {
        try decoder._withUnsafeGuaranteedRef { try $0.node(slot, key) }
    }

    /// Like `node`; nil if there is no such property, or no value.
    @inline(never)
    private func present(_ slot: Int, _ key: Key) throws -> LiveNode? {
        try decoder._withUnsafeGuaranteedRef { decoder in
            let form = decoder.form(slot)
            if form == .missing || form.isDirect && decoder.isNil(slot) { return nil }
            let node = try decoder.node(slot, key)
            return node.decodeNil() ? nil : node
        }
    }

    var codingPath: [any CodingKey] { decoder._withUnsafeGuaranteedRef { $0.codingPath } }

    var allKeys: [Key] {
        decoder._withUnsafeGuaranteedRef { decoder in
            decoder.binding.schema.properties.compactMap { Key(stringValue: $0.name) }
        }
    }

    func contains(_ key: Key) -> Bool {
        let slot = slot(key)
        return decoder._withUnsafeGuaranteedRef { $0.form(slot) != .missing }
    }

    func decodeNil(forKey key: Key) throws -> Bool {
        let slot = slot(key)
        if decoder._withUnsafeGuaranteedRef({ $0.form(slot).isDirect }) {
            return decoder._withUnsafeGuaranteedRef { $0.isNil(slot) }
        }
        return try node(slot, key).decodeNil()
    }

    // MARK: Values

    @inline(__always)
    private func bool(_ slot: Int) -> Bool? { decoder._withUnsafeGuaranteedRef { $0.bool(slot) } }

    @inline(__always)
    private func string(_ slot: Int) -> String? { decoder._withUnsafeGuaranteedRef { $0.string(slot) } }

    @inline(__always)
    private func double(_ slot: Int) -> Double? { decoder._withUnsafeGuaranteedRef { $0.double(slot) } }

    @inline(__always)
    private func float(_ slot: Int) -> Float? { decoder._withUnsafeGuaranteedRef { $0.float(slot) } }

    @inline(__always)
    private func integer<Value: FixedWidthInteger>(_ slot: Int, as type: Value.Type) -> Value? {
        guard let number = decoder._withUnsafeGuaranteedRef({ $0.integer(slot) }) else { return nil }
        return Value(exactly: number)
    }

    @inline(__always)
    private func integer<Value: FixedWidthInteger>(_ type: Value.Type, _ key: Key) throws -> Value {
        let slot = slot(key)
        if let number = integer(slot, as: type) { return number }
        return try node(slot, key).integer(type)
    }

    @inline(__always)
    private func integerIfPresent<Value: FixedWidthInteger>(_ type: Value.Type, _ key: Key) throws -> Value? {
        let slot = slot(key)
        if let number = integer(slot, as: type) { return number }
        return try present(slot, key)?.integer(type)
    }

    func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool {
        let slot = slot(key)
        if let value = bool(slot) { return value }
        return try node(slot, key).decode(type)
    }

    func decode(_ type: String.Type, forKey key: Key) throws -> String {
        let slot = slot(key)
        if let value = string(slot) { return value }
        return try node(slot, key).decode(type)
    }

    func decode(_ type: Double.Type, forKey key: Key) throws -> Double {
        let slot = slot(key)
        if let value = double(slot) { return value }
        return try node(slot, key).decode(type)
    }

    func decode(_ type: Float.Type, forKey key: Key) throws -> Float {
        let slot = slot(key)
        if let value = float(slot) { return value }
        return try node(slot, key).decode(type)
    }

    func decode(_ type: Int.Type, forKey key: Key) throws -> Int { try integer(type, key) }
    func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 { try integer(type, key) }
    func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 { try integer(type, key) }
    func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 { try integer(type, key) }
    func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 { try integer(type, key) }
    func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt { try integer(type, key) }
    func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 { try integer(type, key) }
    func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 { try integer(type, key) }
    func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 { try integer(type, key) }
    func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 { try integer(type, key) }

    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
        let slot = slot(key)
        return try decoder._withUnsafeGuaranteedRef { try $0.value(type, slot, key) }
    }

    // MARK: Optional values

    func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? {
        let slot = slot(key)
        if let value = bool(slot) { return value }
        return try present(slot, key)?.decode(type)
    }

    func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? {
        let slot = slot(key)
        if let value = string(slot) { return value }
        return try present(slot, key)?.decode(type)
    }

    func decodeIfPresent(_ type: Double.Type, forKey key: Key) throws -> Double? {
        let slot = slot(key)
        if let value = double(slot) { return value }
        return try present(slot, key)?.decode(type)
    }

    func decodeIfPresent(_ type: Float.Type, forKey key: Key) throws -> Float? {
        let slot = slot(key)
        if let value = float(slot) { return value }
        return try present(slot, key)?.decode(type)
    }

    func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? { try integerIfPresent(type, key) }
    func decodeIfPresent(_ type: Int8.Type, forKey key: Key) throws -> Int8? { try integerIfPresent(type, key) }
    func decodeIfPresent(_ type: Int16.Type, forKey key: Key) throws -> Int16? { try integerIfPresent(type, key) }
    func decodeIfPresent(_ type: Int32.Type, forKey key: Key) throws -> Int32? { try integerIfPresent(type, key) }
    func decodeIfPresent(_ type: Int64.Type, forKey key: Key) throws -> Int64? { try integerIfPresent(type, key) }
    func decodeIfPresent(_ type: UInt.Type, forKey key: Key) throws -> UInt? { try integerIfPresent(type, key) }
    func decodeIfPresent(_ type: UInt8.Type, forKey key: Key) throws -> UInt8? { try integerIfPresent(type, key) }
    func decodeIfPresent(_ type: UInt16.Type, forKey key: Key) throws -> UInt16? { try integerIfPresent(type, key) }
    func decodeIfPresent(_ type: UInt32.Type, forKey key: Key) throws -> UInt32? { try integerIfPresent(type, key) }
    func decodeIfPresent(_ type: UInt64.Type, forKey key: Key) throws -> UInt64? { try integerIfPresent(type, key) }

    func decodeIfPresent<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value? {
        let slot = slot(key)
        return try decoder._withUnsafeGuaranteedRef { decoder in
            if decoder.form(slot).isDirect {
                return decoder.isNil(slot) ? nil : try decoder.value(type, slot, key)
            }
            return try present(slot, key)?.decode(type)
        }
    }

    // MARK: Containers within

    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<Nested> { try node(slot(key), key).container(keyedBy: type) }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try node(slot(key), key).unkeyedContainer()
    }

    func superDecoder() throws -> any Decoder {
        throw DecodingError.dataCorrupted(
            DecodingError.Context(codingPath: codingPath, debugDescription: "A snapshot has no base class."))
    }

    func superDecoder(forKey key: Key) throws -> any Decoder { try node(slot(key), key) }
}
