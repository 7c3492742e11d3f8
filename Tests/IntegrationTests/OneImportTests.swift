// SPDX-License-Identifier: Apache-2.0
// What a program sees that imports RealmSwift and nothing else, as programs on Apple's systems do. No other import but
// the testing library's may stand here.

import RealmSwift
import Testing

class OneImportDog: Object {
    @Persisted(primaryKey: true) var id = UUID()
    @Persisted var name = ""
    @Persisted var born = Date(timeIntervalSince1970: 0)
    @Persisted var picture: Data?
}

@Suite("One import")
struct OneImportTests {
    func open() throws -> Realm {
        try Realm(
            configuration: .init(inMemoryIdentifier: UUID().uuidString, objectTypes: [OneImportDog.self]))
    }

    @Test("Foundation's types in models, files and predicates come with RealmSwift")
    func foundation() throws {
        let realm = try open()
        let file: URL? = Realm.Configuration(fileURL: URL(fileURLWithPath: "/tmp/dogs.realm")).fileURL
        #expect(file?.lastPathComponent == "dogs.realm")
        try realm.write {
            let rex = OneImportDog(value: ["name": "Rex", "picture": Data([1, 2])])
            realm.add([rex, OneImportDog(value: ["name": "Ada", "born": Date(timeIntervalSince1970: 60)])])
        }
        let dogs = realm.objects(OneImportDog.self)
        #expect(dogs.filter(NSPredicate(format: "name == %@", "Rex")).first?.picture?.count == 2)
        #expect(dogs.where { $0.born > Date(timeIntervalSince1970: 1) }.map(\.name) == ["Ada"])
    }

    @Test("SortDescriptor is Realm's, by its module's name and alone")
    func sortDescriptor() throws {
        let realm = try open()
        try realm.write { for name in ["b", "c", "a"] { realm.create(OneImportDog.self, value: ["name": name]) } }
        let descending: RealmSwift.SortDescriptor = SortDescriptor(keyPath: "name", ascending: false)
        let descriptors = [descending, RealmSwift.SortDescriptor(keyPath: "id")]
        #expect(realm.objects(OneImportDog.self).sorted(by: descriptors).map(\.name) == ["c", "b", "a"])
    }

    @Test("NotificationBlock is Realm.NotificationBlock")
    func notificationBlock() throws {
        let realm = try open()
        var told = 0
        let block: NotificationBlock = { notification, _ in told += notification == .didChange ? 1 : 0 }
        let same: Realm.NotificationBlock = block
        same(.didChange, realm)
        #expect(told == 1)
    }
}
