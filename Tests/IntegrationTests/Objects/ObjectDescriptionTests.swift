// SPDX-License-Identifier: Apache-2.0
// The descriptions of objects and collections have RealmSwift's format, which programs and their logs use.

import Foundation
import RealmSwift
import Testing

private final class Page: Object {
    @Persisted var title = "a"
    @Persisted var isOpen = true
    @Persisted var number: Int?
    @Persisted var scan = Data((1...30).map { UInt8($0) })
    @Persisted var next: Page?
    @Persisted var pages: List<Page>
    @Persisted var marks: MutableSet<Int>
    @Persisted var words: Map<String, String>
    @Persisted(originProperty: "next") var before: LinkingObjects<Page>
    override class func _realmObjectName() -> String? { "Page" }
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

private final class Link: Object {
    @Persisted var next: Link?
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

private final class Lists: Object {
    @Persisted var flags: List<Bool?>
    override class func _realmObjectName() -> String? { "DescribedLists" }
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

/// The addresses of collections differ in each run.
private func withoutAddresses(_ text: String) -> String { text.replacing(/<0x[0-9a-f]+>/, with: "<0x>") }

@Suite("Descriptions of objects")
struct ObjectDescriptionTests {
    private static let text = """
        Page {
        \ttitle = a;
        \tisOpen = 1;
        \tnumber = (null);
        \tscan = <0102030405060708090a0b0c0d0e0f101112131415161718 — 30 total bytes>;
        \tnext = (null);
        \tpages = List<Page> <0x> (
        \t
        \t);
        \tmarks = MutableSet<int> <0x> (
        \t\t[0] 7
        \t);
        \twords = Map<string, string> <0x> (
        \t[a]: b
        \t);
        }
        """

    @Test("The description of an object lists its stored properties in order, nil as (null), data cut to 24 bytes")
    func object() throws {
        let page = Page(value: ["marks": [7], "words": ["a": "b"]])
        #expect(withoutAddresses(page.description) == Self.text)
        let realm = try memoryRealm(Page.self)
        try realm.write { realm.add(page) }
        #expect(withoutAddresses("\(page)") == Self.text)
        try realm.write { realm.delete(page) }
        #expect(page.description == "[invalid object]")
    }

    @Test("Nested objects are indented by one tab and end at depth five")
    func nested() throws {
        let link = Link()
        link.next = link
        var text = "<Maximum depth exceeded>"
        for _ in 0..<5 {
            text = "Link {\n\tnext = \(text.replacing("\n", with: "\n\t"));\n}"
        }
        #expect(link.description == text)
        link.next = nil
        let realm = try memoryRealm(Link.self)
        try realm.write {
            realm.add(link)
            link.next = link
        }
        #expect(link.description == text)
    }

    @Test("The description of a collection lists a hundred elements and the count of the others")
    func collections() throws {
        let list = List<Int>()
        list.append(objectsIn: 0..<3)
        #expect(withoutAddresses(list.description) == "List<int> <0x> (\n\t[0] 0,\n\t[1] 1,\n\t[2] 2\n)")
        list.append(objectsIn: 3..<105)
        #expect(list.description.hasSuffix("\t[99] 99\n\t... 5 objects skipped.\n)"))
        let realm = try memoryRealm(Link.self)
        try realm.write { realm.create(Link.self) }
        let links = realm.objects(Link.self)
        #expect(withoutAddresses(links.description) == "Results<Link> <0x> (\n\t[0] Link {\n\t\tnext = (null);\n\t}\n)")
    }

    @Test("Numbers are printed as in RealmSwift: whole numbers without a fraction")
    func numbers() {
        let doubles = List<Double>()
        doubles.append(objectsIn: [2, 0.5, -0.0, -1e15, 1e16, .nan, .infinity])
        let floats = List<Float>()
        floats.append(objectsIn: [-3, 1.25])
        let lines = { (text: String) in
            text.split(separator: "\n").dropFirst().dropLast().joined().filter { $0 != "\t" }
        }
        #expect(
            lines(doubles.description)
                == "[0] 2,[1] 0.5,[2] -0,[3] -1000000000000000,[4] 1e+16,[5] nan,[6] inf")
        #expect(lines(floats.description) == "[0] -3,[1] 1.25")
    }

    @Test("Results of values have the name of their type, results of dynamic objects that of the class")
    func results() throws {
        let realm = try memoryRealm(Link.self, Lists.self)
        try realm.write {
            realm.create(Link.self)
            realm.create(Lists.self, value: ["flags": [true, nil]])
        }
        let lists = try #require(realm.objects(Lists.self).first)
        let flags = lists.flags.sorted(byKeyPath: "self", ascending: false)
        #expect(withoutAddresses(flags.description) == "Results<bool> <0x> (\n\t[0] 1,\n\t[1] (null)\n)")
        #expect(realm.dynamicObjects("Link").description.hasPrefix("Results<Link> <0x"))
    }
}
