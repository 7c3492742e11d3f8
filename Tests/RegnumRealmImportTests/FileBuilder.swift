// SPDX-License-Identifier: Apache-2.0
// Makes files in Realm's format for tests: nodes from integers and bytes, tables of formats up to 9, a header.

import Foundation

/// A tagged integer as an element of an array of refs.
func Tagged(_ value: Int64) -> Int64 { value << 1 | 1 }

/// Collects nodes. A function that adds one returns its ref.
struct FileBuilder {
    let format: UInt8
    private var bytes = [UInt8](repeating: 0, count: 24)

    init(format: UInt8) { self.format = format }

    var nextRef: Int64 { Int64(bytes.count) }

    private mutating func add(_ flags: UInt8, _ count: Int, _ payload: [UInt8]) -> Int64 {
        let ref = nextRef
        bytes += [0x41, 0x41, 0x41, 0x41, flags, UInt8(count >> 16 & 255), UInt8(count >> 8 & 255), UInt8(count & 255)]
        bytes += payload
        bytes += [UInt8](repeating: 0, count: (8 - payload.count % 8) % 8)
        return ref
    }

    // MARK: Arrays

    /// An array of integers in the smallest width that holds them all.
    mutating func integers(
        _ values: [Int64], hasRefs: Bool = false, isInner: Bool = false, context: Bool = false
    ) -> Int64 {
        let code = values.map(Self.widthCode).max() ?? 0
        let flags = UInt8((isInner ? 0x80 : 0) | (hasRefs ? 0x40 : 0) | (context ? 0x20 : 0) | code)
        let width = (1 << code) >> 1
        var payload = [UInt8](repeating: 0, count: (values.count * width + 7) / 8)
        for (index, value) in values.enumerated() {
            if width >= 8 {
                for byte in 0..<width / 8 {
                    payload[index * width / 8 + byte] = UInt8(truncatingIfNeeded: value >> Int64(8 * byte))
                }
            } else if width > 0 {
                payload[index * width / 8] |= UInt8(value) << UInt8(index * width % 8)
            }
        }
        return add(flags, values.count, payload)
    }

    private static func widthCode(_ value: Int64) -> Int {
        switch value {
        case 0: 0
        case 1: 1
        case 2...3: 2
        case 4...15: 3
        case -128...127: 4
        case -32768...32767: 5
        case -2_147_483_648...2_147_483_647: 6
        default: 7
        }
    }

    mutating func refs(_ values: [Int64], isInner: Bool = false, context: Bool = false) -> Int64 {
        integers(values, hasRefs: true, isInner: isInner, context: context)
    }

    /// Integers or null: the value that stands for null comes first.
    mutating func nullable(_ values: [Int64?], null: Int64 = 99) -> Int64 {
        integers([null] + values.map { $0 ?? null })
    }

    /// Elements of a fixed number of bytes.
    mutating func fixed(_ elements: [[UInt8]], width: Int, context: Bool = false) -> Int64 {
        let code = width == 0 ? 0 : width.trailingZeroBitCount + 1
        return add(UInt8(0x08 | code | (context ? 0x20 : 0)), elements.count, elements.flatMap { $0 })
    }

    mutating func floats(_ values: [Float?]) -> Int64 {
        fixed(values.map { Self.little(UInt64($0?.bitPattern ?? 0x7fc0_00aa), 4) }, width: 4)
    }

    mutating func doubles(_ values: [Double?]) -> Int64 {
        fixed(values.map { Self.little($0?.bitPattern ?? 0x7ff8_0000_0000_00aa, 8) }, width: 8)
    }

