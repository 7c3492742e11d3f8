// SPDX-License-Identifier: Apache-2.0
// Objects before and after they are added.

import Foundation
import Testing

import RegnumEngine

@testable import Regnum

@Suite("Objects")
struct ObjectTests {
    static func filled() -> AllTypes {
        let object = AllTypes()
        object.bool = true
        object.int = .min
        object.int8 = -8
        object.int16 = 16
        object.int32 = -32
        object.int64 = .max
        object.float = 1.5
        object.double = -2.25
        object.string = "a string of more than fifteen bytes"
        object.data = Data([1, 2, 3])
        object.date = Date(timeIntervalSinceReferenceDate: -663_000_000.123_456)
        object.uuid = UUID()
        object.objectId = ObjectId.generate()
        object.mood = .lively
        object.grade = .high
        object.optBool = true
        object.optInt = 1
        object.optInt8 = 2
        object.optInt16 = 3
        object.optInt32 = 4
        object.optInt64 = 5
        object.optFloat = 0.5
        object.optDouble = 0.25
        object.optString = "s"
        object.optData = Data()
        object.optDate = Date()
        object.optUuid = UUID()
        object.optObjectId = ObjectId.generate()
        object.optMood = .lively
        object.optGrade = .high
        return object
    }

    static func values(_ o: AllTypes) -> [String] {
        ClassSchema.of(AllTypes.self).properties.filter { !$0.hasTarget }.map {
            "\($0.name)=\(describe($0.get(o) as Any))"
        }
    }

