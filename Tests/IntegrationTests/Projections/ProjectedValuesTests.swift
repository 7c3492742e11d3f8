// SPDX-License-Identifier: Apache-2.0
// The new values of projected collections in changes, and projected properties without a stored property.

import Foundation
import RealmSwift
import RegnumTestKit
import Testing

enum ProjectedValues {
    class Item: Object {
        @Persisted(primaryKey: true) var id: Int
        @Persisted var name: String
        @Persisted var words: List<String>
        @Persisted var scores: Map<String, Int>
        @Persisted var friends: List<Item>
        var computed: Int { 5 }
        var loud: String { name.uppercased() }
        var both: String { name + "\(id)" }
    }

    class View: Projection<Item> {
        @Projected(\Item.words) var words
        @Projected(\Item.scores) var scores
        @Projected(\Item.friends.projectTo.name) var names: ProjectedCollection<String>
        @Projected(\Item.loud) var loud
        @Projected(\Item.both) var both
    }

    class Wrong: Projection<Item> {
        @Projected(\Item.computed) var computed
    }

    class Derived: View {
        @Projected(\Item.computed) var five
    }
}

@Suite("Values of projected properties")
struct ProjectedValuesTests {
    @Test("A change has a projected collection as new value, and no old value")
    @MainActor
    func newValues() throws {
        let realm = try memoryRealm(ProjectedValues.Item.self)
        let item = try realm.write { realm.create(ProjectedValues.Item.self, value: ["id": 1]) }
        let view = ProjectedValues.View(projecting: item)
        var seen: [String: PropertyChange] = [:]
        let token = view.observe { change in
            guard case .change(_, let changes) = change else { return }
            for change in changes { seen[change.name] = change }
        }
        defer { token.invalidate() }
        try realm.write {
            item.words.append("a")
            item.scores["k"] = 1
            item.friends.append(realm.create(ProjectedValues.Item.self, value: ["id": 2, "name": "Bo"]))
        }
        realm.refresh()
        #expect((seen["words"]?.newValue as? List<String>).map { Array($0) } == ["a"])
        #expect((seen["scores"]?.newValue as? Map<String, Int>)?["k"] == 1)
        #expect((seen["names"]?.newValue as? ProjectedCollection<String>).map { Array($0) } == ["Bo"])
        #expect(seen.values.allSatisfy { $0.oldValue == nil })
    }

    @Test("A projected property must lead to a stored property; a computed one that reads a stored one is accepted")
    func computed() throws {
        let item = ProjectedValues.Item(value: ["id": 1, "name": "a"])
        let view = ProjectedValues.View(projecting: item)
        #expect(view.loud == "A" && view.both == "a1")
        let words = try misuseText {
            _ = ProjectedValues.Wrong(projecting: ProjectedValues.Item(value: ["id": 1]))
        }
        #expect(words?.contains("@Projected property 'computed'") == true)
        #expect(words?.contains("must be a part of Realm object") == true)
        let derived = try misuseText {
            _ = ProjectedValues.Derived(projecting: ProjectedValues.Item(value: ["id": 1]))
        }
        #expect(derived?.contains("@Projected property 'five'") == true)
        let results = try misuseText {
            let realm = try memoryRealm(ProjectedValues.Item.self)
            try realm.write { _ = realm.create(ProjectedValues.Item.self, value: ["id": 1]) }
            _ = realm.objects(ProjectedValues.Wrong.self).first
        }
        #expect(results?.contains("@Projected property 'computed'") == true)
    }
}
