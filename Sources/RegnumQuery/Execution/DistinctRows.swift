// SPDX-License-Identifier: Apache-2.0
// Finds the first row of each distinct value, using a hash table over the same levels that sorting extracts.

import RegnumEngine

struct DistinctRows {
    private let levels: [SortLevel]
    /// The row number + 1, or 0 for an empty slot.
    private var table: [Int32]
    private var hashes: [UInt64]
    private var used = 0
    /// A random factor, so that stored values cannot be chosen to collide.
    private let factor = ValueHash.factor

    init(_ levels: [SortLevel]) {
        self.levels = levels
        table = [Int32](repeating: 0, count: 1024)
        hashes = [UInt64](repeating: 0, count: 1024)
    }

    /// The numbers of the rows that are not equal to an earlier row; `rows` are ascending. O(rows).
    static func firsts(_ levels: [SortLevel], among rows: [Int]) -> [Int] {
        var set = DistinctRows(levels)
        var kept: [Int] = []
        for row in rows where set.insert(row) { kept.append(row) }
        return kept
    }

    /// Inserts a row; returns false if an earlier row is equal.
    mutating func insert(_ row: Int) -> Bool {
        let hash = hash(row)
        var place = Int(truncatingIfNeeded: hash) & (table.count &- 1)
        while table[place] != 0 {
            if hashes[place] == hash, isEqual(Int(table[place]) &- 1, row) { return false }
            place = (place &+ 1) & (table.count &- 1)
        }
        table[place] = Int32(truncatingIfNeeded: row &+ 1)
        hashes[place] = hash
        used += 1
        if used * 2 > table.count { grow() }
        return true
    }

    /// The bytes in use in addition to the levels: at most 48 for each distinct row, and 12 KiB. For tests.
    var byteCount: Int {
        table.count * MemoryLayout<Int32>.stride + hashes.count * MemoryLayout<UInt64>.stride
    }

    /// See `ValueHash.longestRun`. O(rows).
    var longestRun: Int { ValueHash.longestRun(table.map { $0 != 0 }) }

    private mutating func grow() {
        let (oldTable, oldHashes) = (table, hashes)
        table = [Int32](repeating: 0, count: oldTable.count * 2)
        hashes = [UInt64](repeating: 0, count: table.count)
        for index in oldTable.indices where oldTable[index] != 0 {
            var place = Int(truncatingIfNeeded: oldHashes[index]) & (table.count &- 1)
            while table[place] != 0 { place = (place &+ 1) & (table.count &- 1) }
            table[place] = oldTable[index]
            hashes[place] = oldHashes[index]
        }
    }

    private func hash(_ row: Int) -> UInt64 {
        var hash = factor
        for level in levels {
            switch level {
            case .words(let words): hash = mix(hash, words[row])
            case .texts(let texts, _):
                let text = texts[row]
                var offset = 0
                while offset &+ 8 <= text.count {
                    hash = mix(hash, text.address.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
                    offset &+= 8
                }
                var tail = UInt64(truncatingIfNeeded: text.count) &<< 56
                while offset < text.count {
                    tail = tail &<< 8 ^ UInt64(text.address.load(fromByteOffset: offset, as: UInt8.self))
                    offset &+= 1
                }
                hash = mix(hash, tail)
            }
        }
        return hash ^ hash &>> 29
    }

    @inline(__always)
    private func mix(_ hash: UInt64, _ word: UInt64) -> UInt64 {
        let product = (hash ^ word).multipliedFullWidth(by: factor)
        return product.high ^ product.low
    }

    private func isEqual(_ a: Int, _ b: Int) -> Bool {
        for level in levels {
            switch level {
            case .words(let words): if words[a] != words[b] { return false }
            case .texts(let texts, _):
                guard texts[a].count == texts[b].count,
                    BytesMatch.compare(
                        UnsafeRawBufferPointer(start: texts[a].address, count: texts[a].count),
                        UnsafeRawBufferPointer(start: texts[b].address, count: texts[b].count)) == 0
                else { return false }
            }
        }
        return true
    }
}
