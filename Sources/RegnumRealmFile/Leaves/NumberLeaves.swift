// SPDX-License-Identifier: Apache-2.0
// Leaves of numbers, dates and identifiers. Each function decodes all values of one leaf.
//
//   integers         an array of integers
//   integers or null one more element, at the front: the value that represents null in this leaf
//   booleans         integers 0, 1, and 3 for null (formats up to 9: integers or null)
//   floats, doubles  4 or 8 bytes each; null is one of the NaN bit patterns
//   dates            refs of two arrays: seconds (integers or null), nanoseconds (integers)
//   ObjectIds, UUIDs groups of 8: a byte whose bit k marks element k as null, then up to 8 values
//   decimals         0, 4, 8 or 16 bytes each; with 0 bytes all are zero (context flag) or all are null

internal import Foundation

extension NodeReader {
    func integersOrNull(_ node: Node) throws(RealmFileError) -> [Int64?] {
        let stored = try integers(node)
        guard let null = stored.first else { throw .damaged(node.ref, "a leaf lacks the value that stands for null") }
        return stored.dropFirst().map { $0 == null ? nil : $0 }
    }

    func integerValues(_ node: Node, nullable: Bool) throws(RealmFileError) -> [RealmFileValue] {
        guard nullable else { return try integers(node).map { .int($0) } }
        return try integersOrNull(node).map { $0.map { .int($0) } ?? .null }
    }

    func boolValues(_ node: Node) throws(RealmFileError) -> [RealmFileValue] {
        try integers(node).map { $0 == 3 ? .null : .bool($0 != 0) }
    }

    func floatValues(_ node: Node) throws(RealmFileError) -> [RealmFileValue] {
        try checkBytes(node, 4)
        let bytes = try elements(node)
        return (0..<node.count).map { index in
            let bits = UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: index * 4, as: UInt32.self))
            return bits == 0x7fc0_00aa ? .null : .float(Float(bitPattern: bits))
        }
    }

    func doubleValues(_ node: Node) throws(RealmFileError) -> [RealmFileValue] {
        try checkBytes(node, 8)
        let bytes = try elements(node)
        return (0..<node.count).map { index in
            let bits = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: index * 8, as: UInt64.self))
            return bits == 0x7ff8_0000_0000_00aa ? .null : .double(Double(bitPattern: bits))
        }
    }

    func dateValues(_ node: Node) throws(RealmFileError) -> [RealmFileValue] {
        let parts = try refs(node)
        guard parts.count >= 2 else { throw .damaged(node.ref, "a leaf of dates lacks a part") }
        let seconds = try integersOrNull(self.node(parts[0], of: node))
        let nanoseconds = try integers(self.node(parts[1], of: node))
        return try dates(seconds, nanoseconds, node)
    }

    func dates(
        _ seconds: [Int64?], _ nanoseconds: [Int64], _ node: Node
    ) throws(RealmFileError) -> [RealmFileValue] {
        guard seconds.count == nanoseconds.count else {
            throw .damaged(node.ref, "dates have \(seconds.count) seconds and \(nanoseconds.count) nanoseconds")
        }
        var values: [RealmFileValue] = []
        values.reserveCapacity(seconds.count)
        for (second, nanosecond) in zip(seconds, nanoseconds) {
            values.append(
                try second.map { second throws(RealmFileError) in try date(second, nanosecond, node) } ?? .null)
        }
        return values
    }

    func date(_ seconds: Int64, _ nanoseconds: Int64, _ node: Node) throws(RealmFileError) -> RealmFileValue {
        guard nanoseconds.magnitude < 1_000_000_000 else {
            throw .damaged(node.ref, "a date has \(nanoseconds) nanoseconds")
        }
        return .date(RealmFileDate(seconds: seconds, nanoseconds: Int32(nanoseconds)))
    }

    func objectIdValues(_ node: Node) throws(RealmFileError) -> [RealmFileValue] {
        try fixedValues(node, byteCount: 12) { .objectId(RealmFileObjectId($0)) }
    }

    func uuidValues(_ node: Node) throws(RealmFileError) -> [RealmFileValue] {
        try fixedValues(node, byteCount: 16) { .uuid(Self.uuid($0)) }
    }

    static func uuid(_ bytes: UnsafeRawPointer) -> UUID { UUID(uuid: bytes.loadUnaligned(as: uuid_t.self)) }

    private func fixedValues(
        _ node: Node, byteCount: Int, _ value: (UnsafeRawPointer) -> RealmFileValue
    ) throws(RealmFileError) -> [RealmFileValue] {
        guard node.widthKind == .bytes, node.width == 1 || node.count == 0 else {
            throw .damaged(node.ref, "a leaf of identifiers has an unexpected layout")
        }
        let group = byteCount * 8 + 1
        let rest = node.count % group
        guard rest == 0 || (rest > 1 && (rest - 1) % byteCount == 0) else {
            throw .damaged(node.ref, "a leaf of identifiers ends within one")
        }
        let count = node.count / group * 8 + (rest == 0 ? 0 : (rest - 1) / byteCount)
        let bytes = try elements(node)
        return (0..<count).map { index in
            let start = bytes + index / 8 * group
            let isNull = start.load(as: UInt8.self) >> UInt8(index % 8) & 1 == 1
            return isNull ? .null : value(start + 1 + index % 8 * byteCount)
        }
    }

    func decimalValues(_ node: Node) throws(RealmFileError) -> [RealmFileValue] {
        guard node.widthKind == .bytes else { throw .damaged(node.ref, "a leaf of decimals has an unexpected layout") }
        if node.width == 0 { return Array(repeating: node.context ? .decimal(.zero) : .null, count: node.count) }
        guard let coding = DecimalCoding.of(byteCount: node.width) else {
            throw .damaged(node.ref, "a leaf has decimals of \(node.width) bytes")
        }
        let bytes = try elements(node)
        return (0..<node.count).map { index in
            let start = bytes + index * coding.byteCount
            let (high, low): (UInt64, UInt64) =
                switch coding.byteCount {
                case 4: (0, UInt64(UInt32(littleEndian: start.loadUnaligned(as: UInt32.self))))
                case 8: (0, UInt64(littleEndian: start.loadUnaligned(as: UInt64.self)))
                default:
                    (
                        UInt64(littleEndian: start.loadUnaligned(fromByteOffset: 8, as: UInt64.self)),
                        UInt64(littleEndian: start.loadUnaligned(as: UInt64.self))
                    )
                }
            return coding.decode(high: high, low: low).map { .decimal($0) } ?? .null
        }
    }

    private func checkBytes(_ node: Node, _ width: Int) throws(RealmFileError) {
        guard node.widthKind == .bytes, node.width == width || node.count == 0 else {
            throw .damaged(node.ref, "a leaf of numbers of \(width) bytes has an unexpected layout")
        }
    }
}
