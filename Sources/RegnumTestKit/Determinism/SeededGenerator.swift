// SPDX-License-Identifier: Apache-2.0
// Numbers, identifiers and times that are the same in each run of a test.

public import Foundation
public import Regnum
internal import RegnumSimulation
internal import Synchronization
public import Testing

/// A pseudo-random number generator whose numbers are the same for the same seed, on every machine and with every
/// version of this library.
public struct SeededGenerator: RandomNumberGenerator, Sendable {
    private var random: SeededRandom

    /// Creates a generator. Equal seeds produce equal sequences.
    public init(seed: UInt64) { random = SeededRandom(seed: seed) }

    /// The next number.
    public mutating func next() -> UInt64 { random.next() }

    /// A string of up to `length` letters, digits and characters of other scripts; may be empty.
    public mutating func text(upTo length: Int = 12) -> String {
        let letters = Array("abcxyzABC019 _'\"%\\äß漢🐕")
        let count = Int.random(in: 0...length, using: &self)
        return String((0..<count).map { _ in letters.randomElement(using: &self) ?? "a" })
    }

    /// A number that is usually small, and sometimes at a limit of its type.
    public mutating func integer() -> Int {
        switch Int.random(in: 0..<8, using: &self) {
        case 0: [Int.min, -1, 0, 1, Int.max].randomElement(using: &self) ?? 0
        case 1: Int.random(in: .min ... .max, using: &self)
        default: Int.random(in: -100...100, using: &self)
        }
    }
}

/// Consecutive identifiers: the first is 1, the second 2, whatever their types. Any thread.
///
/// ```swift
/// let ids = TestIdentifiers()
/// ids.uuid()      // 00000000-0000-0000-0000-000000000001
/// ids.objectId()  // 000000000000000000000002
/// ```
public final class TestIdentifiers: Sendable {
    private let count: Atomic<UInt64>

    /// Creates a generator whose first identifier is the one after `start`.
    public init(after start: UInt64 = 0) { count = Atomic(start) }

    /// The next number.
    public func integer() -> Int {
        Int(truncatingIfNeeded: count.wrappingAdd(1, ordering: .relaxed).newValue)
    }

    /// The next number as a UUID.
    public func uuid() -> UUID {
        let digits = hexadecimal(32)
        var text = ""
        for (index, digit) in digits.enumerated() {
            if [8, 12, 16, 20].contains(index) { text += "-" }
            text.append(digit)
        }
        guard let uuid = UUID(uuidString: text) else { preconditionFailure("'\(text)' is a UUID") }
        return uuid
    }

    /// The next number as an ObjectId.
    public func objectId() -> ObjectId {
        let text = hexadecimal(24)
        guard let id = try? ObjectId(string: text) else { preconditionFailure("'\(text)' is an ObjectId") }
        return id
    }

    /// The next number after a prefix.
    public func text(_ prefix: String = "id-") -> String { "\(prefix)\(integer())" }

    private func hexadecimal(_ length: Int) -> String {
        let digits = String(integer(), radix: 16)
        return String(repeating: "0", count: length - digits.count) + digits
    }
}

/// A clock that stands still until it is set or advanced, for code that gets its time from a closure. Any thread.
///
/// ```swift
/// let clock = TestClock()
/// let repository = Repository(realm: realm, now: { clock.now })
/// clock.advance(by: 60)
/// ```
public final class TestClock: Sendable {
    private let time: Mutex<Date>
    private let step: TimeInterval

    /// Creates a clock that shows `start`, by default 1 January 2001, 00:00 UTC, and advances by `step` seconds each
    /// time it is read.
    public init(at start: Date = Date(timeIntervalSinceReferenceDate: 0), step: TimeInterval = 0) {
        time = Mutex(start)
        self.step = step
    }

    /// The time that the clock shows.
    public var now: Date {
        time.withLock { time in
            defer { time.addTimeInterval(step) }
            return time
        }
    }

    /// Advances the clock by `seconds`, or moves it back if they are negative.
    public func advance(by seconds: TimeInterval) { time.withLock { $0.addTimeInterval(seconds) } }

    /// Sets the clock to another time.
    public func set(to date: Date) { time.withLock { $0 = date } }
}

/// Makes `ObjectId.generate()` count up in each test. Created by `.countedObjectIds`.
public struct CountedObjectIds: TestTrait, SuiteTrait, TestScoping {
    /// True: on a suite, the trait applies to each of its tests.
    public var isRecursive: Bool { true }

    /// Runs a test with its own identifiers. Called by Swift Testing.
    public func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        let identifiers = TestIdentifiers()
        try await IdentifierGenerator(objectIds: { identifiers.objectId() }).run { try await function() }
    }
}

extension Trait where Self == CountedObjectIds {
    /// Makes `ObjectId.generate()`, and with it default values of primary keys, count up from 1 in each test. Applies
    /// to the test's task and its child tasks.
    public static var countedObjectIds: Self { CountedObjectIds() }
}

/// Runs `body` with `ObjectId.generate()` counting up from 1 on the calling thread. For XCTest.
public func withCountedObjectIds<Result>(_ body: () throws -> Result) rethrows -> Result {
    let identifiers = TestIdentifiers()
    return try IdentifierGenerator(objectIds: { identifiers.objectId() }).run(body)
}
