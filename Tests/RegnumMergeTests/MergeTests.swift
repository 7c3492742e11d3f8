// SPDX-License-Identifier: Apache-2.0
// The rules one by one, on small cases. MergeModelTests has their combinations.

import RegnumMerge
import Testing

@Suite struct MergeTests {
    let merge = Merge(rules: StandardRules())
    let title = PropertyPath(1)
    let address = PropertyPath(2)
    let street = PropertyPath(2, [1])
    let tags = PropertyPath(3)
    let steps = PropertyPath(4)
    let count = PropertyPath(5)

    func stamp(_ time: UInt64, _ replica: UInt32 = 2) -> Stamp { Stamp(Timestamp(bits: time), Replica(replica)) }

    func state(_ edits: [(UInt64, Edit.Change)]) -> ObjectState {
        var state = ObjectState()
        for (time, change) in edits { merge.apply(Edit(stamp(time), change), to: &state) }
        return state
    }

    func set(_ path: PropertyPath, _ value: Int64, isDefault: Bool = false) -> Edit.Change {
        .set(path, .integer(value), isDefault: isDefault)
    }

    @Test("The later write wins, whichever arrives last; at the same time the higher replica number")
    func laterWins() {
        let early = state([(1, .create), (5, set(title, 1)), (3, set(title, 2))])
        #expect(early.registers[title]?.value == .integer(1))
        var tie = state([(1, .create)])
        merge.apply(Edit(stamp(4, 9), set(title, 1)), to: &tie)
        merge.apply(Edit(stamp(4, 3), set(title, 2)), to: &tie)
        #expect(tie.registers[title]?.value == .integer(1))
    }

    @Test("A default loses to an explicit write, even an earlier one")
    func defaults() {
        let state = state([(1, .create), (2, set(title, 7)), (9, set(title, 0, isDefault: true))])
        #expect(state.registers[title]?.value == .integer(7))
    }

    @Test("A delete beats concurrent edits, and a later create begins again")
    func life() {
        let dead = state([(1, .create), (2, set(title, 1)), (5, .delete), (7, set(title, 2))])
        #expect(!merge.isAlive(dead))
        #expect(dead.isEmpty)
        var again = dead
        merge.apply(Edit(stamp(8), .create), to: &again)
        #expect(merge.isAlive(again))
        #expect(again.isEmpty)
        merge.apply(Edit(stamp(4), set(title, 3)), to: &again)
        #expect(again.isEmpty)
    }

    @Test("A delete that arrives after a later create removes only the values before it")
    func lateDelete() {
        let state = state([(1, .create), (2, set(title, 1)), (9, .create), (9, set(tags, 4)), (5, .delete)])
        #expect(merge.isAlive(state))
        #expect(state.registers[title] == nil)
        #expect(state.registers[tags]?.value == .integer(4))
    }

    @Test("An embedded object that is replaced takes its values with it, unknown ones too")
    func embedded() {
        let replaced = state([
            (1, .create), (2, .set(address, .object, isDefault: false)), (2, set(street, 1)),
            (4, set(PropertyPath(2, [9]), 5)), (6, .set(address, .object, isDefault: false)), (6, set(street, 2)),
            (5, set(street, 3)),
        ])
        #expect(replaced.registers[street]?.value == .integer(2))
        #expect(replaced.registers[PropertyPath(2, [9])] == nil)
    }

    @Test("Elements of sets and maps are merged one by one")
    func entries() {
        let state = state([
            (1, .create), (5, .setEntry(tags, key: .integer(1), value: .null)),
            (4, .setEntry(tags, key: .integer(1), value: nil)), (3, .setEntry(tags, key: .integer(2), value: .null)),
        ])
        #expect(state.entries[EntryKey(path: tags, key: .integer(1))]?.value == .null)
        #expect(state.entries[EntryKey(path: tags, key: .integer(2))]?.value == .null)
    }

    @Test("Increments add up; an assignment replaces the number when it arrives")
    func counters() {
        #expect(state([(1, .create), (9, .increment(count, 2)), (3, .increment(count, 5))]).counters[count] == 7)
        let assigned = state([
            (1, .create), (9, .increment(count, 2)), (3, .assignCounter(count, 50)), (4, .increment(count, 1)),
        ])
        #expect(assigned.counters[count] == 51)
    }

