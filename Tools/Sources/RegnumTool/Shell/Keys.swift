// SPDX-License-Identifier: Apache-2.0
// The keys that a terminal sends, as bytes and escape sequences.

enum Key: Equatable {
    case text(String)
    case enter, tab, backspace, delete
    case left, right, up, down, home, end, previousWord, nextWord
    case deleteToEnd, deleteToStart, deleteWord, clearScreen
    /// Control-C.
    case cancel
    /// Control-D: deletes a character, or ends the input on an empty line.
    case deleteOrEnd
    case unknown
    /// The input has ended.
    case closed
}

/// Reads keys from bytes. `next` returns the next byte, and nil at the end of the input.
struct KeyReader {
    let next: () -> UInt8?

    func read() -> Key {
        guard let byte = next() else { return .closed }
        switch byte {
        case 0x0d, 0x0a: return .enter
        case 0x09: return .tab
        case 0x7f, 0x08: return .backspace
        case 0x01: return .home
        case 0x02: return .left
        case 0x03: return .cancel
        case 0x04: return .deleteOrEnd
        case 0x05: return .end
        case 0x06: return .right
        case 0x0b: return .deleteToEnd
        case 0x0c: return .clearScreen
        case 0x0e: return .down
        case 0x10: return .up
        case 0x15: return .deleteToStart
        case 0x17: return .deleteWord
        case 0x1b: return escape()
        case 0..<0x20: return .unknown
        case 0..<0x80: return .text(String(UnicodeScalar(byte)))
        default: return character(byte)
        }
    }

    /// A character of several bytes in UTF-8.
    private func character(_ first: UInt8) -> Key {
        let count = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : first >= 0xc0 ? 1 : 0
        var bytes = [first]
        for _ in 0..<count {
            guard let byte = next() else { return .closed }
            bytes.append(byte)
        }
        return String(validating: bytes, as: UTF8.self).map { .text($0) } ?? .unknown
    }

    private func escape() -> Key {
        guard let byte = next() else { return .closed }
        switch byte {
        case UInt8(ascii: "b"): return .previousWord
        case UInt8(ascii: "f"): return .nextWord
        case 0x7f: return .deleteWord
        case UInt8(ascii: "["), UInt8(ascii: "O"): return sequence()
        default: return .unknown
        }
    }

    private func sequence() -> Key {
        var parameters = ""
        while let byte = next() {
            guard byte >= 0x40 else {
                parameters.append(Character(UnicodeScalar(byte)))
                continue
            }
            switch (byte, parameters) {
            case (UInt8(ascii: "A"), _): return .up
            case (UInt8(ascii: "B"), _): return .down
            case (UInt8(ascii: "C"), "1;5"), (UInt8(ascii: "C"), "1;3"): return .nextWord
            case (UInt8(ascii: "D"), "1;5"), (UInt8(ascii: "D"), "1;3"): return .previousWord
            case (UInt8(ascii: "C"), _): return .right
            case (UInt8(ascii: "D"), _): return .left
            case (UInt8(ascii: "H"), _), (UInt8(ascii: "~"), "1"), (UInt8(ascii: "~"), "7"): return .home
            case (UInt8(ascii: "F"), _), (UInt8(ascii: "~"), "4"), (UInt8(ascii: "~"), "8"): return .end
            case (UInt8(ascii: "~"), "3"): return .delete
            default: return .unknown
            }
        }
        return .closed
    }
}
