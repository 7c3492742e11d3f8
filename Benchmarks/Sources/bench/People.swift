// SPDX-License-Identifier: Apache-2.0
// The rows that every engine stores, and the random inputs of the workloads: from one seed, equal for all.

/// SplitMix64: small, seeded, the same everywhere.
struct SeededNumbers: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// A number in 0..<bound.
    mutating func next(below bound: Int) -> Int { Int(next().multipliedFullWidth(by: UInt64(bound)).high) }
}

/// One row as plain values.
struct PersonRow {
    let id: Int
    let name: String
    let age: Int
    let score: Double
    let active: Bool
    /// Whole seconds since 1970.
    let created: Int
    let email: String?
}

/// The rows. An engine that is too slow for all of them takes the first ones.
struct People {
    static let firstNames = [
        "Alice", "Bob", "Carol", "David", "Emma", "Frank", "Grace", "Hannah", "Ivan", "Julia",
    ]
    /// 2020-01-01; the dates are in the five years after it.
    static let firstDate = 1_577_836_800
    static let dateSpan = 157_788_000

    let rows: [PersonRow]

    init(count: Int) {
        var numbers = SeededNumbers(seed: 0x5EED)
        rows = (0..<count).map { id in
            // A permutation of 24 bits: every name differs, so a sort by age and name has one right order.
            let bits = (id &* 0x9E_3779 &+ 0x7F_4A7C) & 0xFF_FFFF
            let scrambled = ((bits ^ (bits >> 11)) &* 0xC2_B2AF) & 0xFF_FFFF
            return PersonRow(
                id: id,
                name: "\(Self.firstNames[numbers.next(below: 10)]) \(scrambled)",
                age: numbers.next(below: 100),
                score: Double(numbers.next() >> 11) * 0x1p-53,
                active: numbers.next() & 1 == 0,
                created: firstDate(&numbers),
                email: id & 1 == 1 ? "user\(id)@x.com" : nil)
        }
        func firstDate(_ numbers: inout SeededNumbers) -> Int {
            Self.firstDate + numbers.next(below: Self.dateSpan)
        }
    }
}

/// The inputs of the workloads, in a database of `rows` people.
struct Inputs {
    let rows: Int
    /// Primary keys to look up; K1.
    let lookups: [Int]
    /// Names to look up; Q9.
    let names: [String]
    /// Rows to change and their new ages; U1.
    let changes: [(row: Int, age: Int)]
    /// The friend of each person; L1.
    let friends: [Int]

    init(_ people: People, rows: Int, lookups lookupCount: Int) {
        var numbers = SeededNumbers(seed: 0xF00D)
        self.rows = rows
        lookups = (0..<lookupCount).map { _ in numbers.next(below: rows) }
        names = (0..<min(10_000, rows)).map { _ in people.rows[numbers.next(below: rows)].name }
        changes = (0..<rows / 10).map { _ in (numbers.next(below: rows), numbers.next(below: 100)) }
        friends = (0..<rows).map { _ in numbers.next(below: rows) }
    }
}

/// Consumes the values that a loop has read, so that the optimiser cannot drop or hoist the reads.
@inline(never)
@_optimize(none)
func sink(_ value: Int) {}

/// Consumes an object that a loop has created, so that the optimiser cannot remove its creation.
@inline(never)
@_optimize(none)
func sink(object: AnyObject) {}
