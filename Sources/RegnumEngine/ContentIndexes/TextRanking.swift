// SPDX-License-Identifier: Apache-2.0
// Ranks texts by relevance to a search: Okapi BM25, computed from the entries of the full-text index alone.
//
//   score = sum over terms of  idf * tf * (k + 1) / (tf + k * (1 - b + b * length / average length))
//   idf = ln(1 + (N - n + 0.5) / (n + 0.5)),  k = 1.2,  b = 0.75
//
// N texts have words, n of them the term, tf times in this one. A prefix counts as one term.

import RegnumSystem

extension Table {
    /// Returns the score of each of `keys`, which must ascend. O(entries of the terms, keys * log n).
    package func textScores(
        _ terms: [TextTerm], of keys: [ObjectKey], inTextIndexOf column: Int
    ) throws(EngineError) -> [Double] {
        let tree = try textTree(column)
        var scores = [Double](repeating: 0, count: keys.count)
        let texts = try tree.countNull()
        guard texts > 0, !keys.isEmpty else { return scores }
        let average = Double(max(1, Int(clamping: tree.count) - texts)) / Double(texts)
        var lengths: [Double] = []
        lengths.reserveCapacity(keys.count)
        var cursor = IndexCursor(tree)
        for key in keys {
            let isThere = try cursor.seek(.null(key: key.rawValue << 16))
            let isOwn = isThere && cursor.isNull && cursor.key >> 16 == key.rawValue
            lengths.append(isOwn ? Double(cursor.key & 0xFFFF) : average)
        }
        for term in terms {
            let places = try textPlaces(term, column)
            var objects = 0
            var last: UInt64 = .max
            for place in places where place >> 16 != last {
                last = place >> 16
                objects += 1
            }
            let rarity = Logarithm.natural(1 + (Double(texts - objects) + 0.5) / (Double(objects) + 0.5))
            var next = 0
            for (i, key) in keys.enumerated() {
                while next < places.count, places[next] >> 16 < key.rawValue { next += 1 }
                var times = 0.0
                while next < places.count, places[next] >> 16 == key.rawValue {
                    times += 1
                    next += 1
                }
                if times > 0 {
                    let length = 0.25 + 0.75 * lengths[i] / average
                    scores[i] += rarity * times * 2.2 / (times + 1.2 * length)
                }
            }
        }
        return scores
    }
}
