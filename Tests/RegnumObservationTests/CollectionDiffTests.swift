// SPDX-License-Identifier: Apache-2.0
// Diffs of orders: applying a diff to the old order produces the new one, and it is as small as possible.

import RegnumObservation
import RegnumSimulation
import Testing

@Suite struct CollectionDiffTests {
    private func apply(_ changes: CollectionChanges, to old: [Int], _ new: [Int]) -> [Int] {
        var mirror = old
        for at in changes.deletions.reversed() { mirror.remove(at: at) }
        for at in changes.insertions { mirror.insert(new[at], at: at) }
        return mirror
    }

    @Test("Applying a diff to the old order produces the new one", arguments: [false, true])
    func mirror(hasDuplicates: Bool) {
        var random = SeededRandom(seed: 20_261_121)
        for _ in 0..<4000 {
            let pool = 1 + random.below(30)
            func order() -> [Int] {
                var values = (0..<random.below(40)).map { _ in random.below(pool) }
                if !hasDuplicates {
                    var seen: Set<Int> = []
                    values.removeAll { !seen.insert($0).inserted }
                }
                return values
            }
            let old = order()
            let new = random.below(3) == 0 ? old : order()
            let changes = CollectionDiff.between(old, new) { $0 % 3 == 0 }
            #expect(apply(changes, to: old, new) == new)
            let kept = Set(old.indices).subtracting(changes.deletions)
            #expect(changes.modifications == kept.filter { old[$0] % 3 == 0 }.sorted())
            let asList = CollectionDiff.ofList(old, new)
            var mirror = old
            // A replaced element is a modification: insert the new one by its distance to the moved elements.
            let shift = { (at: Int) in
                at - asList.deletions.filter { $0 < at }.count
            }
            let replaced = asList.modifications.map { shift($0) }
            for at in asList.deletions.reversed() { mirror.remove(at: at) }
            var places = replaced
            for at in asList.insertions {
                mirror.insert(new[at], at: at)
                for i in places.indices where places[i] >= at { places[i] += 1 }
            }
            for at in places { mirror[at] = new[at] }
            #expect(mirror == new)
        }
    }

    @Test("Elements that keep their order are not in the diff: a diff of unique elements is minimal")
    func smallest() {
        #expect(CollectionDiff.between([1, 2, 3], [1, 2, 3]).isEmpty)
        #expect(CollectionDiff.between([1, 2, 3], [3, 1, 2]) == CollectionChanges(deletions: [2], insertions: [0]))
        #expect(CollectionDiff.between([1, 2, 3], [2, 3, 1]) == CollectionChanges(deletions: [0], insertions: [2]))
        #expect(CollectionDiff.between([5, 5, 5], [5, 5]) == CollectionChanges(deletions: [2]))
        #expect(CollectionDiff.ofList([1, 2, 3], [1, 9, 3]) == CollectionChanges(modifications: [1]))
        #expect(CollectionDiff.between([], [4]) == CollectionChanges(insertions: [0]))
        #expect(CollectionDiff.between([4], [Int]()) == CollectionChanges(deletions: [0]))
    }
}
