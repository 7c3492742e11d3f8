// SPDX-License-Identifier: Apache-2.0
// The bytes of a list or set in a var-bytes column. The empty one has no bytes. The elements of a set ascend by
// MixedOrder, none equal to another. The leaves of large collections have the same form.
//
//   offset size  meaning
//        0    1  kind: 0 elements follow
//        1    1  flags: 1 validity words follow the head, 2 reserved for stable element ids
//        2    1  width: bytes of an integer or of an end offset (1, 2, 4, 8); 1 a Bool, 4 a Float, 8 a Double,
//                12 an ObjectId, 16 a UUID, a decimal or a Date (seconds, nanoseconds, 4 zero bytes)
//        3    1  zero
//        4    4  elements
//        8   8v  validity, one bit per element, if there are nulls
//        …   wn  values; integers are unsigned from 0 if narrower than 8; for texts, data and
//                mixed values (MixedCodec) the end offsets
//        …       heap of texts, data, mixed values
//
// Random access to an element is O(1).

import RegnumSystem

package enum ListCodec {
    static let headByteCount = 8

    // MARK: Encoding

    package static func encode(_ values: [Value], _ type: ColumnType) -> [UInt8] {
        if values.isEmpty { return [] }
        let hasNulls = values.contains(.null)
        var out = [UInt8](repeating: 0, count: headByteCount)
        out.reserveCapacity(headByteCount + values.count * 8)
        out[1] = hasNulls ? 1 : 0
        withUnsafeBytes(of: UInt32(values.count)) { out.replaceSubrange(4..<8, with: $0) }
        if hasNulls {
            var words = [UInt64](repeating: 0, count: (values.count + 63) / 64)
            for (i, value) in values.enumerated() where value != .null { words[i >> 6] |= 1 << UInt64(i & 63) }
            words.withUnsafeBytes { out.append(contentsOf: $0) }
        }
        switch type {
        case .string, .data: encodeBytes(values, &out)
        case .mixed: encodeMixed(values, &out)
        case .int, .link: encodeIntegers(values, &out)
        default: encodeFixed(values, type, &out)
        }
        return out
    }

    private static func append<T>(_ value: T, _ out: inout [UInt8]) {
        withUnsafeBytes(of: value) { out.append(contentsOf: $0) }
    }

    private static func append(_ value: UInt64, width: UInt8, _ out: inout [UInt8]) {
        switch width {
        case 1: out.append(UInt8(truncatingIfNeeded: value))
        case 2: append(UInt16(truncatingIfNeeded: value), &out)
        case 4: append(UInt32(truncatingIfNeeded: value), &out)
        default: append(value, &out)
        }
    }

    /// Returns the byte count of `count` elements. `heap`: the bytes of texts, data or mixed values; `highest`: the
    /// highest integer, or the bitwise OR of all integers.
    static func byteCount(
        _ count: Int, _ type: ColumnType, hasNulls: Bool, highest: UInt64, heap: Int
    ) -> Int {
        if count == 0 { return 0 }
        let width =
            switch type {
            case .int, .link: width(highest)
            case .string, .data, .mixed: width(UInt64(heap))
            default: fixedWidth(type)
            }
        return headByteCount + (hasNulls ? (count + 63) / 64 * 8 : 0) + count * Int(width) + heap
    }

    private static func width(_ highest: UInt64) -> UInt8 {
        highest <= 0xff ? 1 : highest <= 0xffff ? 2 : highest <= 0xffff_ffff ? 4 : 8
    }

    private static func encodeIntegers(_ values: [Value], _ out: inout [UInt8]) {
        func bits(_ value: Value) -> UInt64 {
            switch value {
            case .int(let value): UInt64(bitPattern: value)
            case .link(let key): key.rawValue
            default: 0
            }
        }
        out[2] = width(values.reduce(0) { max($0, bits($1)) })
        for value in values { append(bits(value), width: out[2], &out) }
    }

    private static func encodeBytes(_ values: [Value], _ out: inout [UInt8]) {
        var heap: [UInt8] = []
        var ends: [UInt64] = []
        ends.reserveCapacity(values.count)
        for value in values {
            switch value {
            case .string(let text): heap.append(contentsOf: text.utf8)
            case .data(let bytes): heap.append(contentsOf: bytes)
            default: break
            }
            ends.append(UInt64(heap.count))
        }
        append(heap, ends, &out)
    }

    private static func encodeMixed(_ values: [Value], _ out: inout [UInt8]) {
        var heap: [UInt8] = []
        var ends: [UInt64] = []
        ends.reserveCapacity(values.count)
        for value in values {
            MixedCodec.append(value, to: &heap)
            ends.append(UInt64(heap.count))
        }
        append(heap, ends, &out)
    }

    private static func append(_ heap: [UInt8], _ ends: [UInt64], _ out: inout [UInt8]) {
        out[2] = width(UInt64(heap.count))
        for end in ends { append(end, width: out[2], &out) }
        out.append(contentsOf: heap)
    }

    private static func encodeFixed(_ values: [Value], _ type: ColumnType, _ out: inout [UInt8]) {
        out[2] = fixedWidth(type)
        for value in values {
            switch value {
            case .bool(let bit): out.append(bit ? 1 : 0)
            case .float(let value): append(value.bitPattern, &out)
            case .double(let value): append(value.bitPattern, &out)
            case .date(let date):
                append(date.seconds, &out)
                append(date.nanoseconds, &out)
                append(UInt32(0), &out)
            case .objectID(let low, let high):
                append(low, &out)
                append(high, &out)
            case .uuid(let low, let high), .decimal128(let low, let high):
                append(low, &out)
                append(high, &out)
            default: out.append(contentsOf: repeatElement(0, count: Int(out[2])))
            }
        }
    }

    private static func fixedWidth(_ type: ColumnType) -> UInt8 {
        switch type {
        case .bool: 1
        case .float: 4
        case .double: 8
        case .objectID: 12
        default: 16
        }
    }

    // MARK: Decoding

    /// A validated view of a list's bytes, valid as long as they are.
    package struct Reader {
        package let count: Int
        private let type: ColumnType
        private let validity: UnsafeRawPointer?
        private let values: UnsafeRawPointer
        private let width: Int
        private let heap: UnsafeRawPointer
        private let heapByteCount: Int

        package init(_ bytes: UnsafeRawBufferPointer, _ type: ColumnType) throws(EngineError) {
            self.type = type
            guard let base = bytes.baseAddress, bytes.count > 0 else {
                (count, validity, width, heapByteCount) = (0, nil, 1, 0)
                values = UnsafeRawPointer(ZeroBytes.base)
                heap = values
                return
            }
            guard bytes.count >= headByteCount, bytes[0] == 0, bytes[1] <= 1 else {
                throw corrupted("a list of unknown form")
            }
            let count = Int(base.loadUnaligned(fromByteOffset: 4, as: UInt32.self))
            let words = bytes[1] == 1 ? (count + 63) / 64 * 8 : 0
            let width = Int(bytes[2])
            let end = headByteCount + words + count * width
            guard Self.isPossible(width, type), end <= bytes.count else {
                throw corrupted("a list is longer than its bytes")
            }
            self.count = count
            self.width = width
            validity = words > 0 ? base + headByteCount : nil
            values = base + headByteCount + words
            heap = base + end
            heapByteCount = bytes.count - end
        }

        private static func isPossible(_ width: Int, _ type: ColumnType) -> Bool {
            switch type {
            case .string, .data, .mixed, .int, .link: width == 1 || width == 2 || width == 4 || width == 8
            default: width == Int(fixedWidth(type))
            }
        }

        package func isNull(_ i: Int) -> Bool {
            guard let validity else { return false }
            return validity.loadUnaligned(fromByteOffset: (i >> 6) * 8, as: UInt64.self) >> UInt64(i & 63) & 1 == 0
        }

        /// Returns an Int, the key of a link, or an end offset.
        @inline(__always)
        package func integer(_ i: Int) -> UInt64 {
            switch width {
            case 1: UInt64(values.load(fromByteOffset: i, as: UInt8.self))
            case 2: UInt64(values.loadUnaligned(fromByteOffset: i &<< 1, as: UInt16.self))
            case 4: UInt64(values.loadUnaligned(fromByteOffset: i &<< 2, as: UInt32.self))
            default: values.loadUnaligned(fromByteOffset: i &<< 3, as: UInt64.self)
            }
        }

        /// Returns the bytes of a text, of data or of a mixed value; empty if damaged offsets lead out of the heap.
        package func bytes(_ i: Int) -> UnsafeRawBufferPointer {
            let start = i == 0 ? 0 : integer(i - 1)
            let end = integer(i)
            guard start <= end, end <= UInt64(heapByteCount) else {
                return UnsafeRawBufferPointer(start: heap, count: 0)
            }
            return UnsafeRawBufferPointer(start: heap + Int(start), count: Int(end - start))
        }

        package func value(_ i: Int) -> Value {
            if isNull(i) { return .null }
            let at = values + i * width
            switch type {
            case .bool: return .bool(at.load(as: UInt8.self) != 0)
            case .int: return .int(Int64(bitPattern: integer(i)))
            case .link: return .link(ObjectKey(integer(i)))
            case .float: return .float(Float(bitPattern: at.loadUnaligned(as: UInt32.self)))
            case .double: return .double(Double(bitPattern: at.loadUnaligned(as: UInt64.self)))
            case .date:
                return .date(
                    Timestamp(
                        seconds: at.loadUnaligned(as: Int64.self),
                        nanoseconds: at.loadUnaligned(fromByteOffset: 8, as: Int32.self)))
            case .objectID:
                return .objectID(
                    at.loadUnaligned(as: UInt64.self), at.loadUnaligned(fromByteOffset: 8, as: UInt32.self))
            case .uuid:
                return .uuid(at.loadUnaligned(as: UInt64.self), at.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
            case .decimal128:
                return .decimal128(
                    at.loadUnaligned(as: UInt64.self), at.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
            case .string: return .string(StoredText.string(bytes(i)))
            case .data: return .data([UInt8](bytes(i)))
            case .mixed:
                // As in `bytes`, damage that the checksum did not detect is tolerated: it reads as null; the integrity
                // check reports it.
                do throws(EngineError) { return try MixedCodec.decode(bytes(i)) } catch { return .null }
            }
        }

        package var all: [Value] { (0..<count).map { value($0) } }

        /// The elements, which are Ints; nil if one is null.
        var integers: [Int]? {
            if validity != nil { return nil }
            return [Int](unsafeUninitializedCapacity: count) { buffer, initialized in
                for i in 0..<count { buffer[i] = Int(truncatingIfNeeded: integer(i)) }
                initialized = count
            }
        }

        /// The elements, which are Strings; nil if one is null.
        var texts: [String]? {
            validity == nil ? (0..<count).map { StoredText.string(bytes($0)) } : nil
        }

        /// The keys that the elements, which are links, point to; nil if one is null.
        var targets: [ObjectKey]? { validity == nil ? (0..<count).map { ObjectKey(integer($0)) } : nil }
    }
}
