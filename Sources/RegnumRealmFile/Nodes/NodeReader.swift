// SPDX-License-Identifier: Apache-2.0
// Reads nodes and arrays of integers. No byte of the file is trusted: every inconsistency is thrown as an error.
//
// Work is bounded: each node that is read is charged to a budget, which a file without cycles and without shared nodes
// never exhausts. See `WorkBudget`.

/// A limit on the bytes that reading may cost. In a valid file each node has one owner, so a scan reads no byte twice;
/// a hostile file can refer to one node many times.
final class WorkBudget {
    /// The bytes that may still be read.
    private var left: Int
    /// The bytes of elements of width 0 that may still be made. They take no bytes of the file, and a valid leaf of
    /// 1,000 zeros takes 8 bytes there and 8,000 in memory.
    private(set) var emptyLeft: Int

    /// A scan reads some nodes for several values, so it may cost several times the size of a valid file.
    init(fileByteCount: Int) {
        left = 16 * fileByteCount + (4 << 20)
        emptyLeft = 1024 * fileByteCount + (1 << 20)
    }

    @inline(__always)
    func charge(_ node: Node) throws(RealmFileError) {
        if node.width == 0, node.widthKind != .plain { emptyLeft -= node.count * 8 }
        try charge(Node.headerByteCount + node.byteCount, node.ref)
    }

    /// Charges bytes of a node that are read once more.
    @inline(__always)
    func charge(_ byteCount: Int, _ ref: Int) throws(RealmFileError) {
        left -= byteCount
        if left < 0 || emptyLeft < 0 {
            throw .damaged(ref, "nodes of the file refer to each other in a cycle, or have several owners")
        }
    }
}

/// Reads the nodes of one file. One thread at a time.
final class NodeReader {
    /// The maximum depth of a tree: 64 levels of 2 children would have more nodes than a file has bytes.
    static let depthLimit = 64

    /// The maximum number of elements of a node whose elements take no bytes. Realm's own leaves have at most 1,000.
    private static let emptyElementLimit = 1 << 16

    /// The maximum number of elements in one collection. They are in memory at once, so the limit grows with the file.
    /// An element takes at least one bit of the file, unless it is one of `emptyElementLimit`.
    var elementLimit: Int { (1 << 20) + 8 * bytes.byteCount }

    /// The maximum number of elements without bytes in the leaves of one collection.
    private var collectionEmptyLimit: Int { (1 << 20) + bytes.byteCount }

    /// The `WorkBudget.emptyLeft` below which a collection that begins now has too many elements without bytes.
    func emptyBound() -> Int { budget.emptyLeft - 8 * collectionEmptyLimit }

    let bytes: FileBytes
    /// Set at the start of each scan or lookup.
    var budget: WorkBudget
    /// The number of texts read so far in which invalid UTF-8 was replaced by U+FFFD. A text that is decoded in advance
    /// is counted each time it is read.
    var replacedTexts = 0
    /// The number of links read so far whose target was deleted on another device. They are read as null, and are left
    /// out of lists and sets.
    var deletedLinks = 0

    private struct DecodedColumn: Hashable {
        let type: FileType
        let root: Int
    }
    /// The values of columns that are decoded in advance, and their number. See `cached`.
    private var decodedTexts: [DecodedColumn: DecodedTexts] = [:]
    private var decodedTextCount = 0
    private static let decodedTextLimit = 1 << 20

    init(_ bytes: FileBytes) {
        self.bytes = bytes
        budget = WorkBudget(fileByteCount: bytes.byteCount)
    }

    /// The text of those bytes; see `replacedTexts`.
    func string(_ bytes: UnsafeRawBufferPointer) -> String {
        var text = String(decoding: bytes, as: UTF8.self)
        let isExact = text.withUTF8 { $0.elementsEqual(bytes) }
        if !isExact { replacedTexts += 1 }
        return text
    }

    /// The decoded values of the column with that root. `decode` makes them the first time: each object to which a link
    /// leads needs them.
    func cached(
        _ type: FileType, _ root: Int, _ decode: () throws(RealmFileError) -> DecodedTexts
    ) throws(RealmFileError) -> DecodedTexts {
        let column = DecodedColumn(type: type, root: root)
        if let texts = decodedTexts[column] { return texts }
        let texts = try decode()
        if decodedTextCount + texts.values.count > Self.decodedTextLimit {
            decodedTexts = [:]
            decodedTextCount = 0
        }
        decodedTexts[column] = texts
        decodedTextCount += texts.values.count
        return texts
    }

    // MARK: Nodes

    func node(_ ref: Int) throws(RealmFileError) -> Node {
        guard ref > 0, ref % 8 == 0, ref >= RealmFileHeader.byteCount, ref <= bytes.byteCount - Node.headerByteCount
        else {
            throw .damaged(ref, "a reference does not point to a node")
        }
        let node = try Node(ref: ref, bytes.pointer(at: ref, count: Node.headerByteCount))
        guard node.byteCount <= bytes.byteCount - node.start else {
            throw .damaged(ref, "the node is longer than the file")
        }
        guard node.width > 0 || node.widthKind == .plain || node.count <= Self.emptyElementLimit else {
            throw .damaged(ref, "a node has \(node.count) elements without bytes")
        }
        try budget.charge(node)
        return node
    }

