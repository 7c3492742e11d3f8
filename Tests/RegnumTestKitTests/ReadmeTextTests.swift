// SPDX-License-Identifier: Apache-2.0
// Compares the listings of the kit's pages with the code of these tests.

import Foundation
import Testing

@Suite("README")
struct ReadmeTextTests {
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    private static func lines(_ text: some StringProtocol) -> [String] {
        text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
            .filter { !$0.isEmpty && !$0.hasPrefix("// ") && !$0.hasPrefix("import ") }
    }

    /// The Swift listings of a document, or of one of its sections.
    private static func listings(in document: String, of heading: String) throws -> [String] {
        let text = try String(contentsOf: root.appendingPathComponent(document), encoding: .utf8)
        let section =
            heading.isEmpty
            ? text : text.components(separatedBy: "\n## ").first { $0.hasPrefix(heading) } ?? ""
        return section.components(separatedBy: "```swift\n").dropFirst()
            .map { $0.components(separatedBy: "```")[0] }
    }

    @Test(
        "Every listing about testing is in a test, line by line",
        arguments: [
            ("Sources/RegnumTestKit/RegnumTestKit.docc/TenExamples.md", "Test your app", 10),
            ("Sources/RegnumTestKit/RegnumTestKit.docc/TestingYourApp.md", "", 12),
            ("Sources/RegnumTestKit/RegnumTestKit.docc/RegnumTestKit.md", "", 4),
        ])
    func listings(_ document: String, _ heading: String, _ fewest: Int) throws {
        let folder = Self.root.appendingPathComponent("Tests/RegnumTestKitTests")
        let names = try FileManager.default.subpathsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".swift") }
        let code = try names.flatMap { name in
            Self.lines(try String(contentsOf: folder.appendingPathComponent(name), encoding: .utf8))
        }.joined(separator: "\n")
        let listings = try Self.listings(in: document, of: heading)
        #expect(listings.count >= fewest)
        for listing in listings {
            #expect(code.contains(Self.lines(listing).joined(separator: "\n")), "\(document): \(listing)")
        }
    }
}
