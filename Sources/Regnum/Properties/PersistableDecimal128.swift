// SPDX-License-Identifier: Apache-2.0
// `Decimal128` as a stored type: 16 bytes per value.

internal import RegnumEngine

extension Decimal128: _MadeOnFirstUse, _PersistableInsideOptional, _RealmCollectionValueInsideOptional {
    public typealias PersistedType = Decimal128
    public static var _shape: _PropertyShape { _PropertyShape(.decimal128, code: .decimal128) }
    /// Returns 0.
    public static func _makeDefault() -> Self { unsafeDowncast(Decimal128(), to: Self.self) }

    public static func _load(
        _ column: UnsafeRawPointer, _ row: Int, _ object: ObjectBase, _ offset: Int
    ) -> Self {
        let words = column.assumingMemoryBound(to: ColumnView.self).pointee.bytes16(row)
        let bits = DecimalBits(low: words.0, high: words.1)
        return unsafeDowncast(object.recycledValues?.pointee.decimal(bits) ?? Decimal128(bits: bits), to: Self.self)
    }

    public static func _store(
        _ value: Decimal128, _ column: UnsafeMutableRawPointer, _ row: Int, _ object: ObjectBase
    ) {
        let data = column.assumingMemoryBound(to: ColumnView.self).pointee.data + row &<< 4
        data.storeBytes(of: value.bits.low, as: UInt64.self)
        data.storeBytes(of: value.bits.high, toByteOffset: 8, as: UInt64.self)
    }

    public static func _fromRaw(_ raw: _RawValue) -> Self {
        guard case .decimal128(let low, let high) = raw.value else { return _makeDefault() }
        return unsafeDowncast(Decimal128(bits: DecimalBits(low: low, high: high)), to: Self.self)
    }
    public static func _toRaw(_ value: Decimal128) -> _RawValue {
        _RawValue(.decimal128(value.bits.low, value.bits.high))
    }

    /// Converts a Decimal128, a number of any type, or numeric text.
    public static func _coerced(_ value: Any) -> Self? {
        if let value = value as? Self { return value }
        guard let present = unwrapped(value) else { return nil }
        // Tested by the exact type: on Linux an NSNumber of 0 or 1 can be cast to Bool.
        guard type(of: present) != Bool.self, let bits = Decimal128.bits(of: present) else { return nil }
        // Reject text that is not a number, instead of storing NaN.
        if bits.isNaN, let text = present as? String, !DecimalBits.isNaNText(text) { return nil }
        // Reject a number that is too large, instead of storing infinity.
        if bits.isInfinite, let text = present as? String, text.contains(where: \.isNumber) { return nil }
        return unsafeDowncast(Decimal128(value: present), to: Self.self)
    }
}
extension Decimal128: MinMaxType, AddableType, SortableType, _QueryNumeric, RealmOptionalType {}
