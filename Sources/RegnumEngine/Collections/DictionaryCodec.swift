// SPDX-License-Identifier: Apache-2.0
// The bytes of a dictionary in a var-bytes column: two lists of equal length. The empty dictionary has no bytes.
// The leaves of large dictionaries have the same form.
//
//   offset size  meaning
//        0    1  kind: 0 entries follow
//        1    3  zero
//        4    4  bytes of the keys k
//        8    k  the keys: a list of strings (ListCodec), ascending by their UTF-8 bytes, no duplicates
//        …       the values: a list of the column's type; nulls if the column or its links allow them

import RegnumSystem

package enum DictionaryCodec {
    static let headByteCount = 8

    static func encode(_ keys: [String], _ values: [Value], _ type: ColumnType) -> [UInt8] {
        if keys.isEmpty { return [] }
        let keyBytes = ListCodec.encode(keys.map { .string($0) }, .string)
        var out = [UInt8](repeating: 0, count: headByteCount)
        withUnsafeBytes(of: UInt32(keyBytes.count)) { out.replaceSubrange(4..<8, with: $0) }
        out.append(contentsOf: keyBytes)
        out.append(contentsOf: ListCodec.encode(values, type))
        return out
    }

    /// A validated view of a dictionary's bytes, valid as long as they are.
    package struct Reader {
        package let keys: ListCodec.Reader
        package let values: ListCodec.Reader

        init(keys: ListCodec.Reader, values: ListCodec.Reader) {
            self.keys = keys
            self.values = values
        }

        package init(_ bytes: UnsafeRawBufferPointer, _ type: ColumnType) throws(EngineError) {
            if bytes.isEmpty {
                keys = try ListCodec.Reader(bytes, .string)
                values = try ListCodec.Reader(bytes, type)
                return
            }
            guard bytes.count >= headByteCount, bytes[0] == 0 else { throw corrupted("a dictionary of unknown form") }
            let end = headByteCount + Int(bytes.loadUnaligned(fromByteOffset: 4, as: UInt32.self))
            guard end <= bytes.count else { throw corrupted("a dictionary is longer than its bytes") }
            keys = try ListCodec.Reader(UnsafeRawBufferPointer(rebasing: bytes[headByteCount..<end]), .string)
            values = try ListCodec.Reader(UnsafeRawBufferPointer(rebasing: bytes[end...]), type)
            guard keys.count == values.count else { throw corrupted("a dictionary's keys and values do not match") }
        }

        /// Returns the index of `key` among these entries, or the index at which it belongs.
        package func search(_ key: String) -> (index: Int, isFound: Bool) {
            LeafAccess.stored(StoredLeaf(keys: keys, values: values)).search(.key(key))
        }
    }
}
