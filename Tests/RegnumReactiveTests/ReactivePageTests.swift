// SPDX-License-Identifier: Apache-2.0
// The listing of RegnumReactive.docc/PublishersGuide.md compiles, and is in this file unchanged.

#if canImport(Combine) || Publishers
    import Dispatch
    import Foundation
    import Regnum
    import RegnumReactive
    import Testing

    private class Dog: Object {
        @Persisted(primaryKey: true) var name = ""
        @Persisted var age = 0

        // Other tests of the process have a class of that name.
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }

    private struct Table {
        func apply(_ change: RealmCollectionChange<Results<Dog>>) {}
    }

    private struct Page {
        let realm: Realm
        let dog: Dog
        let table = Table()
        let downloads = PassthroughSubject<Dog, Never>()

        func index(_ dogs: Results<Dog>) {}
        func show(_ text: String) {}
        func show(_ dogs: Results<Dog>, _ changes: RealmChangeset?) {}
        func report(_ error: any Error) {}

        func listing() -> [AnyCancellable] {
            var tokens: Set<AnyCancellable> = []
            let token = realm.objects(Dog.self).changesetPublisher
                .sink { change in table.apply(change) }

            realm.objects(Dog.self).collectionPublisher
                .freeze()  // or .threadSafeReference()
                .receive(on: DispatchQueue(label: "index"))
                .sink(receiveCompletion: { _ in }, receiveValue: { index($0) })
                .store(in: &tokens)

            Dog.findAll().sorted(key: "age").reactive()
                .sink(receiveCompletion: { _ in }, receiveValue: { dogs, changes in show(dogs, changes) })
                .store(in: &tokens)

            dog.update(thread: .background) { $0.age += 1 }
                .sink(receiveCompletion: { _ in }, receiveValue: { show("done") })
                .store(in: &tokens)

            downloads.subscribe(realm.sink.add(update: .modified) { dog, error in report(error) })
            return [token] + tokens
        }
    }

    @Suite("The publishers guide")
    struct ReactivePageTests {
        @Test("The listing of the guide is in this file")
        func listing() throws {
            let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
                .deletingLastPathComponent()
            func words(_ text: some StringProtocol) -> String { String(text.filter { !$0.isWhitespace }) }
            let page = try String(
                contentsOf: root.appendingPathComponent(
                    "Sources/RegnumReactive/RegnumReactive.docc/PublishersGuide.md"),
                encoding: .utf8)
            let code = words(try String(contentsOfFile: #filePath, encoding: .utf8))
            let listings = page.components(separatedBy: "```swift\n").dropFirst().map {
                $0.components(separatedBy: "```")[0]
            }
            #expect(listings.count == 1)
            for listing in listings { #expect(code.contains(words(listing)), "\(listing)") }
        }
    }
#endif
