// SPDX-License-Identifier: Apache-2.0
// Compares the directory of a table's groups with a search through all of them.

import Testing

@testable import RegnumEngine

struct GroupDirectoryTests {
    /// First keys of groups: consecutive, at random distances, all but one close together.
    private static func firstKeys(_ shape: Int, _ numbers: inout SplitMix) -> [UInt64] {
        switch shape {
        case 0: [7]
        case 1: (0..<100).map { 1 + $0 * 1024 }
        case 2: Array(Set((0..<300).map { _ in UInt64.random(in: 0 ... .max, using: &numbers) })).sorted()
        case 3: (0..<500).map { 1 + $0 } + [1 << 62]
        case 4: [1] + (0..<500).map { (1 << 60) + $0 * 3 }
        default: [0, .max]
        }
    }

    @Test(arguments: 0..<6) func `finds the group that a search finds, for any key`(shape: Int) {
        var numbers = SplitMix(state: UInt64(shape) + 1)
        let keys = Self.firstKeys(shape, &numbers)
        let directory = GroupDirectory(keys.map { ($0, .none, nil) })
        defer { directory.deallocate() }
        var asked: [UInt64] = [0, 1, .max, .max - 1, 1 << 63]
        for key in keys { asked += [key, key &- 1, key &+ 1] }
        for _ in 0..<500 { asked.append(UInt64.random(in: 0 ... .max, using: &numbers)) }
        for key in asked {
            let expected = keys.lastIndex { $0 <= key } ?? 0
            #expect(directory.index(of: key) == expected, "key \(key)")
        }
    }
}
