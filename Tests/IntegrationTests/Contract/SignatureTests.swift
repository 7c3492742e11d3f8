// SPDX-License-Identifier: Apache-2.0
// Programs written for RealmSwift must compile: labels, optionality, generics, conformances. Compiling this file is
// the test; the bodies run once to show that no call ends the program.

import Foundation
import RealmSwift
import Testing

private typealias Dog = Contract.Dog
private typealias Owner = Contract.Owner
private typealias Values = Contract.Values

// MARK: Users' generic code

private func names<C: RealmCollection>(_ collection: C) -> [String] where C.Element == Contract.Dog {
    collection.map(\.name)
}
private func total<C: RealmCollection>(_ collection: C) -> Int where C.Element == Int { collection.sum() }
private func count(_ collection: any RealmCollection) -> Int { collection.count }
private func erased<C: RealmCollection>(_ c: C) -> AnyRealmCollection<C.Element> { AnyRealmCollection(c) }
private func isThere(_ confined: any ThreadConfined) -> Bool { confined.realm != nil && !confined.isInvalidated }
private func first<T: Object, K>(_ type: T.Type, _ realm: Realm, _ key: K) -> T? {
    realm.object(ofType: type, forPrimaryKey: key)
}
private func fetch<T: RealmFetchable>(_ type: T.Type, _ realm: Realm) -> Results<T> { realm.objects(type) }
private func store<S: Sequence>(_ objects: S, _ realm: Realm) where S.Element: Object { realm.add(objects) }
private func element<T: RealmCollectionValue>(_ list: List<T>) -> T? { list.first }
private func smallest<T: RealmCollectionValue>(_ list: List<T>) -> T? where T.PersistedType: MinMaxType { list.min() }

/// Every member that a generic function may use on any collection.
private func everything<C: RealmCollection>(_ c: C) -> [Int] where C.Element == Contract.Dog {
    let largest: Int? = c.max(ofProperty: "age")
    let sum: Int = c.sum(of: \.age)
    let frozen: C = c.freeze()
    let thawed: C? = frozen.thaw()
    return [
        c.filter("age >= %@", 0).count, c.where { $0.age >= 0 }.count, c.sorted(byKeyPath: "age").count,
        c.sorted(by: \.age).count, c.sorted(by: ["age"]).count, c.distinct(by: ["age"]).count,
        c.distinct(by: [\Contract.Dog.age]).count, c.index(matching: "age >= %@", 0) ?? -1,
        c.index(matching: { $0.age >= 0 }) ?? -1, largest ?? -1, sum, c.count, frozen.count, thawed?.count ?? -1,
        c.sectioned(by: \.age).count, c.objects(at: [0]).count,
    ]
}

/// Compiled and never called, because observing needs a run loop or a queue.
private func observing<C: RealmCollection>(
    _ c: C, _ realm: Realm, _ dog: Contract.Dog, _ map: Map<String, Contract.Dog?>
)
where C.Element == Contract.Dog {
    let tokens: [NotificationToken] = [
        realm.observe { (note: Realm.Notification, _: Realm) in _ = note == .didChange || note == .refreshRequired },
        c.observe { (change: RealmCollectionChange<C>) in
            switch change {
            case .initial(let results): _ = results.count
            case .update(let results, let deletions, let insertions, let modifications):
                _ = (results.count, deletions + insertions + modifications)
            case .error(let error): _ = error
            }
        },
        c.observe(keyPaths: ["name"]) { _ in },
        c.observe(keyPaths: [\.name], on: nil) { _ in },
        dog.observe { (change: ObjectChange<Contract.Dog>) in
            switch change {
            case .error(let error): _ = error
            case .change(let object, let changes):
                _ = (object.name, changes.map { ($0.name, $0.oldValue, $0.newValue) })
            case .deleted: break
            }
        },
        dog.observe(keyPaths: [\Contract.Dog.name, \Contract.Dog.age]) { _ in },
        dog.observe(keyPaths: ["name"], on: nil) { (_: ObjectChange<Contract.Dog>) in },
        map.observe { (change: RealmMapChange<Map<String, Contract.Dog?>>) in
            switch change {
            case .initial(let map): _ = map.count
            case .update(let map, let deletions, let insertions, modifications: let changed):
                _ = (map.count, deletions + insertions + changed)
            case .error: break
            }
        },
    ]
    let invalidated: Bool = tokens[0].invalidate()
    _ = invalidated
}

