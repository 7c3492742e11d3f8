// SPDX-License-Identifier: Apache-2.0
// Deep graphs. Recursion along the links of a few thousand objects would overflow the stack, which ends a program
// without a message. Every operation that follows links runs here on a thread with a stack of 512 KiB, over chains
// that would need many times that.

import Foundation
import RealmSwift
import RegnumTestKit
import Testing

@Suite("Deep graphs") struct DepthTests {
    static let depth = 3_000

    private static func realm() throws -> Realm { try memoryRealm(DepthNode.self, DepthPart.self) }

    @Test("A long chain of unmanaged objects can be added, with every kind of link", arguments: DepthKind.allCases)
    func adding(_ kind: DepthKind) throws {
        try onSmallStack {
            let realm = try Self.realm()
            let head = kind.chain(Self.depth)
            try realm.write { realm.add(head) }
            #expect(realm.objects(DepthNode.self).count == Self.depth)
            #expect(kind.length(from: head) == Self.depth)
            // The order is that of recursion: each object comes after the one that links to it.
            #expect(Array(realm.objects(DepthNode.self).prefix(50).map(\.id)) == Array(0..<50))
        }
    }

    @Test("A long chain of unmanaged objects can be released without being added", arguments: DepthKind.allCases)
    func releasing(_ kind: DepthKind) throws {
        try onSmallStack {
            weak var last: DepthNode?
            do {
                var head: DepthNode? = kind.chain(Self.depth)
                var node = head
                while let next = node.flatMap({ kind.next(of: $0) }) { node = next }
                last = node
                #expect(last?.id == Self.depth - 1)
                node = nil
                head = nil
            }
            #expect(last == nil)
        }
    }

    @Test("Objects that are still referenced survive the release of a chain")
    func partlyHeld() throws {
        try onSmallStack {
            var middle: DepthNode?
            do {
                let head = DepthKind.link.chain(1000)
                middle = head
                for _ in 0..<500 { middle = middle?.next }
            }
            #expect(middle?.id == 500)
            #expect(middle.map { DepthKind.link.length(from: $0) } == 500)
        }
    }

    @Test("A long chain can update existing objects", arguments: DepthKind.allCases)
    func updating(_ kind: DepthKind) throws {
        try onSmallStack {
            let realm = try Self.realm()
            try realm.write {
                for id in 0..<Self.depth { realm.create(DepthNode.self, value: ["id": id]) }
                realm.add(kind.chain(Self.depth), update: .modified)
            }
            let head = try #require(realm.object(ofType: DepthNode.self, forPrimaryKey: 0))
            #expect(kind.length(from: head) == Self.depth)
            #expect(realm.objects(DepthNode.self).count == Self.depth)
        }
    }

    @Test("A long chain can be assigned to a property or added to a collection", arguments: DepthKind.allCases)
    func assigning(_ kind: DepthKind) throws {
        try onSmallStack {
            let realm = try Self.realm()
            try realm.write {
                let owner = realm.create(DepthNode.self, value: ["id": -1])
                kind.hold(kind.chain(Self.depth), by: owner)
                #expect(kind.length(from: owner) == Self.depth + 1)
            }
        }
    }

    @Test("A random graph of 3000 objects can be added")
    func randomGraph() throws {
        try onSmallStack {
            let realm = try Self.realm()
            var random = SeededGenerator(seed: 7)
            let nodes = (0..<3000).map { id in
                let node = DepthNode()
                node.id = id
                return node
            }
            for node in nodes {
                for _ in 0..<3 { node.list.append(nodes[Int.random(in: 0..<nodes.count, using: &random)]) }
            }
            try realm.write { realm.add(nodes) }
            #expect(realm.objects(DepthNode.self).count == nodes.count)
            #expect(nodes.allSatisfy { $0.list.count == 3 })
        }
    }

    @Test("A long chain of objects with fields in the older style can be added and released")
    func oldFields() throws {
        try onSmallStack {
            for isAdded in [true, false] {
                var head = DepthOldNode()
                for number in 0..<Self.depth {
                    let node = DepthOldNode()
                    if number % 2 == 0 { node.list.append(head) } else { node.any.value = .object(head) }
                    head = node
                }
                if !isAdded { continue }
                let realm = try memoryRealm(DepthOldNode.self)
                try realm.write { realm.add(head) }
                #expect(realm.objects(DepthOldNode.self).count == Self.depth + 1)
            }
        }
    }