    /// The node referred to by an element of an array of refs.
    func node(_ element: Int64, of parent: Node) throws(RealmFileError) -> Node {
        guard element > 0, element & 1 == 0, let ref = Int(exactly: element) else {
            throw .damaged(parent.ref, "an element of the node is not a reference")
        }
        return try node(ref)
    }

    /// The bytes of the elements, valid until the next `trim()`.
    @inline(__always)
    func elements(_ node: Node) throws(RealmFileError) -> UnsafeRawPointer {
        try bytes.pointer(at: node.start, count: node.byteCount)
    }

    // MARK: Integers

    /// All integers of an array. Widths below 8 bits are unsigned, others are signed unless `isUnsigned`.
    func integers(_ node: Node, isUnsigned: Bool = false) throws(RealmFileError) -> [Int64] {
        try checkBits(node)
        guard node.width > 0 else { return Array(repeating: 0, count: node.count) }
        let source = try elements(node)
        return Array(unsafeUninitializedCapacity: node.count) { target, count in
            count = node.count
            switch (node.width, isUnsigned) {
            case (8, false): Self.widen(source, node.count, target, Int8.self)
            case (16, false): Self.widen(source, node.count, target, Int16.self)
            case (32, false): Self.widen(source, node.count, target, Int32.self)
            case (8, true): Self.widen(source, node.count, target, UInt8.self)
            case (16, true): Self.widen(source, node.count, target, UInt16.self)
            case (32, true): Self.widen(source, node.count, target, UInt32.self)
            case (64, _): Self.widen(source, node.count, target, Int64.self)
            default:
                for index in 0..<node.count {
                    target.initializeElement(at: index, to: Self.narrow(source, node.width, index))
                }
            }
        }
    }

    func integers(at ref: Int, isUnsigned: Bool = false) throws(RealmFileError) -> [Int64] {
        try integers(node(ref), isUnsigned: isUnsigned)
    }

    /// One integer of an array.
    func integer(_ node: Node, _ index: Int) throws(RealmFileError) -> Int64 {
        try checkBits(node)
        guard index >= 0, index < node.count else { throw .damaged(node.ref, "the node has no element \(index)") }
        let source = try elements(node)
        switch node.width {
        case 0: return 0
        case 8: return Int64(source.load(fromByteOffset: index, as: Int8.self))
        case 16: return Int64(Int16(littleEndian: source.loadUnaligned(fromByteOffset: index * 2, as: Int16.self)))
        case 32: return Int64(Int32(littleEndian: source.loadUnaligned(fromByteOffset: index * 4, as: Int32.self)))
        case 64: return Int64(littleEndian: source.loadUnaligned(fromByteOffset: index * 8, as: Int64.self))
        default: return Self.narrow(source, node.width, index)
        }
    }

    private func checkBits(_ node: Node) throws(RealmFileError) {
        guard node.widthKind == .bits else { throw .damaged(node.ref, "the node holds no integers") }
    }

    private static func narrow(_ source: UnsafeRawPointer, _ width: Int, _ index: Int) -> Int64 {
        let perByte = 8 / width
        let byte = source.load(fromByteOffset: index / perByte, as: UInt8.self)
        return Int64(byte >> UInt8(index % perByte * width) & (1 << UInt8(width) - 1))
    }

    private static func widen<Stored: FixedWidthInteger>(
        _ source: UnsafeRawPointer, _ count: Int, _ target: UnsafeMutableBufferPointer<Int64>, _ type: Stored.Type
    ) {
        for index in 0..<count {
            let value = source.loadUnaligned(fromByteOffset: index * MemoryLayout<Stored>.size, as: Stored.self)
            target.initializeElement(at: index, to: Int64(truncatingIfNeeded: Stored(littleEndian: value)))
        }
    }

    // MARK: Refs and tagged integers

    /// The elements of an array of refs.
    func refs(_ node: Node) throws(RealmFileError) -> [Int64] {
        guard node.hasRefs else { throw .damaged(node.ref, "the node holds no references") }
        return try integers(node)
    }

    func refs(at ref: Int) throws(RealmFileError) -> [Int64] { try refs(node(ref)) }

    /// The ref in an element; nil if the element is 0.
    func ref(_ element: Int64, of parent: Node) throws(RealmFileError) -> Int? {
        if element == 0 { return nil }
        guard element > 0, element & 1 == 0 else {
            throw .damaged(parent.ref, "an element of the node is not a reference")
        }
        return Int(element)
    }

    /// The integer in a tagged element.
    func tagged(_ element: Int64, of parent: Node) throws(RealmFileError) -> Int64 {
        guard element & 1 == 1 else { throw .damaged(parent.ref, "an element of the node is not an integer") }
        return Int64(bitPattern: UInt64(bitPattern: element) >> 1)
    }
}
