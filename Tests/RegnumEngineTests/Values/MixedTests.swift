// SPDX-License-Identifier: Apache-2.0
// Mixed values: their bytes, their order, and equality in indexes.

import RegnumEngine
import RegnumSimulation
import RegnumSystem
import Testing

/// The decimal coefficient * 10^exponent.
func decimal(_ coefficient: UInt64, _ exponent: Int, isNegative: Bool = false) -> Value {
    .decimal128(coefficient, UInt64(exponent + 6176) << 49 | (isNegative ? 1 << 63 : 0))
}

let decimalNaN = Value.decimal128(0, 0x7c << 56)
let decimalInfinity = Value.decimal128(0, 0x78 << 56)

@Suite struct MixedTests {
    /// Ascending, with equal values grouped.
    static let ladder: [[Value]] = [
        [.null], [.bool(false)], [.bool(true)],
        [.double(.nan), .float(.nan), decimalNaN],
        [.double(-.infinity), .float(-.infinity)],
        [.double(-1e300)], [decimal(1, 200, isNegative: true)],
        [.int(.min), .double(-0x1p63)],
        [.int(-1), .double(-1), .float(-1), decimal(10, -1, isNegative: true)],
        [.double(-.leastNonzeroMagnitude)],
        [.int(0), .double(0), .double(-0.0), .float(-0.0), decimal(0, 7), decimal(0, 0, isNegative: true)],
        [decimal(1, -6000)],
        [.double(.leastNonzeroMagnitude)],
        [decimal(1, -1)], [.double(0.1)], [.float(0.1)],
        [.double(0.5), decimal(5, -1), decimal(500, -3), .float(0.5)],
        [.int(1), .double(1), decimal(1, 0), decimal(100, -2)],
        [.int(1 << 53), .double(0x1p53), decimal(1 << 53, 0)],
        [.int(1 << 53 + 1), decimal(1 << 53 + 1, 0)],
        [.int(.max)],
        [.double(0x1p63), decimal(9_223_372_036_854_775_808, 0)],
        [.double(1e300)], [decimal(1, 301)],
        [.double(.infinity), .float(.infinity), decimalInfinity],
        [.string("")], [.string("a")], [.string("a\u{301}")], [.string("b")], [.string("\u{e1}")],
        [.data([])], [.data([1])], [.data([1, 0])], [.data([255])],
        [.date(Timestamp(seconds: -1, nanoseconds: -5))], [.date(Timestamp(seconds: 3, nanoseconds: 0))],
        [.objectID(0x01, 5)], [.objectID(0x02, 0)], [.uuid(0x01, 1)], [.uuid(0x01, 2)], [.uuid(0x02, 0)],
        [.typedLink(TableKey(1), ObjectKey(9))], [.typedLink(TableKey(2), ObjectKey(1))],
        [.list([])], [.list([.int(1), .null])], [.list([.int(2)])],
        [.dictionary([])], [.dictionary([DictionaryEntry(key: "a", value: .int(1))])],
        [.dictionary([DictionaryEntry(key: "a", value: .list([]))])],
        [.dictionary([DictionaryEntry(key: "b", value: .null)])],
    ]

    @Test("Mixed values are ordered by kind, then by value")
    func order() {
        for (i, equals) in Self.ladder.enumerated() {
            for (j, others) in Self.ladder.enumerated() {
                for a in equals {
                    for b in others {
                        let order = MixedOrder.compare(a, b).signum()
                        if order != (i - j).signum() { Issue.record("\(a) and \(b): \(order)") }
                    }
                }
            }
        }
    }

    @Test("A mixed value reads back as it was encoded")
    func roundTrip() throws {
        for value in Self.ladder.flatMap({ $0 }) {
            let read = try MixedCodec.encode(value).withUnsafeBytes { try MixedCodec.decode($0) }
            #expect(MixedOrder.areEqual(read, value))
            if MixedOrder.compare(value, .double(.nan)) != 0 { #expect(read == value) }
        }
    }

    @Test("A mixed value nested deeper than the limit is refused", arguments: [true, false])
    func tooDeep(isList: Bool) {
        func nested(_ depth: Int) -> [UInt8] {
            var value = Value.int(1)
            for _ in 0..<depth {
                value = isList ? .list([value]) : .dictionary([DictionaryEntry(key: "a", value: value)])
            }
            return MixedCodec.encode(value)
        }
        #expect(throws: Never.self) { try nested(MixedCodec.depthLimit).withUnsafeBytes { try MixedCodec.decode($0) } }
        for depth in [MixedCodec.depthLimit + 1, 300] {
            #expect(throws: EngineError.self) { try nested(depth).withUnsafeBytes { try MixedCodec.decode($0) } }
        }
    }

    // The ends of parts that were counted but missing were once read from the bytes after the value.
    @Test("A list in a mixed value that counts more elements than fit is refused")
    func partsThatAreNotThere() throws {
        var bytes = MixedCodec.encode(.list([.int(1), .int(2)]))
        #expect(throws: Never.self) { try bytes.withUnsafeBytes { try MixedCodec.decode($0) } }
        for tag in [bytes[0], MixedCodec.encode(.dictionary([]))[0]] {
            bytes[0] = tag
            for count in [UInt32(3), 1 << 28, 0x7fff_ffff, .max] {
                bytes.withUnsafeMutableBytes { $0.storeBytes(of: count, toByteOffset: 1, as: UInt32.self) }
                #expect(throws: EngineError.self) { try bytes.withUnsafeBytes { try MixedCodec.decode($0) } }
            }
        }
    }

    @Test("Damaged bytes of a mixed value throw or read as some value, and never trap")
    func damage() throws {
        var random = SeededRandom(seed: 8)
        let good = MixedCodec.encode(
            .list([
                .string("text"), .dictionary([DictionaryEntry(key: "k", value: .list([.int(3), .null]))]), .bool(true),
            ]))
        var thrown = 0
        for _ in 0..<4000 {
            var bytes = good
            bytes[random.below(bytes.count)] = UInt8(truncatingIfNeeded: random.next())
            if random.below(3) == 0 { bytes.removeLast(random.below(bytes.count)) }
            do { _ = try bytes.withUnsafeBytes { try MixedCodec.decode($0) } } catch { thrown += 1 }
        }
        #expect(thrown > 1000)
    }

    @Test("An index of mixed values finds equal values of every type")
    func index() throws {
        let session = try Database.openInMemory(identifier: "mixed index").makeSession()
        try session.beginWrite()
        try session.addTables([
            NewTable(name: "T", columns: [NewColumn(name: "any", type: .mixed, isIndexed: true)])
        ])
        let table = try #require(session.table(named: "T"))
        var expected: [[ObjectKey]] = []
        var values = Self.ladder.filter { if case .typedLink? = $0.first { false } else { true } }
        values.append([.string(String(repeating: "long", count: 600))])
        for equals in values {
            var keys: [ObjectKey] = []
            for value in equals {
                let location = try table.insertRow()
                keys.append(location.key)
                try table.finishInsert(location)
                try table.set(value, 0, of: keys[keys.count - 1])
            }
            expected.append(keys)
        }
        for (equals, keys) in zip(values, expected) {
            for value in equals { #expect(try table.keys(inIndexOf: 0, equalTo: value) == keys) }
        }
        try session.commitWrite()
        #expect(IntegrityCheck.run(session.database).findings == [])
    }
}
