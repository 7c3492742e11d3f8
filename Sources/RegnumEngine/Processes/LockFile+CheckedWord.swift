// SPDX-License-Identifier: Apache-2.0
// The numbers of a lock file, which any process may overwrite: check bits show whether Regnum wrote them.

import Synchronization

extension LockFile {
    /// The instance according to the header of a lock file.
    static func instance(_ base: UnsafeRawPointer) -> UInt64 {
        base.load(fromByteOffset: instanceOffset, as: UInt64.self)
    }

    /// A number below 2^48 with 16 check bits computed from it, its offset and the instance of the lock file.
    struct Word {
        let address: UnsafeMutablePointer<Atomic<UInt64>>
        /// Differs for each offset and instance.
        let place: UInt64

        /// The number at `offset` of a lock file mapped at `base`.
        init(_ base: UnsafeMutableRawPointer, at offset: Int, of instance: UInt64) {
            address = (base + offset).assumingMemoryBound(to: Atomic<UInt64>.self)
            place = UInt64(offset) &+ instance &* 0xA076_1D64_78BD_642F
        }

        private func tagged(_ value: UInt64) -> UInt64 {
            let mixed = (value &+ 1 &+ place &* 0x9E37_79B9_7F4A_7C15) &* 0xD6E8_FEB8_6659_FD93
            return value << 16 | (mixed >> 48 | 1)
        }

        /// Nil if something other than a number was written.
        var checked: UInt64? {
            let word = address.pointee.load(ordering: .sequentiallyConsistent)
            return tagged(word >> 16) == word ? word >> 16 : nil
        }

        var value: UInt64 {
            get { checked ?? 0 }
            nonmutating set { address.pointee.store(tagged(newValue), ordering: .sequentiallyConsistent) }
        }

        /// Atomically replaces the number by `change` of it, unless that is nil. `change` may be called more than once.
        func update(_ change: (UInt64?) -> UInt64?) {
            var found = address.pointee.load(ordering: .sequentiallyConsistent)
            while let new = change(tagged(found >> 16) == found ? found >> 16 : nil) {
                let result = address.pointee.compareExchange(
                    expected: found, desired: tagged(new), ordering: .sequentiallyConsistent)
                if result.exchanged { return }
                found = result.original
            }
        }
    }
}
