// SPDX-License-Identifier: Apache-2.0
// Undo and redo of random transactions, compared with the content that was recorded after each of them.

import Foundation
import RealmSwift
import Regnum
import RegnumSimulation
import RegnumTestKit
import Testing

private typealias Node = UndoModels.Node
private typealias Part = UndoModels.Part
private typealias Inner = UndoModels.Inner
private typealias Plain = UndoModels.Plain
private struct Failure: Error {}

/// Random changes of a Realm.
private struct RandomEdits {
    var random: SeededGenerator
    let realm: Realm
    var lastPlain = 0

    mutating func below(_ limit: Int) -> Int { Int.random(in: 0..<limit, using: &random) }

    /// An object with this key, which may have to be created.
    mutating func anyNode() -> Node {
        let id = below(12)
        return realm.object(ofType: Node.self, forPrimaryKey: id) ?? realm.create(Node.self, value: ["id": id])
    }

    mutating func newPart() -> Part {
        let part = Part(below(5))
        if below(2) == 0 { part.node = anyNode() }
        if below(2) == 0 { part.inner = Inner(random.text(upTo: 4)) }
        for _ in 0..<below(3) { part.inners.append(Inner(random.text(upTo: 4))) }
        return part
    }

    mutating func anyValue() -> AnyRealmValue {
        switch below(6) {
        case 0: .none
        case 1: .int(below(3))
        case 2: .string(random.text())
        case 3: .object(anyNode())
        case 4: .fromArray([.int(below(3)), .object(anyNode()), .none])
        default: .fromDictionary(["a": .object(anyNode()), "b": .fromArray([.string(random.text())])])
        }
    }

    mutating func edit() {
        let node = anyNode()
        switch below(17) {
        case 0: node.name = random.text()
        case 1: node.score = below(3) == 0 ? nil : Double(below(4))
        case 2: node.next = below(3) == 0 ? nil : anyNode()
        case 3: node.any = anyValue()
        case 4: node.part = below(3) == 0 ? nil : newPart()
        case 5: editPart(node)
        case 6: editParts(node)
        case 7: node.partMap[["x", "y"][below(2)]] = below(3) == 0 ? .none : .some(newPart())
        case 8: editChildren(node)
        case 9: if below(2) == 0 { node.peers.insert(anyNode()) } else { node.peers.remove(anyNode()) }
        case 10: node.named[["x", "y", "z"][below(3)]] = below(3) == 0 ? .none : .some(anyNode())
        case 11: node.words.append(below(3) == 0 ? nil : random.text())
        case 12: node.numbers[["x", "y"][below(2)]] = below(3) == 0 ? nil : below(5)
        case 13: if below(2) == 0 { node.flags.insert(random.text(upTo: 1)) } else { node.flags.removeAll() }
        case 14: realm.delete(node)
        case 15: editPlains(node)
        default:
            // The same primary key, another object.
            let id = node.id
            realm.delete(node)
            realm.add(Node(id, random.text()))
        }
    }

    private mutating func editPart(_ node: Node) {
        guard let part = node.part else { return }
        switch below(4) {
        case 0: part.size = below(5)
        case 1: part.node = anyNode()
        case 2: part.inner = below(2) == 0 ? nil : Inner(random.text(upTo: 4))
        default: if part.inners.isEmpty { part.inners.append(Inner("i")) } else { part.inners.remove(at: 0) }
        }
    }

    private mutating func editParts(_ node: Node) {
        let count = node.parts.count
        switch below(5) {
        case 0, 1: node.parts.insert(newPart(), at: below(count + 1))
        case 2 where count > 0: node.parts.remove(at: below(count))
        case 3 where count > 1: node.parts.move(from: below(count), to: below(count))
        case 4 where count > 0: node.parts[below(count)] = newPart()
        default: break
        }
    }

    private mutating func editChildren(_ node: Node) {
        let count = node.children.count
        switch below(4) {
        case 0, 1: node.children.insert(anyNode(), at: below(count + 1))
        case 2 where count > 0: node.children.remove(at: below(count))
        case 3 where count > 1: node.children.swapAt(0, count - 1)
        default: break
        }
    }

