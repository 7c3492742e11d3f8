// SPDX-License-Identifier: Apache-2.0
// Splits a text into the words of the full-text index. The content of files depends on these rules: other rules need a
// required feature of their own (`Catalog.swift`), so that versions that do not know it refuse the file, and versions
// that do rebuild the indexes of files without that feature.
//
// - A word is a run of letters, marks, numbers and underscores that contains a letter or number.
// - Between letters an apostrophe belongs to the word ("can't"), between digits a point or comma ("3.14").
// - Characters of scripts written without spaces (Chinese, Hiragana, Thai, Lao, Khmer, Burmese ...) are words of their
//   own, with the marks that follow them; a search for several of them is a phrase search.
// - Words are folded: canonical decomposition, marks dropped, lower case, one apostrophe for both.
// - Only the first 240 bytes of a word count; words after the 65,535th of a text share its position.
// As in Unicode's word boundaries (UAX #29), except that points between letters, and colons, separate words here: a
// part of "example.com" is found.

import RegnumSystem

package enum TextWords {
    /// The bytes of a folded word that count.
    package static let byteCount = 240
    /// The last position in the index; later words share it.
    package static let lastPlace = 65_535

    private enum Kind {
        case other, letter, digit, mark, connector, sign, apostrophe, point
    }

    /// Calls `body` with each folded word and its byte range in the text until it returns false. Returns false if it
    /// was stopped. Invalid UTF-8 separates words. O(length).
    @discardableResult
    package static func forEach(
        in text: UnsafeRawBufferPointer,
        _ body: (UnsafeRawBufferPointer, Range<Int>) throws(EngineError) -> Bool
    ) throws(EngineError) -> Bool {
        let scratch = UnsafeMutableRawBufferPointer.allocate(byteCount: byteCount, alignment: 8)
        defer { scratch.deallocate() }
        var place = 0
        while place < text.count {
            let (kind, length) = kind(text, place)
            guard kind == .letter || kind == .digit || kind == .sign || kind == .connector else {
                place += length
                continue
            }
            let (end, isWord, isASCII) = endOfWord(text, place, kind, length)
            defer { place = end }
            guard isWord else { continue }
            if isASCII {
                let count = min(end - place, byteCount)
                for i in 0..<count {
                    let byte = text[place + i]
                    scratch[i] = byte &- 0x41 < 26 ? byte &+ 32 : byte
                }
                guard try body(UnsafeRawBufferPointer(rebasing: scratch[..<count]), place..<end) else { return false }
            } else {
                let count = fold(UnsafeRawBufferPointer(rebasing: text[place..<end]), into: scratch)
                if count == 0 { continue }
                guard try body(UnsafeRawBufferPointer(rebasing: scratch[..<count]), place..<end) else { return false }
            }
        }
        return true
    }

    /// Returns the folded words of a text.
    package static func words(_ text: String) -> [[UInt8]] {
        var words: [[UInt8]] = []
        var text = text
        text.withUTF8 { bytes in
            do throws(EngineError) {
                try forEach(in: UnsafeRawBufferPointer(bytes)) { word, _ in
                    words.append([UInt8](word))
                    return true
                }
            } catch {
                preconditionFailure("nothing throws here: \(error)")
            }
        }
        return words
    }

    /// Returns the end of the run that begins at `start`; `isWord` is true if it contains a letter or number.
    private static func endOfWord(
        _ text: UnsafeRawBufferPointer, _ start: Int, _ first: Kind, _ length: Int
    ) -> (end: Int, isWord: Bool, isASCII: Bool) {
        var end = start + length
        var last = first
        var isWord = first != .connector
        var isASCII = length == 1
        while end < text.count {
            let (kind, length) = kind(text, end)
            switch kind {
            case .mark: break
            case .letter, .digit, .connector:
                if first == .sign { return (end, true, isASCII) }
                isWord = isWord || kind != .connector
                last = kind
            case .apostrophe, .point:
                let needed: Kind = kind == .apostrophe ? .letter : .digit
                guard last == needed, end + length < text.count,
                    self.kind(text, end + length).kind == needed
                else { return (end, isWord, isASCII) }
            case .sign, .other: return (end, isWord, isASCII)
            }
            if length > 1 { isASCII = false }
            end += length
        }
        return (end, isWord, isASCII)
    }

    // MARK: Characters

    @inline(__always)
    private static func kind(_ text: UnsafeRawBufferPointer, _ place: Int) -> (kind: Kind, length: Int) {
        let byte = text[place]
        if byte < 0x80 {
            switch byte {
            case 0x61...0x7A, 0x41...0x5A: return (.letter, 1)
            case 0x30...0x39: return (.digit, 1)
            case 0x5F: return (.connector, 1)
            case 0x27: return (.apostrophe, 1)
            case 0x2C, 0x2E: return (.point, 1)
            default: return (.other, 1)
            }
        }
        return wideKind(text, place)
    }

    private static func wideKind(_ text: UnsafeRawBufferPointer, _ place: Int) -> (kind: Kind, length: Int) {
        let first = text[place]
        let length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2
        guard first >= 0xC2, first < 0xF5, place + length <= text.count else { return (.other, 1) }
        var value = UInt32(first) & (length == 2 ? 0x1F : length == 3 ? 0x0F : 0x07)
        for i in 1..<length {
            let byte = text[place + i]
            guard byte & 0xC0 == 0x80 else { return (.other, 1) }
            value = value << 6 | UInt32(byte & 0x3F)
        }
        guard let scalar = Unicode.Scalar(value) else { return (.other, 1) }
        return (kind(scalar), length)
    }

    private static func kind(_ scalar: Unicode.Scalar) -> Kind {
        switch scalar.properties.generalCategory {
        case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter: return .letter
        case .modifierLetter, .otherLetter: return isSign(scalar) ? .sign : .letter
        case .nonspacingMark, .spacingMark, .enclosingMark, .format:
            // Of the format characters only the joiners and the soft hyphen belong to words.
            if scalar.properties.generalCategory == .format {
                return scalar.value == 0x200C || scalar.value == 0x200D || scalar.value == 0xAD ? .mark : .other
            }
            return .mark
        case .decimalNumber: return .digit
        case .letterNumber, .otherNumber: return .letter
        case .connectorPunctuation: return .connector
        default: return scalar.value == 0x2019 ? .apostrophe : .other
        }
    }

    /// True for characters of scripts without spaces between words.
    private static func isSign(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x0E00...0x0EFF, 0x1000...0x109F, 0x1780...0x17FF, 0x1950...0x19DF, 0x1A20...0x1AAF, 0x3041...0x309F,
            0xA9E0...0xA9FF, 0xAA60...0xAADF:
            true
        default: scalar.properties.isIdeographic
        }
    }

    /// Writes the folded word. Returns its byte count.
    private static func fold(_ word: UnsafeRawBufferPointer, into target: UnsafeMutableRawBufferPointer) -> Int {
        var count = 0
        for scalar in UnicodeFolding.scalars(word) {
            switch scalar.properties.generalCategory {
            case .nonspacingMark, .enclosingMark, .format: continue
            default: break
            }
            // A final Greek sigma becomes the medial one: capital letters can only be folded to that one.
            let folded =
                switch scalar.value {
                case 0x2019: "'"
                case 0x3C2: "\u{3C3}"
                default: scalar.properties.lowercaseMapping
                }
            guard count + folded.utf8.count <= target.count else { return count }
            for byte in folded.utf8 {
                target[count] = byte
                count += 1
            }
        }
        return count
    }
}
