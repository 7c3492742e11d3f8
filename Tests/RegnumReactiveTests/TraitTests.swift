// SPDX-License-Identifier: Apache-2.0
// Without the trait there is one declaration, and it says what to do.

import Foundation
import Testing

@Suite("The trait Publishers")
struct TraitTests {
    @Test("the declaration that stands for all others says how to switch the trait on")
    func message() throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let carrier = try String(
            contentsOf: root.appendingPathComponent("Sources/RegnumReactive/Carrier.swift"), encoding: .utf8)
        let switchedOff = try #require(carrier.split(separator: "#else").last)
        #expect(switchedOff.contains("unavailable"))
        #expect(switchedOff.contains(#"traits: [.defaults, "Publishers"]"#))
        let manifest = try String(contentsOf: root.appendingPathComponent("Package.swift"), encoding: .utf8)
        #expect(manifest.contains(#".trait(name: "Publishers""#))
    }
}
