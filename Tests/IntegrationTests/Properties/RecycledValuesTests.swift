// SPDX-License-Identifier: Apache-2.0
// Reading an ObjectId or a Decimal128 may return the instance of an earlier read, but never one that is still
// referenced.

import Dispatch
import Foundation
import RealmSwift
import Testing

class Marked: Object {
    @Persisted(primaryKey: true) var id = 0
    @Persisted var mark: ObjectId
    @Persisted var other: ObjectId
    @Persisted var amount: Decimal128
    @Persisted var rest: Decimal128?
}

@Suite("Recycled values")
struct RecycledValuesTests {
    private static func text(_ id: Int) -> String { String(repeating: "0", count: 20) + String(format: "%04d", id) }

    private static func fill(_ realm: Realm) throws {
        try realm.write {
            for id in 0..<50 {
                let mark = try ObjectId(string: text(id))
                let value: [String: Any] = [
                    "id": id, "mark": mark, "other": try ObjectId(string: text(id + 1000)),
                    "amount": Decimal128(value: id), "rest": Decimal128(value: -id),
                ]
                realm.create(Marked.self, value: value)
            }
        }
    }

    @Test("Values that are referenced keep their value while others are read")
    func held() throws {
        let realm = try memoryRealm(Marked.self)
        try Self.fill(realm)
        var strong: [(ObjectId, Decimal128)] = []
        var identities: Set<ObjectIdentifier> = []
        weak var weakMark: ObjectId?
        for row in realm.objects(Marked.self) {
            let (mark, amount) = (row.mark, row.amount)
            #expect(row.other.stringValue == Self.text(row.id + 1000) && row.rest == Decimal128(value: -row.id))
            #expect(mark.stringValue == Self.text(row.id) && amount == Decimal128(value: row.id))
            unowned let known = mark
            if row.id == 7 { weakMark = mark }
            _ = realm.objects(Marked.self)[0].mark
            #expect(known.stringValue == Self.text(row.id))
            strong.append((mark, amount))
            identities.insert(ObjectIdentifier(mark))
        }
        #expect(identities.count == 50 && weakMark?.stringValue == Self.text(7))
        for (id, (mark, amount)) in strong.enumerated() {
            #expect(mark.stringValue == Self.text(id) && amount == Decimal128(value: id))
        }
        strong = []
        for row in realm.objects(Marked.self) { _ = row.mark }
        // Released, or unchanged.
        #expect(weakMark == nil || weakMark?.stringValue == Self.text(7))
    }

    @Test("A value can be released on another thread while others are read here")
    func handedOver() throws {
        let realm = try memoryRealm(Marked.self)
        try Self.fill(realm)
        let (queue, group, wrong) = (DispatchQueue.global(), DispatchGroup(), Counter())
        for _ in 0..<20 {
            for row in realm.objects(Marked.self) {
                let (id, mark, amount) = (row.id, row.mark, row.amount)
                queue.async(group: group) {
                    if mark.stringValue != Self.text(id) || amount != Decimal128(value: id) { wrong.add() }
                }
            }
        }
        group.wait()
        #expect(wrong.value == 0)
    }

    @Test("Many threads read the values of frozen objects at the same time")
    func frozen() throws {
        let realm = try memoryRealm(Marked.self)
        try Self.fill(realm)
        // unsafe: frozen results are read by any thread.
        nonisolated(unsafe) let rows = realm.objects(Marked.self).freeze()
        DispatchQueue.concurrentPerform(iterations: 4) { _ in
            for _ in 0..<20 {
                for row in rows {
                    let (mark, amount) = (row.mark, row.amount)
                    #expect(mark.stringValue == Self.text(row.id) && amount == Decimal128(value: row.id))
                }
            }
        }
    }
}
