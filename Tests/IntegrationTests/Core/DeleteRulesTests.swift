// SPDX-License-Identifier: Apache-2.0
// Delete rules: cascading deletions, denied deletions, and the preview of both.

import Foundation
import RealmSwift
import RegnumTestKit
import Testing

private typealias Department = Rules.Department
private typealias Project = Rules.Project
private typealias Task = Rules.Task
private typealias Remark = Rules.Remark
private typealias Worker = Rules.Worker

/// The ways to delete department 1.
private struct Deleting: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let delete: @Sendable (Realm, Department) -> Void

    static let all = [
        Deleting(testDescription: "an object") { $0.delete($1) },
        Deleting(testDescription: "a sequence") { $0.delete([$1]) },
        Deleting(testDescription: "results") { realm, _ in realm.delete(realm.objects(Department.self)) },
        Deleting(testDescription: "a query") { realm, _ in
            realm.delete(realm.objects(Department.self).filter("id == 1"))
        },
        Deleting(testDescription: "a dynamic object") { realm, _ in
            realm.delete(realm.dynamicObjects("Rules_Department"))
        },
    ]
}

@Suite("Delete rules")
struct DeleteRulesTests {
    /// Department 1 with projects "x" and "y", each with a piece, a task, and a remark on the task.
    private func make(_ realm: Realm) throws -> Department {
        try realm.write {
            let department = realm.create(Department.self, value: ["id": 1])
            for name in ["x", "y"] {
                let project = Project()
                project.name = name
                project.parts.append(Rules.Piece(value: ["name": name]))
                let task = Task(value: ["name": name])
                project.tasks["first"] = task
                department.projects.append(project)
                realm.create(Remark.self, value: ["text": name, "task": task])
            }
            return department
        }
    }

    private func counts(_ realm: Realm) -> [Int] {
        Rules.company.map { realm.dynamicObjects($0.className()).count }
    }

    private func withCompany(_ body: (Realm, Realm.Configuration) throws -> Void) throws {
        try withFile(Rules.company) { try body(try Realm(configuration: $0), $0) }
    }

