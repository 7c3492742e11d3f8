// SPDX-License-Identifier: Apache-2.0
// Fixtures with values that would be misuse if they were stored: each throws an error with its path, and nothing is
// added. A hundred nested arrays once crashed the program.

import Foundation
import Regnum
import RegnumTestKit
import Testing

class HostileRow: Object {
    @Persisted(primaryKey: true) var id = 0
    @Persisted var name = ""
    @Persisted var next: HostileRow?
    @Persisted var rows: List<HostileRow>
    @Persisted var numbers: List<Int>
    @Persisted var words: Map<String, String>
    @Persisted var any: AnyRealmValue
    @Persisted var anys: List<AnyRealmValue>
    @Persisted var anySet: MutableSet<AnyRealmValue>
    @Persisted var part: HostilePart?
    @Persisted(originProperty: "next") var previous: LinkingObjects<HostileRow>
}

class HostilePart: EmbeddedObject {
    @Persisted var next: HostilePart?
}

@Suite(.realm(HostileRow.self, HostilePart.self), .serialized)
struct HostileFixturesTests {
    private static func nested(_ open: String, _ close: String, _ count: Int, _ inner: String = "1") -> String {
        String(repeating: open, count: count) + inner + String(repeating: close, count: count)
    }

    static let wrong: [(text: String, words: String)] = [
        (#"{"HostileRow": [{"any": \#(nested("[", "]", 101))}]}"#, "HostileRow[0].any: arrays and objects are nested"),
        (#"{"HostileRow": [{"any": \#(nested(#"{"a":"#, "}", 400))}]}"#, "HostileRow[0].any: arrays and objects"),
        (#"{"HostileRow": [{"anys": [\#(nested("[", "]", 101))]}]}"#, "HostileRow[0].anys[0]: arrays and objects"),
        (#"{"HostileRow": [\#(nested(#"{"id":1,"next":"#, "}", 300, "null"))]}"#, "HostileRow[0].next.next."),
        (#"{"HostileRow": [{"part": \#(nested(#"{"next":"#, "}", 300, "null"))}]}"#, "HostileRow[0].part.next."),
        (nested("[", "]", 100_000), "fixture: is not valid JSON"),
        (#"{"HostileRow": [{"name": null}]}"#, "HostileRow[0].name: must not be null"),
        (#"{"HostileRow": [{"id": null}]}"#, "HostileRow[0].id: must not be null"),
        (#"{"HostileRow": [{"numbers": [1, null]}]}"#, "HostileRow[0].numbers[1]: must not be null"),
        (#"{"HostileRow": [{"rows": [null]}]}"#, "HostileRow[0].rows[0]: must not be null"),
        (#"{"HostileRow": [{"words": {"$a": "b"}}]}"#, "HostileRow[0].words: a key must not start with '$'"),
        (#"{"HostileRow": [{"words": {"a.b": "b"}}]}"#, "HostileRow[0].words: a key must not start with '$'"),
        (#"{"HostileRow": [{"any": {"$a": 1}}]}"#, "HostileRow[0].any: a key must not start with '$'"),
        (#"{"HostileRow": [{"previous": []}]}"#, "HostileRow[0].previous"),
        (#"{"HostileRow": [{"anySet": [1, [2]]}]}"#, "HostileRow[0].anySet[1]: a set cannot hold arrays or objects"),
        (#"{"HostileRow": [{"anySet": [{"a": 2}]}]}"#, "HostileRow[0].anySet[0]: a set cannot hold arrays or objects"),
        (#"{"HostileRow": [], "HostileRow": []}"#, "fixture: is not valid JSON"),
        (#"{"HostileRow": [{"any": true, "any": 1}]}"#, "fixture: is not valid JSON"),
        (#"{"HostilePart": [{}]}"#, "HostilePart: is embedded"),
    ]

    @Test("A value that cannot be stored throws an error with its path, and nothing is added", arguments: wrong)
    func refused(_ text: String, _ words: String) throws {
        let realm = try Realm()
        let error = #expect(throws: FixtureError.self) { try realm.seed(json: Data(text.utf8)) }
        #expect(error?.description.hasPrefix(words) == true, "\(error?.description.prefix(200) ?? "")")
        #expect(realm.isEmpty)
    }

    @Test("A hundred nested levels are stored")
    func allowed() throws {
        let realm = try Realm()
        let rows = Self.nested(#"{"id":1,"next":"#, "}", 100, "null")
        try realm.seed(
            json: Data(#"{"HostileRow": [{"id": 2, "any": \#(Self.nested("[", "]", 100))}, \#(rows)]}"#.utf8))
        #expect(realm.objects(HostileRow.self).count == 2)
    }
}