    private mutating func editPlains(_ node: Node) {
        let plains = realm.objects(Plain.self)
        if plains.isEmpty || below(2) == 0 {
            lastPlain += 1
            realm.create(Plain.self, value: ["number": lastPlain, "node": node] as [String: Any])
        } else if below(3) == 0 {
            realm.delete(plains[below(plains.count)])
        } else {
            plains[below(plains.count)].other = plains[below(plains.count)]
        }
    }

    /// A transaction that certainly changes something.
    mutating func addPlain() throws {
        lastPlain += 1
        let number = lastPlain
        try realm.write { _ = realm.create(Plain.self, value: ["number": number]) }
    }

    mutating func write(edits: Int) throws {
        realm.beginWrite()
        for _ in 0..<edits { edit() }
        if below(4) == 0 {
            let realm = realm
            _ = try? realm.savepoint {
                for _ in 0..<3 { edit() }
                throw Failure()
            }
        }
        try realm.commitWrite()
    }
}

@Suite("Undo and redo of random transactions")
struct UndoModelTests {
    @Test("All undone, the content is that of the start; all redone, that of the end", arguments: RunSeed.list(1...6))
    func model(_ seed: RunSeed) throws {
        try withFile(UndoModels.types) { configuration in
            let realm = try Realm(configuration: configuration)
            var edits = RandomEdits(random: SeededGenerator(seed: seed.value), realm: realm)
            try edits.write(edits: 20)
            let stack = realm.undoStack()
            // The content before each step, and after the last one.
            var states = [UndoModels.content(realm)]
            for round in 0..<3 {
                for number in 0..<(4 + edits.below(6)) {
                    if number == 0 { try edits.addPlain() } else { try edits.write(edits: 1 + edits.below(6)) }
                    let content = UndoModels.content(realm)
                    // A transaction without a net change is no step.
                    if stack.undoCount == states.count { states.append(content) }
                    #expect(content == states.last)
                }
                try #require(stack.undoCount == states.count - 1)
                for step in (0..<states.count - 1).reversed() {
                    try #require(try stack.undo())
                    try #require(UndoModels.content(realm) == states[step], "undo to \(step) in round \(round)")
                }
                #expect(try !stack.undo())
                for step in 1..<states.count {
                    try #require(try stack.redo())
                    try #require(UndoModels.content(realm) == states[step], "redo to \(step) in round \(round)")
                }
                #expect(try !stack.redo())
                // A few steps back and forth, then on from somewhere in the middle.
                var at = states.count - 1
                for _ in 0..<12 {
                    if edits.below(2) == 0 { if try stack.undo() { at -= 1 } } else if try stack.redo() { at += 1 }
                    try #require(UndoModels.content(realm) == states[at])
                }
                states.removeSubrange((at + 1)...)
            }
            expectIntegrity(of: configuration)
        }
    }

    @Test("Grouped transactions are undone together", arguments: RunSeed.list(1...3))
    func groups(_ seed: RunSeed) throws {
        let realm = try Realm(
            configuration: .init(inMemoryIdentifier: UUID().uuidString, objectTypes: UndoModels.types))
        var edits = RandomEdits(random: SeededGenerator(seed: seed.value), realm: realm)
        try edits.write(edits: 20)
        let stack = realm.undoStack()
        let start = UndoModels.content(realm)
        for _ in 0..<6 {
            let before = UndoModels.content(realm)
            stack.closeGroup()
            try stack.group("many") { for _ in 0..<5 { try edits.write(edits: 3) } }
            let after = UndoModels.content(realm)
            #expect(stack.undoName == "many")
            try #require(try stack.undo())
            try #require(UndoModels.content(realm) == before)
            try #require(try stack.redo())
            try #require(UndoModels.content(realm) == after)
        }
        while try stack.undo() {}
        #expect(UndoModels.content(realm) == start)
    }
}
