// SPDX-License-Identifier: Apache-2.0
// New identifiers: UUIDs of version 7, which ascend with time, and a way for tests to have the same ones each time.
//
//   UUID of version 7 (RFC 9562), big endian
//     48 bits milliseconds since 1970 · 4 bits 7 · 12 bits counter · 2 bits 10 · 62 random bits
//
// The counter goes up within a millisecond and begins at a random number below 2^11 in each. A clock that goes back, or
// a full counter, makes the next identifier belong to the millisecond after the last one.

public import Foundation
internal import RegnumSystem

/// A source of new identifiers. Any thread.
///
/// ```swift
/// class Note: Object {
///     @Persisted(primaryKey: true) var id = IdentifierGenerator.uuidV7()
/// }
/// ```
///
/// Tests that need the same identifiers in each run put a generator in force:
///
/// ```swift
/// IdentifierGenerator(seed: 1).run { Note().id }   // the same in each run
/// ```
///
/// While it is in force, in the body and in the tasks that the body makes, `uuidV7()`, `ObjectId.generate()` and the
/// defaults of `@Persisted var id: UUID` and `ObjectId` come from it. `UUID()` itself stays random.
public final class IdentifierGenerator: Sendable {
    private struct State: Sendable {
        var milliseconds: UInt64 = 0
        var counter: UInt64 = 0
        /// Of a generator with a seed: what its random numbers come from.
        var random: UInt64
        var objectIds: UInt32 = 0
    }

    private let state: Lock<State>
    /// Of a generator with a seed: the milliseconds of its first identifier.
    private let start: UInt64?
    /// Of a test kit's generator without a seed: where its ObjectIds come from.
    private let ownObjectIds: (@Sendable () -> ObjectId)?

    /// A generator whose identifiers are the same for the same seed: UUIDs of version 7 one millisecond apart from
    /// `start` on, ObjectIds one second apart.
    public init(seed: UInt64, startingAt start: Date = Date(timeIntervalSince1970: 1_577_836_800)) {
        let milliseconds = max(0, min(start.timeIntervalSince1970 * 1000, 281_474_976_710_655))
        self.start = UInt64(milliseconds)
        ownObjectIds = nil
        state = Lock(State(milliseconds: UInt64(milliseconds), random: seed))
    }

    /// One whose ObjectIds come from elsewhere, and all else from the system; for a test kit.
    package init(objectIds: (@Sendable () -> ObjectId)? = nil) {
        ownObjectIds = objectIds
        start = nil
        state = Lock(State(random: 0))
    }

    @TaskLocal static var current: IdentifierGenerator?
    private static let system = IdentifierGenerator()

    /// Runs `body` with this generator in force.
    public func run<R>(_ body: () throws -> R) rethrows -> R {
        try Self.$current.withValue(self, operation: body)
    }

    /// Runs `body` with this generator in force.
    public func run<R>(isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> R) async rethrows -> R
    {
        try await Self.$current.withValue(self, operation: body)
    }

    /// A UUID of version 7: unlike all others, and above those made before it in this process when compared by bytes
    /// or text. Of the generator in force. About 60 ns.
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

    /// A random UUID, of version 4; of a generator with a seed the same in each run.
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

    /// SplitMix64.
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
