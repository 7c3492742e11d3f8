// SPDX-License-Identifier: Apache-2.0
// The system calls on address space, and what an `errno` means to callers.

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

extension SystemCalls {
    /// The unit in which address space is mapped; 4,096 on most machines.
    static let mappingGranularity = Int(sysconf(Int32(_SC_PAGESIZE)))

    /// A number of bytes rounded up to `mappingGranularity`.
    static func wholePages(_ byteCount: Int) -> Int {
        (byteCount + mappingGranularity - 1) / mappingGranularity * mappingGranularity
    }

    /// Address space that nobody else gets, unreadable until something is mapped into it, or zeros where
    /// `isReadable`. Costs no memory until written. Nil where the system refuses that much.
    static func reserve(_ byteCount: Int, isReadable: Bool) -> UnsafeMutableRawPointer? {
        let protection = isReadable ? PROT_READ | PROT_WRITE : PROT_NONE
        let flags = Int32(MAP_PRIVATE) | Int32(MAP_ANON) | Int32(MAP_NORESERVE)
        return checked(mmap(nil, byteCount, protection, flags, -1, 0))
    }

    /// As `reserve`, at that place; nil where anything is mapped there, or the system cannot be asked for a place.
    static func reserve(
        at place: UnsafeMutableRawPointer, _ byteCount: Int, isReadable: Bool
    ) -> UnsafeMutableRawPointer? {
        #if os(Linux)
            let protection = isReadable ? PROT_READ | PROT_WRITE : PROT_NONE
            // MAP_FIXED_NOREPLACE, which is not imported everywhere.
            let flags = Int32(MAP_PRIVATE) | Int32(MAP_ANON) | Int32(MAP_NORESERVE) | 0x100000
            guard let base = checked(mmap(place, byteCount, protection, flags, -1, 0)) else { return nil }
            if base == place { return base }
            // Before Linux 4.17 the place is no more than a wish.
            unmap(base, byteCount)
        #endif
        return nil
    }

    /// Zeros over what is mapped there. The ends lie on `mappingGranularity`.
    static func reserve(over target: UnsafeMutableRawPointer, _ byteCount: Int) {
        let flags = Int32(MAP_PRIVATE) | Int32(MAP_ANON) | Int32(MAP_NORESERVE) | Int32(MAP_FIXED)
        let result = mmap(target, byteCount, PROT_READ | PROT_WRITE, flags, -1, 0)
        // The old mapping may be gone: what is written there next must not reach the file.
        guard checked(result) != nil else { fatalError("no address space for a write transaction") }
    }

    /// Zeros, read-only, over what is mapped there, for the child of a fork. Where the system refuses, it stays.
    static func cover(_ target: UnsafeMutableRawPointer, _ byteCount: Int) {
        let flags = Int32(MAP_PRIVATE) | Int32(MAP_ANON) | Int32(MAP_NORESERVE) | Int32(MAP_FIXED)
        _ = mmap(target, byteCount, PROT_READ, flags, -1, 0)
    }

    /// Maps the file's bytes, read-only, over reserved space. 0 or minus `errno`.
    static func map(_ descriptor: Int32, from offset: Int, count: Int, over target: UnsafeMutableRawPointer)
        -> Int
    {
        let result = mmap(
            target, count, PROT_READ, Int32(MAP_SHARED) | Int32(MAP_FIXED), descriptor, off_t(offset))
        let code = errno
        return checked(result) == nil ? -Int(code) : 0
    }

    /// Maps the first bytes of the file, writable, anywhere. `code` is `errno` where the result is nil.
    static func mapWritable(_ descriptor: Int32, count: Int, code: inout Int32) -> UnsafeMutableRawPointer? {
        let result = mmap(nil, count, PROT_READ | PROT_WRITE, Int32(MAP_SHARED), descriptor, 0)
        code = errno
        return checked(result)
    }

    static func unmap(_ base: UnsafeMutableRawPointer, _ byteCount: Int) {
        let result = munmap(base, byteCount)
        precondition(result == 0, "unmapping what was never mapped")
    }

    /// Gives the pages back; they read as zeros afterwards. Both ends lie on `mappingGranularity`.
    static func discard(_ base: UnsafeMutableRawPointer, _ byteCount: Int) {
        #if canImport(Darwin)
            memset(base, 0, byteCount)
        #else
            let result = madvise(base, byteCount, Int32(MADV_DONTNEED))
            precondition(result == 0, "discarding what was never mapped")
        #endif
    }

    /// Asks for pages of 2 MiB, or what the system has of that sort, where memory is to be filled from one end to the other:
    /// a page that is touched first waits for the system once, not 512 times. No more than a wish; nothing where the
    /// system knows none.
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
