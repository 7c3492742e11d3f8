// SPDX-License-Identifier: Apache-2.0
// The undo stack: steps, groups and limits, conflicts with the changes of others, deleted and embedded objects, rules,
// observers, asynchronous writes, and programmer errors.

import Foundation
import RealmSwift
import Regnum
import RegnumSimulation
import RegnumSystem
import RegnumTestKit
import Testing

private typealias Node = UndoModels.Node
private typealias Part = UndoModels.Part
private typealias Plain = UndoModels.Plain
private typealias Reason = UndoConflict.Reason
private struct Failure: Error, Equatable {}

private func memory() -> Realm.Configuration {
    Realm.Configuration(inMemoryIdentifier: UUID().uuidString, objectTypes: UndoModels.types)
}

/// A step, a later change of somebody else, and the conflict that the undo of the step finds.
private struct Conflict: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let reason: Reason
    /// The key of the object, and the property.
    let found: (key: Int, property: String?)
    let step: @Sendable (Realm) -> Void
    let others: @Sendable (Realm) -> Void

    static let all: [Conflict] = [
        Conflict(
            testDescription: "a value", reason: .changed, found: (1, "name"), step: { node(1, $0).name = "mine" },
            others: { node(1, $0).name = "theirs" }),
        Conflict(
            testDescription: "a list", reason: .changed, found: (1, "words"),
            step: { node(1, $0).words.append("mine") },
            others: { node(1, $0).words.append("theirs") }),
        Conflict(
            testDescription: "a deleted object", reason: .deleted, found: (1, nil), step: { node(1, $0).name = "mine" },
            others: { $0.delete(node(1, $0)) }),
        Conflict(
            testDescription: "an inserted object", reason: .changed, found: (5, "score"), step: { $0.add(Node(5)) },
            others: { node(5, $0).score = 1 }),
        Conflict(
            testDescription: "a link to an inserted object", reason: .linked, found: (1, "next"),
            step: { $0.add(Node(5)) }, others: { node(1, $0).next = node(5, $0) }),
        Conflict(
            testDescription: "an element that is an inserted object", reason: .linked, found: (2, "children"),
            step: { $0.add(Node(5)) }, others: { node(2, $0).children.append(node(5, $0)) }),
        Conflict(
            testDescription: "a primary key in use", reason: .exists, found: (2, "id"),
            step: { $0.delete(node(2, $0)) },
            others: { $0.add(Node(2, "theirs")) }),
        Conflict(
            testDescription: "a target that was deleted", reason: .missingTarget, found: (1, "next"),
            step: { node(1, $0).next = nil }, others: { $0.delete(node(2, $0)) }),
        Conflict(
            testDescription: "an element that was deleted", reason: .missingTarget, found: (1, "children"),
            step: { node(1, $0).children.removeAll() }, others: { $0.delete(node(3, $0)) }),
    ]
}

private func node(_ id: Int, _ realm: Realm) -> Node {
    guard let node = realm.object(ofType: Node.self, forPrimaryKey: id) else { fatalError("no node \(id)") }
    return node
}

@Suite("The undo stack")
struct UndoStackTests {
    /// Nodes 1, 2 and 3: 1 links to 2, and has the children 2 and 3.
    private func filled(_ configuration: Realm.Configuration? = nil) throws -> Realm {
        let realm = try Realm(configuration: configuration ?? memory())
        try realm.write {
            let node = Node(1, "one")
            node.children.append(objectsIn: [Node(2, "two"), Node(3, "three")])
            node.next = node.children[0]
            realm.add(node)
        }
        return realm
    }

    private func onOtherRealm(_ configuration: Realm.Configuration, _ body: @escaping @Sendable (Realm) -> Void) {
        onOtherThread {
            do {
                let realm = try Realm(configuration: configuration)
                try realm.write { body(realm) }
            } catch { Issue.record(error) }
        }
    }

