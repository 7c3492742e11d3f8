// SPDX-License-Identifier: Apache-2.0
// Modified rows of observed sections whose position changes with the commit are delivered as a deletion at the old
// position and an insertion at the new one, as in RealmSwift.

import Dispatch
import Foundation
import RealmSwift
import Testing

class ShiftedItem: Object {
    @Persisted(primaryKey: true) var id = 0
    @Persisted var kind = ""
    @Persisted var note = ""
}

@Suite struct ShiftedSectionsTests {
    /// The changes delivered for one commit: of all sections, or of the section of a kind. Sections are by kind, rows
    /// by id.
    private func told(
        of kind: String? = nil, byBlock: Bool = false, _ change: (Realm) -> Void
    ) throws -> [String] {
        let queue = DispatchQueue(label: "sections")
        nonisolated(unsafe) var lines: [String] = []
        nonisolated(unsafe) var token: NotificationToken?
        func note<C>(_ change: SectionedResultsChange<C>) {
            guard case .update(_, let deletions, let insertions, let modifications, let came, let went) = change else {
                return
            }
            func paths(_ paths: [IndexPath]) -> String {
                paths.map { "\($0[0]).\($0[1])" }.joined(separator: " ")
            }
            lines = [
                "d \(paths(deletions))", "i \(paths(insertions))", "m \(paths(modifications))",
                "+\(Array(came)) -\(Array(went))",
            ]
        }
        try queue.sync {
            let realm = try Realm(
                configuration: .init(inMemoryIdentifier: UUID().uuidString, objectTypes: [ShiftedItem.self]),
                queue: queue)
            try realm.write {
                for (id, kind) in ["b", "b", "b", "d", "d"].enumerated() {
                    realm.create(ShiftedItem.self, value: ["id": id, "kind": kind])
                }
            }
            let order = [SortDescriptor(keyPath: "kind"), SortDescriptor(keyPath: "id")]
            let items = realm.objects(ShiftedItem.self)
            let sections =
                byBlock
                ? items.sectioned(by: { $0.kind }, sortDescriptors: order)
                : items.sectioned(by: \.kind, sortDescriptors: order)
            if let kind {
                let section = try #require(sections.first { $0.key == kind })
                token = section.observe { note($0) }
            } else {
                token = sections.observe { note($0) }
            }
            realm.refresh()
            try realm.write { change(realm) }
            realm.refresh()
            try realm.write {}
            token?.invalidate()
        }
        return lines
    }

    private func item(_ realm: Realm, _ id: Int) -> ShiftedItem? {
        realm.object(ofType: ShiftedItem.self, forPrimaryKey: id)
    }

    @Test("A modified row is moved if a section is inserted before its section", arguments: [true, false])
    func sectionCame(byBlock: Bool) throws {
        let lines = try told(byBlock: byBlock) { realm in
            realm.create(ShiftedItem.self, value: ["id": 10, "kind": "a"])
            item(realm, 1)?.note = "x"
            item(realm, 4)?.note = "x"
        }
        #expect(lines == ["d 0.1 1.1", "i 0.0 1.1 2.1", "m ", "+[0] -[]"])
    }

    @Test("A modified row is moved if the section before its section is deleted", arguments: [true, false])
    func sectionWent(byBlock: Bool) throws {
        let lines = try told(byBlock: byBlock) { realm in
            realm.delete(realm.objects(ShiftedItem.self).where { $0.kind == "b" })
            item(realm, 3)?.note = "x"
        }
        #expect(lines == ["d 1.0", "i 0.0", "m ", "+[] -[0]"])
    }

    @Test("A modified row is moved together with insertions and deletions in its section", arguments: [true, false])
    func rowsToo(byBlock: Bool) throws {
        let lines = try told(byBlock: byBlock) { realm in
            realm.create(ShiftedItem.self, value: ["id": 10, "kind": "a"])
            if let first = item(realm, 0) { realm.delete(first) }
            realm.create(ShiftedItem.self, value: ["id": 11, "kind": "b"])
            item(realm, 2)?.note = "x"
        }
        #expect(lines == ["d 0.0 0.2", "i 0.0 1.1 1.2", "m ", "+[0] -[]"])
    }

    @Test("A section that is not shifted delivers modifications, even next to one that is", arguments: [true, false])
    func stays(byBlock: Bool) throws {
        let lines = try told(byBlock: byBlock) { realm in
            realm.create(ShiftedItem.self, value: ["id": 10, "kind": "c"])
            item(realm, 1)?.note = "x"
            item(realm, 3)?.note = "x"
        }
        #expect(lines == ["d 1.0", "i 1.0 2.0", "m 0.1", "+[1] -[]"])
    }

    @Test("An observer of one section gets the same changes")
    func single() throws {
        let lines = try told(of: "b") { realm in
            realm.create(ShiftedItem.self, value: ["id": 10, "kind": "a"])
            item(realm, 1)?.note = "x"
        }
        #expect(lines == ["d 0.1", "i 1.1", "m ", "+[] -[]"])
    }
}
