// SPDX-License-Identifier: Apache-2.0
// Columns of values of any type, up to format 9. Realm removed them in 2016, and its own upgrades turn the values into
// null.
//
//   refs of: types (tree of integers), data (tree of integers), binary values, dates; the last two may be missing
//   data is odd; x = data >> 1, as an unsigned number, is the value or an index in the binary values or the dates

internal import Foundation

extension NodeReader {
    /// All values of such a column. Texts are counted in `replacedTexts` when a value is read, not here.
    func oldMixedValues(_ root: Int) throws(RealmFileError) -> DecodedTexts {
        try cached(.mixed, root) { () throws(RealmFileError) in try decodeOldMixed(root) }
    }

    private func decodeOldMixed(_ root: Int) throws(RealmFileError) -> DecodedTexts {
        let before = replacedTexts
        defer { replacedTexts = before }
        let node = try node(root)
        let parts = try refs(node)
        guard parts.count >= 2, let kindRoot = try ref(parts[0], of: node), let dataRoot = try ref(parts[1], of: node)
        else {
            throw .damaged(root, "a column of values of any type lacks a part")
        }
        let kinds = try tree(kindRoot) { node throws(RealmFileError) in try integers(node) }
        let data = try tree(dataRoot) { node throws(RealmFileError) in try integers(node) }
        guard kinds.count == data.count else {
            throw .damaged(root, "values of any type have \(kinds.count) types and \(data.count) values")
        }
        var binaries: [RealmFileValue] = []
        if parts.count > 2, let ref = try ref(parts[2], of: node) {
            binaries = try tree(ref) { node throws(RealmFileError) in try binaryValues(binaryLeaf(node)) }
        }
        var dates: [RealmFileValue] = []
        if parts.count > 3, let ref = try ref(parts[3], of: node) {
            dates = try oldMixedDates(ref)
        }
        var values = DecodedTexts()
        for (kind, data) in zip(kinds, data) {
            let count = replacedTexts
            let value = try oldMixed(kind, data, binaries, dates, node)
            values.add(value, isReplaced: replacedTexts > count)
        }
        return values
    }

    private func oldMixedDates(_ root: Int) throws(RealmFileError) -> [RealmFileValue] {
        let column = FileColumn(
            type: .date, attributes: .nullable, index: 0, targetTable: nil, keyType: .string, internedRef: nil,
            rowColumns: [])
        var cursor = try LegacyColumn(self, column, root: root)
        var values: [RealmFileValue] = []
        while true {
            try cursor.fill(self)
            guard cursor.left > 0 else { return values }
            for row in 0..<cursor.left { values.append(try cursor.value(self, row)) }
            cursor.skip(cursor.left)
        }
    }

    private func oldMixed(
        _ kind: Int64, _ data: Int64, _ binaries: [RealmFileValue], _ dates: [RealmFileValue], _ node: Node
    ) throws(RealmFileError) -> RealmFileValue {
        let x = UInt64(bitPattern: data) >> 1
        func element(_ values: [RealmFileValue]) throws(RealmFileError) -> RealmFileValue {
            guard x < UInt64(values.count) else {
                throw .damaged(node.ref, "a value of any type lies outside of its column")
            }
            return values[Int(x)]
        }
        // The highest bit is stored in the type.
        let signed = x | 1 << 63
        switch kind {
        case 0: return .int(Int64(bitPattern: x))
        case 12: return .int(Int64(bitPattern: signed))
        case 1: return .bool(x != 0)
        case 2:
            guard case .data(let bytes) = try element(binaries) else { return .null }
            return .string(bytes.dropLast().withUnsafeBytes { string($0) })
        case 4: return try element(binaries)
        case 7: return .date(RealmFileDate(seconds: Int64(bitPattern: x), nanoseconds: 0))
        case 8: return try element(dates)
        case 9: return .float(Float(bitPattern: UInt32(truncatingIfNeeded: x)))
        case 10: return .double(Double(bitPattern: x))
        case 11: return .double(Double(bitPattern: signed))
        // A table with columns of its own; no version of Realm's SDKs could write one. Its rows are not read.
        case 5: return .rows([])
        default: throw .damaged(node.ref, "a value has the unknown type \(kind)")
        }
    }
}
