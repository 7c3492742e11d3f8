// SPDX-License-Identifier: Apache-2.0
// The interpretation of a fuzzer's bytes: numbers, as long as there are any.

struct FuzzInput {
    private var bytes: UnsafeRawBufferPointer.SubSequence

    init(_ start: UnsafePointer<UInt8>?, _ count: Int) {
        bytes = UnsafeRawBufferPointer(start: start, count: count)[...]
    }

    var isEmpty: Bool { bytes.isEmpty }
    var rest: [UInt8] { Array(bytes) }

    mutating func byte() -> UInt8 { bytes.popFirst() ?? 0 }
    mutating func short() -> Int { Int(byte()) | Int(byte()) << 8 }

    /// Applies one change, at most eight bytes long, to the bytes from `start` to `end`.
    mutating func change(_ file: inout [UInt8], from start: Int, to end: Int) {
        let words: [UInt64] = [0, 1, .max, 1 << 31, 1 << 32, 1 << 63, 0x7fff_ffff_ffff_ffff, 0xffff_ffff, 0xffff]
        let at = start + short() % max(1, end - start - 8)
        let (operation, value) = (byte(), byte())
        switch operation % 5 {
        case 0: file[at] = value
        case 1: file[at] ^= 1 << (value % 8)
        case 2: file[at] = file[at] &+ value
        case 3:
            let word = words[Int(value) % words.count]
            for i in 0..<8 { file[at + i] = UInt8(truncatingIfNeeded: word >> UInt64(i * 8)) }
        default:
            let word = words[Int(value) % words.count]
            for i in 0..<4 { file[at + i] = UInt8(truncatingIfNeeded: word >> UInt64(i * 8)) }
        }
    }
}
