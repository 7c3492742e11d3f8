// SPDX-License-Identifier: Apache-2.0
// Much zeroed address space that costs memory only where it is written: the bytes of files that live in
// memory, and tables that must never move.

/// Readable and writable zeros at an address that never changes. Any thread; who shares bytes orders the
/// accesses.
package final class ReservedMemory: @unchecked Sendable {
    // Unchecked: the stored properties are constants, the bytes are the user's to guard.

    package let base: UnsafeMutableRawPointer
    package let byteCount: Int

    private static let modest = 1 << 32
    /// From here on the system is asked for large pages; `byteCount` where it is not.
    private let largePagesStart: Int

    /// Reserves `byteCount` bytes, or 4 GiB where the address space is scarce; or a quarter, a sixteenth ... of that
    /// where the system refuses, but no less than `minimum`. What lies behind `smallByteCount` may get large pages: a
    /// byte that is written there may take 2 MiB of memory. Throws `.addressSpace`.
    package init(byteCount: Int, minimum: Int? = nil, smallByteCount: Int? = nil) throws(SystemError) {
        let step = SystemCalls.mappingGranularity
        let minimum = minimum ?? byteCount
        var size = byteCount
        if size > Self.modest, AddressSpace.isScarce(with: size, limit: 1 << 43) { size = max(minimum, Self.modest) }
        while true {
            let rounded = SystemCalls.wholePages(size)
            if let base = AddressSpace.reserve(rounded, isReadable: true) {
                self.base = base
                self.byteCount = rounded
                largePagesStart = min(smallByteCount ?? rounded, rounded) / step * step
                preferLargePages(0..<rounded)
                return
            }
            if size / 4 < minimum { throw SystemError(.addressSpace, "reserve", "memory") }
            size /= 4
        }
    }

    deinit {
        AddressSpace.release(base, byteCount)
    }

    /// Lets bytes of `file`, which must equal them, stand in place of those in `range`, read-only, until `renew`: the
    /// memory goes back to the system, the addresses stay good. False where that cannot be done.
    package func show(_ file: any File, at offset: Int, over range: Range<Int>) -> Bool {
        precondition(range.lowerBound >= 0 && range.upperBound <= byteCount, "showing outside of the reservation")
        // All of it, until it is released: in the child of a fork nothing in it is of use.
        ForkWatch.withFiles { files in files.mappings[base] = byteCount }
        return file.show(offset..<offset + range.count, over: base + range.lowerBound)
    }

    /// Zeros in place of what `show` has put there.
    package func renew(_ range: Range<Int>) {
        precondition(range.lowerBound >= 0 && range.upperBound <= byteCount, "renewing outside of the reservation")
        SystemCalls.reserve(over: base + range.lowerBound, range.count)
        preferLargePages(range)
    }

    private func preferLargePages(_ range: Range<Int>) {
        let start = max(range.lowerBound, largePagesStart)
        if start < range.upperBound { SystemCalls.preferLargePages(base + start, range.upperBound - start) }
    }

    /// Zeros the bytes and gives whole pages among them back to the system.
    package func discard(_ range: Range<Int>) {
        precondition(
            range.lowerBound >= 0 && range.upperBound <= byteCount, "discarding outside of the reservation")
        let step = SystemCalls.mappingGranularity
        let firstPage = min((range.lowerBound + step - 1) / step * step, range.upperBound)
        let lastPage = max(range.upperBound / step * step, firstPage)
        Memory.zero(base + range.lowerBound, firstPage - range.lowerBound)
        if lastPage > firstPage { SystemCalls.discard(base + firstPage, lastPage - firstPage) }
        Memory.zero(base + lastPage, range.upperBound - lastPage)
    }
}
