// SPDX-License-Identifier: Apache-2.0
// What a client offers after a reset.

import RegnumMerge
import Testing

@Suite("Offers after a reset") struct OfferTests {
    private let merge = Merge(rules: StandardRules())
    private let list = PropertyPath(1)
    private let own = Replica(2)
    private let other = Replica(3)

    private func state(_ edits: [Edit]) -> ObjectState {
        var state = ObjectState()
        for edit in edits { merge.apply(edit, to: &state) }
        return state
    }

    private func stamp(_ milliseconds: Int64, _ replica: Replica) -> Stamp {
        Stamp(Timestamp(milliseconds: milliseconds), replica)
    }

    @Test("A list that the hub has lost comes back with its moves, values and removals")
    func lists() {
        var source = ElementSource(replica: own, counter: 0, opening: 7, rules: StandardRules())
        var known = state([Edit(stamp(1, own), .create)])
        func perform(_ edits: [Edit]) {
            for edit in edits { merge.apply(edit, to: &known) }
        }
        let values = (0..<50).map { MergeValue.integer($0) }
        perform(merge.insertion(of: values, at: 0, path: list, in: known, stamp: stamp(2, own), from: &source))
        perform([merge.move(from: 3, to: 40, path: list, in: known, stamp: stamp(3, other), from: &source)])
        let ids = merge.elements(of: list, in: known).map(\.id)
        perform([Edit(stamp(4, other), .replace(list, ids[5], .integer(99)))])
        perform([Edit(stamp(5, other), .remove(list, ids[6]))])
        var hub = ObjectState()
        for edit in merge.offer(known, over: hub, now: stamp(9, own)) { merge.apply(edit, to: &hub) }
        #expect(merge.elements(of: list, in: hub).map(\.id) == merge.elements(of: list, in: known).map(\.id))
        #expect(
            merge.elements(of: list, in: hub).map(\.element.value)
                == merge.elements(of: list, in: known).map(\.element.value))
        #expect(merge.offer(known, over: hub, now: stamp(9, own)).isEmpty)
    }
}
