// SPDX-License-Identifier: Apache-2.0
// The source that @Snapshot generates, and its messages for classes that cannot have it.

#if Macros
    import RegnumMacroPlugin
    import SwiftSyntax
    import SwiftSyntaxBuilder
    import SwiftSyntaxMacroExpansion
    import SwiftSyntaxMacrosGenericTestSupport
    import Testing

    @Suite("Expansion of @Snapshot")
    struct SnapshotExpansionTests {
        private func expect(
            _ source: String, becomes expanded: String, _ diagnostics: [DiagnosticSpec] = [],
            conformances: [TypeSyntax] = ["SnapshotModel"], fileID: StaticString = #fileID,
            filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
        ) {
            assertMacroExpansion(
                source, expandedSource: expanded, diagnostics: diagnostics,
                macroSpecs: ["Snapshot": MacroSpec(type: SnapshotMacro.self, conformances: conformances)],
                failureHandler: { failure in
                    Issue.record(
                        Comment(rawValue: failure.message),
                        sourceLocation: SourceLocation(
                            fileID: "\(failure.location.fileID)", filePath: "\(failure.location.filePath)",
                            line: Int(failure.location.line), column: Int(failure.location.column)))
                }, fileID: fileID, filePath: filePath, line: line, column: column)
        }

        /// Expects one message at a place, and no struct.
        private func refused(
            _ body: String, _ message: String, line: Int, column: Int = 5, by source: UInt = #line
        ) {
            let code = "class Dog: Object {\n\(body)\n}"
            expect(
                "@Snapshot\n\(code)", becomes: code,
                [DiagnosticSpec(message: message, line: line, column: column)], line: source)
        }

        @Test("A class becomes a struct with its persisted properties")
        func whole() {
            expect("@Snapshot(depth: 2)\n\(Self.dog)", becomes: Self.dog.dropLast(2) + Self.dogSnapshot)
        }

        private static let dog = """
            class Dog: Object {
                @Persisted(primaryKey: true) var id: UUID
                @Persisted var name = ""
                @Persisted var owner: Person?
                @Persisted var toys: RealmSwift.List<String>
                @Persisted(originProperty: "dog") var people: LinkingObjects<Person>
                var shown: String { name }
            }
            """

        /// The source that follows the members of `dog`.
        private static let dogSnapshot = #"""


                /// The values of a `Dog`, which can be compared, encoded, and sent to any thread or actor.
                struct Snapshot: Regnum.ModelSnapshot {
                    typealias ModelClass = Dog
                    typealias ModelKey = UUID
                    var id: UUID
                    var name: String
                    var owner: Person.SnapshotForm?
                    var toys: [String]
                    static var linkDepth: Swift.Int {
                        2
                    }
                    init(id: UUID, name: String, owner: Person.SnapshotForm? = nil, toys: [String]) {
                        self.id = id
                        self.name = name
                        self.owner = owner
                        self.toys = toys
                    }
                    init(_ object: Dog, depth: Swift.Int) {
                        let reading = Regnum.SnapshotReading(depth: depth)
                        self.id = reading.value(object.id)
                        self.name = reading.value(object.name)
                        self.owner = reading.value(object.owner)
                        self.toys = reading.value(object.toys)
                    }
                    static func _key(of object: Dog) -> ModelKey? {
                        object.id
                    }
                    var _key: ModelKey? {
                        self.id
                    }
                    func _write(to object: Dog, _ writing: Regnum.SnapshotWriting) {
                        writing.write(self.id, to: &object.id, "id")
                        writing.write(self.name, to: &object.name, "name")
                        writing.write(self.owner, to: &object.owner, "owner")
                        writing.write(self.toys, to: object.toys, "toys")
                    }
                    private enum CodingKeys: Swift.String, Swift.CodingKey {
                        case id
                        case name
                        case owner
                        case toys
                    }
                    init(from decoder: any Swift.Decoder) throws {
                        if let object = Self._object(in: decoder) {
                            self.init(object)
                            return
                        }
                        let values = try decoder.container(keyedBy: CodingKeys.self)
                        self.id = try values.decode(UUID.self, forKey: .id)
                        self.name = try values.decode(String.self, forKey: .name)
                        self.owner = try values.decodeIfPresent(Person.SnapshotForm.self, forKey: .owner)
                        self.toys = try values.decode([String].self, forKey: .toys)
                    }
                }
            }

            extension Dog: Regnum.SnapshotModel {
                typealias SnapshotForm = Regnum.LinkedSnapshot<Dog>
            }
            """#

        @Test("Only classes with properties of their own have snapshots")
        func classes() {
            expect(
                "@Snapshot\nstruct Dog {\n}", becomes: "struct Dog {\n}",
                [
                    DiagnosticSpec(
                        message: "@Snapshot belongs to a class of objects: write it above a class that inherits from "
                            + "Object or EmbeddedObject", line: 1, column: 1)
                ])
            refused(
                "    var name = \"\"", "'Dog' has no @Persisted property of its own: a snapshot of it would be empty",
                line: 1, column: 1)
            refused(
                "    @Persisted var a = 0\n    struct Snapshot {}",
                "@Snapshot adds the type 'Snapshot' to the class: give this one another name", line: 4)
            expect(
                "@Snapshot(depth: links)\nclass Dog: Object {\n    @Persisted var a = 0\n}",
                becomes: """
                    class Dog: Object {
                        @Persisted var a = 0
                    }
                    """,
                [
                    DiagnosticSpec(
                        message: "the depth is the number of links to follow, as a literal: 0, 1, 2", line: 1,
                        column: 18)
                ])
            expect(
                "@Snapshot\nclass Box<T>: Object {\n    @Persisted var a = 0\n}",
                becomes: "class Box<T>: Object {\n    @Persisted var a = 0\n}",
                [
                    DiagnosticSpec(
                        message: "a generic class has no @Snapshot, because no Realm stores it", line: 2, column: 10)
                ])
        }

        @Test("A type that cannot be stored is refused at its property, with the one to write instead")
        func types() {
            func type(_ type: String, _ message: String, by line: UInt = #line) {
                refused("    @Persisted var a: \(type)", message, line: 3, column: 20, by: line)
            }
            type("URL?", "URL cannot be stored: write `@Persisted var a: String`, or make URL a CustomPersistable")
            type("Decimal", "Decimal cannot be stored: write `@Persisted var a: Decimal128`")
            type("UInt", "UInt cannot be stored: write `@Persisted var a: Int`")
            type(
                "Foundation.URL",
                "Foundation.URL cannot be stored: write `@Persisted var a: String`, or make URL a CustomPersistable")
            type("[String]", "[String] cannot be stored: write `@Persisted var a: List<String>`")
            type("Set<Int>", "Set<Int> cannot be stored: write `@Persisted var a: MutableSet<Int>`")
            type("[String: Int]", "[String: Int] cannot be stored: write `@Persisted var a: Map<String, Int>`")
            type("List<UInt8>", "UInt8 cannot be stored: write Int for the elements of 'a'")
            type(
                "AnyRealmValue",
                "'a' can hold values of any type, which a struct of @Snapshot cannot declare: write its type, or use "
                    + "`snapshot(depth:)` without the macro")
            type(
                "(Int, Int)",
                "(Int, Int) cannot be stored: write a type with a name, such as a class of objects or a "
                    + "CustomPersistable")
        }

        @Test("Properties that are not @Persisted but were stored by RealmSwift are refused")
        func unpersisted() {
            refused(
                "    @objc dynamic var name = \"\"\n    @Persisted var a = 0",
                "write `@Persisted var name`: a `dynamic var` is not part of @Snapshot", line: 3)
            refused(
                "    let toys = List<String>()\n    @Persisted var a = 0",
                "write `@Persisted var toys` with its type: a `let` of List is not part of @Snapshot", line: 3)
            refused(
                "    @Persisted var a = 0\n    override class func primaryKey() -> String? { \"a\" }",
                "write `@Persisted(primaryKey: true)` at the property: @Snapshot does not see this one", line: 4)
            refused(
                "    @Persisted var a = number()", "write the type of 'a': @Snapshot sees only the text of its default",
                line: 3, column: 20)
        }

        @Test("A class below one with @Snapshot cannot have it")
        func inherited() {
            let generated = #"""
                class Puppy: Dog {
                    @Persisted private var a = 0

                    /// The values of a `Puppy`, which can be compared, encoded, and sent to any thread or actor.
                    struct Snapshot: Regnum.ModelSnapshot {
                        typealias ModelClass = Puppy
                        typealias ModelKey = Swift.Never
                        private var a: Int
                        static var linkDepth: Swift.Int {
                            1
                        }
                        fileprivate init(a: Int) {
                            self.a = a
                        }
                        init(_ object: Puppy, depth: Swift.Int) {
                            let reading = Regnum.SnapshotReading(depth: depth)
                            self.a = reading.value(object.a)
                        }
                        func _write(to object: Puppy, _ writing: Regnum.SnapshotWriting) {
                            writing.write(self.a, to: &object.a, "a")
                        }
                        private enum CodingKeys: Swift.String, Swift.CodingKey {
                            case a
                        }
                        init(from decoder: any Swift.Decoder) throws {
                            if let object = Self._object(in: decoder) {
                                self.init(object)
                                return
                            }
                            let values = try decoder.container(keyedBy: CodingKeys.self)
                            self.a = try values.decode(Int.self, forKey: .a)
                        }
                    }
                }
                """#
            expect(
                "@Snapshot\nclass Puppy: Dog {\n    @Persisted private var a = 0\n}", becomes: generated,
                [
                    DiagnosticSpec(
                        message: "a superclass of 'Puppy' has @Snapshot already: only one of them can have it", line: 1,
                        column: 1)
                ], conformances: [])
        }
    }
#endif
