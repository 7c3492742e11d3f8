// SPDX-License-Identifier: Apache-2.0
// Classes with @Snapshot: every kind of property, links in both directions, embedded objects, and access levels.

#if Macros
    internal import Foundation
    public import RealmSwift
    import RegnumMacros

    enum Size: String, PersistableEnum, Codable { case small, large }

    struct Weight: CustomPersistable, Codable, Hashable {
        var grams: Double
        init(persistedValue: Double) { grams = persistedValue }
        init(grams: Double) { self.grams = grams }
        var persistableValue: Double { grams }
    }

    typealias Nickname = String

    @Snapshot class Dog: Object {
        enum Mood: Int, PersistableEnum, Codable { case calm, wild }

        @Persisted(primaryKey: true) var id: Int
        @Persisted var name = ""
        @Persisted var nick: Nickname?
        @Persisted var age = 0
        @Persisted var born = Date(timeIntervalSince1970: 0)
        @Persisted var size = Size.small
        @Persisted var mood: Mood?
        @Persisted var weight: Weight
        @Persisted var photo: Data?
        @Persisted var owner: Person?
        @Persisted var home: Address?
        @Persisted var former: List<Address>
        @Persisted var toys: List<String>
        @Persisted var marks: List<Int?>
        @Persisted var friends: List<Dog>
        @Persisted var tags: MutableSet<String>
        @Persisted var rivals: MutableSet<Dog>
        @Persisted var scores: Map<String, Int>
        @Persisted var sitters: Map<String, Person?>
        @Persisted var places: Map<String, Address?>
        @Persisted private var secret = 7
        @Persisted var `default` = true
        override class func shouldIncludeInDefaultSchema() -> Bool { false }

        convenience init(_ id: Int, _ name: String) {
            self.init()
            (self.id, self.name) = (id, name)
        }
    }

    @Snapshot(depth: 0) class Person: Object {
        @Persisted(primaryKey: true) var id: String?
        @Persisted var name = ""
        @Persisted var best: Dog?
        @Persisted(originProperty: "owner") var dogs: LinkingObjects<Dog>
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }

    @Snapshot class Address: EmbeddedObject {
        @Persisted var street = ""
        @Persisted var city = ""
        @Persisted var lines: List<String>
        @Persisted var keeper: Person?
    }

    /// Without a primary key, and with members that have the names of the library's.
    @Snapshot public final class Note: Object {
        @Persisted public var apply = 1
        @Persisted public var key = ""
        @Persisted public var depth = 3
        @Persisted public var next: Note?
        public override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }
#endif
