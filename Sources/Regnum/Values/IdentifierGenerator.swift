// SPDX-License-Identifier: Apache-2.0
// Generation of identifiers: version 7 UUIDs, which ascend with time, and reproducible identifiers for tests.
//
//   UUID of version 7 (RFC 9562), big endian
//     48 bits milliseconds since 1970 · 4 bits 7 · 12 bits counter · 2 bits 10 · 62 random bits
//
// The counter increases within a millisecond, and starts each millisecond at a random number below 2^11. If the clock
// goes back, the next identifier stays in the millisecond of the last one; if the counter is full, it moves to the
// following millisecond.

public import Foundation
internal import RegnumSystem

/// A generator of identifiers. Any thread.
///
/// ```swift
/// class Note: Object {
///     @Persisted(primaryKey: true) var id = IdentifierGenerator.uuidV7()
/// }
/// ```
///
/// Tests that need the same identifiers in each run make a generator current:
///
/// ```swift
/// IdentifierGenerator(seed: 1).run { Note().id }   // the same in each run
/// ```
///
/// Within the body, and in tasks that the body creates, `uuidV7()`, `ObjectId.generate()` and the defaults of
/// `@Persisted var id: UUID` and `ObjectId` use the current generator. `UUID()` itself stays random.
public final class IdentifierGenerator: Sendable {
    private struct State: Sendable {
        var milliseconds: UInt64 = 0
        var counter: UInt64 = 0
        /// The state of the random number generator, used if there is a seed.
        var random: UInt64
        var objectIds: UInt32 = 0
    }

    private let state: Lock<State>
    /// If there is a seed, the milliseconds of the first identifier; otherwise nil.
    private let start: UInt64?
    /// The source of ObjectIds for a test kit's generator without a seed.
    private let ownObjectIds: (@Sendable () -> ObjectId)?

    /// Creates a generator that produces the same identifiers for the same seed: version 7 UUIDs one millisecond apart
    /// from `start` on, and ObjectIds one second apart.
    public init(seed: UInt64, startingAt start: Date = Date(timeIntervalSince1970: 1_577_836_800)) {
        let milliseconds = max(0, min(start.timeIntervalSince1970 * 1000, 281_474_976_710_655))
        self.start = UInt64(milliseconds)
        ownObjectIds = nil
        state = Lock(State(milliseconds: UInt64(milliseconds), random: seed))
    }

    /// Creates a generator whose ObjectIds come from `objectIds` and everything else from the system. For a test kit.
    package init(objectIds: (@Sendable () -> ObjectId)? = nil) {
        ownObjectIds = objectIds
        start = nil
        state = Lock(State(random: 0))
    }

    @TaskLocal static var current: IdentifierGenerator?
    private static let system = IdentifierGenerator()

    /// Runs `body` with this generator as the current one.
    public func run<R>(_ body: () throws -> R) rethrows -> R {
        try Self.$current.withValue(self, operation: body)
    }

    /// Runs `body` with this generator as the current one.
    public func run<R>(isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> R) async rethrows -> R
    {
        try await Self.$current.withValue(self, operation: body)
    }

    /// Returns a unique version 7 UUID, greater than all those generated before it in this process when compared by
    /// bytes or text. Uses the current generator. About 60 ns.
    public static func uuidV7() -> UUID {
        if let current, current.start != nil { return current.nextUUIDV7() }
        return system.nextUUIDV7()
    }

    private func nextUUIDV7() -> UUID {
        let now = start == nil ? UInt64(max(0, Date().timeIntervalSince1970 * 1000)) : 0
        let seeded = start != nil
        var low = seeded ? 0 : UInt64.random(in: 0 ... .max)
        let (milliseconds, counter, random) = state.withLock { state in
            if seeded {
                defer { state.milliseconds += 1 }
                return (state.milliseconds, UInt64(0), Self.next(&state.random))
            }
            if now > state.milliseconds {
                (state.milliseconds, state.counter) = (now, low >> 53)
            } else if state.counter < 0xfff {
                state.counter += 1
            } else {
                (state.milliseconds, state.counter) = (state.milliseconds + 1, low >> 53)
            }
            return (state.milliseconds, state.counter, low)
        }
        low = random & (1 << 62 - 1) | 1 << 63
        return Self.uuid(milliseconds << 16 | 7 << 12 | counter, low)
    }

    /// Returns a random version 4 UUID; with a seed, the same one in each run.
    func uuid() -> UUID {
        if start == nil { return UUID() }
        let (high, low) = state.withLock { (Self.next(&$0.random), Self.next(&$0.random)) }
        return Self.uuid(high & ~0xf000 | 0x4000, low & (1 << 62 - 1) | 1 << 63)
    }

    func objectId() -> ObjectId {
        if let ownObjectIds { return ownObjectIds() }
        let (count, process) = state.withLock { state in
            state.objectIds &+= 1
            return (state.objectIds, Self.mixed(state.random))
        }
        let seconds = UInt32(truncatingIfNeeded: (start ?? 0) / 1000) &+ (count &- 1)
        let high = UInt64(seconds) << 32 | process & 0xffff_ffff
        let low = UInt32(truncatingIfNeeded: process >> 32) & 0xff00_0000 | count & 0xff_ffff
        return ObjectId(low: high.byteSwapped, high: low.byteSwapped)
    }

    private static func uuid(_ high: UInt64, _ low: UInt64) -> UUID {
        var bytes: uuid_t = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
        withUnsafeMutableBytes(of: &bytes) { target in
            target.storeBytes(of: high.bigEndian, as: UInt64.self)
            target.storeBytes(of: low.bigEndian, toByteOffset: 8, as: UInt64.self)
        }
        return UUID(uuid: bytes)
    }

    /// Returns the next number of SplitMix64.
    private static func next(_ random: inout UInt64) -> UInt64 {
        random &+= 0x9e37_79b9_7f4a_7c15
        return mixed(random)
    }

    private static func mixed(_ word: UInt64) -> UInt64 {
        var z = word
        z = (z ^ z >> 30) &* 0xbf58_476d_1ce4_e5b9
        z = (z ^ z >> 27) &* 0x94d0_49bb_1331_11eb
        return z ^ z >> 31
    }
}