    @Test("Deeply nested embedded objects can be added, copied and deleted")
    func embedded() throws {
        try onSmallStack {
            let realm = try Self.realm()
            func chain() -> DepthPart {
                var part = DepthPart()
                for number in 1..<Self.depth {
                    let outer = DepthPart()
                    if number % 2 == 0 { outer.next = part } else { outer.parts.append(part) }
                    part = outer
                }
                return part
            }
            let node = DepthNode()
            node.part = chain()
            try realm.write { realm.add(node) }
            #expect(realm.dynamicObjects("DepthPart").count == Self.depth)
            let other = try Self.realm()
            try other.write { other.create(DepthNode.self, value: node) }
            #expect(other.dynamicObjects("DepthPart").count == Self.depth)
            try other.write { other.create(DepthNode.self, value: node, update: .modified) }
            #expect(other.dynamicObjects("DepthPart").count == Self.depth)
            #expect(node.detached().part?.parts.first?.next?.parts.first != nil)
            try realm.write { node.part = chain() }
            #expect(realm.dynamicObjects("DepthPart").count == Self.depth)
            try realm.write { realm.delete(node) }
            #expect(realm.dynamicObjects("DepthPart").isEmpty)
        }
    }

    @Test("Deletes cascade along a long chain")
    func cascades() throws {
        try onSmallStack {
            let realm = try memoryRealm(DepthRule.self)
            var head = DepthRule()
            for id in 1..<Self.depth {
                let rule = DepthRule()
                rule.id = id
                rule.next = head
                head = rule
            }
            try realm.write { realm.add(head) }
            try realm.write { realm.delete(head) }
            #expect(realm.objects(DepthRule.self).isEmpty)
        }
    }
}

// MARK: Nested values

extension DepthTests {
    /// Nested dictionaries for a chain of nodes.
    private static func values(_ kind: DepthKind) -> Any {
        DepthValues.nested(depth) { id, next in
            var value: [String: Any] = ["id": id]
            if let next {
                switch kind {
                case .list: value["list"] = [next]
                case .set: value["set"] = [next]
                case .map: value["map"] = ["a": next]
                default: value["next"] = next
                }
            }
            return value
        }
    }

    private static let nested: [DepthKind] = [.link, .list, .set, .map]

    @Test("Deeply nested values create a chain of objects", arguments: nested)
    func creating(_ kind: DepthKind) throws {
        let values = Self.values(kind)
        nonisolated(unsafe) let given = values
        try onSmallStack {
            let realm = try Self.realm()
            try realm.write {
                let head = realm.create(DepthNode.self, value: given)
                #expect(kind.length(from: head) == Self.depth)
                realm.create(DepthNode.self, value: given, update: .modified)
                realm.create(DepthNode.self, value: given, update: .all)
            }
            #expect(realm.objects(DepthNode.self).count == Self.depth)
            #expect(Array(realm.objects(DepthNode.self).prefix(50).map(\.id)) == Array(0..<50))
        }
    }

    @Test("Deeply nested arrays create a chain of objects")
    func creatingFromArrays() throws {
        nonisolated(unsafe) let given = DepthValues.nested(Self.depth) { id, next in [id, next ?? NSNull()] as [Any] }
        try onSmallStack {
            let realm = try Self.realm()
            try realm.write {
                let head = realm.create(DepthNode.self, value: given)
                #expect(DepthKind.link.length(from: head) == Self.depth)
            }
        }
    }

    @Test("Deeply nested values fill a chain of unmanaged objects", arguments: nested)
    func filling(_ kind: DepthKind) throws {
        let values = Self.values(kind)
        nonisolated(unsafe) let given = values
        try onSmallStack {
            let head = DepthNode(value: given)
            #expect(kind.length(from: head) == Self.depth)
            // Sets a property by name, and copies from an unmanaged object.
            let node = DepthNode()
            node["next"] = given
            #expect(node.next.map { kind.length(from: $0) } == Self.depth)
            #expect(DepthNode(value: head).id == 0)
        }
    }

