// SPDX-License-Identifier: Apache-2.0
// Much zeroed address space that costs memory only where it is written: the bytes of files that live in
// memory, and tables that must never move.

/// Readable and writable zeros at an address that never changes. Any thread; who shares bytes orders the
/// accesses.
package final class ReservedMemory: @unchecked Sendable {
    // Unchecked: the stored properties are constants but `present`; that and the bytes are the user's to guard.

    package let base: UnsafeMutableRawPointer
    /// Bytes that there may be.
    package let byteCount: Int
    /// Bytes that are there: all of them, but where the system gives little address space. See `ensure`.
    @exclusivity(unchecked) package private(set) var present: Int

    private static let modest = 1 << 32
    /// What grows begins with so much, and grows by as much at least.
    private static let step = 1 << 16
    /// From here on the system is asked for large pages; `byteCount` where it is not.
    private let largePagesStart: Int

    /// Reserves `byteCount` bytes, or 4 GiB where the address space is scarce. Where the system refuses, they come one
    /// after the other, when `ensure` asks for them; or, if it knows no such thing, there are a quarter, a sixteenth ... of
    /// them, but no less than `minimum`. What lies behind `smallByteCount` may get large pages: a
    /// byte that is written there may take 2 MiB of memory. Throws `.addressSpace`.
    package init(byteCount: Int, minimum: Int? = nil, smallByteCount: Int? = nil) throws(SystemError) {
        let step = SystemCalls.mappingGranularity
        let minimum = minimum ?? byteCount
        var size = byteCount
        if size > Self.modest, AddressSpace.isScarce(with: size, limit: 1 << 43) { size = max(minimum, Self.modest) }
        while true {
            let rounded = SystemCalls.wholePages(size)
            // What is small is as good as what grows.
            let grows = AddressSpace.isLimited && rounded > 16 * Self.step
            if let made = (grows ? Self.growing(rounded, minimum) : nil) ?? Self.whole(rounded)
                ?? Self.growing(rounded, minimum)
            {
                (base, self.byteCount, present) = made
                largePagesStart = min(smallByteCount ?? rounded, rounded) / step * step
                preferLargePages(0..<present)
                return
            }
            if size / 4 < minimum { throw SystemError(.addressSpace, "reserve", "memory") }
            size /= 4
        }
    }

    private typealias Made = (base: UnsafeMutableRawPointer, byteCount: Int, present: Int)

    private static func whole(_ byteCount: Int) -> Made? {
        AddressSpace.reserve(byteCount, isReadable: true).map { ($0, byteCount, byteCount) }
    }

    private static func growing(_ byteCount: Int, _ minimum: Int) -> Made? {
        let most = min(byteCount, AddressSpace.growingLimit)
        if most < minimum { return nil }
        let first = min(most, step)
        return AddressSpace.reserveGrowing(first, isReadable: true).map { ($0, most, first) }
    }

    deinit {
        AddressSpace.release(base, present)
    }

    /// Returns when the first `count` bytes are there; throws `.addressSpace` where the system gives no more. Whoever uses
    /// bytes that no call has asked for, or that it has not heard of, has asked `present`. One call at a time.
    @inline(__always)
    package func ensure(_ count: Int) throws(SystemError) { if count > present { try grow(to: count) } }

    @inline(never)
    private func grow(to count: Int) throws(SystemError) {
        precondition(count <= byteCount, "more bytes than were reserved")
        // An eighth more each time, as far as the system gives it.
        for wanted in [max(count, present + max(Self.step, present / 8)), count] {
            let end = min(SystemCalls.wholePages(wanted), byteCount)
            if AddressSpace.grow(base, from: present, to: end, isReadable: true) {
                preferLargePages(present..<end)
                present = end
                return
            }
        }
        throw SystemError(.addressSpace, "reserve", "memory")
    }

    /// Lets bytes of `file`, which must equal them, stand in place of those in `range`, read-only, until `renew`: the
    /// memory goes back to the system, the addresses stay good. False where that cannot be done.
    package func show(_ file: any File, at offset: Int, over range: Range<Int>) -> Bool {
        precondition(range.lowerBound >= 0 && range.upperBound <= byteCount, "showing outside of the reservation")
        // All of it, until it is released: in the child of a fork nothing in it is of use.
        ForkWatch.withFiles { files in files.mappings[base] = present }
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