    @Test("A list: inserting, moving, replacing and removing elements, and assigning all of it")
    func lists() {
        var source = ElementSource(replica: Replica(2), counter: 0, opening: 1, rules: StandardRules())
        var state = state([(1, .create)])
        func apply(_ edits: [Edit]) { for edit in edits { merge.apply(edit, to: &state) } }
        func values() -> [MergeValue] { merge.elements(of: steps, in: state).map(\.element.value) }
        let numbers: [MergeValue] = (1...4).map { .integer($0) }
        apply(merge.insertion(of: numbers, at: 0, path: steps, in: state, stamp: stamp(2), from: &source))
        #expect(values() == numbers)
        apply([merge.move(from: 3, to: 1, path: steps, in: state, stamp: stamp(3), from: &source)])
        #expect(values() == [.integer(1), .integer(4), .integer(2), .integer(3)])
        let first = merge.elements(of: steps, in: state)[0].id
        apply([Edit(stamp(4), .remove(steps, first)), Edit(stamp(9), .replace(steps, first, .integer(8)))])
        #expect(values() == [.integer(4), .integer(2), .integer(3)])

        // Another device inserts meanwhile.
        var other = ElementSource(replica: Replica(3), counter: 0, opening: 2, rules: StandardRules())
        let inserted = merge.insertion(
            of: [.integer(7)], at: 1, path: steps, in: state, stamp: stamp(5, 3), from: &other)
        apply(merge.assignment(of: [.integer(6)], to: steps, in: state, stamp: stamp(6), from: &source))
        apply(inserted)
        #expect(Set(values()) == [.integer(6), .integer(7)])
    }

    @Test("Devices that adopt the same list do not double it, and adopted data loses to every edit")
    func adoption() {
        var state = state([(1000, .create), (1001, set(title, 5))])
        for replica in [2, 3] as [UInt32] {
            var source = ElementSource(
                replica: Replica(replica), counter: 0, opening: replica, rules: StandardRules())
            let adopted = merge.rules.adoptedStamp(drawn: stamp(2000, replica))
            merge.apply(Edit(adopted, .create), to: &state)
            merge.apply(Edit(adopted, set(title, 1)), to: &state)
            for edit in merge.adoption(
                of: [.integer(1), .integer(2)], to: steps, stamp: adopted, from: &source)
            { merge.apply(edit, to: &state) }
        }
        #expect(merge.elements(of: steps, in: state).map(\.element.value) == [.integer(1), .integer(2)])
        #expect(state.registers[title]?.value == .integer(5))
    }

    @Test("An offer brings a hub that has forgotten everything to the same state, and adds nothing to one that has not")
    func offers() {
        var source = ElementSource(replica: Replica(2), counter: 0, opening: 1, rules: StandardRules())
        var known = state([(1, .create), (2, set(title, 1)), (3, .setEntry(tags, key: .integer(1), value: .null))])
        for edit in merge.insertion(
            of: [.integer(1), .integer(2)], at: 0, path: steps, in: known, stamp: stamp(4), from: &source)
        { merge.apply(edit, to: &known) }
        let move = merge.move(from: 0, to: 1, path: steps, in: known, stamp: stamp(5), from: &source)
        merge.apply(move, to: &known)
        var hub = ObjectState()
        for edit in merge.offer(known, over: hub, now: stamp(99)) { merge.apply(edit, to: &hub) }
        #expect(hub == known)
        #expect(merge.offer(known, over: hub, now: stamp(99)).isEmpty)
    }

    @Test("Stamps of the future are clamped, in their order, and after everything that the author has seen")
    func clamping() {
        var edits = [stamp(900), stamp(901), stamp(901), stamp(50)].map { Edit($0, .create) }
        var newest = Timestamp(bits: 120)
        var author = Timestamp.zero
        merge.clamp(
            &edits, of: Replica(2), limit: Timestamp(bits: 100), newest: &newest, author: &author)
        #expect(edits.map(\.stamp.time.bits) == [121, 122, 122, 50])
        #expect(author.bits == 122)
        #expect(newest.bits == 122)
    }

    @Test("A clock follows the hub's, is later than everything it received, and never goes backwards")
    func clock() throws {
        var clock = HybridClock(rules: StandardRules())
        let first = clock.next(now: 1000)
        #expect(clock.next(now: 900) == first.next)
        try clock.receive(hub: Timestamp(milliseconds: 5000), newest: Timestamp(milliseconds: 5400), now: 1000)
        #expect(clock.offset == 4000)
        #expect(clock.next(now: 1000) == Timestamp(milliseconds: 5400).next)
        #expect(clock.next(now: 2000) == Timestamp(milliseconds: 6000))
    }
}
