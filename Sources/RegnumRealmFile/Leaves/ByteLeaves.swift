// SPDX-License-Identifier: Apache-2.0
// Leaves of strings and of binary values. The layout of a leaf follows from its node:
//
//   short     no refs, width counts bytes: blocks of `width` bytes. The last byte p of a block is the padding: if p is
//             `width`, the value is null (empty if null is impossible), else the string has width - 1 - p bytes.
//             Strings only.
//   interned  no refs, width counts bits: indexes into a list of strings that the column keeps. Strings only.
//   medium    refs of: end offsets, bytes, null flags. The context flag is clear.
//   big       a ref of a blob for each value, 0 for null. The context flag is set.
//
// A string in a medium or big leaf ends with a zero byte that is not part of its value. From format 10 on, the null
// flag of a string is 1 for null; up to format 9 it is 0 for null. Null flags of binary values are 1 for null in all
// formats.

internal import Foundation

/// Texts that are decoded in advance, before their values are read.
struct DecodedTexts {
    var values: [RealmFileValue] = []
    /// The indexes of the texts in which invalid UTF-8 was replaced.
    var replaced: Set<Int> = []

    mutating func add(_ value: RealmFileValue, isReplaced: Bool) {
        if isReplaced { replaced.insert(values.count) }
        values.append(value)
    }
}

/// The values of a leaf, whose bytes are decoded on access. It holds refs only.
enum ByteLeaf {
    case short(Node, nullable: Bool)
    case interned([Int64], texts: DecodedTexts)
    case medium(ends: [Int64], blob: Node, nulls: [Int64]?, nullMark: Bool)
    case big(refs: [Int64], Node)

    var count: Int {
        switch self {
        case .short(let node, _): node.count
        case .interned(let indexes, _): indexes.count
        case .medium(let ends, _, _, _): ends.count
        case .big(let refs, _): refs.count
        }
    }
}

extension NodeReader {
    /// A leaf of strings. `nullable` affects short leaves only. `interned` is the column's list of strings, if it has
    /// one.
    func textLeaf(
        _ node: Node, nullable: Bool, isLegacy: Bool, interned: DecodedTexts? = nil
    ) throws(RealmFileError) -> ByteLeaf {
        if node.hasRefs { return try refLeaf(node, nullMark: !isLegacy) }
        if node.widthKind == .bits, let interned { return try .interned(integers(node), texts: interned) }
        guard node.widthKind == .bytes || node.count == 0 else {
            throw .damaged(node.ref, "a leaf of texts has an unexpected layout")
        }
        return .short(node, nullable: nullable)
    }

    /// A leaf of binary values.
    func binaryLeaf(_ node: Node) throws(RealmFileError) -> ByteLeaf {
        if !node.hasRefs, node.count == 0 { return .big(refs: [], node) }
        return try refLeaf(node, nullMark: true)
    }

    private func refLeaf(_ node: Node, nullMark: Bool) throws(RealmFileError) -> ByteLeaf {
        let parts = try refs(node)
        if node.context { return .big(refs: parts, node) }
        guard parts.count == 2 || parts.count == 3 else { throw .damaged(node.ref, "a leaf of bytes lacks a part") }
        let ends = try integers(self.node(parts[0], of: node))
        let blob = try self.node(parts[1], of: node)
        guard blob.widthKind == .plain || blob.count == 0 else {
            throw .damaged(blob.ref, "the bytes of a leaf have an unexpected layout")
        }
        var last: Int64 = 0
        for end in ends {
            guard end >= last, end <= blob.count else {
                throw .damaged(node.ref, "values of a leaf lie outside of its bytes")
            }
            last = end
        }
        var nulls: [Int64]?
        if parts.count == 3, parts[2] != 0 {
            let marks = try integers(self.node(parts[2], of: node))
            guard marks.count == ends.count else {
                throw .damaged(node.ref, "a leaf has \(marks.count) null flags for \(ends.count) values")
            }
            nulls = marks
        }
        return .medium(ends: ends, blob: blob, nulls: nulls, nullMark: nullMark)
    }

    /// Calls `body` with the bytes of value `index`, without the final zero byte of a string; nil for null.
    func withBytes<Result>(
        _ leaf: ByteLeaf, _ index: Int, isText: Bool, _ body: (UnsafeRawBufferPointer?) -> Result
    ) throws(RealmFileError) -> Result {
        switch leaf {
        case .short(let node, let nullable):
            guard node.width > 0 else { return body(nullable ? nil : UnsafeRawBufferPointer(start: nil, count: 0)) }
            let block = try elements(node) + index * node.width
            let padding = Int(block.load(fromByteOffset: node.width - 1, as: UInt8.self))
            if padding == node.width { return body(nullable ? nil : UnsafeRawBufferPointer(start: nil, count: 0)) }
            guard padding < node.width else {
                throw .damaged(node.ref, "a text of a leaf has more padding than its \(node.width) bytes")
            }
            return body(UnsafeRawBufferPointer(start: block, count: node.width - 1 - padding))
        case .interned:
            preconditionFailure("interned texts have no bytes of their own")
        case .medium(let ends, let blob, let nulls, let nullMark):
            if let nulls, (nulls[index] != 0) == nullMark { return body(nil) }
            let start = index == 0 ? 0 : Int(ends[index - 1])
            let count = Int(ends[index]) - start
            return body(try cut(elements(blob) + start, count, isText, blob))
        case .big(let refs, let node):
            guard let ref = try ref(refs[index], of: node) else { return body(nil) }
            return try withBlob(ref) { bytes throws(RealmFileError) in
                try body(cut(bytes.baseAddress, bytes.count, isText, node))
            }
        }
    }

