// SPDX-License-Identifier: Apache-2.0
// Without the trait there is one declaration, whose message says how to enable it, and nothing depends on swift-syntax.

import Foundation
import Testing

@Suite("The trait Macros")
struct MacrosTraitTests {
    private let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    private func text(_ path: String) throws -> String {
        try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
    }

    @Test("The only declaration without the trait says how to enable the trait")
    func message() throws {
        let switchedOff = try #require(text("Sources/RegnumMacros/Snapshot.swift").split(separator: "#else").last)
        #expect(switchedOff.contains("unavailable"))
        #expect(switchedOff.contains(#"traits: [.defaults, "Macros"]"#))
    }

    @Test("Each product of swift-syntax is needed only with the trait, and so is the plugin")
    func conditions() throws {
        let manifest = try text("Package.swift")
        #expect(manifest.contains(#".trait(name: "Macros""#))
        let uses = manifest.split(separator: "\n").filter {
            $0.contains(#"package: "swift-syntax""#) || $0.contains(#".target(name: "RegnumMacroPlugin""#)
        }
        #expect(uses.count >= 7)
        let unconditional = uses.filter { !$0.contains("condition: macros") }
        #expect(unconditional.isEmpty)
    }

    @Test("Every file of the plugin has nothing but an empty program without the trait")
    func files() throws {
        let folder = root.appendingPathComponent("Sources/RegnumMacroPlugin")
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        #expect(names.count >= 4)
        for name in names {
            let lines = try text("Sources/RegnumMacroPlugin/\(name)").split(separator: "\n")
            let code = lines.first { !$0.hasPrefix("//") }
            #expect(code == "#if Macros", "\(name)")
        }
    }
}
