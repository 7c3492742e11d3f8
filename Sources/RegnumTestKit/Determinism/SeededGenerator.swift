// SPDX-License-Identifier: Apache-2.0
// Numbers, identifiers and times that are the same in each run of a test.

public import Foundation
public import Regnum
internal import RegnumSimulation
internal import Synchronization
public import Testing

/// A generator of numbers that look random and are the same for the same seed, on every machine and with every version
/// of this library.
public struct SeededGenerator: RandomNumberGenerator, Sendable {
    private var random: SeededRandom

    /// Equal seeds give equal sequences.
    public init(seed: UInt64) { random = SeededRandom(seed: seed) }

    /// The next number.
    public mutating func next() -> UInt64 { random.next() }

    /// A text of up to `length` letters, digits and characters of other scripts; often empty or short.
    public mutating func text(upTo length: Int = 12) -> String {
        let letters = Array("abcxyzABC019 _'\"%\\äß漢🐕")
        let count = Int.random(in: 0...length, using: &self)
        return String((0..<count).map { _ in letters.randomElement(using: &self) ?? "a" })
    }

    /// A number that is often small, and sometimes at a limit of its type.
    public mutating func integer() -> Int {
        switch Int.random(in: 0..<8, using: &self) {
        case 0: [Int.min, -1, 0, 1, Int.max].randomElement(using: &self) ?? 0
        case 1: Int.random(in: .min ... .max, using: &self)
        default: Int.random(in: -100...100, using: &self)
        }
    }
}

/// Identifiers that count up: the first is 1, the second 2, in whatever form is asked for. Any thread.
///
/// ```swift
/// let ids = TestIdentifiers()
/// ids.uuid()      // 00000000-0000-0000-0000-000000000001
/// ids.objectId()  // 000000000000000000000002
/// ```
public final class TestIdentifiers: Sendable {
    private let count: Atomic<UInt64>

    /// The first identifier is the one after `start`.
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

    /// The next number behind a prefix.
    public func text(_ prefix: String = "id-") -> String { "\(prefix)\(integer())" }

    private func hexadecimal(_ length: Int) -> String {
        let digits = String(integer(), radix: 16)
        return String(repeating: "0", count: length - digits.count) + digits
    }
}

/// A clock that stands still until it is told otherwise, for code that takes its time from a closure. Any thread.
///
/// ```swift
/// let clock = TestClock()
/// let repository = Repository(realm: realm, now: { clock.now })
/// clock.advance(by: 60)
/// ```
public final class TestClock: Sendable {
    private let time: Mutex<Date>
    private let step: TimeInterval

    /// It shows `start`, at first 1 January 2001, 00:00 UTC, and goes on by `step` seconds with each look at it.
    public init(at start: Date = Date(timeIntervalSinceReferenceDate: 0), step: TimeInterval = 0) {
        time = Mutex(start)
        self.step = step
    }

    /// What it shows.
    public var now: Date {
        time.withLock { time in
            defer { time.addTimeInterval(step) }
            return time
        }
    }

    /// Goes on by so many seconds; back where they are negative.
    public func advance(by seconds: TimeInterval) { time.withLock { $0.addTimeInterval(seconds) } }

    /// Shows another time.
    public func set(to date: Date) { time.withLock { $0 = date } }
}

/// Lets `ObjectId.generate()` count up in each test. Made by `.countedObjectIds`.
public struct CountedObjectIds: TestTrait, SuiteTrait, TestScoping {
    /// True: of a suite it counts for each of its tests.
    public var isRecursive: Bool { true }

    /// Runs a test with identifiers of its own. Called by Swift Testing.
    public func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        let identifiers = TestIdentifiers()
        try await IdentifierGenerator(objectIds: { identifiers.objectId() }).run { try await function() }
    }
}

extension Trait where Self == CountedObjectIds {
    /// `ObjectId.generate()`, and so the default values of primary keys, count up from 1 in each test. Holds for the
    /// test's task and child tasks.
    public static var countedObjectIds: Self { CountedObjectIds() }
}

/// Runs `body` with `ObjectId.generate()` counting up from 1 on the calling thread: for XCTest.
public func withCountedObjectIds<Result>(_ body: () throws -> Result) rethrows -> Result {
    let identifiers = TestIdentifiers()
    return try IdentifierGenerator(objectIds: { identifiers.objectId() }).run(body)
}
