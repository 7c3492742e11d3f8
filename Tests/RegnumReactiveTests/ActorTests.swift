// SPDX-License-Identifier: Apache-2.0
// Publishers and operations started on actors: all values arrive there.

#if canImport(Combine) || Publishers
    import Dispatch
    import Foundation
    import Regnum
    import RegnumReactive
    import Testing

    /// Has a Realm, and keeps the values that its subscriptions receive. The closures of the subscriptions are isolated
    /// to it, which the language checks at each call.
    private actor Keeper {
        private let configuration: Realm.Configuration
        private var realm: Realm?
        private var subscriptions: Set<AnyCancellable> = []
        private(set) var words: [String] = []
        private var waiting: (count: Int, continuation: CheckedContinuation<Void, Never>)?

        init(_ configuration: Realm.Configuration) { self.configuration = configuration }

        func open() async throws { realm = try await Realm.open(configuration: configuration) }

        private func opened() throws -> Realm { try #require(realm) }

        private func note(_ word: String) {
            words.append(word)
            if let waiting, words.count >= waiting.count {
                self.waiting = nil
                waiting.continuation.resume()
            }
        }

        /// Waits for this number of records, or until the time of the test is over.
        func words(_ count: Int) async -> [String] {
            await withTaskCancellationHandler {
                if words.count < count, !Task.isCancelled {
                    await withCheckedContinuation { waiting = (count, $0) }
                }
            } onCancel: {
                Task { await self.giveUp() }
            }
            return words
        }

        private func giveUp() {
            waiting?.continuation.resume()
            waiting = nil
        }

        func write(_ body: @Sendable (Realm) throws -> Void) throws {
            let realm = try opened()
            try realm.write { try body(realm) }
        }

        func count() throws -> Int { try opened().objects(FakeObject.self).count }
        func value() throws -> String { try #require(opened().objects(FakeObject.self).first).value }

        func close() {
            subscriptions = []
            realm = nil
        }

        private func note(_ end: Subscribers.Completion<some Error>) {
            switch end {
            case .finished: note("finished")
            case .failure(let error): note("\(error)")
            }
        }

        private func keep<P: Publisher>(_ publisher: P, _ word: @escaping @Sendable (P.Output) -> String) {
            publisher.sink(receiveCompletion: { self.note($0) }, receiveValue: { self.note(word($0)) })
                .store(in: &subscriptions)
        }

        func observeChanges() throws {
            keep(try opened().objects(FakeObject.self).changesetPublisher) { change in
                switch change {
                case .initial(let objects): "initial \(objects.count)"
                case .update(let objects, let deletions, let insertions, let modifications):
                    "\(objects.count) \(deletions) \(insertions) \(modifications)"
                case .error(let error): "\(error)"
                }
            }
        }

        func observeObject() throws {
            let object = try #require(opened().objects(FakeObject.self).first)
            keep(changesetPublisher(object)) { change in
                if case .change(let object, let properties) = change {
                    "\(properties.map(\.name)) \(object.value)"
                } else {
                    "deleted"
                }
            }
        }

        func observeProjection() throws {
            let object = try #require(opened().objects(FakeObject.self).first)
            keep(valuePublisher(FakeProjection(projecting: object))) { $0.value }
        }

        func reactive() throws {
            keep(FakeObject.findAll(realm: try opened()).sorted(key: "value").reactive()) { results in
                results.value.map(\.value).joined() + " \(results.changes.map { "\($0.inserted)" } ?? "nil")"
            }
        }

        func add(_ id: String, _ thread: ReactiveRealmThread) throws {
            let realm = try opened()
            keep(FakeObject(id, "new").add(realm: realm, thread: thread)) { "added" }
        }

        func update(_ value: String, _ thread: ReactiveRealmThread) throws {
            let object = Handed(value: try #require(opened().objects(FakeObject.self).first))
            keep(object.value.update(thread: thread) { $0.value = value }) { "updated \(object.value.value)" }
        }

        func delete(_ thread: ReactiveRealmThread) throws {
            let object = try #require(opened().objects(FakeObject.self).first)
            keep(object.delete(thread: thread)) { "deleted" }
        }

        /// Subscribed to on another actor.
        func operation() throws -> Handed<RealmPublishers.Operation<Void>> {
            let object = try #require(opened().objects(FakeObject.self).first)
            return Handed(value: object.update { $0.value = "never" })
        }
    }

    private struct Handed<Value>: @unchecked Sendable {
        // Sendable: used on the actor, or on the wrong thread on purpose.
        let value: Value
    }

    @Suite("Publishers on actors", .timeLimit(.minutes(240)))
    struct ActorTests {
        private let configuration = Realm.Configuration(
            inMemoryIdentifier: UUID().uuidString, objectTypes: [FakeObject.self, FakePart.self])
        private let keeper: Keeper

        init() async throws {
            keeper = Keeper(configuration)
            try await keeper.open()
            try await keeper.write { $0.add(FakeObject("1", "one")) }
        }

        @Test("Changes of a collection arrive on the actor, made by itself and by others")
        func collections() async throws {
            try await keeper.observeChanges()
            #expect(await keeper.words(1) == ["initial 1"])
            try await keeper.write { $0.add(FakeObject("2", "two")) }
            #expect(await keeper.words(2).last == "2 [] [1] []")
            let queue = DispatchQueue(label: "others")
            try queue.sync {
                let realm = try Realm(configuration: configuration, queue: queue)
                try realm.write { realm.objects(FakeObject.self)[0].value = "uno" }
            }
            #expect(await keeper.words(3).last == "2 [] [] [0]")
            await keeper.close()
        }

        @Test("Changes and the deletion of an object arrive on the actor")
        func objects() async throws {
            try await keeper.observeObject()
            try await keeper.write { $0.objects(FakeObject.self)[0].value = "uno" }
            // Commits before the actor runs again are reported as one.
            _ = await keeper.words(1)
            try await keeper.write { $0.deleteAll() }
            #expect(await keeper.words(2) == [#"["value"] uno"#, "finished"])
            await keeper.close()
        }

        @Test("Changes of a projection arrive on the actor")
        func projections() async throws {
            try await keeper.observeProjection()
            try await keeper.write { $0.objects(FakeObject.self)[0].number = 4 }
            try await keeper.write { $0.objects(FakeObject.self)[0].value = "uno" }
            #expect(await keeper.words(1) == ["uno"])
            await keeper.close()
        }

        @Test("`findAll`, `sorted` and `reactive` work on an actor")
        func finding() async throws {
            try await keeper.reactive()
            #expect(await keeper.words(1) == ["one nil"])
            try await keeper.write { $0.add(FakeObject("2", "a")) }
            #expect(await keeper.words(2).last == "aone [0]")
            await keeper.close()
        }

        @Test(
            "An operation started on an actor completes there, when its Realm shows the change",
            arguments: [ReactiveRealmThread.current, .background])
        func operations(_ thread: ReactiveRealmThread) async throws {
            try await keeper.add("2", thread)
            #expect(await keeper.words(2) == ["added", "finished"])
            #expect(try await keeper.count() == 2)
            try await keeper.update("uno", thread)
            #expect(await keeper.words(4).suffix(2) == ["updated uno", "finished"])
            try await keeper.add("1", thread)
            #expect(await keeper.words(5).last == "alreadyExists")
            try await keeper.delete(thread)
            #expect(await keeper.words(7).suffix(2) == ["deleted", "finished"])
            #expect(try await keeper.count() == 1)
            await keeper.close()
        }

        @Test("An operation on an actor's object fails with wrongThread if it starts elsewhere")
        func elsewhere() async throws {
            let operation = try await keeper.operation()
            let queue = DispatchQueue(label: "elsewhere")
            let record = Record<Void, ReactiveRealmError>(queue)
            queue.sync { operation.value.subscribe(record) }
            #expect(record.failure == .wrongThread)
            #expect(try await keeper.value() == "one")
            await keeper.close()
        }
    }
#endif
