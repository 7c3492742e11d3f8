// SPDX-License-Identifier: Apache-2.0
// Without the trait there is one declaration, whose message says how to enable it.

import Foundation
import Testing

@Suite("The trait Publishers")
struct TraitTests {
    @Test("The only declaration without the trait says how to enable the trait")
    func message() throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let carrier = try String(
            contentsOf: root.appendingPathComponent("Sources/RegnumReactive/CombineImport.swift"), encoding: .utf8)
        let switchedOff = try #require(carrier.split(separator: "#else").last)
        #expect(switchedOff.contains("unavailable"))
        #expect(switchedOff.contains(#"traits: [.defaults, "Publishers"]"#))
        let manifest = try String(contentsOf: root.appendingPathComponent("Package.swift"), encoding: .utf8)
        #expect(manifest.contains(#".trait(name: "Publishers""#))
    }
}
