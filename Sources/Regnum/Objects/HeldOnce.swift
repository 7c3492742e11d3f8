// SPDX-License-Identifier: Apache-2.0
// Instances that are handed out again and again by the one who holds them: to see that nobody else holds one, and to
// hand it out without the atomic operation that another reference takes.
//
// Both go by the word of reference counts that follows an instance's type (Swift's stable ABI, RefCount.h): of an
// instance with one strong reference and no other it is 3, on 64-bit systems bits 33 to 62 count the further strong
// ones. What is read or written here nobody else can change meanwhile: it takes a reference to make one.

extension Unmanaged {
    /// True where only the caller holds the instance: weak and unowned references, which `isKnownUniquelyReferenced`
    /// does not see, count too. Other threads that have held it are done with it: what they read came before they let
    /// go of it.
    @inlinable @inline(__always)
    package var isHeldOnce: Bool {
        toOpaque().load(fromByteOffset: MemoryLayout<UInt>.size, as: UInt.self) == 3
    }

    /// A second reference to an instance that `isHeldOnce`.
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
