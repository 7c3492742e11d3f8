// SPDX-License-Identifier: Apache-2.0
// Where one session gets blocks from: committed ones through the reader, pending ones from the sealer, and the
// list of committed blocks that the running transaction no longer needs. Confined to the session.

package final class BlockSpace {
    package let reader: BlockReader
    package let sealer: Sealer
    /// Committed blocks that this transaction frees.
    @exclusivity(unchecked) package private(set) var freed: [BlockRef] = []

    /// Why the running transaction cannot be committed: a change has ended half way; see Session+Refusals.
    @exclusivity(unchecked) var failure: EngineError?
    /// Sessions that read what the running transaction has made so far.
    @exclusivity(unchecked) var snapshots = 0
    /// Sealed bytes above which the running transaction writes ahead.
    @exclusivity(unchecked) var spillLimit = Int.max
    /// Writes the sealed blocks of the running transaction.
    @exclusivity(unchecked) var spill: () -> Void = {}

    /// `reserving`: see `Sealer`.
    package init(reader: BlockReader, reserving byteCount: Int = Sealer.reservation) {
        self.reader = reader
        sealer = Sealer(reserving: byteCount)
    }

    /// Called where no block is half made.
    @inline(__always)
    func spillIfLarge() { if sealer.heldByteCount > spillLimit { spill() } }

    /// Bytes of a committed or pending block, header included.
    @inline(__always)
    package func bytes(_ ref: BlockRef) throws(EngineError) -> UnsafeRawPointer {
        if ref.isPending { return try sealer.checkedBytes(ref) }
        return try reader.bytes(ref)
    }

    /// How long the block is; the ref of a pending one does not know.
    package func byteCount(_ ref: BlockRef) -> Int { ref.isPending ? sealer.byteCount(ref) : ref.byteCount }

    /// The transaction no longer needs the block.
    package func free(_ ref: BlockRef) {
        if ref.isNone { return }
        if ref.isPending { sealer.drop(ref) } else { freed.append(ref) }
    }

    /// After commit or rollback.
    package func reset() {
        sealer.reset()
        freed.removeAll(keepingCapacity: true)
        failure = nil
    }
}
