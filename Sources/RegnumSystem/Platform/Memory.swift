// SPDX-License-Identifier: Apache-2.0
// Memory operations: copying, comparing, searching, and buffers of whole pages.

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// The C library's memory functions, for modules that do not import it. Any thread; O(byteCount).
package enum Memory {
    /// Copies bytes; the ranges must not overlap.
    @inlinable @inline(__always)
    package static func copy(_ target: UnsafeMutableRawPointer, _ source: UnsafeRawPointer, _ byteCount: Int) {
        target.copyMemory(from: source, byteCount: byteCount)
    }

    /// Copies bytes; the ranges may overlap.
    @inlinable @inline(__always)
    package static func move(_ target: UnsafeMutableRawPointer, _ source: UnsafeRawPointer, _ byteCount: Int) {
        target.copyMemory(from: source, byteCount: byteCount)
    }

    /// Allocates memory for an instance of a class. Swift's runtime frees it, by `free` for alignments up to 16.
    /// `UnsafeMutableRawPointer.allocate` would use `posix_memalign` for that alignment, which is slower.
    package static func allocateInstance(_ byteCount: Int) -> UnsafeMutableRawPointer {
        guard let memory = malloc(byteCount) else { fatalError("There is no memory left.") }
        return memory
    }

    /// Compares as unsigned bytes: negative, 0 or positive.
    package static func compare(_ a: UnsafeRawPointer, _ b: UnsafeRawPointer, _ byteCount: Int) -> Int32 {
        memcmp(a, b, byteCount)
    }

    /// Returns whether all bytes are 0; stops within 512 bytes of the first that is not.
    package static func isZero(_ bytes: UnsafeRawPointer, _ byteCount: Int) -> Bool {
        var start = 0
        while start < byteCount {
            let end = min(start + 512, byteCount)
            var bits: UInt8 = 0
            for i in start..<end { bits |= bytes.load(fromByteOffset: i, as: UInt8.self) }
            if bits != 0 { return false }
            start = end
        }
        return true
    }

    package static func zero(_ target: UnsafeMutableRawPointer, _ byteCount: Int) {
        memset(target, 0, byteCount)
    }

    /// Overwrites bytes that must not remain in memory; never optimised away.
    package static func wipe(_ target: UnsafeMutableRawPointer, _ byteCount: Int) {
        #if canImport(Darwin)
            _ = memset_s(target, byteCount, 0, byteCount)
        #else
            explicit_bzero(target, byteCount)
        #endif
    }

    package static func fill(_ target: UnsafeMutableRawPointer, with byte: UInt8, _ byteCount: Int) {
        memset(target, Int32(byte), byteCount)
    }

    /// The position of the first `byte`, or nil.
    package static func find(_ byte: UInt8, in bytes: UnsafeRawPointer, _ byteCount: Int) -> Int? {
        guard let found = memchr(bytes, Int32(byte), byteCount) else { return nil }
        return UnsafeRawPointer(found) - bytes
    }

    /// The number of bytes of physical memory.
    package static let physicalByteCount =
        max(Int(sysconf(Int32(_SC_PHYS_PAGES))), 0) * Int(sysconf(Int32(_SC_PAGESIZE)))

    /// Allocates memory aligned to 4,096 bytes, with undefined contents; ends the process if there is none. Freed by
    /// `freePages`.
    package static func allocatePages(byteCount: Int) -> UnsafeMutableRawPointer {
        UnsafeMutableRawPointer.allocate(byteCount: byteCount, alignment: 4096)
    }

    /// Allocates memory that is filled from end to end and soon freed, with undefined contents; ends the process if
    /// there is none. Above 4 MiB it uses large pages if the system has them. Freed by `freeScratch`.
    package static func allocateScratch(byteCount: Int) -> UnsafeMutableRawPointer {
        guard byteCount > largeByteCount else { return .allocate(byteCount: byteCount, alignment: 64) }
        let whole = SystemCalls.wholePages(byteCount)
        guard let memory = AddressSpace.reserve(whole, isReadable: true) else {
            fatalError("There is no memory left.")
        }
        SystemCalls.preferLargePages(memory, whole)
        return memory
    }

    package static func freeScratch(_ memory: UnsafeMutableRawPointer, byteCount: Int) {
        guard byteCount > largeByteCount else { return memory.deallocate() }
        AddressSpace.release(memory, SystemCalls.wholePages(byteCount))
    }

    private static let largeByteCount = 4 << 20

    package static func freePages(_ pages: UnsafeMutableRawPointer) {
        pages.deallocate()
    }
}