private class Repository<T: Object> {
    let realm: Realm
    init(_ realm: Realm) { self.realm = realm }
    var all: Results<T> { realm.objects(T.self) }
    func find(_ format: String, _ arguments: Any...) -> Results<T> {
        all.filter(NSPredicate(format: format, argumentArray: arguments))
    }
    func find(_ isIncluded: (Query<T>) -> Query<Bool>) -> Results<T> { all.where(isIncluded) }
    func sorted<V: _HasPersistedType>(_ path: KeyPath<T, V>) -> Results<T>
    where V.PersistedType: SortableType { all.sorted(by: path, ascending: true) }
}

private protocol Store {
    func write<R>(_ block: () throws -> R) throws -> R
    func add(_ object: Object, update: Realm.UpdatePolicy)
    func delete(_ object: Object)
    func objects<T: RealmFetchable>(_ type: T.Type) -> Results<T>
}
extension Realm: Store {}

private final class LegacyLets: Object {
    let numbers = List<Int>()
    let names = MutableSet<String>()
    let map = Map<String, Int>()
    let optional = RealmProperty<Int?>()
    let any = RealmProperty<AnyRealmValue>()
    @Persisted var id = 0
    override static func primaryKey() -> String? { "id" }
    override static func indexedProperties() -> [String] { [] }
    override static func ignoredProperties() -> [String] { ["skipped"] }
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
    var skipped = 0
}

private class Base: Object {
    @Persisted var base = 1
    var title: String { "base \(base)" }
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
    required init() { super.init() }
}
private class Sub: Base {
    @Persisted var sub = 2
    override var title: String { "sub \(sub) " + super.title }
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
    convenience init(sub: Int) {
        self.init()
        self.sub = sub
    }
}

@Suite("Signatures: RealmSwift contract")
struct SignatureTests {
    @Test("The signatures of Realm and Configuration compile and run")
    func realm() throws {
        let configuration = Realm.Configuration(
            fileURL: nil, inMemoryIdentifier: UUID().uuidString, encryptionKey: nil, readOnly: false, schemaVersion: 2,
            migrationBlock: { (_: Migration, _: UInt64) in }, deleteRealmIfMigrationNeeded: false,
            shouldCompactOnLaunch: nil, objectTypes: Contract.types, seedFilePath: nil)
        let realm = try Realm(configuration: configuration, queue: nil)
        let made: Dog = try realm.write { realm.create(Dog.self, value: ["name": "Rex"], update: .error) }
        let void: Void = try realm.write { realm.add(Owner(), update: .error) }
        _ = void
        try realm.write(withoutNotifying: []) {
            realm.add([Owner(), Owner()])
            _ = realm.create(Owner.self)
            realm.create(Owner.self, value: ["name": "a"])
        }
        realm.beginWrite()
        try realm.commitWrite()
        realm.beginWrite()
        realm.cancelWrite()
        let fetched: Dog? = realm.object(ofType: Dog.self, forPrimaryKey: made._id)
        #expect(fetched == made && first(Dog.self, realm, made._id) == made)
        let dynamic: DynamicObject? = realm.dynamicObject(ofType: Dog.className(), forPrimaryKey: made._id)
        #expect(dynamic?["name"] as? String == "Rex" && dynamic?.name as? String == "Rex")
        let frozen: Realm = realm.freeze()
        let frozenDog: Dog = realm.freeze(made)
        let thawed: Dog? = realm.thaw(frozenDog)
        let frozenDogs: Results<Dog> = realm.freeze(realm.objects(Dog.self))
        #expect(frozen.isFrozen && frozenDog.isFrozen && thawed == made && frozenDogs.isFrozen)
        let refreshed: Bool = realm.refresh()
        realm.autorefresh = realm.autorefresh
        let policy: Realm.UpdatePolicy = .modified
        #expect(!refreshed && policy.rawValue == 3 && Realm.UpdatePolicy(rawValue: 2) == .all)
        #expect(!realm.isPerformingAsynchronousWriteOperations)
        #expect(try realm == Realm(configuration: configuration))
        try realm.write {
            realm.delete(made)
            realm.delete(realm.objects(Dog.self))
            realm.delete([Owner]())
            let owner = realm.create(Owner.self)
            realm.delete(owner.dogs)
            realm.delete(owner.dogSet)
            realm.delete(owner.dogMap)
            realm.deleteAll()
        }
        #expect(realm.isEmpty && realm.schema.objectSchema.count == 4 && realm.configuration.schemaVersion == 2)
        let witness: any Store = realm
        try witness.write { witness.add(Owner(), update: .error) }
        #expect(Repository<Owner>(realm).all.count == 1)
    }

