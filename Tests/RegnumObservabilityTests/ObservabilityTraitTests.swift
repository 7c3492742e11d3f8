// SPDX-License-Identifier: Apache-2.0
// Without the trait there is one declaration, whose message says how to enable it, and nothing depends on the
// libraries.

import Foundation
import Testing

@Suite("The trait Observability")
struct ObservabilityTraitTests {
    private let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    @Test("The only declaration without the trait says how to enable the trait")
    func message() throws {
        let source = try String(
            contentsOf: root.appendingPathComponent("Sources/RegnumObservability/RealmObservability.swift"),
            encoding: .utf8)
        let switchedOff = try #require(source.split(separator: "#else").last)
        #expect(switchedOff.contains("unavailable"))
        #expect(switchedOff.contains(#"traits: [.defaults, "Observability"]"#))
    }

    @Test("Each product of the three libraries is needed only with the trait")
    func conditions() throws {
        let manifest = try String(contentsOf: root.appendingPathComponent("Package.swift"), encoding: .utf8)
        #expect(manifest.contains(#".trait(name: "Observability""#))
        let libraries = ["swift-log", "swift-metrics", "swift-distributed-tracing"]
        let uses = manifest.split(separator: "\n").filter { line in
            libraries.contains { line.contains(#"package: "\#($0)""#) }
        }
        #expect(uses.count >= 8)
        let unconditional = uses.filter { !$0.contains("condition: observability") }
        #expect(unconditional.isEmpty)
    }
}
