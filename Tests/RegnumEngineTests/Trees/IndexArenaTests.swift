// SPDX-License-Identifier: Apache-2.0
// The arena in which index trees keep the bytes of changed entries: chunks of memory that grow to 1 MiB, and no
// further.

@testable import RegnumEngine
import Testing

@Suite("IndexArena")
struct IndexArenaTests {
    // The size of a new chunk was once doubled each time; after fifty it overflowed, and each entry got its own chunk.
    @Test("Entries are adjacent in memory, however many there are")
    func large() {
        var arena = IndexArena()
        defer { arena.reset() }
        let byteCount = 16 << 10
        var last = arena.allocate(byteCount)
        var alone = 0
        for _ in 0..<8 << 10 {
            let next = arena.allocate(byteCount)
            if next != last + byteCount { alone += 1 }
            last = next
        }
        #expect(alone < 200)
        #expect(arena.heldByteCount <= (8 << 10 + 200) * byteCount)
    }

    @Test("A reused arena keeps one of its chunks")
    func reuse() {
        var arena = IndexArena()
        defer { arena.reset() }
        arena.reuse()
        #expect(arena.heldByteCount == 0)
        var first = arena.allocate(8000)
        #expect(arena.heldByteCount == 8192)
        for _ in 0..<100 { first = arena.allocate(8000) }
        let held = arena.heldByteCount
        #expect(held >= 808_000)
        arena.reuse()
        #expect(arena.heldByteCount < held)
        let again = arena.allocate(8000)
        #expect(again <= first && arena.allocate(8000) == again + 8000)
        arena.reset()
        #expect(arena.heldByteCount == 0)
    }

    @Test("Absorbed bytes stay at their address")
    func absorbed() {
        var arena = IndexArena()
        var other = IndexArena()
        defer {
            arena.reset()
            other.reset()
        }
        let place = other.allocate(4)
        place.storeBytes(of: 0x0102_0304, as: UInt32.self)
        let first = arena.allocate(4)
        arena.absorb(&other)
        #expect(other.heldByteCount == 0 && arena.heldByteCount == 16384)
        #expect(arena.allocate(4) == first + 4)
        other.reuse()
        for _ in 0..<4 { other.allocate(4).storeBytes(of: 0, as: UInt32.self) }
        #expect(place.load(as: UInt32.self) == 0x0102_0304)
    }
}