    private static func little(_ value: UInt64, _ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: value >> UInt64(8 * $0)) }
    }

    mutating func blob(_ content: [UInt8]) -> Int64 { add(0x10, content.count, content) }

    // MARK: Texts and binary values

    /// Blocks of `width` bytes. The last byte is the count of padding bytes; `width` there means null.
    mutating func shortTexts(_ values: [String?], width: Int) -> Int64 {
        fixed(
            values.map { text in
                guard let text else { return [UInt8](repeating: 0, count: width - 1) + [UInt8(width)] }
                let bytes = Array(text.utf8)
                let padding = width - 1 - bytes.count
                return bytes + [UInt8](repeating: 0, count: padding) + [UInt8(padding)]
            }, width: width)
    }

    /// End offsets, bytes and, if `nullMark` is given, null flags: `nullMark` for null, its opposite for other values.
    mutating func medium(_ values: [[UInt8]?], isText: Bool, nullMark: Bool?) -> Int64 {
        var content: [UInt8] = []
        var ends: [Int64] = []
        for value in values {
            content += (value ?? []) + (isText ? [0] : [])
            ends.append(Int64(content.count))
        }
        var parts = [integers(ends), blob(content)]
        if let nullMark { parts.append(integers(values.map { ($0 == nil) == nullMark ? 1 : 0 })) }
        return refs(parts)
    }

    /// A blob for each value.
    mutating func big(_ values: [[UInt8]?], isText: Bool) -> Int64 {
        let blobs = values.map { value in value.map { blob($0 + (isText ? [0] : [])) } ?? 0 }
        return refs(blobs, context: true)
    }

    // MARK: Trees

    /// An inner node over leaves, `full` elements in each but the last; without `full` it names where each begins.
    mutating func tree(_ leaves: [Int64], counts: [Int], full: Int?) -> Int64 {
        var first = Tagged(Int64(full ?? 0))
        if full == nil {
            var sum = 0
            let starts = counts.dropLast().map { count in
                sum += count
                return Int64(sum)
            }
            first = integers(starts)
        }
        return refs([first] + leaves + [Tagged(Int64(counts.reduce(0, +)))], isInner: true)
    }

    // MARK: Tables

    /// A column of a table up to format 9: name, type, attributes, root.
    typealias LegacyColumn = (name: String, type: Int64, attributes: Int64, root: Int64)

    /// `targets`: the target tables of the columns, in order; `interned`: the lists of interned strings.
    mutating func legacySpec(_ columns: [LegacyColumn], targets: [Int64] = [], interned: [Int64] = []) -> Int64 {
        let named = columns.filter { $0.type != 14 }
        var parts = [
            integers(columns.map(\.type)), shortTexts(named.map(\.name), width: 32),
            integers(columns.map(\.attributes)),
        ]
        if !targets.isEmpty || !interned.isEmpty { parts.append(targets.isEmpty ? 0 : refs(targets)) }
        if !interned.isEmpty { parts.append(refs(interned)) }
        return refs(parts)
    }

    /// The array of the columns' roots, with the root of an index after each column that has one.
    mutating func legacyRoots(_ columns: [LegacyColumn]) -> Int64 {
        let index = integers([])
        return refs(columns.flatMap { $0.attributes & 1 == 1 ? [$0.root, index] : [$0.root] })
    }

    mutating func legacyTable(_ columns: [LegacyColumn], targets: [Int64] = [], interned: [Int64] = []) -> Int64 {
        refs([legacySpec(columns, targets: targets, interned: interned), legacyRoots(columns)])
    }

    /// A table `pk` that names primary keys by class.
    mutating func primaryKeyTable(_ keys: [(String, String)]) -> Int64 {
        legacyTable([
            ("pk_table", 2, 0, shortTexts(keys.map(\.0), width: 16)),
            ("pk_property", 2, 0, shortTexts(keys.map(\.1), width: 16)),
        ])
    }

    /// A table `metadata` with the schema version.
    mutating func metadataTable(_ version: Int64) -> Int64 { legacyTable([("version", 0, 0, integers([version]))]) }

    // MARK: Files

    /// The bytes of a file with those tables. `slot`: the current one of the two in the header.
    mutating func file(tables: [(String, Int64)], slot: UInt8 = 0) -> [UInt8] {
        let names = shortTexts(tables.map(\.0), width: 64)
        let list = refs(tables.map(\.1))
        let size = nextRef + 64
        let top = refs([names, list, Tagged(size)])
        var file = bytes
        for index in 0..<8 { file[Int(slot) * 8 + index] = UInt8(truncatingIfNeeded: top >> Int64(8 * index)) }
        file.replaceSubrange(16..<20, with: Array("T-DB".utf8))
        file[20 + Int(slot)] = format
        file[23] = slot
        return file
    }
}
