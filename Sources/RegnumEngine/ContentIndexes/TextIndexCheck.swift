// SPDX-License-Identifier: Apache-2.0
// Checks that a full-text index holds exactly the words of the objects' texts.

import RegnumSystem

extension Table {
    /// Returns the findings. Looks up every expected entry and compares their number with that of the tree.
    func textFindings(_ column: Int) throws(EngineError) -> [String] {
        let tree = try textTree(column)
        var entries = 0
        var missing = RepeatedFindings()
        try forEachGroup { group throws(EngineError) in
            for row in 0..<group.pointee.count {
                let key = group.pointee.key(at: row)
                var words = 0
                var isWhole = true
                let location = RowLocation(group: group, row: row)
                try TextIndex.forEachWord(location, column, self) { (word, place) throws(EngineError) in
                    words += 1
                    let entry = TextIndex.entryKey(key, place)
                    if try !tree.contains(bytes: word, key: entry) { isWhole = false }
                }
                if words > 0, try !tree.containsNull(key: TextIndex.entryKey(key, words)) { isWhole = false }
                entries += words + (words > 0 ? 1 : 0)
                if !isWhole { missing.add(location) }
            }
            return true
        }
        var findings: [String] = []
        if entries != Int(clamping: tree.count) {
            findings.append("the index has \(tree.count) entries, but the texts have \(entries)")
        }
        let what = ("has words that are not in the index", "have words that are not in the index")
        if let words = missing.words(self, what) { findings.append(words) }
        return findings
    }
}
