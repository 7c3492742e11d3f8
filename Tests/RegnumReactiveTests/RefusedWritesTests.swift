// SPDX-License-Identifier: Apache-2.0
// Writes that sinks and operations refuse: `onError` is called, or the operation fails, and nothing is changed.

#if canImport(Combine) || Publishers
    import Dispatch
    import Foundation
    import Regnum
    import RegnumReactive
    import Synchronization
    import Testing

    class UnlistedObject: Object {
        @Persisted(primaryKey: true) var id = 0
    }

    private let foreign = "Can only delete an object from the Realm it belongs to."
    private let elsewhereManaged = "Object is already managed by another Realm."

    /// The messages of the reported errors.
    private final class Words: Sendable {
        private let words = Mutex<[String]>([])
        var all: [String] { words.withLock { $0 } }
        func note(_ error: any Error) {
            let inner = if case .failed(let inner)? = error as? ReactiveRealmError { inner } else { error }
            let text = (inner as? Realm.Error)?.localizedDescription ?? "\(inner)"
            words.withLock { $0.append(text) }
        }
    }

    @Suite struct RefusedWritesTests {
        private let stage: Stage
        private let other: Stage

        init() throws {
            stage = try Stage()
            other = try Stage()
            try stage.write { $0.add(FakeObject("1")) }
            try other.write { $0.add(FakeObject("1")) }
        }

        private func expect(
            _ expected: [String], _ location: SourceLocation = #_sourceLocation, _ body: (Realm, Words) throws -> Void
        ) rethrows {
            let words = Words()
            try stage.on { try body($0, words) }
            stage.settle()
            #expect(words.all.count == expected.count, "\(words.all)", sourceLocation: location)
            for (found, wanted) in zip(words.all, expected) {
                #expect(found.contains(wanted), sourceLocation: location)
            }
            stage.on { realm in
                #expect(realm.objects(FakeObject.self).map(\.id) == ["1"], sourceLocation: location)
                #expect(!realm.isInWriteTransaction, sourceLocation: location)
            }
        }

        @Test("Deleting sinks report unmanaged objects, alone, in arrays and beside managed ones")
        func sinksDelete() {
            expect([foreign]) { realm, words in
                Just(FakeObject("2")).subscribe(realm.sink.delete { _, error in words.note(error) })
            }
            expect([foreign]) { realm, words in
                Just([FakeObject("2"), FakeObject("3")]).subscribe(realm.sink.delete { _, error in words.note(error) })
            }
            expect([foreign, foreign]) { realm, words in
                let managed = realm.objects(FakeObject.self)[0]
                Just([managed, FakeObject("2")]).subscribe(realm.sink.delete { _, error in words.note(error) })
                Just([FakeObject("2"), managed]).subscribe(realm.sink.delete { _, error in words.note(error) })
            }
        }

        @Test("Deleting static sinks report unmanaged objects, alone, in arrays and beside managed ones")
        func staticSinksDelete() {
            expect([foreign, foreign]) { _, words in
                Just(FakeObject("2")).subscribe(Realm.sink.delete { _, error in words.note(error) })
                Just([FakeObject("2")]).subscribe(Realm.sink.delete { _, error in words.note(error) })
            }
            expect([foreign, foreign]) { realm, words in
                let managed = realm.objects(FakeObject.self)[0]
                Just([managed, FakeObject("2")]).subscribe(Realm.sink.delete { _, error in words.note(error) })
                Just([FakeObject("2"), managed]).subscribe(Realm.sink.delete { _, error in words.note(error) })
            }
            expect([]) { _, words in
                Just([FakeObject]()).subscribe(Realm.sink.delete { _, error in words.note(error) })
            }
        }

        @Test("Operations that delete unmanaged objects fail", arguments: [ReactiveRealmThread.current, .background])
        func operationsDelete(_ thread: ReactiveRealmThread) throws {
            let one = stage.record { FakeObject("2").delete(realm: $0, thread: thread) }
            let many = stage.record { [FakeObject("2"), $0.objects(FakeObject.self)[0]].delete(thread: thread) }
            for record in [one, many] {
                let words = Words()
                if let failure = record.ended().failure { words.note(failure) }
                #expect(words.all == [foreign])
            }
            stage.on { #expect($0.objects(FakeObject.self).count == 1) }
        }

        @Test("Objects of another file are refused by sinks and operations")
        func otherFile() throws {
            let configuration = other.configuration
            try stage.on { realm in
                let opened = try Realm(configuration: configuration, queue: stage.queue)
                let strange = opened.objects(FakeObject.self)[0]
                let words = Words()
                Just(strange).subscribe(realm.sink.delete { _, error in words.note(error) })
                Just(strange).subscribe(realm.sink.add(update: .all) { _, error in words.note(error) })
                Just([realm.objects(FakeObject.self)[0], strange])
                    .subscribe(Realm.sink.delete { _, error in words.note(error) })
                #expect(words.all.count == 3 && words.all[0] == foreign && words.all[2] == foreign)
                #expect(words.all[1].hasPrefix(elsewhereManaged))
            }
            let record = try stage.record { realm in
                [
                    realm.objects(FakeObject.self)[0],
                    try Realm(configuration: configuration, queue: stage.queue).objects(FakeObject.self)[0],
                ].delete()
            }
            let words = Words()
            if let failure = record.ended().failure { words.note(failure) }
            #expect(words.all.first?.hasPrefix(elsewhereManaged) == true)
        }

        @Test("Frozen Realms and unknown classes are refused by sinks")
        func kinds() {
            expect(["Can't perform transactions on a frozen Realm"]) { realm, words in
                Just(FakeObject("2")).subscribe(realm.freeze().sink.add { _, error in words.note(error) })
            }
            expect(["Can't perform transactions on a frozen Realm"]) { realm, words in
                Just(realm.objects(FakeObject.self)[0].freeze())
                    .subscribe(Realm.sink.delete { _, error in words.note(error) })
            }
            expect(["Object type 'UnlistedObject' is not managed by the Realm."]) { realm, words in
                Just(UnlistedObject()).subscribe(realm.sink.add { _, error in words.note(error) })
            }
        }

        @Test("Sinks refuse objects that cannot be stored with what they link to, before anything is added")
        func linked() throws {
            try stage.on { realm in try realm.write { realm.objects(FakeObject.self)[0].part = FakePart() } }
            let owned = "Can't set link to existing managed embedded object."
            expect([owned, owned]) { realm, words in
                let first = FakeObject("2")
                first.part = realm.objects(FakeObject.self)[0].part
                Just(first).subscribe(realm.sink.add { _, error in words.note(error) })
                let (second, third) = (FakeObject("3"), FakeObject("4"))
                second.part = FakePart()
                third.part = second.part
                second.other = third
                Just(second).subscribe(realm.sink.add { _, error in words.note(error) })
            }
            expect(["key must not contain '.'"]) { realm, words in
                let object = FakeObject("2")
                object.map["a.b"] = 1
                Just(object).subscribe(realm.sink.add { _, error in words.note(error) })
            }
        }
    }
#endif