    @Test("Each transaction is a step, and a new one ends redoing")
    func steps() throws {
        let realm = try filled()
        let stack = realm.undoStack()
        #expect(!stack.canUndo && !stack.canRedo)
        #expect(try !stack.undo())
        #expect(try !stack.redo())
        for name in ["a", "b", "c"] { try realm.write { node(1, realm).name = name } }
        #expect(stack.undoCount == 3 && stack.byteCount > 0)
        try stack.undo()
        try stack.undo()
        #expect(node(1, realm).name == "a" && stack.undoCount == 1 && stack.redoCount == 2)
        try stack.redo()
        #expect(node(1, realm).name == "b")
        try realm.write { node(2, realm).name = "new" }
        #expect(!stack.canRedo && stack.undoCount == 3)
        #expect(realm.undoStack() === stack)
    }

    @Test("Transactions without a change, rolled back, or not to be recorded are no steps")
    func noSteps() throws {
        let realm = try filled()
        let stack = realm.undoStack()
        try realm.write {}
        try realm.write { node(1, realm).name = "one" }
        #expect(throws: Failure()) {
            try realm.write {
                realm.add(Node(9))
                throw Failure()
            }
        }
        realm.beginWrite()
        realm.add(Node(9))
        realm.cancelWrite()
        stack.isRecording = false
        try realm.write { node(2, realm).name = "unrecorded" }
        stack.isRecording = true
        #expect(!stack.canUndo)
        try realm.write { node(1, realm).name = "recorded" }
        try stack.undo()
        #expect(node(1, realm).name == "one" && node(2, realm).name == "unrecorded" && !stack.canUndo)
    }

    @Test("A deleted object comes back with its primary key, its values and the links to it")
    func deleted() throws {
        let realm = try filled()
        let stack = realm.undoStack()
        let two = node(2, realm)
        let plain = try realm.write { realm.create(Plain.self, value: ["number": 1, "node": two] as [String: Any]) }
        try realm.write {
            two.part = Part(7)
            two.parts.append(objectsIn: [Part(1), Part(2)])
            two.any = .object(node(3, realm))
            node(3, realm).any = .fromArray([.object(two)])
            node(3, realm).peers.insert(two)
            node(3, realm).named["k"] = two
        }
        let before = UndoModels.content(realm)
        try realm.write { realm.delete(two) }
        #expect(plain.node == nil && node(1, realm).children.count == 1)
        #expect(realm.dynamicObjects(Part.className()).isEmpty)
        try stack.undo()
        #expect(UndoModels.content(realm) == before)
        let back = node(2, realm)
        #expect(two.isInvalidated && !back.isInvalidated && plain.node?.id == 2)
        #expect(node(1, realm).next?.isSameObject(as: back) == true && back.parents.count == 1)
        // Steps before it still concern the same object.
        try stack.undo()
        #expect(back.part == nil && back.parts.isEmpty && plain.node?.id == 2)
        try stack.redo()
        try stack.redo()
        #expect(back.isInvalidated && realm.objects(Node.self).count == 2)
        try stack.undo()
        #expect(UndoModels.content(realm) == before)
    }

    @Test("Objects that a cascade has deleted come back too")
    func cascade() throws {
        let realm = try Realm(
            configuration: .init(inMemoryIdentifier: UUID().uuidString, objectTypes: Rules.company))
        let department = try realm.write {
            let department = Rules.Department()
            let project = Rules.Project()
            project.tasks["t"] = Rules.Task()
            project.parts.append(Rules.Piece())
            department.projects.append(project)
            realm.add(department)
            return department
        }
        let stack = realm.undoStack()
        try realm.write { realm.delete(department) }
        #expect(realm.isEmpty)
        try stack.undo()
        let back = try #require(realm.objects(Rules.Department.self).first)
        #expect(back.projects.count == 1 && back.projects[0].tasks.count == 1)
        #expect(realm.objects(Rules.Task.self).count == 1 && realm.dynamicObjects(Rules.Piece.className()).count == 1)
        // The rule of `projects` does not apply when an insertion is undone.
        try realm.write { realm.create(Rules.Department.self, value: ["id": 8, "projects": [back.projects[0]]]) }
        try stack.undo()
        #expect(realm.objects(Rules.Department.self).count == 1 && realm.objects(Rules.Project.self).count == 1)
    }

    @Test("A change of somebody else is found, named, and kept", arguments: Conflict.all)
    private func conflict(_ conflict: Conflict) throws {
        let configuration = memory()
        let realm = try filled(configuration)
        let stack = realm.undoStack()
        try realm.write { conflict.step(realm) }
        onOtherRealm(configuration, conflict.others)
        realm.refresh()
        let content = UndoModels.content(realm)
        let error = #expect(throws: UndoConflict.self) { try stack.undo() }
        #expect(error?.reason == conflict.reason && error?.className == Node.className())
        #expect(error?.primaryKey == .int(conflict.found.key) && error?.property == conflict.found.property)
        #expect(error?.localizedDescription.contains("primary key '\(conflict.found.key)'") == true)
        #expect(UndoModels.content(realm) == content && !realm.isInWriteTransaction)
        #expect(stack.undoCount == 1 && stack.redoCount == 0)
    }

    @Test("Changes of others to other properties are kept, and a conflict that has gone no longer prevents an undo")
    func others() throws {
        let configuration = memory()
        let realm = try filled(configuration)
        let stack = realm.undoStack()
        try realm.write { node(1, realm).name = "mine" }
        onOtherRealm(configuration) {
            node(1, $0).score = 4
            node(1, $0).name = "theirs"
        }
        #expect(throws: UndoConflict.self) { try stack.undo() }
        onOtherRealm(configuration) { node(1, $0).name = "mine" }
        try stack.undo()
        #expect(node(1, realm).name == "one" && node(1, realm).score == 4)
        onOtherRealm(configuration) { node(1, $0).name = "again" }
        #expect(throws: UndoConflict.self) { try stack.redo() }
        #expect(stack.canRedo && node(1, realm).name == "again")
    }

    @Test("An undo that violates a unique constraint throws and changes nothing")
    func unique() throws {
        let realm = try memoryRealm(Rules.Member.self, Rules.Place.self)
        let stack = realm.undoStack()
        let member = Rules.Member("a", "no", 1)
        try realm.write { realm.add(member) }
        try realm.write { member.email = "b" }
        stack.isRecording = false
        try realm.write { realm.add(Rules.Member("a", "no", 2)) }
        let error = #expect(throws: Realm.Error.self) { try stack.undo() }
        #expect(error?.reason == .duplicateValues && member.email == "b" && stack.undoCount == 2)
    }

    @Test("Consecutive transactions with the same name are one step")
    func named() throws {
        let realm = try filled()
        let stack = realm.undoStack()
        func enter(_ text: String) throws { try realm.write { node(1, realm).name = text } }
        try stack.group("typing") {
            try enter("a")
            try enter("ab")
            stack.closeGroup()
            try enter("abc")
        }
        #expect(stack.groupName == nil && stack.undoCount == 2 && stack.undoName == "typing")
        try enter("other")
        #expect(stack.undoName == nil)
        stack.groupName = "typing"
        try enter("x")
        try realm.write { realm.add(Node(7, "seven")) }
        try realm.write { node(7, realm).name = "7" }
        try realm.write { realm.delete(node(7, realm)) }
        #expect(stack.undoCount == 4)
        try stack.undo()
        #expect(node(1, realm).name == "other" && realm.objects(Node.self).count == 3 && stack.redoName == "typing")
        // After an undo a new step begins.
        try enter("y")
        #expect(stack.undoCount == 4)
        try stack.undo()
        try stack.undo()
        try stack.undo()
        #expect(node(1, realm).name == "ab")
        try stack.undo()
        #expect(node(1, realm).name == "one")
        // A group whose changes cancel each other is no step.
        try enter("z")
        try enter("one")
        #expect(!stack.canUndo)
    }

    @Test("If others change the same property in between, transactions of one name stay apart")
    func interrupted() throws {
        let configuration = memory()
        let realm = try filled(configuration)
        let stack = realm.undoStack()
        stack.groupName = "typing"
        try realm.write { node(1, realm).name = "a" }
        onOtherRealm(configuration) { node(1, $0).name = "theirs" }
        try realm.write { node(1, realm).name = "b" }
        #expect(stack.undoCount == 2)
        try stack.undo()
        #expect(node(1, realm).name == "theirs")
        #expect(throws: UndoConflict.self) { try stack.undo() }
    }

    @Test("A group does not take in a step that deletes an object to which others have linked")
    func linkedInBetween() throws {
        let configuration = memory()
        let realm = try filled(configuration)
        let stack = realm.undoStack()
        stack.groupName = "typing"
        try realm.write { realm.add(Node(5)) }
        onOtherRealm(configuration) { node(1, $0).next = node(5, $0) }
        try realm.write { realm.delete(node(5, realm)) }
        #expect(stack.undoCount == 2 && node(1, realm).next == nil)
        try stack.undo()
        #expect(node(1, realm).next?.id == 5)
        let error = #expect(throws: UndoConflict.self) { try stack.undo() }
        #expect(error?.reason == .linked && error?.property == "next")
    }

    @Test("After a group whose changes cancel each other, the step before it stays a step of its own")
    func cancelledGroup() throws {
        let realm = try filled()
        let stack = realm.undoStack()
        stack.groupName = "typing"
        func enter(_ text: String) throws { try realm.write { node(1, realm).name = text } }
        try enter("a")
        stack.closeGroup()
        try enter("b")
        try enter("a")
        #expect(stack.undoCount == 1)
        try enter("c")
        #expect(stack.undoCount == 2)
        try stack.undo()
        #expect(node(1, realm).name == "a")
    }

    @Test("The number of steps and their memory are limited")
    func limits() throws {
        let realm = try filled()
        let stack = realm.undoStack(limit: 3)
        for number in 0..<10 { try realm.write { node(1, realm).score = Double(number) } }
        #expect(stack.undoCount == 3)
        while try stack.undo() {}
        #expect(node(1, realm).score == 6 && stack.redoCount == 3)
        while try stack.redo() {}

        _ = realm.undoStack(limit: 100, byteLimit: 20_000)
        for _ in 0..<20 { try realm.write { node(2, realm).name += String(repeating: "x", count: 500) } }
        #expect(stack.canUndo && stack.undoCount < 20 && stack.byteCount <= 20_000)
        // A transaction that is too large cannot be undone, and neither can those before it.
        try realm.write { for id in 100..<400 { realm.add(Node(id, String(repeating: "y", count: 200))) } }
        #expect(!stack.canUndo && stack.byteCount == 0)
        try realm.write { node(1, realm).name = "small" }
        #expect(stack.undoCount == 1)
        stack.removeAll()
        #expect(!stack.canUndo)
    }

    @Test("Observers are notified of an undo as of any write")
    func notified() throws { try withQueue(filled(), observed) }

    private func observed(_ realm: Realm) throws {
        let stack = realm.undoStack()
        var changes: [[Int]] = []
        let token = realm.objects(Node.self).observe(keyPaths: ["name"]) { change in
            if case .update(_, let deleted, let inserted, let modified) = change {
                changes.append([deleted.count, inserted.count, modified.count])
            }
        }
        realm.refresh()
        try realm.write {
            realm.add(Node(4))
            node(3, realm).name = "changed"
        }
        realm.refresh()
        try stack.undo()
        realm.refresh()
        #expect(changes == [[0, 1, 1], [1, 0, 1]])
        withExtendedLifetime(token) {}
    }

    @Test("Observers that are called when an undo begins, or after it, may use the stack")
    func observersUseStack() throws { try withQueue(filled(), useStack) }

    private func useStack(_ realm: Realm) throws {
        let configuration = realm.configuration
        let stack = realm.undoStack()
        for name in ["a", "b"] { try realm.write { node(1, realm).name = name } }
        var counts: [Int] = []
        let token = realm.objects(Node.self).observe { change in
            guard case .update = change else { return }
            counts.append(stack.undoCount)
            if counts.count == 2 { stack.removeAll() }
        }
        realm.refresh()
        try stack.undo()
        realm.refresh()
        #expect(counts == [1] && stack.redoCount == 1)
        // This change is reported when the next write begins.
        onOtherRealm(configuration) { node(2, $0).name = "theirs" }
        #expect(try !stack.undo())
        #expect(counts == [1, 1] && node(1, realm).name == "a" && !realm.isInWriteTransaction)
        #expect(!stack.canUndo && !stack.canRedo)
        withExtendedLifetime(token) {}
    }

    @Test("Recording ends with the stack, and begins again with another one")
    func released() throws {
        let realm = try filled()
        try realm.write {
            // The running transaction is not recorded.
            _ = realm.undoStack()
            node(1, realm).name = "a"
        }
        try realm.write { node(1, realm).name = "b" }
        let stack = realm.undoStack()
        #expect(!stack.canUndo)
        try realm.write { node(1, realm).name = "c" }
        try stack.undo()
        #expect(node(1, realm).name == "b")
    }

    @Test("Asynchronous writes are recorded")
    func asynchronous() async throws {
        #expect(try await UndoActor().run(memory()) == ["one", "two", "one", "two"])
    }

    @Test("Steps of failed commits are forgotten, also if the Realm was refreshed before the failure was reported")
    func lostCommit() async throws {
        let files = SimulatedFileSystem(seed: 1, reservedByteCount: 64 << 20)
        var configuration = Realm.Configuration(
            fileURL: URL(fileURLWithPath: "/undo/\(UUID().uuidString).realm"), objectTypes: UndoModels.types)
        configuration.extras.fileSystem = files
        let stage = try AsyncStage(configuration)
        var stack: UndoStack?
        try stage.on { realm in
            try realm.write { _ = realm.create(Plain.self, value: ["number": 1]) }
            stack = realm.undoStack()
            files.failure = SimulatedFailure(call: files.operationCount(of: "sync"), kind: .io, operation: "sync")
            realm.beginWrite()
            realm.delete(realm.objects(Plain.self))
            realm.commitAsyncWrite { stage.note($0 == nil ? "done" : "failed") }
            #expect(stack?.undoCount == 1 && realm.objects(Plain.self).isEmpty)
            // The failure is reported in a later turn of the queue.
            while !realm.refresh() { Thread.sleep(forTimeInterval: 0.001) }
            #expect(realm.objects(Plain.self).count == 1)
        }
        #expect(try await stage.wait() == ["failed"])
        try stage.on { realm in
            let isUndone = try stack?.undo()
            #expect(isUndone == false)
            #expect(realm.objects(Plain.self).count == 1)
            (stack, stage.realm) = (nil, nil)
        }
    }

    @Test("A reopened file has the content after the last undo")
    func reopened() throws {
        try withFile(UndoModels.types) { configuration in
            let before: [String]
            do {
                let realm = try filled(configuration)
                before = UndoModels.content(realm)
                let stack = realm.undoStack()
                try realm.write { realm.deleteAll() }
                #expect(realm.isEmpty)
                try stack.undo()
            }
            onOtherThread {
                do { #expect(UndoModels.content(try Realm(configuration: configuration)) == before) } catch {
                    Issue.record(error)
                }
            }
            expectIntegrity(of: configuration)
        }
    }

    @Test(
        "Wrong uses end the program",
        arguments: [
            MisuseCase("Cannot undo or redo in a write transaction") {
                let realm = try memoryRealm(Node.self, Part.self, UndoModels.Inner.self)
                let stack = realm.undoStack()
                try realm.write { _ = try stack.undo() }
            },
            MisuseCase("A frozen Realm has no undo stack") {
                _ = try memoryRealm(Plain.self, Node.self, Part.self, UndoModels.Inner.self).freeze().undoStack()
            },
            MisuseCase("The limits of an undo stack must be at least 1") {
                _ = try Realm(configuration: memory()).undoStack(limit: 0)
            },
        ])
    func wrongUse(_ misuse: MisuseCase) throws {
        #expect(try misuse.message().contains(misuse.words))
    }

    @Test("A stack on another thread is a programmer error")
    func otherThread() throws {
        let realm = try filled()
        // unsafe: the other thread only fails the check, while this one waits.
        nonisolated(unsafe) let stack = realm.undoStack()
        nonisolated(unsafe) var text: String?
        onOtherThread { text = try? misuseText { try stack.undo() } }
        #expect(text?.contains("Realm accessed from incorrect thread") == true)
    }
}

private actor UndoActor {
    /// The name of a node after each of two asynchronous writes, an undo and a redo.
    func run(_ configuration: Realm.Configuration) async throws -> [String] {
        let realm = try await Realm.open(configuration: configuration)
        let stack = realm.undoStack()
        var names: [String] = []
        try await realm.asyncWrite { realm.add(Node(1, "one")) }
        names.append(node(1, realm).name)
        try await realm.asyncWrite { node(1, realm).name = "two" }
        names.append(node(1, realm).name)
        try stack.undo()
        names.append(node(1, realm).name)
        try stack.redo()
        names.append(node(1, realm).name)
        return names
    }
}