    /// The bytes of a string without the final zero byte.
    private func cut(
        _ start: UnsafeRawPointer?, _ count: Int, _ isText: Bool, _ node: Node
    ) throws(RealmFileError) -> UnsafeRawBufferPointer {
        guard isText else { return UnsafeRawBufferPointer(start: start, count: count) }
        guard count > 0 else { throw .damaged(node.ref, "a text lacks the zero byte at its end") }
        return UnsafeRawBufferPointer(start: start, count: count - 1)
    }

    /// Calls `body` with the bytes of a blob, which are in one node or in several consecutive ones.
    private func withBlob<Result>(
        _ ref: Int, _ body: (UnsafeRawBufferPointer) throws(RealmFileError) -> Result
    ) throws(RealmFileError) -> Result {
        let root = try node(ref)
        guard root.context else { return try body(plainBytes(root)) }
        var joined = Data()
        for part in try refs(root) {
            let node = try node(part, of: root)
            guard !node.context else { throw .damaged(node.ref, "the parts of a long value have parts themselves") }
            joined.append(contentsOf: try plainBytes(node))
        }
        // Data does not rethrow typed errors.
        var result: Swift.Result<Result, RealmFileError>?
        joined.withUnsafeBytes { bytes in
            do throws(RealmFileError) { result = .success(try body(bytes)) } catch { result = .failure(error) }
        }
        return try result!.get()
    }

    private func plainBytes(_ node: Node) throws(RealmFileError) -> UnsafeRawBufferPointer {
        guard node.widthKind == .plain else { throw .damaged(node.ref, "a long value has an unexpected layout") }
        return try UnsafeRawBufferPointer(start: elements(node), count: node.count)
    }

    // MARK: Values

    func text(_ leaf: ByteLeaf, _ index: Int) throws(RealmFileError) -> RealmFileValue {
        if case .interned(let indexes, let texts) = leaf {
            guard let place = Int(exactly: indexes[index]), texts.values.indices.contains(place) else {
                throw RealmFileError(.damaged, "an interned text is not one of the \(texts.values.count) of its column")
            }
            if texts.replaced.contains(place) { replacedTexts += 1 }
            return texts.values[place]
        }
        return try withBytes(leaf, index, isText: true) { bytes in
            bytes.map { .string(string($0)) } ?? .null
        }
    }

    func binary(_ leaf: ByteLeaf, _ index: Int) throws(RealmFileError) -> RealmFileValue {
        try withBytes(leaf, index, isText: false) { bytes in bytes.map { .data(Data($0)) } ?? .null }
    }

    func textValues(_ leaf: ByteLeaf) throws(RealmFileError) -> [RealmFileValue] {
        var values: [RealmFileValue] = []
        values.reserveCapacity(leaf.count)
        for index in 0..<leaf.count { values.append(try text(leaf, index)) }
        return values
    }

    /// The list of interned texts of a column. They are counted in `replacedTexts` when a value is read, not here.
    func internedTexts(root: Int, nullable: Bool, isLegacy: Bool) throws(RealmFileError) -> DecodedTexts {
        try cached(.internedString, root) { () throws(RealmFileError) in
            try decodeTexts(root: root, nullable: nullable, isLegacy: isLegacy)
        }
    }

    private func decodeTexts(root: Int, nullable: Bool, isLegacy: Bool) throws(RealmFileError) -> DecodedTexts {
        let before = replacedTexts
        defer { replacedTexts = before }
        let elements = try tree(root) { node throws(RealmFileError) in
            let leaf = try textLeaf(node, nullable: nullable, isLegacy: isLegacy)
            var elements: [(RealmFileValue, isReplaced: Bool)] = []
            for index in 0..<leaf.count {
                let count = replacedTexts
                let value = try text(leaf, index)
                elements.append((value, replacedTexts > count))
            }
            return elements
        }
        var texts = DecodedTexts()
        for (value, isReplaced) in elements { texts.add(value, isReplaced: isReplaced) }
        return texts
    }

    func binaryValues(_ leaf: ByteLeaf) throws(RealmFileError) -> [RealmFileValue] {
        var values: [RealmFileValue] = []
        values.reserveCapacity(leaf.count)
        for index in 0..<leaf.count { values.append(try binary(leaf, index)) }
        return values
    }

    /// The names in a leaf without nulls, such as those of tables and columns.
    func names(_ node: Node) throws(RealmFileError) -> [String] {
        let leaf = try textLeaf(node, nullable: false, isLegacy: false)
        return try textValues(leaf).map { if case .string(let name) = $0 { name } else { "" } }
    }
}
