// SPDX-License-Identifier: Apache-2.0
// References that are detected and created through the reference-count word: the result must match Swift's runtime.

import Testing

@testable import Regnum

@Suite struct HeldOnceTests {
    private final class Leaf {
        let onEnd: () -> Void
        init(onEnd: @escaping () -> Void) { self.onEnd = onEnd }
        deinit { onEnd() }
    }

    /// The word that holds the counts.
    private func counts(_ held: Unmanaged<Leaf>) -> UInt {
        held.toOpaque().load(fromByteOffset: MemoryLayout<UInt>.size, as: UInt.self)
    }

    @Test func anyOtherReferenceIsSeen() {
        let held = Unmanaged.passRetained(Leaf {})
        #expect(held.isHeldOnce)
        withExtendedLifetime(held.takeUnretainedValue()) { _ in #expect(!held.isHeldOnce) }
        #expect(held.isHeldOnce)
        do {
            unowned let other = held.takeUnretainedValue()
            withExtendedLifetime(other) { _ in #expect(!held.isHeldOnce) }
        }
        #expect(held.isHeldOnce)
        weak let other = held.takeUnretainedValue()
        #expect(other != nil && !held.isHeldOnce)
        held.release()
    }

    /// A reference created without the runtime counts like one that the runtime creates.
    @Test func secondReferences() {
        var ends = 0
        let held = Unmanaged.passRetained(Leaf { ends += 1 })
        let byRuntime = counts(held.retain())
        held.release()
        for _ in 0..<3 {
            // Kept unmanaged, because the compiler may release a variable early.
            let second = Unmanaged.passRetained(held.secondReference())
            #expect(counts(held) == byRuntime && !held.isHeldOnce)
            let third = second.retain()
            #expect(counts(held) > byRuntime)
            third.release()
            second.release()
        }
        #expect(held.isHeldOnce && ends == 0)
        var last: Leaf? = held.secondReference()
        held.release()
        #expect(ends == 0 && last != nil)
        last = nil
        #expect(ends == 1)
    }
}
