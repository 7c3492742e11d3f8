// SPDX-License-Identifier: Apache-2.0
// Projections of sets, maps, embedded objects and links; in sections, thread-safe references and frozen Realms.

import Dispatch
import Foundation
import RealmSwift
import RegnumTestKit
import Testing

private typealias All = Contract.All
private typealias Many = Contract.Many
private typealias Part = Contract.Part

extension Contract {
    class Wide: Projection<All> {
        @Projected(\All.pk) var pk
        @Projected(\All.int) var number
        @Projected(\All.rank) var rank
        @Projected(\All.metres) var metres
        @Projected(\All.any) var any
        @Projected(\All.optDate) var day
        @Projected(\All.part?.size) var size
        @Projected(\All.part) var part
        @Projected(\All.link?.part?.word) var farWord
        @Projected(\All.link) var link
        @Projected(\All.list) var list
        @Projected(\All.map) var map
        @Projected(\All.set.projectTo.int) var setInts: ProjectedCollection<Int>
        @Projected(\All.parts.projectTo.size) var sizes: ProjectedCollection<Int>
        @Projected(\All.parents.projectTo.string) var parentTexts: ProjectedCollection<String>
        @Projected(\All.list.projectTo.part) var parts: ProjectedCollection<Part?>
        @Projected(\All.list.projectTo.rank) var ranks: ProjectedCollection<Rank>
    }

    class PartView: Projection<Part> {
        @Projected(\Part.size) var size
    }
}

@Suite("Projections: RealmSwift contract")
struct ProjectionCornersTests {
    private static func filled() throws -> Realm {
        let realm = try Contract.allTypes()
        try realm.write {
            for number in 0..<4 {
                realm.create(
                    All.self,
                    value: [
                        "pk": number, "int": number * 10, "string": "t\(number)", "rank": number % 2 + 1,
                        "metres": number, "any": number, "part": ["size": number, "word": "w\(number)"],
                        "parts": [["size": 1], ["size": 2]],
                    ] as [String: Any])
            }
            let all = realm.objects(All.self)
            all[0].list.append(objectsIn: [all[1], all[2], all[1]])
            all[0].set.insert(objectsIn: [all[2], all[3]])
            all[0].map["a"] = all[1]
            all[0].link = all[1]
        }
        return realm
    }

    @Test("A projection reads and sets properties of every kind, even across links")
    func properties() throws {
        let realm = try Self.filled()
        let wide = realm.objects(Contract.Wide.self)[0]
        #expect(wide.pk == 0 && wide.rank == .low && wide.metres.value == 0 && wide.any == .int(0) && wide.day == nil)
        #expect(wide.size == 0 && wide.farWord == "w1" && wide.link?.pk == 1 && wide.list.count == 3)
        #expect(wide.map["a"]??.pk == 1 && Set(wide.setInts) == [20, 30] && Array(wide.sizes) == [1, 2])
        #expect(Array(wide.ranks) == [.mid, .low, .mid] && wide.parts.map { $0?.size } == [1, 2, 1])
        #expect(Array(realm.objects(Contract.Wide.self)[1].parentTexts) == ["t0"])
        try realm.write {
            wide.number = 7
            wide.rank = .high
            wide.metres = .init(70)
            wide.any = .string("x")
            wide.day = Date(timeIntervalSince1970: 1)
            wide.sizes[0] = 11
            wide.ranks[1] = .high
            wide.list.removeLast()
            wide.map["b"] = wide.link
            wide.link = nil
        }
        let one = realm.objects(All.self)[0]
        #expect(one.int == 7 && one.rank == .high && one.metres.value == 70 && one.any == .string("x"))
        #expect(one.optDate != nil && one.parts.first?.size == 11 && realm.objects(All.self)[2].rank == .high)
        #expect(one.list.count == 2 && one.map.count == 2 && one.link == nil && wide.farWord == nil)
        try realm.write { wide.part = nil }
        #expect(wide.size == nil && one.part == nil && wide.part == nil)
        let view = Contract.PartView(projecting: realm.objects(All.self)[1].parts[0])
        try realm.write { view.size = 5 }
        #expect(realm.objects(All.self)[1].parts[0].size == 5 && view.rootObject.size == 5)
    }

    @Test("Results of projections are sorted, made distinct, sectioned and aggregated by projected properties")
    func results() throws {
        let realm = try Self.filled()
        let views = realm.objects(Contract.Wide.self)
        #expect(views.sorted(by: \.number, ascending: false).map(\.pk) == [3, 2, 1, 0])
        #expect(views.distinct(by: [\Contract.Wide.rank]).map(\.pk) == [0, 1])
        #expect(views.distinct(by: ["rank"]).map(\.pk) == [0, 1])
        let sections = views.sectioned(by: \.rank, ascending: true)
        #expect(sections.allKeys == [.low, .mid] && sections[0].map(\.pk) == [0, 2] && sections[1].key == .mid)
        let blocks = views.sectioned(by: { $0.pk > 1 }, sortDescriptors: [SortDescriptor(keyPath: \Contract.Wide.pk)])
        #expect(blocks.allKeys == [false, true] && blocks[1].map(\.number) == [20, 30])
        #expect(views.min(of: \.number) == 0 && views.average(of: \.number) == 15 && views.sum(of: \.number) == 60)
        #expect(views.filter("part.size > 1").count == 2 && views.where { $0.size > 1 }.map(\.pk) == [2, 3])
        #expect(views.where { $0.rank == .mid }.first?.pk == 1 && views.index(matching: "int == 20") == 2)
        #expect(views.last?.pk == 3 && views.first != views.last)
    }

