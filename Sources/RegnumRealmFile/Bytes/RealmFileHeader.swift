// SPDX-License-Identifier: Apache-2.0
// The first 24 bytes of a file, and the last 16 bytes of a file in streaming form.
//
//   offset size  meaning
//        0    8  ref of the top array, slot 0
//        8    8  the same, slot 1
//       16    4  "T-DB"
//       20    1  format of slot 0
//       21    1  format of slot 1
//       22    1  zero
//       23    1  bit 0: the selected slot
//
// Streaming form (a compacted or copied file): slot 0 is all ones and is selected; the last 16 bytes of the file are
// the ref of the top array and a constant.

/// The state of a file to read.
public enum RealmFileSnapshot: Sendable {
    /// The newest commit.
    case current
    /// The commit before the newest one, for the recovery of damaged files. Later writes may have overwritten parts of
    /// it.
    case previous
}

struct RealmFileHeader {
    static let byteCount = 24
    private static let magic: UInt32 = 0x4244_2d54
    private static let streamingRef = UInt64.max
    private static let footerByteCount = 16
    private static let footerMagic: UInt64 = 0x3034_1252_37E5_26C8

    let format: Int
    /// Nil for a database that was never written.
    let topRef: Int?
    let isStreaming: Bool

    /// True if the bytes begin like a plain file.
    static func isPlain(_ bytes: FileBytes) throws(RealmFileError) -> Bool {
        guard bytes.byteCount >= byteCount else { return false }
        let header = try bytes.pointer(at: 0, count: byteCount)
        return UInt32(littleEndian: header.loadUnaligned(fromByteOffset: 16, as: UInt32.self)) == magic
    }

    init(_ bytes: FileBytes, _ snapshot: RealmFileSnapshot) throws(RealmFileError) {
        let header = try bytes.pointer(at: 0, count: Self.byteCount)
        let selected = Int(header.load(fromByteOffset: 23, as: UInt8.self) & 1)
        let slot = snapshot == .current ? selected : 1 - selected
        let ref = UInt64(littleEndian: header.loadUnaligned(fromByteOffset: slot * 8, as: UInt64.self))
        format = Int(header.load(fromByteOffset: 20 + slot, as: UInt8.self))
        if slot == 0, ref == Self.streamingRef {
            guard snapshot == .current else {
                throw RealmFileError(
                    .noPreviousSnapshot, "the file is a compacted copy that was written to once: it has only one state")
            }
            isStreaming = true
            topRef = try Self.footerRef(bytes)
        } else {
            isStreaming = false
            if ref == 0, snapshot == .previous {
                throw RealmFileError(
                    .noPreviousSnapshot, "the file was written to once or never: there is no earlier state")
            }
            topRef = ref == 0 ? nil : try Self.checked(ref, bytes)
        }
        try checkFormat()
    }

    private static func footerRef(_ bytes: FileBytes) throws(RealmFileError) -> Int {
        guard bytes.byteCount >= byteCount + footerByteCount else {
            throw .damaged(0, "the file ends before the footer of a compacted copy: it was cut off")
        }
        let footer = try bytes.pointer(at: bytes.byteCount - footerByteCount, count: footerByteCount)
        guard UInt64(littleEndian: footer.loadUnaligned(fromByteOffset: 8, as: UInt64.self)) == footerMagic else {
            throw .damaged(
                bytes.byteCount - footerByteCount, "the footer of a compacted copy is missing: the file was cut off")
        }
        return try checked(UInt64(littleEndian: footer.loadUnaligned(fromByteOffset: 0, as: UInt64.self)), bytes)
    }

    private static func checked(_ ref: UInt64, _ bytes: FileBytes) throws(RealmFileError) -> Int {
        guard ref % 8 == 0, ref >= UInt64(byteCount), ref < UInt64(bytes.byteCount) else {
            throw .damaged(
                Int(truncatingIfNeeded: ref),
                "the header leads outside of the file's \(bytes.byteCount) bytes: it was cut off, or its "
                    + "header is damaged")
        }
        return Int(ref)
    }

    private func checkFormat() throws(RealmFileError) {
        switch format {
        case 2...11, 20...24: return
        case 0 where topRef == nil: return
        case 25...:
            throw RealmFileError(
                .unsupportedFormat(format),
                "it has format \(format), which no released version of Realm wrote; this reader knows 2 to 11 and 20 to 24"
            )
        default:
            throw RealmFileError(
                .unsupportedFormat(format), "it has format \(format); this reader knows 2 to 11 and 20 to 24")
        }
    }
}