    @Test("Errors can be thrown, caught and compared")
    func errorValues() throws {
        func fail() throws { throw Realm.Error(.fail) }
        do { try fail() } catch Realm.Error.fail {} catch { Issue.record(error) }
        do { try fail() } catch let error as Realm.Error where error.code == .fail {} catch { Issue.record(error) }
        // Not `catch let error as NSError`: on Linux no Swift error matches that pattern.
        do { try fail() } catch { #expect((error as NSError).domain == "io.realm" && (error as NSError).code == 1) }
        #expect(Realm.Error.callFailed.localizedDescription == "Call failed")
        let (left, right): (any Error, any Error) = (Realm.Error(.fileNotFound), Realm.Error(.fileNotFound))
        #expect(left == right && Realm.Error(.fail).fileURL == nil)
    }

    @Test("The signatures of Object compile and run")
    func objects() throws {
        let realm = try Contract.realm()
        let dog = Dog(value: ["name": "a", "age": 4] as [String: Any])
        let other = Dog(value: [ObjectId.generate(), "b", 5] as [Any])
        #expect(dog.breed == "x" && other.age == 5 && dog.realm == nil && !dog.isInvalidated && !dog.isFrozen)
        #expect(Dog.className() == "Dog" || Dog.className().hasSuffix("Dog"))
        #expect(Dog.primaryKey() == "_id" || Dog.primaryKey() == nil)
        #expect(Dog.sharedSchema()?.primaryKeyProperty?.name == "_id" && Object.sharedSchema() == nil)
        try realm.write { realm.add([dog, other]) }
        for property: Property in dog.objectSchema.properties { _ = property.name }
        #expect(
            dog.isSameObject(as: realm.object(ofType: Dog.self, forPrimaryKey: dog._id)) && !dog.isSameObject(as: nil))
        #expect(dog.id != other.id && Set([dog, other, dog]).count == 2 && dog.hashValue == dog.hashValue)
        let object: Object = dog
        let base: ObjectBase = object
        #expect(base.realm == realm && object["name"] as? String == "a")
        try realm.write {
            object["age"] = 9
            dog.setValue(10, forKey: "age")
            dog.setValue("z", forKeyPath: "name")
        }
        #expect(dog.value(forKey: "age") as? Int == 10 && dog.value(forKeyPath: "name") as? String == "z")
        let owner = try realm.write { realm.create(Owner.self, value: ["dogs": [dog], "address": ["city": "x"]]) }
        let residents: LinkingObjects<Owner>? = owner.address?.residents
        #expect(residents?.first?.isSameObject(as: owner) == true && dog.owners.count == 1 && owner.address?.id != nil)
        let dynamicDogs: List<DynamicObject> = owner.dynamicList("dogs")
        let dynamicSet: MutableSet<DynamicObject> = owner.dynamicMutableSet("dogSet")
        let dynamicMap: Map<String, DynamicObject?> = owner.dynamicMap("dogMap")
        #expect(dynamicDogs.count == 1 && dynamicSet.isEmpty && dynamicMap.count == 0)
        let encoded = try JSONEncoder().encode(Dog(value: ["name": "c"]))
        #expect(try JSONDecoder().decode(Dog.self, from: encoded).name == "c")
        let frozen: Dog = dog.freeze()
        let thawed: Dog? = frozen.thaw()
        #expect(thawed?.name == "z" && frozen.isFrozen)
        let copy = Sub(sub: 5)
        #expect(copy.title == "sub 5 base 1" && Sub(value: ["base": 7]).base == 7 && LegacyLets().optional.value == nil)
    }

