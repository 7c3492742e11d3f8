// SPDX-License-Identifier: Apache-2.0
// The system calls that reserve, map and release address space.

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

extension SystemCalls {
    /// The page size of the system: 4,096 bytes on most machines.
    static let mappingGranularity = Int(sysconf(Int32(_SC_PAGESIZE)))

    /// Rounds a number of bytes up to a multiple of `mappingGranularity`.
    static func wholePages(_ byteCount: Int) -> Int {
        (byteCount + mappingGranularity - 1) / mappingGranularity * mappingGranularity
    }

    /// Reserves private address space: zeros if `isReadable`, else inaccessible until something is mapped into it.
    /// Costs no memory until written. Returns nil if the system refuses that much.
    static func reserve(_ byteCount: Int, isReadable: Bool) -> UnsafeMutableRawPointer? {
        let protection = isReadable ? PROT_READ | PROT_WRITE : PROT_NONE
        let flags = Int32(MAP_PRIVATE) | Int32(MAP_ANON) | Int32(MAP_NORESERVE)
        return checked(mmap(nil, byteCount, protection, flags, -1, 0))
    }

    /// Like `reserve`, at a given address; nil if anything is mapped there, or if the system does not support that.
    static func reserve(
        at place: UnsafeMutableRawPointer, _ byteCount: Int, isReadable: Bool
    ) -> UnsafeMutableRawPointer? {
        #if os(Linux)
            let protection = isReadable ? PROT_READ | PROT_WRITE : PROT_NONE
            // MAP_FIXED_NOREPLACE, which is not imported everywhere.
            let flags = Int32(MAP_PRIVATE) | Int32(MAP_ANON) | Int32(MAP_NORESERVE) | 0x100000
            guard let base = checked(mmap(place, byteCount, protection, flags, -1, 0)) else { return nil }
            if base == place { return base }
            // Before Linux 4.17 the address is only a hint.
            unmap(base, byteCount)
        #endif
        return nil
    }

    /// Replaces the mappings in that range by zeros. Both ends are multiples of `mappingGranularity`.
    static func reserve(over target: UnsafeMutableRawPointer, _ byteCount: Int) {
        let flags = Int32(MAP_PRIVATE) | Int32(MAP_ANON) | Int32(MAP_NORESERVE) | Int32(MAP_FIXED)
        let result = mmap(target, byteCount, PROT_READ | PROT_WRITE, flags, -1, 0)
        // The old mapping may be gone already, and the next write there must not reach the file.
        guard checked(result) != nil else { fatalError("no address space for a write transaction") }
    }

    /// Replaces the mappings in that range by read-only zeros, in the child of a fork. If the system refuses, they
    /// stay.
    static func cover(_ target: UnsafeMutableRawPointer, _ byteCount: Int) {
        let flags = Int32(MAP_PRIVATE) | Int32(MAP_ANON) | Int32(MAP_NORESERVE) | Int32(MAP_FIXED)
        _ = mmap(target, byteCount, PROT_READ, flags, -1, 0)
    }

    /// Maps bytes of the file, read-only, over reserved address space. Returns 0 or minus `errno`.
    static func map(_ descriptor: Int32, from offset: Int, count: Int, over target: UnsafeMutableRawPointer)
        -> Int
    {
        let result = mmap(
            target, count, PROT_READ, Int32(MAP_SHARED) | Int32(MAP_FIXED), descriptor, off_t(offset))
        let code = errno
        return checked(result) == nil ? -Int(code) : 0
    }

    /// Maps the first bytes of the file, writable, at any address. If the result is nil, `code` is `errno`.
    static func mapWritable(_ descriptor: Int32, count: Int, code: inout Int32) -> UnsafeMutableRawPointer? {
        let result = mmap(nil, count, PROT_READ | PROT_WRITE, Int32(MAP_SHARED), descriptor, 0)
        code = errno
        return checked(result)
    }

    static func unmap(_ base: UnsafeMutableRawPointer, _ byteCount: Int) {
        let result = munmap(base, byteCount)
        precondition(result == 0, "unmapping what was never mapped")
    }

    /// Returns the pages to the system; they read as zeros afterwards. Both ends are multiples of `mappingGranularity`.
    static func discard(_ base: UnsafeMutableRawPointer, _ byteCount: Int) {
        #if canImport(Darwin)
            memset(base, 0, byteCount)
        #else
            let result = madvise(base, byteCount, Int32(MADV_DONTNEED))
            precondition(result == 0, "discarding what was never mapped")
        #endif
    }

    /// Asks for large pages (2 MiB or the system's size) for memory that is filled from one end to the other: a large
    /// page faults once instead of 512 times. Only a hint, and without effect on systems that have no large pages.
    static func preferLargePages(_ base: UnsafeMutableRawPointer, _ byteCount: Int) {
        #if os(Linux)
            // MADV_HUGEPAGE, which is not imported everywhere.
            _ = madvise(base, byteCount, 14)
        #endif
    }

    private static func checked(_ result: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
        // MAP_FAILED is not imported everywhere.
        result == UnsafeMutableRawPointer(bitPattern: -1) ? nil : result
    }
}
