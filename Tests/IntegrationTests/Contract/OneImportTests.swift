// SPDX-License-Identifier: Apache-2.0
// The names that a program sees if it imports only RealmSwift, as programs on Apple's systems do. This file may
// import nothing else except the testing library.

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

    @Test("RealmSwift exports Foundation's types for models, files and predicates")
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

    @Test("SortDescriptor is RealmSwift's, with and without the module's name")
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
