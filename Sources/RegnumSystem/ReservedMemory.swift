// SPDX-License-Identifier: Apache-2.0
// Large zeroed ranges of address space that use memory only after they are written: the bytes of files in memory, and
// tables that must never move.

/// Readable and writable zeros at an address that never changes. Any thread; users that share bytes order their
/// accesses.
package final class ReservedMemory: @unchecked Sendable {
    // Unchecked: the stored properties are constant except `present`. Users guard `present` and the bytes.

    package let base: UnsafeMutableRawPointer
    /// The number of bytes that can be made present.
    package let byteCount: Int
    /// The number of bytes that are present: all of them unless address space is limited. See `ensure`.
    @exclusivity(unchecked) package private(set) var present: Int

    private static let modest = 1 << 32
    /// The initial size of a growing reservation, and the smallest step by which it grows.
    private static let step = 1 << 16
    /// The offset from which the system is asked for large pages; `byteCount` if it is not asked.
    private let largePagesStart: Int

    /// Reserves `byteCount` bytes, or 4 GiB if address space is scarce. If the system refuses, the bytes become present
    /// step by step, in `ensure`. If the system cannot do that either, a quarter of the size is tried, then a sixteenth
    /// and so on, but never less than `minimum`. Memory from `smallByteCount` on may get large pages, so that writing
    /// one byte there may take 2 MiB. Throws `.addressSpace`.
    package init(byteCount: Int, minimum: Int? = nil, smallByteCount: Int? = nil) throws(SystemError) {
        let step = SystemCalls.mappingGranularity
        let minimum = minimum ?? byteCount
        var size = byteCount
        if size > Self.modest, AddressSpace.isScarce(with: size, limit: 1 << 43) { size = max(minimum, Self.modest) }
        while true {
            let rounded = SystemCalls.wholePages(size)
            // Small reservations do not need to grow.
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

    /// Returns when the first `count` bytes are present; throws `.addressSpace` if the system grants no more. Code that
    /// has not called this for some bytes, and does not know of another call for them, must check `present` first.
    /// Calls must be serialised.
    @inline(__always)
    package func ensure(_ count: Int) throws(SystemError) { if count > present { try grow(to: count) } }

    @inline(never)
    private func grow(to count: Int) throws(SystemError) {
        precondition(count <= byteCount, "more bytes than were reserved")
        // Grows by an eighth if the system allows it, otherwise by the requested amount.
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

    /// Replaces the memory in `range` by a read-only mapping of the bytes of `file`, which must equal it, until
    /// `renew`. The memory goes back to the system, and addresses stay valid. Returns false if that is not possible.
    package func show(_ file: any File, at offset: Int, over range: Range<Int>) -> Bool {
        precondition(range.lowerBound >= 0 && range.upperBound <= byteCount, "showing outside of the reservation")
        // Registers the whole reservation until it is released: nothing in it is of use in the child of a fork.
        ForkWatch.withFiles { files in files.mappings[base] = present }
        return file.show(offset..<offset + range.count, over: base + range.lowerBound)
    }

    /// Replaces the mapping made by `show` by zeros.
    package func renew(_ range: Range<Int>) {
        precondition(range.lowerBound >= 0 && range.upperBound <= byteCount, "renewing outside of the reservation")
        SystemCalls.reserve(over: base + range.lowerBound, range.count)
        preferLargePages(range)
    }

    private func preferLargePages(_ range: Range<Int>) {
        let start = max(range.lowerBound, largePagesStart)
        if start < range.upperBound { SystemCalls.preferLargePages(base + start, range.upperBound - start) }
    }

    /// Zeros the bytes and returns whole pages among them to the system.
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
