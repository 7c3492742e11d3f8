// SPDX-License-Identifier: Apache-2.0
// For an instance whose only holder hands it out repeatedly: detects that nothing else references it, and hands it out
// without the atomic operation of a retain.
//
// Both use the reference-count word that follows an instance's type pointer (Swift's stable ABI, RefCount.h): for an
// instance with one strong reference and no other it is 3, and on 64-bit systems bits 33 to 62 count the additional
// strong references. Nothing else can change the word read or written here in the meantime, because creating a
// reference requires having one.

extension Unmanaged {
    /// True if the caller has the only reference to the instance. Unlike `isKnownUniquelyReferenced`, this also counts
    /// weak and unowned references. Other threads that had a reference are done with the instance: their reads happened
    /// before they released it.
    @inlinable @inline(__always)
    package var isHeldOnce: Bool {
        toOpaque().load(fromByteOffset: MemoryLayout<UInt>.size, as: UInt.self) == 3
    }

    /// Returns a second reference to an instance for which `isHeldOnce` is true.
    @inlinable @inline(__always)
    package func secondReference() -> Instance {
        #if _pointerBitWidth(_64)
            toOpaque().storeBytes(of: 3 + 1 << 33, toByteOffset: MemoryLayout<UInt>.size, as: UInt.self)
            return takeRetainedValue()
        #else
            return takeUnretainedValue()
        #endif
    }
}