    @Test("The signatures of Results and sections compile and run")
    func results() throws {
        let realm = try Contract.realm()
        try realm.write { for i in 0..<5 { realm.create(Dog.self, value: ["name": "\(i)", "age": i]) } }
        let dogs = realm.objects(Dog.self)
        #expect(names(dogs) == ["0", "1", "2", "3", "4"] && count(dogs) == 5 && names(erased(dogs)).count == 5)
        #expect(fetch(Dog.self, realm).count == 5 && isThere(dogs) && dogs.endIndex == 5 && dogs.indices.count == 5)
        _ = dogs.filter("age > %@ AND name != %@", 1, "x").sorted(byKeyPath: "age", ascending: false)
        _ = dogs.filter(NSPredicate(format: "age IN %@", [1, 2]))
        _ = dogs.where { $0.age > 1 && $0.name.contains("1", options: .caseInsensitive) }
        _ = dogs.sorted(by: \.age, ascending: true).sorted(by: [SortDescriptor(keyPath: "age"), "name"])
        _ = dogs.sorted(by: [SortDescriptor(keyPath: \Dog.age, ascending: false)])
        _ = dogs.distinct(by: ["age"]).distinct(by: [\Dog.name])
        let oldest: Int? = dogs.max(ofProperty: "age")
        let youngest: Int? = dogs.min(of: \.age)
        let sum: Int = dogs.sum(ofProperty: "age")
        let mean: Int? = dogs.average(of: \.age)
        #expect(oldest == 4 && youngest == 0 && sum == 10 && mean == 2)
        let index: Int? = dogs.index(of: dogs[2])
        #expect(index == 2 && dogs.index(matching: "age == %@", 3) == 3 && dogs.index(matching: { $0.age == 4 }) == 4)
        #expect(
            dogs.index(matching: NSPredicate(format: "age == 1")) == 1 && dogs.first?.age == 0 && dogs.last?.age == 4)
        let some: [Dog] = dogs.objects(at: [1, 3])
        #expect(some.map(\.age) == [1, 3] && dogs.map(\.age).reduce(0, +) == 10)
        let lazy: LazyMapSequence<Results<Dog>, Int> = dogs.map(\.age)
        let eager: [Int] = dogs.map { $0.age }
        #expect(Array(lazy) == eager && Array(dogs.filter { $0.age > 2 }).count == 2 && dogs.contains { $0.age == 3 })
        #expect(Array(dogs.enumerated()).count == 5 && Array(zip(dogs, eager)).count == 5 && dogs.prefix(2).count == 2)
        #expect(Array(dogs.reversed()).first?.age == 4 && dogs.dropFirst().first?.age == 1 && dogs[1..<3].count == 2)
        #expect(dogs.compactMap { $0.age > 3 ? $0 : nil }.count == 1 && dogs.allSatisfy { $0.age < 9 } && !dogs.isEmpty)
        let groups = Dictionary(grouping: dogs) { $0.age % 2 }
        #expect(
            groups[0]?.count == 3 && dogs.sorted { $0.age > $1.age }.first?.age == 4
                && dogs.min { $0.age < $1.age }?.age == 0)
        let firstIndex = dogs.firstIndex { $0.age == 2 }
        #expect(firstIndex == 2 && dogs.randomElement() != nil && dogs.shuffled().count == 5)
        _ = dogs.value(forKey: "age") as Any
        try realm.write { dogs.setValue(1, forKey: "age") }
        let iterator: RLMIterator<Dog> = dogs.makeIterator()
        _ = iterator
        let existential: any RealmCollection = dogs
        #expect(existential.count == 5 && existential.realm == realm)
        let wrapped = AnyRealmCollection(dogs)
        #expect(wrapped.filter("age == 1").count == 5 && wrapped.sorted(byKeyPath: "name").last?.name == "4")
        #expect(everything(dogs) == everything(wrapped) && everything(dogs).count == 16)
        let sections: SectionedResults<Int, Dog> = dogs.sectioned(by: \.age)
        let firstSection: ResultsSection<Int, Dog> = sections[0]
        #expect(firstSection.key == 1 && sections.allKeys == [1] && sections.count == 1 && firstSection.count == 5)
        #expect(SortDescriptor(keyPath: "a").reversed() == SortDescriptor(keyPath: "a", ascending: false))
    }

    @Test("The signatures of List, MutableSet and Map compile and run")
    func collections() throws {
        let list = List<Int>()
        list.append(3)
        list.append(objectsIn: [1, 2, 2].lazy)
        list.insert(9, at: 0)
        list.insert(contentsOf: [7, 8], at: 1)
        list.remove(at: 0)
        list.removeFirst()
        list.removeLast(1)
        list.move(from: 0, to: 1)
        list.swapAt(0, 1)
        list.replace(index: 0, object: 4)
        list[0] += 1
        list.replaceSubrange(0..<1, with: [5, 6])
        list.remove(atOffsets: [0])
        list.move(fromOffsets: [0], toOffset: 2)
        list.removeSubrange(0...0)
        #expect(total(list) == list.sum() && list.min() == smallest(list) && element(list) == list.first)
        #expect(
            list
                == {
                    let copy = List<Int>(); copy.append(objectsIn: list); return copy
                }())
        let set = MutableSet<Int>()
        set.insert(1)
        set.insert(objectsIn: [1, 2, 3])
        set.remove(3)
        let other = MutableSet<Int>()
        other.insert(objectsIn: [2, 5])
        set.formUnion(other)
        set.formIntersection(other)
        set.subtract(other)
        #expect(
            set.isEmpty && set.isSubset(of: other) && !set.intersects(other) && !set.contains(1) && other.max() == 5)
        let map = Map<String, Int>()
        map["a"] = 1
        map.updateValue(2, forKey: "b")
        map["c"] = nil
        map.merge(["d": 4], uniquingKeysWith: { $1 })
        map.removeObject(for: "d")
        for entry: SingleMapEntry<String, Int> in map { _ = (entry.key, entry.value) }
        for (key, value) in map.asKeyValueSequence() { _ = (key, value) }
        let double: Int? = map.object(forKey: "b")
        #expect(map.count == 2 && Set(map.keys) == ["a", "b"] && map.values.reduce(0, +) == 3 && double == 2)
        #expect(map.contains { $0 == "a" && $1 == 1 } && map.sum() == 3 && map.min() == 1)
        let realm = try Contract.realm()
        let owner = try realm.write { realm.create(Owner.self, value: ["dogs": [["name": "a", "age": 2]]]) }
        try realm.write {
            owner.dogMap["x"] = owner.dogs[0]
            owner.dogMap["y"] = .some(nil)
            owner.dogSet.insert(owner.dogs[0])
        }
        #expect(owner.dogMap["x"]??.name == "a" && owner.dogMap["y"] == .some(nil) && owner.dogMap["z"] == nil)
        #expect(
            owner.dogMap.where { $0.age > 1 }.count == 1
                && owner.dogMap.filter(NSPredicate(format: "age > 1")).count == 1)
        #expect(everything(owner.dogs) == everything(AnyRealmCollection(owner.dogs)))
        #expect(everything(owner.dogSet.sorted(by: \.age)).count == 16 && owner.dogs[0].owners.count == 1)
        let unmanaged = AnyRealmCollection(list)
        #expect(
            unmanaged.sum() == list.sum() && unmanaged.max() == list.max()
                && unmanaged.description.hasPrefix("AnyRealm"))
        try realm.write { owner.dogs.append(Dog()) }
        let reference = ThreadSafeReference(to: owner)
        let resolved: Owner? = realm.resolve(reference)
        #expect(resolved == owner || resolved?.isSameObject(as: owner) == true)
        let values = Values()
        values.ints = list
        values.any = .list(List<AnyRealmValue>())
        values.anys.append(.int(3))
        values.anyMap["k"] = .fromArray([.none, .string("s"), .fromDictionary(["d": .double(2)])])
        #expect(
            values.anys[0].intValue == 3 && values.anyMap["k"]?.listValue?.count == 3 && values.any.listValue != nil)
        try realm.write { realm.add(values) }
        #expect(values.ints == values.ints && Array(values.ints) == Array(list) && values.optDouble == nil)
        let sorted: Results<Int> = values.ints.sorted(ascending: false).distinct()
        #expect(sorted.sum() == Set(list).reduce(0, +))
    }

    @Test("The signatures of Decimal128, ObjectId, AnyRealmValue and Logger compile and run")
    func values() throws {
        let decimal: Decimal128 = 1.5
        let parsed = try Decimal128(string: "1E3")
        #expect(decimal + 1 > decimal && parsed == 1000 && -decimal < 0 && decimal.magnitude == 1.5 && !decimal.isNaN)
        #expect(
            Decimal128(value: 5) == 5 && Decimal128(number: 5) == 5 && Decimal128("2") == 2
                && decimal.doubleValue == 1.5)
        #expect(decimal.decimalValue == 1.5 && decimal.stringValue == "1.5" && Decimal128(exactly: 3) == 3)
        let id = try ObjectId(string: "0123456789abcdef01234567")
        #expect(id.stringValue == "0123456789abcdef01234567" && id < ObjectId("ffffffffffffffffffffffff"))
        #expect(id.timestamp.timeIntervalSince1970 > 0 && ObjectId.generate() != ObjectId.generate())
        #expect(GeoPoint(latitude: 1, longitude: 2) == GeoPoint(latitude: 1, longitude: 2, altitude: 0))
        #expect(GeoBox(bottomLeft: (0, 0), topRight: (1, 1)) != nil && Distance.kilometers(1) != nil)
        let level = Contract.Level.mid
        #expect(
            level > .low && Contract.Level() == .low && Contract.Level.allCases.count == 3 && [level].contains(.mid))
        let any: AnyRealmValue = .int(1)
        #expect(any == .int(1) && AnyRealmValue() == .none && Set([any, .int(1), .string("1")]).count == 2)
        let options: StringOptions = [.caseInsensitive, .diacriticInsensitive]
        #expect(options.rawValue == 3)
        let logger = Logger(level: .off) { (_: LogLevel, _: String) in }
        logger.level = .info
        #expect(logger.level == .info)
    }
}
