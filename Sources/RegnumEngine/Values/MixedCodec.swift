// SPDX-License-Identifier: Apache-2.0
// The encoding of a value of a mixed column, and of an element of a collection of mixed values. Null has no bytes.
//
//   offset size  meaning
//        0    1  tag (MixedCodec.Tag)
//        1    …  bool 1 · int 8 · float 4 · double 8 · date 12 (seconds, nanoseconds) · object id 12 · UUID 16 ·
//                decimal 16 · link 12 (table key 4, object key 8) · string, data: all bytes that are left
//
//   list         tag · u32 elements n · n u32 end offsets · the bytes of the elements, concatenated
//   dictionary   tag · u32 entries n · 2n u32 end offsets (of key, of value, …) · keys and values in turn,
//                ascending by the keys' UTF-8 bytes
//
// The container determines where a value ends. Lists and dictionaries may be nested at most 100 deep.

import RegnumSystem

package enum MixedCodec {
    /// The deepest nesting of collections.
    package static let depthLimit = 100

    /// The kind of a value. The raw value is stored on disk.
    package enum Tag: UInt8, Sendable {
        case bool = 1, int, float, double, string, data, date, objectID, uuid, link, decimal128, list, dictionary
    }

    // MARK: Encoding

    package static func encode(_ value: Value) -> [UInt8] {
        var out: [UInt8] = []
        append(value, to: &out)
        return out
    }

    /// Appends the result of `encode`. A link must be a `typedLink` here.
    package static func append(_ value: Value, to out: inout [UInt8]) {
        switch value {
        case .null: return
        case .bool(let bit): out += [Tag.bool.rawValue, bit ? 1 : 0]
        case .int(let value): put(.int, value, &out)
        case .float(let value): put(.float, value.bitPattern, &out)
        case .double(let value): put(.double, value.bitPattern, &out)
        case .string(let text):
            out.append(Tag.string.rawValue)
            out.append(contentsOf: text.utf8)
        case .data(let bytes):
            out.append(Tag.data.rawValue)
            out.append(contentsOf: bytes)
        case .date(let date):
            put(.date, date.seconds, &out)
            put(date.nanoseconds, &out)
        case .objectID(let low, let high):
            put(.objectID, low, &out)
            put(high, &out)
        case .uuid(let low, let high):
            put(.uuid, low, &out)
            put(high, &out)
        case .decimal128(let low, let high):
            put(.decimal128, low, &out)
            put(high, &out)
        case .typedLink(let table, let key):
            put(.link, table.rawValue, &out)
            put(key.rawValue, &out)
        case .link: preconditionFailure("a link without its table in a mixed value")
        case .list(let values): put(values, &out)
        case .dictionary(let entries): put(entries, &out)
        }
    }

    private static func put<T: BitwiseCopyable>(_ value: T, _ out: inout [UInt8]) {
        withUnsafeBytes(of: value) { out.append(contentsOf: $0) }
    }

    private static func put<T: BitwiseCopyable>(_ tag: Tag, _ value: T, _ out: inout [UInt8]) {
        out.append(tag.rawValue)
        put(value, &out)
    }

    /// Stores the end offset of the bytes appended since `heap` as element `i` of the offsets before it.
    private static func end(_ i: Int, heap: Int, _ count: Int, _ out: inout [UInt8]) {
        let offset = UInt32(out.count - heap)
        withUnsafeBytes(of: offset) {
            out.replaceSubrange(heap - (count - i) * 4..<heap - (count - i - 1) * 4, with: $0)
        }
    }

    private static func put(_ values: [Value], _ out: inout [UInt8]) {
        put(.list, UInt32(values.count), &out)
        out.append(contentsOf: repeatElement(0, count: values.count * 4))
        let heap = out.count
        for (i, value) in values.enumerated() {
            append(value, to: &out)
            end(i, heap: heap, values.count, &out)
        }
    }

    private static func put(_ entries: [DictionaryEntry], _ out: inout [UInt8]) {
        put(.dictionary, UInt32(entries.count), &out)
        out.append(contentsOf: repeatElement(0, count: entries.count * 8))
        let heap = out.count
        for (i, entry) in entries.enumerated() {
            out.append(contentsOf: entry.key.utf8)
            end(2 * i, heap: heap, entries.count * 2, &out)
            append(entry.value, to: &out)
            end(2 * i + 1, heap: heap, entries.count * 2, &out)
        }
    }

    /// The number of bytes that `encode` returns.
    static func byteCount(_ value: Value) -> Int {
        switch value {
        case .null: 0
        case .bool: 2
        case .float: 5
        case .int, .double: 9
        case .date, .objectID, .link, .typedLink: 13
        case .uuid, .decimal128: 17
        case .string(let text): 1 + text.utf8.count
        case .data(let bytes): 1 + bytes.count
        case .list(let values): values.reduce(5) { $0 + 4 + byteCount($1) }
        case .dictionary(let entries): entries.reduce(5) { $0 + 8 + $1.key.utf8.count + byteCount($1.value) }
        }
    }

    // MARK: Decoding

    /// Decodes the whole value. Throws `.corrupted` if `encode` cannot have produced the bytes.
    package static func decode(_ bytes: UnsafeRawBufferPointer) throws(EngineError) -> Value {
        try decode(bytes, depth: 0)
    }

    private static func decode(_ bytes: UnsafeRawBufferPointer, depth: Int) throws(EngineError) -> Value {
        guard depth <= depthLimit else { throw corrupted("a mixed value is too deep") }
        let reader = try Reader(bytes)
        switch reader.tag {
        case .list:
            var values: [Value] = []
            values.reserveCapacity(reader.count)
            for i in 0..<reader.count { values.append(try decode(reader.part(i), depth: depth + 1)) }
            return .list(values)
        case .dictionary:
            var entries: [DictionaryEntry] = []
            entries.reserveCapacity(reader.count)
            for i in 0..<reader.count {
                let key = StoredText.string(reader.part(2 * i))
                entries.append(
                    DictionaryEntry(key: key, value: try decode(reader.part(2 * i + 1), depth: depth + 1)))
            }
            return .dictionary(entries)
        default: return reader.scalar
        }
    }

    /// A checked view of a mixed value in place; valid as long as its bytes are.
    package struct Reader {
        /// Nil if the value is null.
        package let tag: Tag?
        /// The number of elements or entries of a list or dictionary; otherwise 0.
        package let count: Int
        /// The bytes after the tag.
        private let payload: UnsafeRawBufferPointer
        private let parts: Int
        /// All bytes, with the tag.
        let whole: UnsafeRawBufferPointer

        /// Checks all offsets of a list or dictionary, O(n). With `isLook`, checks only that there is room for them,
        /// O(1): its parts must then be read by `checkedPart`.
        package init(_ bytes: UnsafeRawBufferPointer, isLook: Bool = false) throws(EngineError) {
            guard let first = bytes.first else {
                (tag, count, payload, parts, whole) = (nil, 0, bytes, 0, bytes)
                return
            }
            guard let tag = Tag(rawValue: first) else { throw corrupted("a mixed value of unknown kind") }
            let payload = UnsafeRawBufferPointer(rebasing: bytes.dropFirst())
            let isWhole: Bool
            var count = 0
            var parts = 0
            switch tag {
            case .string, .data: isWhole = true
            case .list, .dictionary:
                guard payload.count >= 4 else { throw corrupted("a mixed value ends too soon") }
                count = Int(payload.loadUnaligned(as: UInt32.self))
                parts = tag == .list ? count : 2 * count
                isWhole = isLook ? payload.count - 4 >= parts * 4 : Self.areInside(parts, payload)
            default: isWhole = payload.count == Self.byteCount(tag)
            }
            guard isWhole else { throw corrupted("a mixed value has the wrong length") }
            (self.tag, self.count, self.payload, self.parts) = (tag, count, payload, parts)
            whole = bytes
        }

        private static func byteCount(_ tag: Tag) -> Int {
            switch tag {
            case .bool: 1
            case .float: 4
            case .int, .double: 8
            case .date, .objectID, .link: 12
            default: 16
            }
        }

        private static func areInside(_ parts: Int, _ payload: UnsafeRawBufferPointer) -> Bool {
            let heap = payload.count - 4 - parts * 4
            guard heap >= 0 else { return false }
            var last: UInt32 = 0
            for i in 0..<parts {
                let end = payload.loadUnaligned(fromByteOffset: 4 + i * 4, as: UInt32.self)
                guard end >= last else { return false }
                last = end
            }
            return Int(last) == heap
        }

        /// The byte range of part `i`: an element of a list, or of the alternating keys and values of a dictionary.
        private func bounds(_ i: Int) -> Range<Int> {
            let start = i == 0 ? 0 : Int(payload.loadUnaligned(fromByteOffset: i * 4, as: UInt32.self))
            return start..<Int(payload.loadUnaligned(fromByteOffset: 4 + i * 4, as: UInt32.self))
        }

        func part(_ i: Int) -> UnsafeRawBufferPointer {
            let heap = 4 + parts * 4
            let range = bounds(i)
            return UnsafeRawBufferPointer(rebasing: payload[heap + range.lowerBound..<heap + range.upperBound])
        }

        /// Like `part`, for a reader whose offsets have not all been checked.
        func checkedPart(_ i: Int) throws(EngineError) -> UnsafeRawBufferPointer {
            let range = UnsafeRawBufferPointer(rebasing: payload[(4 + parts * 4)...])
            let start = i == 0 ? 0 : Int(payload.loadUnaligned(fromByteOffset: i * 4, as: UInt32.self))
            let end = Int(payload.loadUnaligned(fromByteOffset: 4 + i * 4, as: UInt32.self))
            guard start <= end, end <= range.count else { throw corrupted("a mixed value has the wrong length") }
            return UnsafeRawBufferPointer(rebasing: range[start..<end])
        }

        /// The bytes of a string or data.
        package var bytes: UnsafeRawBufferPointer { payload }
        /// Element `i` of a list, or value `i` of a dictionary.
        package func element(_ i: Int) -> UnsafeRawBufferPointer { part(tag == .list ? i : 2 * i + 1) }
        /// The UTF-8 bytes of key `i` of a dictionary.
        package func key(_ i: Int) -> UnsafeRawBufferPointer { part(2 * i) }

        /// The value if it is not a collection; otherwise null.
        package var scalar: Value {
            func load<T: BitwiseCopyable>(_ offset: Int, _ type: T.Type) -> T {
                payload.loadUnaligned(fromByteOffset: offset, as: type)
            }
            switch tag {
            case nil, .list, .dictionary: return .null
            case .bool: return .bool(payload[0] != 0)
            case .int: return .int(load(0, Int64.self))
            case .float: return .float(Float(bitPattern: load(0, UInt32.self)))
            case .double: return .double(Double(bitPattern: load(0, UInt64.self)))
            case .string: return .string(StoredText.string(payload))
            case .data: return .data([UInt8](payload))
            case .date: return .date(Timestamp(seconds: load(0, Int64.self), nanoseconds: load(8, Int32.self)))
            case .objectID: return .objectID(load(0, UInt64.self), load(8, UInt32.self))
            case .uuid: return .uuid(load(0, UInt64.self), load(8, UInt64.self))
            case .decimal128: return .decimal128(load(0, UInt64.self), load(8, UInt64.self))
            case .link: return .typedLink(TableKey(load(0, UInt32.self)), ObjectKey(load(4, UInt64.self)))
            }
        }
    }
}
