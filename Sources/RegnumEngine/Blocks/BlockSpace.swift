// SPDX-License-Identifier: Apache-2.0
// The blocks of one session: committed ones through the reader, pending ones from the sealer, and the list of committed
// blocks that the running transaction no longer needs. Confined to the session.

package final class BlockSpace {
    package let reader: BlockReader
    package let sealer: Sealer
    /// Committed blocks that this transaction frees.
    @exclusivity(unchecked) package private(set) var freed: [BlockRef] = []

    /// The reason why the running transaction cannot be committed: a change failed halfway; see Session+Refusals.
    @exclusivity(unchecked) var failure: EngineError?
    /// The number of sessions that read the uncommitted state of the running transaction.
    @exclusivity(unchecked) var snapshots = 0
    /// Sealed bytes above which the running transaction spills.
    @exclusivity(unchecked) var spillLimit = Int.max
    /// Spills the sealed blocks of the running transaction.
    @exclusivity(unchecked) var spill: () -> Void = {}

    /// `reserving`: see `Sealer`.
    package init(reader: BlockReader, reserving byteCount: Int = Sealer.reservation) {
        self.reader = reader
        sealer = Sealer(reserving: byteCount)
    }

    /// Spills if the limit is exceeded. Call only when no block is half built.
    @inline(__always)
    func spillIfLarge() { if sealer.heldByteCount > spillLimit { spill() } }

    /// True if a check of invariants is due, one time in `rate`, and may judge the trees of this session; see
    /// `Invariants`.
    @inline(__always)
    func isCheckDue(oneIn rate: Int = Invariants.localRate) -> Bool {
        Invariants.areChecked && failure == nil && reader.isTrusted && Invariants.isDue(oneIn: rate)
    }

    /// Returns the bytes of a committed or pending block, including its header.
    @inline(__always)
    package func bytes(_ ref: BlockRef) throws(EngineError) -> UnsafeRawPointer {
        if ref.isPending { return try sealer.checkedBytes(ref) }
        return try reader.bytes(ref)
    }

    /// Returns the byte count of a block; the ref of a pending one does not hold it.
    package func byteCount(_ ref: BlockRef) -> Int { ref.isPending ? sealer.byteCount(ref) : ref.byteCount }

    /// Frees a block that the transaction no longer needs.
    package func free(_ ref: BlockRef) {
        if ref.isNone { return }
        if ref.isPending { sealer.drop(ref) } else { freed.append(ref) }
    }

    /// The blocks at the start of a savepoint.
    struct Mark {
        fileprivate var sealer: Sealer.Mark
        fileprivate var freedCount: Int
    }

    /// Begins a savepoint. Call after sealing, while no block is half built.
    func protect() -> Mark { Mark(sealer: sealer.protect(), freedCount: freed.count) }

    /// Ends a savepoint whose changes stay, and every later one.
    func release(_ mark: Mark) { sealer.release(mark.sealer) }

    /// Ends a savepoint, and every later one, and forgets the blocks that were added and freed since.
    func restore(_ mark: Mark) {
        sealer.restore(mark.sealer, isRead: snapshots > 0)
        freed.removeLast(freed.count - mark.freedCount)
    }

    /// Discards all pending blocks and the list of freed ones. Called after commit or rollback.
    package func reset() {
        sealer.reset()
        freed.removeAll(keepingCapacity: true)
        failure = nil
    }
}
