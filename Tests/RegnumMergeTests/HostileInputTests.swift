// SPDX-License-Identifier: Apache-2.0
// Times, stamps, ids and counters from outside, at the ends of their ranges: they are refused or clamped, and nothing
// traps.

import RegnumMerge
import Testing

@Suite("Input from outside") struct HostileInputTests {
    private let merge = Merge(rules: StandardRules())
    private let path = PropertyPath(1)

    @Test("A clock refuses times that no edit could be later than")
    func farTimes() throws {
        var clock = HybridClock(rules: StandardRules())
        try clock.receive(hub: Timestamp(milliseconds: 2000), newest: Timestamp(milliseconds: 1000), now: 500)
        let (newest, offset) = (clock.newest, clock.offset)
        let far = Timestamp(bits: .max)
        #expect(throws: RefusedTime(time: far)) { try clock.receive(hub: far, newest: .zero, now: 0) }
        #expect(throws: RefusedTime(time: far)) { try clock.receive(hub: .zero, newest: far, now: 0) }
        #expect(clock.newest == newest)
        #expect(clock.offset == offset)
        try clock.receive(hub: .zero, newest: .latest, now: 0)
        let first = clock.next(now: 0)
        let second = clock.next(now: .max)
        #expect(first > .latest)
        #expect(second > first)
    }

    @Test("Times of a wrong device clock do not overflow")
    func deviceTimes() throws {
        #expect(Timestamp(milliseconds: .min) == .zero)
        #expect(Timestamp(milliseconds: .max) == .latest)
        #expect(Timestamp(milliseconds: 1 << 48) == .latest)
        for now in [Int64.min, -1, 0, .max] {
            var clock = HybridClock(rules: StandardRules(), newest: Timestamp(milliseconds: 7), offset: .max)
            let first = clock.next(now: now)
            try clock.receive(hub: Timestamp(milliseconds: 9), newest: .zero, now: now)
            let second = clock.next(now: now)
            #expect(second > first)
            #expect(clock.newest <= Timestamp.latest.next.next)
        }
    }

    @Test("Stamps of the far future are clamped, in their order")
    func clamping() {
        let own = Replica(5)
        let times = [Timestamp(bits: .max), Timestamp(bits: .max), Timestamp(bits: .max - 1), Timestamp.zero]
        var edits = times.map { Edit(Stamp($0, own), .set(path, .null, isDefault: false)) }
        let limit = Timestamp(milliseconds: 6000)
        var (newest, author) = (Timestamp.zero, Timestamp.zero)
        merge.clamp(&edits, of: own, limit: limit, newest: &newest, author: &author)
        #expect(edits.map(\.stamp.time) == [limit.next.next, limit.next.next, limit.next, .zero])
        #expect(newest == limit.next.next)
        #expect(author == newest)
        // The clock of the author is right again.
        var later = [Edit(Stamp(Timestamp(milliseconds: 1500), own), .delete)]
        merge.clamp(&later, of: own, limit: limit, newest: &newest, author: &author)
        #expect(later[0].stamp.time == limit.next.next.next)
    }

    @Test("The hub refuses edits that no client makes")
    func edits() throws {
        var source = ElementSource(replica: Replica(2), counter: 0, opening: 9, rules: StandardRules())
        let stamp = Stamp(Timestamp(milliseconds: 1), Replica(2))
        let made = merge.insertion(
            of: [.null], at: 0, path: path, in: ObjectState(), stamp: stamp, from: &source)
        let adopted = merge.adoption(
            of: [.null, .null], to: path, stamp: Stamp(.adopted, Replica(2)), from: &source)
        for edit in made + adopted { try edit.check() }
        for replica in [Replica.unregistered, .adopted] {
            let edit = Edit(Stamp(stamp.time, replica), .create)
            #expect(throws: RefusedEdit.invalidStamp) { try edit.check() }
        }
        let timeless = Edit(Stamp(.zero, Replica(2)), .create)
        #expect(throws: RefusedEdit.invalidStamp) { try timeless.check() }
        let unregistered = ElementID(.unregistered, 1)
        let removal = Edit(stamp, .remove(path, unregistered))
        #expect(throws: RefusedEdit.invalidElement) { try removal.check() }
        let long = Position(bytes: [UInt8](repeating: 2, count: Edit.maximumPosition) + [1])
        for position in [Position(bytes: []), Position(bytes: [1]), long] {
            let move = Edit(stamp, .move(path, ElementID(Replica(2), 1), position))
            #expect(throws: RefusedEdit.invalidPosition) { try move.check() }
        }
    }

    @Test("Each opening of a file has its own ids, even if the random numbers repeat")
    func openings() {
        let rules = StandardRules()
        var starts: Set<UInt64> = []
        var counter: UInt64 = 0
        for opening in 0..<2000 as Range<UInt32> {
            counter = rules.counter(stored: counter, opening: opening % 3)
            let isNew = starts.insert(counter).inserted
            #expect(isNew)
            counter += 1_000_000
        }
        // A copy of the file.
        #expect(rules.counter(stored: counter, opening: 1) != rules.counter(stored: counter, opening: 2))
        _ = rules.counter(stored: .max, opening: .max)
    }

    @Test("Counters wrap around")
    func counters() {
        var state = ObjectState()
        let stamp = Stamp(Timestamp(milliseconds: 1), Replica(2))
        merge.apply(Edit(stamp, .create), to: &state)
        for amount in [Int64.max, 2, .min] { merge.apply(Edit(stamp, .increment(path, amount)), to: &state) }
        #expect(state.counters[path] == 1)
    }

    @Test("A batch with any number gets a verdict")
    func verdicts() {
        let rules = StandardRules()
        for number in [Int64.min, -1, 0, 2, .max] {
            let batch = BatchMark(sequence: number, previous: 0, hash: 1)
            #expect(rules.verdict(on: batch, after: [], isReplaced: false) != .apply)
        }
    }
}
