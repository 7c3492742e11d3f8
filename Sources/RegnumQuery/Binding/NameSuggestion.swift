// SPDX-License-Identifier: Apache-2.0
// Suggestions for misspelt names.

/// The name with the smallest edit distance to `name`, or nil if none is close. O(names x length squared).
func nearestName(to name: String, in names: [String]) -> String? {
    let wanted = Array(name.lowercased().utf8.prefix(64))
    var best: (name: String, distance: Int)?
    for candidate in names.sorted() {
        let other = Array(candidate.lowercased().utf8.prefix(64))
        var row = Array(0...other.count)
        for (index, byte) in wanted.enumerated() {
            var diagonal = row[0]
            row[0] = index + 1
            for (column, otherByte) in other.enumerated() {
                let cost = diagonal + (byte == otherByte ? 0 : 1)
                diagonal = row[column + 1]
                row[column + 1] = min(cost, diagonal + 1, row[column] + 1)
            }
        }
        let distance = row[other.count]
        // A transposition of two letters counts as two edits.
        if distance <= max(1, (wanted.count + 1) / 3), distance < best?.distance ?? .max {
            best = (candidate, distance)
        }
    }
    return best?.name
}
