// SPDX-License-Identifier: Apache-2.0
// Custom types run the program's code, which may write to the Realm while an object is added.

import Foundation
import RealmSwift
import RegnumTestKit
import Synchronization
import Testing

/// A number whose `persistableValue` runs code that may use a Realm.
private struct Asked: CustomPersistable {
    struct Call {
        let body: @Sendable () -> Void
    }
    /// Called once, at the next read of the stored form.
    static let next = Mutex<Call?>(nil)
    let number: Int
    init(_ number: Int) { self.number = number }
    init(persistedValue: Int) { number = persistedValue }
    var persistableValue: Int {
        let call = Self.next.withLock { next in
            defer { next = nil }
            return next
        }
        call?.body()
        return number
    }
}

private final class AskedRow: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var text: String
    @Persisted var asked = Asked(0)
    @Persisted var optional: Asked?
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

// If this code adds enough objects to fill and seal the last row group, the rest of the first object's values must
// not be written to the freed memory of that group.
@Suite("Code of custom types") struct CustomCodeTests {
    @Test("Objects that custom code adds while another object is added all keep their own values")
    func adding() throws {
        let name = "custom-code-\(UUID().uuidString)"
        let configuration = Realm.Configuration(inMemoryIdentifier: name, objectTypes: [AskedRow.self])
        let realm = try Realm(configuration: configuration)
        try realm.write {
            for turn in 0..<4 {
                let row = AskedRow(value: ["id": turn, "text": "outer \(turn)"])
                row.asked = Asked(-turn)
                row.optional = Asked(turn * 7)
                Asked.next.withLock { next in
                    next = Asked.Call {
                        guard let same = try? Realm(configuration: configuration) else { return }
                        for id in 0..<1500 {
                            let inner = AskedRow(value: ["id": 1000 + turn * 1500 + id, "text": "inner \(id)"])
                            inner.asked = Asked(id)
                            same.add(inner)
                        }
                    }
                }
                realm.add(row)
            }
        }
        #expect(realm.objects(AskedRow.self).count == 4 * 1501)
        for turn in 0..<4 {
            let row = try #require(realm.object(ofType: AskedRow.self, forPrimaryKey: turn))
            #expect(row.text == "outer \(turn)" && row.asked.number == -turn && row.optional?.number == turn * 7)
            for id in stride(from: 0, to: 1500, by: 7) {
                let inner = try #require(
                    realm.object(ofType: AskedRow.self, forPrimaryKey: 1000 + turn * 1500 + id))
                #expect(inner.text == "inner \(id)" && inner.asked.number == id && inner.optional == nil)
            }
        }
        expectIntegrity(of: configuration)
    }
}
