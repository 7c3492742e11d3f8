// SPDX-License-Identifier: Apache-2.0
// Advice for misspelt names.

/// The name that needs the fewest changes to become `name`, or nil where none is near. O(names x length squared).
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
        // Two letters in the wrong order are two changes.
        if distance <= max(1, (wanted.count + 1) / 3), distance < best?.distance ?? .max {
            best = (candidate, distance)
        }
    }
    return best?.name
}
