// SPDX-License-Identifier: Apache-2.0
// Lists, sets, maps and counters inside embedded objects, which the random schedules do not have.

import RegnumMerge
import Testing

@Suite("Collections in embedded objects") struct EmbeddedCollectionTests {
    private let merge = Merge(rules: StandardRules())
    private let owner = PropertyPath(1)
    private let neighbour = PropertyPath(11, [2])
    private let list = PropertyPath(1, [2])
    private let map = PropertyPath(1, [3])
    private let counter = PropertyPath(1, [4])
    private let element = ElementID(Replica(3), 1)
    private let position = Position(bytes: [3, 1, 128, 1])

    private func stamp(_ time: UInt64) -> Stamp { Stamp(Timestamp(bits: time), Replica(2)) }

    private func contents(_ time: UInt64) -> [Edit] {
        let changes: [Edit.Change] = [
            .insert(list, element, position, .integer(1)), .setEntry(map, key: .bytes([7]), value: .integer(2)),
            .increment(counter, 3), .increment(neighbour, 4),
        ]
        return changes.map { Edit(stamp(time), $0) }
    }

    private func apply(_ edits: [Edit], to state: inout ObjectState) {
        for edit in edits { merge.apply(edit, to: &state) }
    }

    private func assignment(_ time: UInt64, _ value: MergeValue) -> Edit {
        Edit(stamp(time), .set(owner, value, isDefault: false))
    }

    @Test("Go with the object that they belong to", arguments: [MergeValue.object, .null])
    func assignment(value: MergeValue) {
        var state = ObjectState()
        apply([Edit(stamp(1), .create), assignment(2, .object)] + contents(3), to: &state)
        #expect(state.elements.count == 1)
        #expect(state.entries.count == 1)
        #expect(state.counters[counter] == 3)
        apply([assignment(9, value)], to: &state)
        #expect(state.elements.isEmpty)
        #expect(state.entries.isEmpty)
        #expect(state.counters[counter] == nil)
        #expect(state.counters[neighbour] == 4)
        // Edits of the former object arrive late.
        apply(contents(8), to: &state)
        apply([Edit(stamp(8), .remove(list, element))], to: &state)
        #expect(state.elements.isEmpty)
        #expect(state.entries.isEmpty)
        #expect(state.counters[counter] == nil)
    }

    @Test("Stay if they were written with the assignment or after it")
    func later() {
        var state = ObjectState()
        apply([Edit(stamp(1), .create)] + contents(5), to: &state)
        apply([assignment(5, .object), assignment(4, .object)], to: &state)
        #expect(merge.elements(of: list, in: state).map(\.id) == [element])
        #expect(state.entries.count == 1)
    }
}
