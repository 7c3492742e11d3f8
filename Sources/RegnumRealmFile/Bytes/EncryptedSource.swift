// SPDX-License-Identifier: Apache-2.0
// The decrypted bytes of an encrypted file. Nothing in such a file says that it is encrypted.
//
//   group of 65 pages of 4,096 bytes: 1 page of metadata, then up to 64 pages of data
//   metadata of a data page, 64 bytes:
//      0   4  counter of the last write; 0: the page was never written
//      4  28  HMAC-SHA-224 of the page's ciphertext at the last write
//     32   4  counter of the previous write
//     36  28  its HMAC
//   data page: AES-256-CBC without padding; the initialisation vector is the counter, the offset of the page in the
//   decrypted file (8 bytes) and 4 zero bytes
//   key: bytes 0 ..< 32 for AES, 32 ..< 64 for the HMAC
//
// Source of the format: realm-core 4.0.3 to 14.14.

#if Encryption
    internal import _CryptoExtras
    internal import Foundation
    internal import RegnumSystem

    /// The decrypted bytes of an encrypted file. One thread at a time.
    final class EncryptedSource: ByteSource {
        private static let pageByteCount = 4096
        private static let pagesPerGroup = 64
        private static let entryByteCount = 64

        let byteCount: Int
        private let plain: PlainSource
        private let cipherKey: SymmetricKey
        private let authentication: PageAuthentication
        private var metadata = [UInt8](repeating: 0, count: pageByteCount)
        private var metadataGroup = -1
        private var page = [UInt8](repeating: 0, count: pageByteCount)
        /// The pages without contents that were read so far. A write that was interrupted leaves such pages, which no
        /// node uses, in valid files.
        private var gaps: [Int: Gap] = [:]

        init(_ plain: PlainSource, key: [UInt8]) throws(RealmFileError) {
            guard plain.byteCount > 0, plain.byteCount % Self.pageByteCount == 0 else {
                throw RealmFileError(
                    .notARealmFile,
                    "its \(plain.byteCount) bytes are not a whole number of pages of 4,096 bytes: it is not "
                        + "an encrypted file in Realm's format, or it was cut off")
            }
            self.plain = plain
            let pageCount = plain.byteCount / Self.pageByteCount
            let groupCount = (pageCount + Self.pagesPerGroup) / (Self.pagesPerGroup + 1)
            byteCount = (pageCount - groupCount) * Self.pageByteCount
            cipherKey = SymmetricKey(data: key[..<32])
            authentication = PageAuthentication(key: Array(key[32...]))
        }

        func read(_ buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(RealmFileError) -> Bool {
            precondition(
                offset % Self.pageByteCount == 0 && buffer.count % Self.pageByteCount == 0, "reads are of whole pages")
            var isComplete = true
            for start in stride(from: 0, to: buffer.count, by: Self.pageByteCount) {
                let page = (offset + start) / Self.pageByteCount
                let target = UnsafeMutableRawBufferPointer(rebasing: buffer[start..<start + Self.pageByteCount])
                switch try state(of: page) {
                case .gap(let gap):
                    gaps[page] = gap
                    isComplete = false
                case .authentic(let counter):
                    gaps[page] = nil
                    try decrypt(page, counter).withUnsafeBytes { target.copyMemory(from: $0) }
                }
            }
            return isComplete
        }

        func check(_ range: Range<Int>) throws(RealmFileError) {
            if range.isEmpty { return }
            for page in range.lowerBound / Self.pageByteCount...(range.upperBound - 1) / Self.pageByteCount {
                guard let gap = gaps[page] else { continue }
                throw RealmFileError.damaged(
                    range.lowerBound,
                    "page \(page) of the encrypted file "
                        + (gap == .neverWritten
                            ? "holds data, but was never written as a whole" : "does not match the key, or is damaged"))
            }
        }

        /// Distinguishes a wrong key from a damaged first page: true if any of the first 256 pages matches the key.
        func fitsAnyPage() -> Bool {
            for page in 0..<min(byteCount / Self.pageByteCount, 256) {
                if case .authentic = try? state(of: page) { return true }
            }
            return false
        }

        /// The reason why a page has no contents.
        private enum Gap {
            /// The page was never written, its first write was interrupted, or it is left over from a truncation.
            case neverWritten
            /// No HMAC matches: the key is another one, or the page is damaged.
            case foreign
        }

        private enum PageState {
            case gap(Gap)
            /// The page was written with that counter, and its ciphertext is in `page`.
            case authentic(counter: UInt32)
        }

        /// Reads the ciphertext of the page and finds the counter with which it was written.
        private func state(of page: Int) throws(RealmFileError) -> PageState {
            let group = page / Self.pagesPerGroup
            let groupStart = group * (Self.pagesPerGroup + 1) * Self.pageByteCount
            if group != metadataGroup {
                metadataGroup = -1
                try fill(&metadata, at: groupStart)
                metadataGroup = group
            }
            let start = (page % Self.pagesPerGroup) * Self.entryByteCount
            let entry = metadata[start..<start + Self.entryByteCount]
            let last = Self.counter(entry.prefix(4))
            let previous = Self.counter(entry.dropFirst(32).prefix(4))
            if last == 0 { return .gap(.neverWritten) }
            try fill(&self.page, at: groupStart + (page % Self.pagesPerGroup + 1) * Self.pageByteCount)
            let code = self.page.withUnsafeBytes { authentication.code(of: $0) }
            if entry.dropFirst(4).starts(with: code) { return .authentic(counter: last) }
            if previous == 0 { return .gap(.neverWritten) }
            if entry.dropFirst(36).starts(with: code) { return .authentic(counter: previous) }
            return .gap(self.page.allSatisfy { $0 == 0 } ? .neverWritten : .foreign)
        }

        /// Decrypts the page whose ciphertext is in `page`.
        private func decrypt(_ page: Int, _ counter: UInt32) throws(RealmFileError) -> Data {
            var vector = [UInt8](repeating: 0, count: 16)
            for index in 0..<4 { vector[index] = UInt8(truncatingIfNeeded: counter >> (8 * UInt32(index))) }
            let offset = UInt64(page) * UInt64(Self.pageByteCount)
            for index in 0..<8 { vector[4 + index] = UInt8(truncatingIfNeeded: offset >> (8 * UInt64(index))) }
            do {
                return try AES._CBC.decrypt(
                    self.page, using: cipherKey, iv: AES._CBC.IV(ivBytes: vector), noPadding: true)
            } catch {
                throw RealmFileError(.damaged, "page \(page) of the encrypted file cannot be decrypted: \(error)")
            }
        }

        private func fill(_ bytes: inout [UInt8], at offset: Int) throws(RealmFileError) {
            // Array does not rethrow typed errors.
            var failure: RealmFileError?
            bytes.withUnsafeMutableBytes { target in
                do throws(RealmFileError) { _ = try plain.read(target, at: offset) } catch { failure = error }
            }
            if let failure { throw failure }
        }

        private static func counter(_ bytes: ArraySlice<UInt8>) -> UInt32 {
            bytes.reversed().reduce(0) { $0 << 8 | UInt32($1) }
        }
    }
#endif