    @Test("A long chain can be copied from unmanaged objects and from another Realm", arguments: DepthKind.allCases)
    func copying(_ kind: DepthKind) throws {
        try onSmallStack {
            let first = try Self.realm()
            let head = kind.chain(Self.depth)
            let copies = try first.write { first.create(DepthNode.self, value: head) }
            #expect(head.realm == nil)
            #expect(kind.length(from: copies) == Self.depth)
            let second = try Self.realm()
            let others = try second.write { second.create(DepthNode.self, value: copies) }
            #expect(kind.length(from: others) == Self.depth)
            #expect(Array(second.objects(DepthNode.self).prefix(50).map(\.id)) == Array(0..<50))
            try second.write { _ = copies.copy(to: second, update: .modified) }
            #expect(second.objects(DepthNode.self).count == Self.depth)
            let detached = others.detached()
            #expect(kind.length(from: detached) == Self.depth)
        }
    }

    @Test("A long cycle of objects can be added and copied")
    func rings() throws {
        try onSmallStack {
            let realm = try Self.realm()
            let head = DepthKind.link.chain(Self.depth)
            var last = head
            while let next = last.next { last = next }
            last.next = head
            try realm.write { realm.add(head) }
            #expect(last.next?.id == 0)
            let other = try Self.realm()
            try other.write { other.create(DepthNode.self, value: head) }
            #expect(other.objects(DepthNode.self).count == Self.depth)
            #expect(other.object(ofType: DepthNode.self, forPrimaryKey: Self.depth - 1)?.next?.id == 0)
        }
    }

    @Test("Deeply nested values create objects of a class that the program does not declare")
    func undeclared() throws {
        nonisolated(unsafe) let given = Self.values(.link)
        try withFile([DepthNode.self, DepthPart.self]) { configuration in
            _ = try Realm(configuration: configuration)
            try onSmallStack {
                var configuration = configuration
                configuration.objectTypes = [DepthOldNode.self]
                let realm = try Realm(configuration: configuration)
                try realm.write { realm.dynamicCreate("DepthNode", value: given) }
                let nodes = realm.dynamicObjects("DepthNode")
                #expect(nodes.count == Self.depth)
                #expect(nodes.filter("next != nil").count == Self.depth - 1)
            }
        }
    }
}

// MARK: Values of any type

extension DepthTests {
    private static let limitWords = "Lists and dictionaries can be nested at most 100 levels deep."

    private static func arrays(_ count: Int) -> Any { DepthValues.nested(count) { _, next in [next ?? 1] as [Any] } }

