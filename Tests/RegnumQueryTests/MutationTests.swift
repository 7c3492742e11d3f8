// SPDX-License-Identifier: Apache-2.0
// Valid predicates with changed bytes and words: every predicate that still parses and binds can run, and nothing
// traps. REGNUM_QUERY_SEED repeats a run.

import Foundation
import RegnumEngine
import RegnumQuery
import Testing

@Suite struct MutationTests {
    private static let predicates = [
        "int == 1 AND (string BEGINSWITH[c] 'a' OR NOT bool == TRUE)", "ANY links.int > 3 AND link.link.double < 1.5e3",
        "SUBQUERY(links, $x, $x.int == 1 AND SUBQUERY($x.links, $y, $y.int > 0).@count == 1).@count > 2",
        "int IN {1, 2, -3} OR string LIKE '*a?'", "links.@count == 2 AND links.@sum.int >= 0x1F",
        "NONE list_int BETWEEN {1, 5}",
        "link == NULL AND ANY back.string CONTAINS[cd] \"\\u00e9\"",
        "links.@avg.double > %@ AND int <> %d OR string == %@",
        "%K == 1 AND ANY list_string ==[c] 'x'", "string TEXT 'a -b'", "int == link.int", "date > %@ AND uuid == %@",
    ]
    private static let words = [
        "AND", "NOT", "(", ")", "{", "}", "[c]", "ANY", "@count", "@max", ".", "..", "'", "%@", "%K", "NULL", "==",
        "IN",
        "BETWEEN", "TEXT", "$x", "SUBQUERY(", "-", "9999999999999999999", "1e999", "#any", "link.", "\u{0}", "\u{301}",
        "links",
    ]

    @Test("Changed predicates are evaluated or refused")
    func mutations() throws {
        let environment = ProcessInfo.processInfo.environment
        let seed = environment["REGNUM_QUERY_SEED"].flatMap { UInt64($0) } ?? .random(in: 0 ... .max)
        let cases = environment["REGNUM_QUERY_CASES"].flatMap { Int($0) } ?? 3000
        var random = QueryRandom(state: seed)
        let nodes = try ReferenceObjects(&random, hasAll: true)
        let arguments: [Constant] = [.int(1), .string("int"), .null, .array([.int(1), .null]), .double(.nan)]
        var (bound, ran) = (0, 0)
        for number in 0..<cases {
            var bytes = Array(Self.predicates[number % Self.predicates.count].utf8)
            for _ in 0..<Int.random(in: 0...3, using: &random) { Self.mutate(&bytes, &random) }
            let text = String(decoding: bytes, as: UTF8.self)
            do throws(QueryError) {
                let parsed = try PredicateParser.parse(text, arguments.shuffled(using: &random))
                let predicate = try PredicateBinder.bind(parsed, to: nodes.table.definition.key, in: nodes.schema)
                bound += 1
                let query = ObjectQuery(
                    session: nodes.session, table: nodes.table.definition.key, predicate: predicate)
                guard let count = try? query.count(), let keys = try? query.keys() else {
                    Issue.record("seed \(seed): \(text) threw")
                    continue
                }
                #expect(count == keys.count, "seed \(seed): \(text)")
                ran += 1
            } catch {
                #expect(!error.message.isEmpty)
                if let position = error.position { #expect(position >= 0 && position <= text.utf8.count) }
            }
        }
        #expect(ran == bound && bound > cases / 20)
    }

    private static func mutate(_ bytes: inout [UInt8], _ random: inout QueryRandom) {
        let place = Int.random(in: 0...bytes.count, using: &random)
        switch Int.random(in: 0..<5, using: &random) {
        case 0: if place < bytes.count { bytes.remove(at: place) }
        case 1: if place < bytes.count { bytes[place] = UInt8.random(in: 0...255, using: &random) }
        case 2:
            let end = min(bytes.count, place + Int.random(in: 0..<12, using: &random))
            bytes.removeSubrange(place..<end)
        case 3:
            let end = min(bytes.count, place + Int.random(in: 0..<12, using: &random))
            bytes.insert(contentsOf: bytes[place..<end], at: Int.random(in: 0...bytes.count, using: &random))
        default:
            bytes.insert(contentsOf: " \(words.randomElement(using: &random) ?? "") ".utf8, at: place)
        }
    }
}
