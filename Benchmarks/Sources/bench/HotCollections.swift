// SPDX-License-Identifier: Apache-2.0
// The hot paths of objects that have collections, and of their collections: for `bench hot`, on a database in memory.

import Foundation
import RealmSwift

/// Shelves in memory, with three numbers in the list of each. Confined to one thread.
final class HotCollections {
    private let realm: Realm
    private let objects: Int
    private let large: Shelf
    /// The number of insertions so far, so that each round inserts something new.
    private var inserted = 0

    typealias Body = (HotCollections) throws -> Void

    nonisolated(unsafe) static let all: [String: Body] = [
        "shelf-iterate": { try $0.iterate() },
        "shelf-counts": { try $0.countNumbers() },
        "shelf-lists": { try $0.readLists() },
        "shelf-elements": { try $0.readLarge() },
        "shelf-positions": { try $0.readPositions() },
        "shelf-append": { try $0.append() },
        "shelf-append-turns": { try $0.appendInTurns() },
        "shelf-set": { try $0.insertMarks() },
        "shelf-map": { try $0.insertPrices() },
        "shelf-set-all": { try $0.fillMarks() },
        "shelf-map-all": { try $0.fillPrices() },
        "shelf-create": { try $0.create() },
        "shelf-update": { try $0.update() },
        "shelf-upsert": { try $0.upsert() },
    ]

    init(objects: Int) throws {
        self.objects = objects
        let configuration = Realm.Configuration(
            inMemoryIdentifier: "shelves \(UUID().uuidString)", objectTypes: [Shelf.self])
        let realm = try Realm(configuration: configuration)
        self.realm = realm
        large = Shelf()
        try realm.write {
            for id in 0..<objects {
                let shelf = Shelf()
                shelf.id = id
                shelf.title = "shelf \(id)"
                shelf.numbers.append(objectsIn: [id, id + 1, id + 2])
                realm.add(shelf)
            }
            large.id = -1
            realm.add(large)
            large.numbers.append(objectsIn: 0..<objects)
        }
    }

    private func iterate() throws {
        var sum = 0
        for shelf in realm.objects(Shelf.self) { sum &+= shelf.id }
        sink(sum)
    }

    private func countNumbers() throws {
        var sum = 0
        for shelf in realm.objects(Shelf.self) where shelf.id >= 0 { sum &+= shelf.numbers.count }
        sink(sum)
    }

    private func readLists() throws {
        var sum = 0
        for shelf in realm.objects(Shelf.self) where shelf.id >= 0 { for number in shelf.numbers { sum &+= number } }
        sink(sum)
    }

    private func readLarge() throws {
        var sum = 0
        for number in large.numbers { sum &+= number }
        sink(sum)
    }

    private func readPositions() throws {
        let numbers = large.numbers
        var sum = 0
        for position in 0..<objects { sum &+= numbers[position] }
        let expected = objects * (objects - 1) / 2
        guard sum == expected else { throw Failure("\(sum) instead of \(expected)") }
    }

    private func take() -> Range<Int> {
        defer { inserted += 1000 }
        return inserted..<inserted + 1000
    }

    private func append() throws {
        try realm.write { for number in take() { large.numbers.append(number) } }
    }

    /// Ten to each of 100 lists, one to each in rotation.
    private func appendInTurns() throws {
        let shelves = Array(realm.objects(Shelf.self).prefix(100))
        try realm.write { for number in take() { shelves[number % 100].numbers.append(number) } }
    }

    private func insertMarks() throws {
        try realm.write { large.insertMarks(take()) }
    }

    private func insertPrices() throws {
        try realm.write { large.insertPrices(take()) }
    }

    private func fillMarks() throws {
        try realm.write {
            large.marks.removeAll()
            large.insertMarks(0..<objects)
        }
    }

    private func fillPrices() throws {
        try realm.write {
            large.prices.removeAll()
            large.insertPrices(0..<objects)
        }
    }

    private func create() throws {
        try realm.write {
            for number in take() {
                realm.create(Shelf.self, value: ["id": objects + number, "title": "shelf \(number)"])
            }
        }
    }

    private func update() throws {
        try realm.write {
            for number in take() {
                let value: [String: Any] = ["id": number % objects, "title": "shelf \(number)"]
                realm.create(Shelf.self, value: value, update: .modified)
            }
        }
    }

    private func upsert() throws {
        try realm.write {
            for number in take() {
                let shelf = Shelf()
                shelf.id = number % objects
                shelf.title = "shelf \(number)"
                realm.add(shelf, update: .modified)
            }
        }
    }
}