    @Test("Unset properties have the defaults of their types")
    func defaults() {
        let object = AllTypes()
        #expect(
            object.int8 == 0 && object.float == 0 && object.data == Data() && object.mood == .calm
                && object.grade == .low)
        #expect(object.optInt == nil && object.optMood == nil && object.link == nil)
        #expect(abs(object.date.timeIntervalSinceNow) < 86_400)
        #expect(
            object.date == object.date && object.uuid == object.uuid && object.objectId == object.objectId)
        #expect(object.uuid != AllTypes().uuid)
    }

    @Test("All values survive adding, read through the same accessor and through another")
    func addAll() throws {
        let realm = try makeRealm()
        let object = Self.filled()
        let empty = AllTypes()
        let before = [Self.values(object), Self.values(empty)]
        try realm.write {
            realm.add(object)
            realm.add(empty)
            #expect(Self.values(object) == before[0])
        }
        #expect([Self.values(object), Self.values(empty)] == before)
        let found = realm.objects(AllTypes.self)
        #expect([Self.values(found[0]), Self.values(found[1])] == before)
        #expect(found[0].date == object.date)
        #expect(found[0].optGrade == .high && found[1].optGrade == nil)
    }

    @Test("All values can be set on managed objects, in every order of commits")
    func setAll() throws {
        let realm = try makeRealm()
        let object = AllTypes()
        try realm.write { realm.add(object) }
        let source = Self.filled()
        for property in ClassSchema.of(AllTypes.self).properties where !property.hasTarget {
            try realm.write { #expect(property.set(object, property.get(source) as Any)) }
        }
        #expect(Self.values(object) == Self.values(source))
        try realm.write {
            object.optString = nil
            object.optInt = nil
            object.optInt = 7
            object.optDate = nil
            object.int = 5
            object.int += 1
            object.bool = false
            object.float = 0.75
            object.double += 1
        }
        #expect(object.optString == nil && object.optInt == 7 && object.optDate == nil && object.int == 6)
        #expect(!object.bool && object.float == 0.75 && object.double == -1.25)
        let other = realm.objects(AllTypes.self)[0]
        #expect(Self.values(object) == Self.values(other))
    }

    @Test("A query inside the write sees the values just set")
    func liveInWrite() throws {
        let realm = try makeRealm()
        try realm.write {
            let keeper = Keeper()
            realm.add(keeper)
            keeper.name = "a"
            let before = realm.core.changeCount
            keeper.name = "b"
            #expect(realm.core.changeCount != before)
            let object = AllTypes()
            realm.add(object)
            object.int = 1
            let next = realm.core.changeCount
            object.int = 2
            #expect(realm.core.changeCount != next)
            let twos = realm.objects(AllTypes.self).filter("int == 2")
            #expect(twos.count == 1)
            object.int = 3
            #expect(twos.count == 0)
        }
    }

    @Test("Links, including cycles, are added with the object and read back")
    func links() throws {
        let realm = try makeRealm()
        let keeper = Keeper()
        keeper.name = "Ann"
        let hound = Hound()
        hound.id = 1
        hound.master = keeper
        keeper.best = hound
        keeper.hounds.append(hound)
        let list = keeper.hounds
        try realm.write { realm.add(hound) }
        #expect(keeper.realm == realm && keeper.hounds === list)
        #expect(hound.master?.name == "Ann" && hound.master?.best?.isSameObject(as: hound) == true)
        #expect(keeper.hounds.count == 1 && keeper.hounds[0].id == 1)
        #expect(Array(hound.keepers).map(\.name) == ["Ann"])
        try realm.write { hound.master = nil }
        #expect(hound.master == nil)
        try realm.write { hound.master = Keeper(value: ["name": "Ben"]) }
        #expect(hound.master?.name == "Ben" && realm.objects(Keeper.self).count == 2)
    }

    @Test("Adding a cycle of objects does not keep it alive")
    func noLeak() throws {
        let realm = try makeRealm()
        weak var first: Hound?
        weak var second: Keeper?
        try realm.write {
            let hound = Hound()
            hound.id = 5
            let keeper = Keeper()
            hound.master = keeper
            keeper.best = hound
            keeper.hounds.append(hound)
            first = hound
            second = keeper
            realm.add(hound)
        }
        #expect(first == nil && second == nil)
    }

    @Test("Stored `let` properties are persisted, and belong to every accessor")
    func storedLets() throws {
        let realm = try makeRealm()
        let book = Notebook()
        book.id = "n"
        book.tags.append("x")
        book.tags.append(nil)
        book.rating.value = 4
        book.pages.append(Keeper(value: ["name": "p"]))
        let tags = book.tags
        try realm.write { realm.add(book) }
        #expect(book.tags === tags && Array(tags) == ["x", nil])
        let other = realm.objects(Notebook.self)[0]
        #expect(Array(other.tags) == ["x", nil] && other.rating.value == 4 && other.pages[0].name == "p")
        try realm.write { other.rating.value = nil }
        #expect(book.rating.value == nil)
        let holder = TagHolder()
        holder.tagged.append(Tagged(value: ["t"]))
        try realm.write { realm.add(holder) }
        #expect(holder.tagged[0].holders.count == 1)
    }

    @Test("Ignored properties stay with the instance")
    func ignored() throws {
        let realm = try makeRealm()
        let object = Ignoring(value: ["name": "n"])
        object.address = "here"
        try realm.write { realm.add(object) }
        object.address = "there"
        #expect(object.name == "n" && object.address == "there")
        let other = realm.objects(Ignoring.self)[0]
        #expect(other.name == "n" && other.address == "unknown" && other.plain == 7)
    }

    @Test("Objects can be created from dictionaries, arrays and objects")
    func initValue() {
        let hound = Hound(
            value: [
                "id": 3, "name": "Bo", "mood": "lively", "grade": Grade.high,
                "master": ["name": "Ann", "words": ["a", "b"]],
            ] as [String: Any])
        #expect(hound.id == 3 && hound.mood == .lively && hound.grade == .high)
        #expect(hound.master?.name == "Ann" && hound.master.map { Array($0.words) } == ["a", "b"])
        let copy = Hound(value: hound)
        #expect(copy.id == 3 && copy.name == "Bo" && copy.master === hound.master)
        let keeper = Keeper(value: ["Cleo", [[1, true, 9, "Rex"]], ["w"]])
        #expect(
            keeper.name == "Cleo" && keeper.hounds[0].born == 1 && keeper.hounds[0].isWild
                && keeper.hounds[0].id == 9)
    }

    @Test("Properties can be read and set by name")
    func subscripts() throws {
        let hound = Hound(value: ["id": 1])
        hound["mood"] = "lively"
        hound["nick"] = nil
        #expect(hound.mood == .lively && hound["mood"] as? String == "lively" && hound["id"] as? Int == 1)
        #expect(hound["nick"] == nil)
        let realm = try makeRealm()
        try realm.write {
            realm.add(hound)
            hound["name"] = "Z"
        }
        #expect(hound.name == "Z" && hound.value(forKeyPath: "master.name") == nil)
    }

    @Test("Descriptions nest, and show nil as (null)")
    func descriptions() {
        let keeper = Keeper(value: ["name": "Ann"])
        keeper.words.append("hi")
        let lines = keeper.description.split(separator: "\n", omittingEmptySubsequences: false).map(
            String.init)
        #expect(
            lines[0] == "Keeper {" && lines[1] == "\tname = Ann;"
                && lines[2].hasPrefix("\thounds = List<Hound> <0x"))
        #expect(lines.contains("\t\t\t[0] hi") || lines.contains("\t\t[0] hi"))
        #expect(lines.suffix(2) == ["\tbest = (null);", "}"])
    }

    @Test("Deleted and rolled-back objects are invalidated")
    func invalidation() throws {
        let realm = try makeRealm()
        let keeper = Keeper()
        #expect(!keeper.isInvalidated)
        realm.beginWrite()
        realm.add(keeper)
        realm.cancelWrite()
        #expect(keeper.isInvalidated)
        let next = Keeper(value: ["name": "next"])
        try realm.write { realm.add(next) }
        #expect(keeper.isInvalidated && !next.isInvalidated)
        try realm.write { realm.delete(next) }
        #expect(next.isInvalidated)
        let last = Keeper()
        try realm.write { realm.add(last) }
        realm.invalidate()
        #expect(last.isInvalidated && realm.objects(Keeper.self).count == 1)
    }

    @Test("Objects without a primary key are equal by identity, others by row")
    func equality() throws {
        let realm = try makeRealm()
        try realm.write {
            realm.add(Hound(value: ["id": 1]))
            realm.add(Keeper())
        }
        let hounds = realm.objects(Hound.self)
        let keepers = realm.objects(Keeper.self)
        #expect(
            hounds[0] == hounds[0] && hounds[0].hashValue == hounds[0].hashValue && hounds[0] !== hounds[0])
        #expect(keepers[0] != keepers[0] && keepers[0].isSameObject(as: keepers[0]))
        #expect(Keeper() != Keeper())
    }

    @Test(
        "Dates equal the originals after the round trip",
        arguments: [
            Date(timeIntervalSinceReferenceDate: 0), Date(timeIntervalSince1970: 0), Date.distantPast,
            Date.distantFuture,
            Date(timeIntervalSinceReferenceDate: -0.25), Date(timeIntervalSince1970: -0.5),
            Date(timeIntervalSince1970: 0.75),
            Date(timeIntervalSinceReferenceDate: 785_000_000.1), Date(timeIntervalSince1970: -1_000_000.125),
        ])
    func dates(_ date: Date) {
        let time = DateCoding.timestamp(date)
        #expect(DateCoding.date(seconds: time.seconds, nanoseconds: time.nanoseconds) == date)
        #expect(time.seconds.signum() * Int64(time.nanoseconds.signum()) >= 0)
    }

    @Test("Dates out of range become the first or the last date, and NaN becomes 1970")
    func wildDates() {
        #expect(DateCoding.timestamp(Date(timeIntervalSinceReferenceDate: .nan)).seconds == 0)
        #expect(DateCoding.timestamp(Date(timeIntervalSinceReferenceDate: .infinity)).seconds == .max)
        #expect(DateCoding.timestamp(Date(timeIntervalSinceReferenceDate: -1e30)).seconds == .min)
        _ = DateCoding.date(seconds: .min, nanoseconds: -999_999_999)
    }

    @Test("ObjectIds are text of 24 digits, ordered by bytes")
    func objectIds() throws {
        let id = try ObjectId(string: "0102030405060708090a0b0c")
        #expect(
            id.stringValue == "0102030405060708090a0b0c"
                && id.timestamp == Date(timeIntervalSince1970: 0x0102_0304))
        #expect(id == ObjectId("0102030405060708090A0B0C") && id < ObjectId("0102030405060708090a0b0d"))
        #expect(
            ObjectId.generate() < ObjectId.generate()
                && ObjectId().stringValue == String(repeating: "0", count: 24))
        #expect(throws: Realm.Error.self) { try ObjectId(string: "xyz") }
    }
}