    @Test(
        "Deletion cascades along links, embedded objects and linking objects",
        arguments: Deleting.all)
    private func cascade(_ way: Deleting) throws {
        try withCompany { realm, configuration in
            let department = try make(realm)
            let other = try realm.write { realm.create(Project.self, value: ["name": "z"]) }
            #expect(counts(realm) == [1, 3, 2, 2, 2, 0])
            let preview = realm.previewDelete(department)
            #expect(
                preview.counts == [
                    "Rules_Department": 1, "Rules_Project": 2, "Rules_Piece": 2, "Rules_Task": 2, "Rules_Remark": 2,
                ])
            #expect(preview.objects.count == 7 && preview.objects.first == department && !preview.isDenied)
            #expect(preview.description.hasPrefix("deletes 1 Rules_Department, 2 Rules_Piece, 2 Rules_Proj"))
            try realm.write { way.delete(realm, department) }
            #expect(counts(realm) == [0, 1, 0, 0, 0, 0] && other.name == "z")
            expectIntegrity(of: configuration)
        }
    }

    @Test("A denying link refuses a deletion before anything is deleted", arguments: Deleting.all)
    private func deny(_ way: Deleting) throws {
        try withCompany { realm, configuration in
            let department = try make(realm)
            let worker = try realm.write { realm.create(Worker.self, value: ["department": department]) }
            let before = counts(realm)
            let preview = realm.previewDelete(department)
            let words =
                "An object of class 'Rules_Department' cannot be deleted: 'Rules_Worker.department' of 1 object links "
                + "to it, with the delete rule 'deny'."
            #expect(preview.denials == [words] && preview.clearedLinks == ["Rules_Worker.department": 1])
            let error = #expect(throws: Realm.Error.self) {
                try realm.write {
                    way.delete(realm, department)
                    #expect(!department.isInvalidated)
                    #expect(counts(realm) == before)
                    worker.name = "not kept"
                }
            }
            #expect(error?.reason == .deniedDelete && error?.localizedDescription.contains(words) == true)
            #expect(counts(realm) == before && worker.name == "" && worker.department == department)
            // Both can be deleted together, or the worker before the department.
            try realm.write { realm.delete([department, worker]) }
            #expect(realm.isEmpty == false || counts(realm).allSatisfy { $0 == 0 })
            #expect(realm.objects(Department.self).isEmpty && realm.objects(Worker.self).isEmpty)
            expectIntegrity(of: configuration)
        }
    }

    @Test("Deleting one object of a cycle of 5000 cascading links deletes all")
    func circles() throws {
        try withCompany { realm, configuration in
            let first = try realm.write {
                let first = realm.create(Project.self)
                var last = first
                for _ in 0..<5000 {
                    let next = realm.create(Project.self)
                    last.next = next
                    last = next
                }
                last.next = first
                return first
            }
            try realm.write { realm.delete(first) }
            #expect(realm.isEmpty)
            expectIntegrity(of: configuration)
        }
    }

    @Test("Links without a rule become nil, and the preview counts them")
    func nullify() throws {
        let realm = try memoryRealm(
            Department.self, Project.self, Rules.Piece.self, Task.self, Remark.self, Worker.self)
        let department = try make(realm)
        let (lead, keeper) = try realm.write {
            let lead = realm.create(Worker.self, value: ["name": "lead"])
            department.lead = lead
            let keeper = realm.create(Department.self, value: ["id": 2])
            // The preview counts an object once, however many of its links are cleared.
            keeper.projects.append(objectsIn: Array(department.projects))
            return (lead, keeper)
        }
        #expect(realm.previewDelete(department).clearedLinks == ["Rules_Department.projects": 1])
        try realm.write { realm.delete(department) }
        #expect(lead.name == "lead" && keeper.projects.isEmpty)
    }

    @Test("deleteAll and a cancelled write ignore rules")
    func deleteAll() throws {
        let realm = try memoryRealm(
            Department.self, Project.self, Rules.Piece.self, Task.self, Remark.self, Worker.self)
        let department = try make(realm)
        try realm.write { _ = realm.create(Worker.self, value: ["department": department]) }
        realm.beginWrite()
        realm.delete(department)
        realm.cancelWrite()
        #expect(!department.isInvalidated)
        try realm.write { realm.deleteAll() }
        #expect(realm.isEmpty)
    }

    @Test(
        "The file stores rules: a program that declares others is refused, one with fewer classes follows them"
    )
    func file() throws {
        try withFile([RuleFolder.Parent.self, RuleFolder.Child.self]) { configuration in
            do {
                let realm = try Realm(configuration: configuration)
                try realm.write { realm.create(RuleFolder.Parent.self, value: ["child": ["n": 1]]) }
            }
            var without = configuration
            without.objectTypes = [PlainFolder.Parent.self, PlainFolder.Child.self]
            let error = #expect(throws: Realm.Error.self) { _ = try Realm(configuration: without) }
            #expect(error?.reason == .migrationNeeded)
            let words = "Delete rule of property 'RuleFolderParent.child' is 'nullify', not 'cascade'."
            #expect(error?.localizedDescription.contains(words) == true)
            var few = configuration
            few.objectTypes = [PlainFolder.Child.self]
            let realm = try Realm(configuration: few)
            try realm.write { realm.delete(realm.dynamicObjects("RuleFolderParent")) }
            #expect(realm.objects(PlainFolder.Child.self).isEmpty)
        }
    }

    @Test("A rule on a property without links is refused")
    func wrong() throws {
        let text = try misuseText { _ = try memoryRealm(WrongRule.self) }
        #expect(text?.contains("Property 'WrongRule.a' cannot have a delete rule") == true)
    }
}

private class WrongRule: Object, DeleteRules {
    @Persisted var a = 0
    class var deleteRules: [String: DeleteRule] { ["a": .deny] }
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

private enum RuleFolder {
    class Parent: Object, DeleteRules {
        @Persisted var child: Child?
        class var deleteRules: [String: DeleteRule] { ["child": .cascade] }
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
        override class func _realmObjectName() -> String { "RuleFolderParent" }
    }

    class Child: Object {
        @Persisted var n = 0
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
        override class func _realmObjectName() -> String { "RuleFolderChild" }
    }
}

private enum PlainFolder {
    class Parent: Object {
        @Persisted var child: Child?
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
        override class func _realmObjectName() -> String { "RuleFolderParent" }
    }

    class Child: Object {
        @Persisted var n = 0
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
        override class func _realmObjectName() -> String { "RuleFolderChild" }
    }
}