    @Test("A projection can be passed by reference, frozen and thawed; thaw() is nil after its object is deleted")
    func passing() throws {
        let realm = try Self.filled()
        let view = realm.objects(Contract.Wide.self)[0]
        let reference = ThreadSafeReference(to: view)
        #expect(realm.resolve(reference) == view)
        let frozenRealm = realm.freeze()
        let old = frozenRealm.objects(Contract.Wide.self)
        let frozen = view.freeze()
        try realm.write { view.number = 99 }
        #expect(old[0].number == 0 && old.isFrozen && frozen.number == 0 && frozen.rootObject.isFrozen)
        #expect(frozen.thaw()?.number == 99 && frozen.thaw() == view && frozen.list.isFrozen)
        #expect(frozen.freeze() == frozen && frozen.setInts.isFrozen)
        try realm.write { realm.delete(view.rootObject) }
        #expect(view.isInvalidated && frozen.thaw() == nil && !frozen.isInvalidated)
    }

    @Test("Projections of the same row are equal and have the same hash")
    func equality() throws {
        let realm = try Self.filled()
        let views = realm.objects(Contract.Wide.self)
        let made = Contract.Wide(projecting: realm.objects(All.self)[1])
        #expect(made == views[1] && made != views[2] && Set([made, views[1], views[2]]).count == 2)
        #expect(views.contains(made) && views.firstIndex(of: made) == 1 && views.index(of: made) == 1)
        let loose = All()
        #expect(Contract.Wide(projecting: loose) == Contract.Wide(projecting: loose))
        #expect(Contract.Wide(projecting: loose) != Contract.Wide(projecting: All()))
    }

    @Test("Observers of a projection get ProjectedPropertyChange with the projection's property names")
    func changes() throws {
        let queue = DispatchQueue(label: "projection")
        var lines: [String] = []
        let token = try queue.sync {
            let realm = try Realm(
                configuration: .init(
                    inMemoryIdentifier: UUID().uuidString, objectTypes: [All.self, Part.self, Many.self]),
                queue: queue)
            let all = try realm.write { realm.create(All.self, value: ["pk": 1, "int": 1]) }
            let token = Contract.Wide(projecting: all).observe { (change: ObjectChange<Contract.Wide>) in
                guard case .change(let wide, let changes) = change else { return }
                let told: [ProjectedPropertyChange] = changes
                lines += told.map { "\($0.name) \($0.newValue ?? "nil") \(wide.number)" }
            }
            try realm.write { all.int = 5 }
            return token
        }
        for _ in 0..<3 { queue.sync {} }
        #expect(queue.sync { lines } == ["number 5 5"])
        queue.sync { _ = token.invalidate() }
    }

    private static let misuses: [MisuseCase] = [
        MisuseCase("Object has been deleted or invalidated.") {
            let realm = try filled()
            let view = realm.objects(Contract.Wide.self)[0]
            try realm.write { realm.delete(view.rootObject) }
            _ = view.number
        },
        MisuseCase("Attempting to modify a frozen object") {
            let realm = try filled()
            let frozen = realm.objects(Contract.Wide.self)[0].freeze()
            try realm.write { frozen.number = 1 }
        },
        MisuseCase("Unmanaged objects cannot be frozen.") { _ = Contract.Wide(projecting: All()).freeze() },
        MisuseCase("Cannot construct reference to unmanaged object") {
            _ = ThreadSafeReference(to: Contract.Wide(projecting: All()))
        },
        MisuseCase("Only objects which are managed by a Realm support change notifications") {
            _ = Contract.Wide(projecting: All()).observe { _ in }
        },
        MisuseCase("Index 2 is out of bounds (must be less than 2).") {
            _ = try filled().objects(Contract.Wide.self)[0].sizes[2]
        },
        MisuseCase("Object type 'Contract_All' is not managed by the Realm.") {
            _ = try memoryRealm(Contract.Dog.self, Contract.Owner.self, Contract.Address.self).objects(
                Contract.Wide.self)
        },
    ]

    @Test("Invalid uses of projections are refused with RealmSwift's messages", arguments: misuses)
    func refusals(_ misuse: MisuseCase) throws {
        let message = try misuse.message()
        #expect(message.contains(misuse.words), "\(message)")
    }
}