    @Test("Collections nested beyond the limit are refused wherever they are given")
    func deepValues() throws {
        nonisolated(unsafe) let arrays = Self.arrays(Self.depth)
        nonisolated(unsafe) let dictionaries = DepthValues.nested(Self.depth) { _, next in ["a": next ?? 1] }
        // Foundation's own collections are converted at every level when they are read, so their depth is not limited
        // here.
        nonisolated(unsafe) let objects = DepthValues.nested(200) { _, next in
            NSDictionary(dictionary: ["a": next ?? NSNumber(value: 1)])
        }
        try onSmallStack {
            let realm = try Self.realm()
            for value in [arrays, dictionaries, objects] {
                nonisolated(unsafe) let value = value
                nonisolated(unsafe) let realm = realm
                let bodies: [@Sendable () throws -> Void] = [
                    { _ = DepthNode(value: ["any": value]) },
                    { DepthNode()["any"] = value },
                    { DepthNode()["anys"] = [value] },
                    { try realm.write { _ = realm.create(DepthNode.self, value: ["any": value]) } },
                    { try realm.write { _ = realm.create(DepthNode.self, value: ["anys": [value]]) } },
                    { try realm.write { _ = realm.dynamicCreate("DepthNode", value: ["any": value]) } },
                ]
                for body in bodies { #expect(try misuseText(body)?.hasPrefix(Self.limitWords) == true) }
            }
        }
    }

    @Test("Collections nested a hundred levels deep are stored and read")
    func allowedDepth() throws {
        nonisolated(unsafe) let value = Self.arrays(100)
        try onSmallStack {
            let realm = try Self.realm()
            let node = try realm.write { realm.create(DepthNode.self, value: ["any": value]) }
            var (levels, any) = (0, node.any)
            while let list = any.listValue { (levels, any) = (levels + 1, list[0]) }
            #expect(levels == 100 && any == .int(1))
            #expect(!node.description.isEmpty)
            #expect(node.detached().any.listValue != nil)
            _ = node.snapshot()
        }
    }

    @Test("A value that is too deep can be made and released unmanaged, and adding it is refused")
    func deepUnmanagedValues() throws {
        try onSmallStack {
            var value = AnyRealmValue.int(1)
            for number in 0..<Self.depth {
                value = number % 2 == 0 ? .fromArray([value]) : .fromDictionary(["a": value])
            }
            var other = AnyRealmValue.int(1)
            for number in 0..<Self.depth {
                other = number % 2 == 0 ? .fromArray([other]) : .fromDictionary(["a": other])
            }
            #expect(value == other && value != .fromArray([other]))
            let node = DepthNode()
            node.any = value
            #expect(!node.description.isEmpty)
            nonisolated(unsafe) let unsafeNode = node
            let words = try misuseText {
                let realm = try Self.realm()
                try realm.write { realm.add(unsafeNode) }
            }
            #expect(words?.hasPrefix(Self.limitWords) == true)
            value = .none
        }
    }

    @Test("A list of any values that contains itself is refused")
    func selfContained() throws {
        try onSmallStack {
            let list = List<AnyRealmValue>()
            list.append(.list(list))
            let node = DepthNode()
            node.any = .list(list)
            nonisolated(unsafe) let unsafeNode = node
            let words = try misuseText {
                let realm = try Self.realm()
                try realm.write { realm.add(unsafeNode) }
            }
            #expect(words?.hasPrefix(Self.limitWords) == true)
            list.removeAll()
        }
    }
}

// MARK: Reading

extension DepthTests {
    @Test("Values are read and set along a key path of thousands of links")
    func keyPaths() throws {
        try onSmallStack {
            let realm = try Self.realm()
            let head = DepthKind.link.chain(Self.depth)
            try realm.write { realm.add(head) }
            let links = String(repeating: "next.", count: Self.depth - 1)
            #expect(head.value(forKeyPath: links + "id") as? Int == Self.depth - 1)
            #expect(head.value(forKeyPath: links + "next.id") == nil)
            try realm.write { head.setValue("x", forKeyPath: links + "any") }
            #expect(realm.object(ofType: DepthNode.self, forPrimaryKey: Self.depth - 1)?.any == .string("x"))
        }
    }

    @Test("A snapshot contains at most a hundred levels of objects", arguments: [true, false])
    func snapshots(_ isEmbedded: Bool) throws {
        try onSmallStack {
            let realm = try Self.realm()
            let head = DepthKind.link.chain(Self.depth)
            var part = DepthPart()
            for _ in 0..<Self.depth {
                let outer = DepthPart()
                outer.next = part
                part = outer
            }
            if isEmbedded { head.part = part }
            try realm.write { realm.add(head) }
            var snapshot = head.snapshot(depth: .max)
            var levels = 1
            while case .object(let next) = snapshot[isEmbedded && levels == 1 ? "part" : "next"] {
                (levels, snapshot) = (levels + 1, next)
            }
            #expect(levels == 101)
            let last = snapshot["next"]
            #expect(last == (isEmbedded ? .link("DepthPart", .null) : .link("DepthNode", .int(101))))
        }
    }

    @Test("Encoding or decoding a chain that is too long throws")
    func coding() throws {
        func chain(_ count: Int) -> DepthCoded {
            var head = DepthCoded()
            for _ in 1..<count {
                let node = DepthCoded()
                node.next = head
                head = node
            }
            return head
        }
        try onSmallStack {
            let short = try JSONEncoder().encode(chain(50))
            var (length, node) = (1, try JSONDecoder().decode(DepthCoded.self, from: short))
            while let next = node.next { (length, node) = (length + 1, next) }
            #expect(length == 50)
            #expect(throws: EncodingError.self) { try JSONEncoder().encode(chain(Self.depth)) }
            let text =
                String(repeating: #"{"id":1,"next":"#, count: Self.depth) + "null"
                + String(repeating: "}", count: Self.depth)
            #expect(throws: DecodingError.self) { try JSONDecoder().decode(DepthCoded.self, from: Data(text.utf8)) }
        }
    }
}
