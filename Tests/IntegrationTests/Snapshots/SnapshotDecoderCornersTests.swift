// SPDX-License-Identifier: Apache-2.0
// Types with an `init(from:)` of their own: keys of other kinds, several containers, decoders that are kept, and changes
// of the Realm while its objects are decoded.

import Foundation
import RealmSwift
import RegnumTestKit
import Testing

enum DecodedModels {
    class Node: Object {
        @Persisted(primaryKey: true) var id = 0
        @Persisted var name = ""
        @Persisted var next: Node?
        @Persisted var others: List<Node>
    }

    class Sizes: Object {
        @Persisted var byKey: Map<String, Int>
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }

    /// Objects 0 to 2; each links to the next one, and has it in its list too.
    static func realm() throws -> Realm {
        let realm = try memoryRealm(Node.self)
        try realm.write {
            var next: Node?
            for id in (0..<3).reversed() {
                let node = realm.create(Node.self, value: ["id": id, "name": "n\(id)"] as [String: Any])
                node.next = next
                if let next { node.others.append(objectsIn: [next, node]) }
                next = node
            }
        }
        return realm
    }
}

@Suite("Decoding by types with their own initialiser")
struct SnapshotDecoderCornersTests {
    private typealias Node = DecodedModels.Node

    enum Keys: String, CodingKey { case id, name, next, others }
    struct TextKey: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }
        init(_ text: String) { stringValue = text }
        init?(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { return nil }
    }

    struct ByTexts: Decodable, Sendable {
        let id: Int
        let names: [String]
        let hasNone: Bool
        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: TextKey.self)
            id = try container.decode(Int.self, forKey: TextKey("id"))
            names = container.allKeys.map(\.stringValue)
            hasNone = !container.contains(TextKey("none"))
            #expect(try container.decodeNil(forKey: TextKey("next")) == (id == 2))
        }
    }

    @Test("Keys may be texts")
    func textKeys() throws {
        let values = try DecodedModels.realm().objects(Node.self).sorted(byKeyPath: "id").snapshots(as: ByTexts.self)
        #expect(values.map(\.id) == [0, 1, 2] && values.allSatisfy { $0.hasNone })
        #expect(values[0].names == ["id", "name", "next", "others"])
    }

    struct ByNumber: Decodable, Sendable { let byKey: [Int: Int] }
    enum Size: String, CodingKeyRepresentable, Decodable, Sendable { case small, large }
    struct BySize: Decodable, Sendable { let byKey: [Size: Int] }
    struct ByUUID: Decodable, Sendable { let byKey: [UUID: Int] }

    /// The sum of all entries, and the number of keys.
    struct Total: Decodable, Sendable {
        enum OwnKeys: String, CodingKey { case byKey }
        let sum: Int
        let keyCount: Int
        init(from decoder: any Decoder) throws {
            let entries = try decoder.container(keyedBy: OwnKeys.self)
                .nestedContainer(keyedBy: TextKey.self, forKey: .byKey)
            keyCount = entries.allKeys.count
            sum = try entries.allKeys.reduce(0) { sum, key in sum + (try entries.decode(Int.self, forKey: key)) }
        }
    }

    @Test("The keys of a map may be numbers or values of an enum, and keep their spelling")
    func mapKeys() throws {
        let realm = try memoryRealm(DecodedModels.Sizes.self)
        let sizes = try realm.write { realm.create(DecodedModels.Sizes.self) }
        func fill(_ entries: [(String, Int)]) throws {
            try realm.write {
                sizes.byKey.removeAll()
                for (key, value) in entries { sizes.byKey[key] = value }
            }
        }
        try fill([("1", 10), ("2", 20)])
        #expect(try sizes.snapshot(as: ByNumber.self).byKey == [1: 10, 2: 20])
        #expect(throws: DecodingError.self) { _ = try sizes.snapshot(as: BySize.self) }
        // Foundation decodes such a dictionary from a list of keys and values.
        #expect(throws: DecodingError.self) { _ = try sizes.snapshot(as: ByUUID.self) }
        try fill([("small", 1), ("large", 5)])
        #expect(try sizes.snapshot(as: BySize.self).byKey == [.small: 1, .large: 5])
        #expect(throws: DecodingError.self) { _ = try sizes.snapshot(as: ByNumber.self) }
        try fill([("\u{e9}", 1), ("e\u{301}", 2)])
        let total = try sizes.snapshot(as: Total.self)
        #expect(total.sum == 3 && total.keyCount == 2)
    }

    struct TwoContainers: Decodable, Sendable {
        enum OtherKeys: String, CodingKey { case name }
        let id: Int
        let name: String
        let nextName: String?
        let otherNames: [String]
        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: Keys.self)
            name = try decoder.container(keyedBy: OtherKeys.self).decode(String.self, forKey: .name)
            id = try container.decode(Int.self, forKey: .id)
            nextName =
                try container.decodeNil(forKey: .next)
                ? nil
                : container.nestedContainer(keyedBy: OtherKeys.self, forKey: .next).decode(String.self, forKey: .name)
            var names: [String] = []
            var elements = try container.nestedUnkeyedContainer(forKey: .others)
            while !elements.isAtEnd {
                names.append(
                    try elements.nestedContainer(keyedBy: OtherKeys.self).decode(String.self, forKey: .name))
            }
            otherNames = names
        }
    }

    @Test("A type may use several containers, and containers within containers")
    func containers() throws {
        let nodes = try DecodedModels.realm().objects(Node.self).sorted(byKeyPath: "id")
        let values = try nodes.snapshots(as: TwoContainers.self)
        #expect(values.map(\.id) == [0, 1, 2] && values.map(\.name) == ["n0", "n1", "n2"])
        #expect(values.map(\.nextName) == ["n1", "n2", nil])
        #expect(values.map(\.otherNames) == [["n1", "n0"], ["n2", "n1"], []])
    }

    struct KeptDecoder: Decodable, @unchecked Sendable {
        // Sendable: used by the test's thread only.
        let decoder: any Decoder
        init(from decoder: any Decoder) throws { self.decoder = decoder }
        func name() throws -> String {
            try decoder.container(keyedBy: Keys.self).decode(String.self, forKey: .name)
        }
    }

    struct KeptByLinks: Decodable, Sendable {
        let names: [String]
        let pairs: [(KeptDecoder, String)]
        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: Keys.self)
            let others = try container.decode([KeptDecoder].self, forKey: .others)
            let next = try container.decodeIfPresent(KeptDecoder.self, forKey: .next)
            names = try ([next].compactMap { $0 } + others).map { try $0.name() }
            pairs = zip(others, names.dropFirst()).map { ($0, $1) }
        }
    }

    @Test("A decoder that a value keeps stays at its object")
    func keptDecoders() throws {
        let nodes = try DecodedModels.realm().objects(Node.self).sorted(byKeyPath: "id")
        let kept = try nodes.snapshots(as: KeptDecoder.self)
        #expect(try kept.map { try $0.name() } == ["n0", "n1", "n2"])
        let values = try nodes.snapshots(as: KeptByLinks.self)
        #expect(values.map(\.names) == [["n1", "n1", "n0"], ["n2", "n2", "n1"], []])
        #expect(try values.allSatisfy { try $0.pairs.allSatisfy { try $0.name() == $1 } })
        let nested = try kept[0].decoder.container(keyedBy: Keys.self).decode([KeptDecoder].self, forKey: .others)
        #expect(try nested.map { try $0.name() } == ["n1", "n0"])
    }

    struct KeptContainer: Decodable, @unchecked Sendable {
        // Sendable: used by the test's thread only.
        let container: KeyedDecodingContainer<Keys>
        let name: String
        init(from decoder: any Decoder) throws {
            container = try decoder.container(keyedBy: Keys.self)
            name = try container.decode(String.self, forKey: .name)
        }
    }

    @Test("Using a container after its initialiser has returned is a programmer error")
    func keptContainers() throws {
        let nodes = try DecodedModels.realm().objects(Node.self).sorted(byKeyPath: "id")
        let kept = try nodes.snapshots(as: KeptContainer.self)
        #expect(kept.map(\.name) == ["n0", "n1", "n2"])
        let message = catchMisuse { _ = try? kept[0].container.decode(String.self, forKey: .name) }
        #expect(message?.contains("after `init(from:)` of the value had returned") == true)
    }

    /// Calls a block between two properties.
    struct Interrupted: Decodable, Sendable {
        @TaskLocal static var body: (@Sendable (Int) -> Void)?
        let id: Int
        let name: String
        let nextName: String?
        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: Keys.self)
            id = try container.decode(Int.self, forKey: .id)
            Self.body?(id)
            name = try container.decode(String.self, forKey: .name)
            nextName = try container.decodeIfPresent(NamedNode.self, forKey: .next)?.name
        }
    }

    struct NamedNode: Decodable, Sendable { let name: String }

    @Test("An initialiser may change the Realm")
    func changes() throws {
        let realm = try DecodedModels.realm()
        let nodes = realm.objects(Node.self)
        nonisolated(unsafe) let unchecked = realm
        let values = try Interrupted.$body.withValue({ id in
            do {
                try unchecked.write {
                    unchecked.object(ofType: Node.self, forPrimaryKey: id)?.name = "changed \(id)"
                    for other in 0..<3 { unchecked.create(Node.self, value: ["id": 10 * (id + 1) + other]) }
                }
            } catch { Issue.record(error) }
        }) { try nodes.snapshots(as: Interrupted.self) }
        #expect(values.map(\.name).sorted() == ["changed 0", "changed 1", "changed 2"])
        #expect(values.first { $0.id == 0 }?.nextName.map { ["n1", "changed 1"].contains($0) } == true)
        #expect(nodes.count == 12)
    }
}
