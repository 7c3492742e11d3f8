// SPDX-License-Identifier: Apache-2.0
// The difference between two orders of elements, as positions: the change set that users receive. There are no moves:
// an element that moves among the elements that stay is a deletion and an insertion. The elements that stay are the
// longest increasing subsequence of old positions (Fredman 1975: O(n log n)), computed only between the common prefix
// and the common suffix.

package import RegnumEngine

/// Positions are ascending. `deletions` and `modifications` are positions in the old order, `insertions` in the new
/// one.
package struct CollectionChanges: Equatable, Sendable {
    package var deletions: [Int] = []
    /// The objects at `deletions`, if the elements are objects and the code that computed the changes recorded them.
    package var deletedKeys: [ObjectKey] = []
    package var insertions: [Int] = []
    package var modifications: [Int] = []

    package init(deletions: [Int] = [], insertions: [Int] = [], modifications: [Int] = []) {
        self.deletions = deletions
        self.insertions = insertions
        self.modifications = modifications
    }

    package var isEmpty: Bool { deletions.isEmpty && insertions.isEmpty && modifications.isEmpty }

    /// The new positions of elements that stay. `positions` are ascending and contain none of `deletions`.
    package func newPositions(of positions: [Int]) -> [Int] {
        if deletions.isEmpty, insertions.isEmpty { return positions }
        var deleted = 0
        var inserted = 0
        return positions.map { position in
            while deleted < deletions.count, deletions[deleted] < position { deleted += 1 }
            // The number of staying elements before it.
            let rank = position - deleted
            while inserted < insertions.count, insertions[inserted] - inserted <= rank { inserted += 1 }
            return rank + inserted
        }
    }
}

package enum CollectionDiff {
    /// The changes from `old` to `new`. `isModified` is called for each element that stays. Equal elements are paired
    /// in order.
    package static func between<Element: Hashable>(
        _ old: [Element], _ new: [Element], isModified: (Element) -> Bool = { _ in false }
    ) -> CollectionChanges {
        var start = 0
        while start < old.count, start < new.count, old[start] == new[start] { start += 1 }
        var oldEnd = old.count
        var newEnd = new.count
        while oldEnd > start, newEnd > start, old[oldEnd - 1] == new[newEnd - 1] {
            oldEnd -= 1
            newEnd -= 1
        }
        var changes = CollectionChanges()
        for i in 0..<start where isModified(old[i]) { changes.modifications.append(i) }
        let (keptOld, keptNew) = kept(old, start..<oldEnd, new, start..<newEnd)
        var next = 0
        for i in start..<oldEnd {
            if next < keptOld.count, keptOld[next] == i {
                next += 1
                if isModified(old[i]) { changes.modifications.append(i) }
            } else {
                changes.deletions.append(i)
            }
        }
        next = 0
        for i in start..<newEnd {
            if next < keptNew.count, keptNew[next] == i { next += 1 } else { changes.insertions.append(i) }
        }
        for i in oldEnd..<old.count where isModified(old[i]) { changes.modifications.append(i) }
        return changes
    }

    /// Like `between`, for a list whose elements can be assigned to: if the number of elements deleted between two
    /// staying elements equals the number inserted there, they were replaced, which is a modification.
    package static func ofList<Element: Hashable>(
        _ old: [Element], _ new: [Element], isModified: (Element) -> Bool = { _ in false }
    ) -> CollectionChanges {
        let plain = between(old, new, isModified: isModified)
        if plain.deletions.isEmpty || plain.insertions.isEmpty { return plain }
        var changes = CollectionChanges()
        var modified = Set(plain.modifications)
        var d = 0
        var i = 0
        var oldAt = 0
        var newAt = 0
        while d < plain.deletions.count || i < plain.insertions.count {
            // Advance to the next gap between elements that stay.
            let toDeletion = d < plain.deletions.count ? plain.deletions[d] - oldAt : Int.max
            let toInsertion = i < plain.insertions.count ? plain.insertions[i] - newAt : Int.max
            let step = min(toDeletion, toInsertion)
            oldAt += step
            newAt += step
            let firstDeletion = d
            while d < plain.deletions.count, plain.deletions[d] == oldAt {
                d += 1
                oldAt += 1
            }
            let firstInsertion = i
            while i < plain.insertions.count, plain.insertions[i] == newAt {
                i += 1
                newAt += 1
            }
            if d - firstDeletion == i - firstInsertion {
                modified.formUnion(plain.deletions[firstDeletion..<d])
            } else {
                changes.deletions += plain.deletions[firstDeletion..<d]
                changes.insertions += plain.insertions[firstInsertion..<i]
            }
        }
        changes.modifications = modified.sorted()
        return changes
    }

    /// Positions of the elements that stay: as many as possible without any changing their relative order.
    private static func kept<Element: Hashable>(
        _ old: [Element], _ oldRange: Range<Int>, _ new: [Element], _ newRange: Range<Int>
    ) -> (old: [Int], new: [Int]) {
        if oldRange.isEmpty || newRange.isEmpty { return ([], []) }
        // Among equal elements, the first in the new order is paired with the first in the old one.
        var last: [Element: Int] = [:]
        var earlier = [Int](repeating: -1, count: oldRange.count)
        for i in oldRange.reversed() {
            if let next = last[old[i]] { earlier[i - oldRange.lowerBound] = next }
            last[old[i]] = i
        }
        var pairs: [(old: Int, new: Int)] = []
        for j in newRange {
            guard let i = last[new[j]] else { continue }
            let next = earlier[i - oldRange.lowerBound]
            last[new[j]] = next < 0 ? nil : next
            pairs.append((i, j))
        }
        let chosen = longestIncreasing(pairs.map(\.old))
        return (chosen.map { pairs[$0].old }, chosen.map { pairs[$0].new })
    }

    /// Indices of a longest increasing subsequence.
    static func longestIncreasing(_ values: [Int]) -> [Int] {
        // tails[k]: the index of the smallest value that ends an increasing sequence of k + 1 values.
        var tails: [Int] = []
        var before = [Int](repeating: -1, count: values.count)
        for (place, value) in values.enumerated() {
            var low = 0
            var high = tails.count
            while low < high {
                let middle = (low + high) / 2
                if values[tails[middle]] < value { low = middle + 1 } else { high = middle }
            }
            if low > 0 { before[place] = tails[low - 1] }
            if low == tails.count { tails.append(place) } else { tails[low] = place }
        }
        var chosen: [Int] = []
        var place = tails.last ?? -1
        while place >= 0 {
            chosen.append(place)
            place = before[place]
        }
        return chosen.reversed()
    }
}
