// SPDX-License-Identifier: Apache-2.0
// Classes with every kind of property for tests of undo, and their content as text that does not depend on the order in
// which objects were added.

import Foundation
import RealmSwift
import Regnum

enum UndoModels {
    class Node: Object {
        @Persisted(primaryKey: true) var id = 0
        @Persisted(indexed: true) var name = ""
        @Persisted var score: Double?
        @Persisted var next: Node?
        @Persisted var children: List<Node>
        @Persisted var peers: MutableSet<Node>
        @Persisted var named: Map<String, Node?>
        @Persisted var words: List<String?>
        @Persisted var numbers: Map<String, Int>
        @Persisted var flags: MutableSet<String>
        @Persisted var any: AnyRealmValue
        @Persisted var part: Part?
        @Persisted var parts: List<Part>
        @Persisted var partMap: Map<String, Part?>
        @Persisted(originProperty: "children") var parents: LinkingObjects<Node>
        override class func shouldIncludeInDefaultSchema() -> Bool { false }

        convenience init(_ id: Int, _ name: String = "") {
            self.init()
            (self.id, self.name) = (id, name)
        }
    }

    class Part: EmbeddedObject {
        @Persisted var size = 0
        @Persisted var node: Node?
        @Persisted var inner: Inner?
        @Persisted var inners: List<Inner>
        override class func shouldIncludeInDefaultSchema() -> Bool { false }

        convenience init(_ size: Int) {
            self.init()
            self.size = size
        }
    }

    class Inner: EmbeddedObject {
        @Persisted var text = ""
        override class func shouldIncludeInDefaultSchema() -> Bool { false }

        convenience init(_ text: String) {
            self.init()
            self.text = text
        }
    }

    /// Without a primary key; the tests number them.
    class Plain: Object {
        @Persisted var number = 0
        @Persisted var node: Node?
        @Persisted var other: Plain?
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }

    static let types: [ObjectBase.Type] = [Node.self, Part.self, Inner.self, Plain.self]

    /// One line for each object.
    static func content(_ realm: Realm) -> [String] {
        let nodes = realm.objects(Node.self).map { node in
            "node " + text(.object(node.snapshot(depth: 0))) + " in \(node.parents.map(\.id).sorted())"
        }
        let plains = realm.objects(Plain.self).map { plain in
            "plain \(plain.number) \(plain.node?.id ?? -1) \(plain.other?.number ?? -1)"
        }
        return (Array(nodes) + Array(plains)).sorted()
    }

    private static func text(_ value: SnapshotValue) -> String {
        switch value {
        case .list(let values): "[" + values.map { text($0) }.joined(separator: ", ") + "]"
        case .set(let values): "{" + values.map { text($0) }.sorted().joined(separator: ", ") + "}"
        case .map(let values):
            "<" + values.map { "\($0.key): \(text($0.value))" }.sorted().joined(separator: ", ") + ">"
        case .object(let object):
            "(" + object.names.map { "\($0): \(text(object[$0] ?? .null))" }.joined(separator: ", ") + ")"
        default: "\(value)"
        }
    }
}
