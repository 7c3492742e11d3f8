// SPDX-License-Identifier: Apache-2.0
// The object layer's assumptions about the Swift runtime hold here, and a wrong one is found. References that are
// detected and created through the reference-count word match those of the runtime.

import Testing

@testable import Regnum

@Suite("Layout of the Swift runtime") struct RuntimeLayoutTests {
    private final class Leaf {
        let onEnd: () -> Void
        init(onEnd: @escaping () -> Void) { self.onEnd = onEnd }
        deinit { onEnd() }
    }

    /// The word that holds the counts.
    private func counts(_ held: Unmanaged<Leaf>) -> UInt {
        held.toOpaque().load(fromByteOffset: MemoryLayout<UInt>.size, as: UInt.self)
    }

    @Test("Any other reference to an instance is detected") func otherReferences() {
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

    @Test("A reference created without the runtime counts like one that the runtime creates") func secondReferences() {
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

    @Test("The runtime has the expected layout, and each wrong assumption is found")
    func selfTest() {
        #expect(RuntimeLayout.problems(RuntimeLayout.Constants()) == [])
        var constants = RuntimeLayout.Constants()
        constants.uniqueCount = 1
        #expect(RuntimeLayout.problems(constants) == ["the reference counts of an instance"])
        constants = RuntimeLayout.Constants()
        constants.additionalReference = 1 << 32
        #expect(RuntimeLayout.problems(constants) == ["the reference counts of an instance"])
        constants = RuntimeLayout.Constants()
        constants.instanceSizeByteOffset += 4
        #expect(RuntimeLayout.problems(constants) == ["the size of an instance in the metadata of its class"])
        #if DEBUG
            constants = RuntimeLayout.Constants()
            constants.keyPathByteOffset -= 8
            #expect(RuntimeLayout.problems(constants) == ["the offset in a key path"])
        #endif
    }
}
