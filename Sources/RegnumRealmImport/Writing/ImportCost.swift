// SPDX-License-Identifier: Apache-2.0
// The cost of an object in an import, which decides how many objects are committed together.

internal import Foundation
internal import RegnumRealmFile

enum ImportCost {
    /// Returns the cost of an object with values of that many bytes: 1, and 1 for each kilobyte. The bytes of all
    /// values are added before they are divided: many short values cost as much as a long one.
    static func cost(_ byteCount: Int) -> Int { 1 + byteCount >> 10 }

    /// Returns the number of bytes of a value beyond the 8 of its column: those of texts and data, 64 for each element of a list or set, and 128
    /// for each entry of a dictionary.
    static func byteCount(_ value: RealmFileValue) -> Int {
        switch value {
        case .string(let text): text.utf8.count
        case .data(let data): data.count
        case .list(let values), .set(let values): values.reduce(values.count * 64) { $0 + byteCount($1) }
        case .dictionary(let entries):
            entries.reduce(entries.count * 128) { $0 + byteCount($1.key) + byteCount($1.value) }
        default: 0
        }
    }
}
