// SPDX-License-Identifier: Apache-2.0
// Sorting of strings with common prefixes, with zero bytes at the end, empty or nil, as second key and alone.

import Foundation
import RealmSwift
import Testing

final class SortedText: Object {
    @Persisted var number: Int
    @Persisted var text: String?
}

struct SortCornersTests {
    private static let texts: [String?] = [
        nil, "", "\0", "a", "a\0", "a\0b", "ab", "é", "e\u{301}", "😀", "sixteen bytes ok", "sixteen bytes ok\0",
        "sixteen bytes ok and more", "sixteen bytes ok and mord", String(repeating: "long ", count: 2_000),
    ]

    /// By bytes, with nil first.
    private static func isBefore(_ a: String?, _ b: String?) -> Bool {
        guard let b else { return false }
        guard let a else { return true }
        return a.utf8.lexicographicallyPrecedes(b.utf8)
    }

    @Test(arguments: [true, false], [0, 1, .max, .min])
    func `strings are in the order of their bytes`(isAscending: Bool, number: Int) throws {
        let realm = try Realm(
            configuration: Realm.Configuration(
                inMemoryIdentifier: "sort-corners-\(UUID())", objectTypes: [SortedText.self]))
        try realm.write {
            for text in Self.texts.shuffled() + Self.texts.shuffled() {
                realm.create(SortedText.self, value: ["number": number, "text": text as Any])
                realm.create(SortedText.self, value: ["number": 0, "text": text as Any])
            }
        }
        let found = realm.objects(SortedText.self).sorted(by: [
            SortDescriptor(keyPath: "number", ascending: isAscending),
            SortDescriptor(keyPath: "text", ascending: isAscending),
        ])
        let pairs = found.map { ($0.number, $0.text) }
        for (one, next) in zip(pairs, pairs.dropFirst()) {
            let (a, b) = isAscending ? (one, next) : (next, one)
            #expect(a.0 < b.0 || a.0 == b.0 && !Self.isBefore(b.1, a.1), "\(a) before \(b)")
        }
        #expect(pairs.count == 4 * Self.texts.count)
    }
}
