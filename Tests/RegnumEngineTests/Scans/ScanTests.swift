// SPDX-License-Identifier: Apache-2.0
// The column kernels compared with a loop over the rows, for every form, operator, count and pattern of nulls.

import RegnumEngine
import Testing

/// A column in memory of its own, and the same values as Swift values.
final class SampleColumn {
    var view: ColumnView
    let count: Int
    private var owned: [UnsafeMutableRawPointer] = []
    var random: SplitMix

    init(form: ColumnForm, count: Int, nulls: Bool, seed: UInt64) {
        random = SplitMix(state: seed)
        self.count = count
        let data = UnsafeMutableRawPointer.allocate(byteCount: 16 * max(64, count), alignment: 16)
        owned.append(data)
        view = ColumnView(form: form, data: data)
        for offset in stride(from: 0, to: 16 * max(64, count), by: 8) {
            data.storeBytes(of: random.next(), toByteOffset: offset, as: UInt64.self)
        }
        if nulls {
            let validity = UnsafeMutablePointer<UInt64>.allocate(capacity: 16)
            owned.append(UnsafeMutableRawPointer(validity))
            for word in 0..<16 { validity[word] = random.next() | random.next() }
            view.validity = validity
        }
    }

    deinit { for memory in owned { memory.deallocate() } }

    func fill<T>(_ values: [T]) {
        for (row, value) in values.enumerated() {
            view.data.storeBytes(of: value, toByteOffset: row * MemoryLayout<T>.stride, as: T.self)
        }
    }

    /// Texts in the column's form.
    func fill(texts: [[UInt8]]) {
        let heap = UnsafeMutableRawPointer.allocate(
            byteCount: max(1, texts.reduce(0) { $0 + $1.count }), alignment: 1)
        owned.append(heap)
        var end = 0
        for (row, text) in texts.enumerated() {
            let start = end
            for byte in text {
                heap.storeBytes(of: byte, toByteOffset: end, as: UInt8.self)
                end += 1
            }
            switch view.form {
            case .text16: view.data.storeBytes(of: UInt16(end), toByteOffset: row * 2, as: UInt16.self)
            case .text32: view.data.storeBytes(of: UInt32(end), toByteOffset: row * 4, as: UInt32.self)
            default:
                let slot = ByteSlot(
                    length: UInt32(text.count), blobFlag: 0, address: UInt64(UInt(bitPattern: heap + start)))
                view.data.storeBytes(of: slot, toByteOffset: row * 16, as: ByteSlot.self)
            }
        }
        view.aux = heap
    }
}

struct SplitMix: RandomNumberGenerator {
    var state: UInt64
    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

@Suite struct ScanTests {
    static let counts = RunScale.isOptimized ? [0, 1, 7, 63, 64, 65, 1000, 1024] : [0, 1, 7, 64, 65, 1024]
    static let operators: [ScanOperator] = [
        .equal, .notEqual, .less, .lessOrEqual, .greater, .greaterOrEqual,
    ]

    static func rows(_ bitmap: RowBitmap) -> [Int] { (0..<1024).filter { bitmap.hasRow($0) } }

    /// Runs a kernel on a bitmap filled with garbage.
    static func run(_ body: (RowBitmap, RowBitmap) -> Void) -> [Int] {
        let bitmaps = RowBitmap.makeRowBitmaps(2)
        defer { bitmaps.deallocate() }
        for word in 0..<32 { bitmaps[word] = 0xDEAD_BEEF_DEAD_BEEF }
        body(bitmaps, bitmaps + 16)
        #expect(!(bitmaps + 16).hasRows || bitmaps[16] == 0xDEAD_BEEF_DEAD_BEEF)
        return rows(bitmaps)
    }

    @Test(
        "Integer kernels match a loop over the rows",
        arguments: [
            ColumnForm.constant, .uint8, .uint16, .uint32, .int64,
        ], [false, true])
    func integers(form: ColumnForm, nulls: Bool) {
        for count in Self.counts {
            for base in [Int64(0), -5, 1 << 40, .min, form == .uint8 ? .max - 255 : 3] {
                let sample = SampleColumn(
                    form: form, count: count, nulls: nulls, seed: UInt64(count) &+ UInt64(bitPattern: base))
                sample.view.base = form == .int64 ? 0 : base
                // The ends of the range, which random numbers do not hit.
                if form == .int64, count > 1 { sample.fill([Int64.min, .max]) }
                let found = (0..<count).map { sample.view.integer($0) }
                var constants: [Int64] = [0, .min, .max, base, base &+ 100, base &- 1, base &+ 70_000]
                constants += found.prefix(3).flatMap { [$0, $0 &+ 1] }
                for constant in constants {
                    for operation in Self.operators {
                        let expected = (0..<count).filter {
                            sample.view.isNull($0)
                                ? operation == .notEqual : CompareScan.matches(found[$0], operation, constant)
                        }
                        let actual = Self.run { out, _ in
                            CompareScan.integers(sample.view, count, operation, constant, out)
                        }
                        #expect(
                            actual == expected, "\(form) \(operation) \(constant) base \(base) count \(count)"
                        )
                        let counted = CompareScan.countIntegers(sample.view, count, operation, constant)
                        #expect(counted == (form == .uint8 && !nulls ? expected.count : nil))
                        var zoned = sample.view
                        let valid = (0..<count).filter { !zoned.isNull($0) }.map { found[$0] }
                        guard let low = valid.min(), let high = valid.max() else { continue }
                        zoned.hasZone = true
                        zoned.zoneMin = low
                        zoned.zoneMax = high
                        let skipped = Self.run { out, _ in
                            CompareScan.integers(zoned, count, operation, constant, out)
                        }
                        #expect(skipped == expected, "with zones")
                        let untouched = CompareScan.countIntegers(zoned, count, operation, constant)
                        #expect(untouched == counted, "with zones")
                    }
                }
            }
        }
    }

    @Test("NaN is less than every number and equal to NaN", arguments: [false, true])
    func doubles(nulls: Bool) {
        let pool: [Double] = [.nan, -.infinity, -1, -0.0, 0, 0.5, 1, .infinity]
        func order(_ a: Double, _ b: Double) -> Int {
            if a.isNaN || b.isNaN { return (a.isNaN ? 0 : 1) - (b.isNaN ? 0 : 1) }
            return a < b ? -1 : a > b ? 1 : 0
        }
        for count in Self.counts {
            let sample = SampleColumn(form: .float64, count: count, nulls: nulls, seed: 3)
            let single = SampleColumn(form: .float32, count: count, nulls: nulls, seed: 3)
            let values = (0..<count).map { _ in pool.randomElement(using: &sample.random) ?? 0 }
            sample.fill(values)
            single.fill(values.map { Float($0) })
            single.view.validity = sample.view.validity
            for constant in pool {
                for operation in Self.operators {
                    let expected = (0..<count).filter {
                        sample.view.isNull($0)
                            ? operation == .notEqual
                            : CompareScan.matches(order(values[$0], constant), operation, 0)
                    }
                    #expect(
                        Self.run { out, _ in CompareScan.doubles(sample.view, count, operation, constant, out)
                        } == expected)
                    #expect(
                        Self.run { out, _ in
                            CompareScan.floats(single.view, count, operation, Float(constant), out)
                        }
                            == expected)
                }
            }
        }
    }

    @Test("Dates compare to the nanosecond", arguments: [false, true], [false, true])
    func dates(nulls: Bool, hasNanoseconds: Bool) {
        for count in Self.counts {
            let sample = SampleColumn(form: .int64, count: count, nulls: nulls, seed: 9)
            var nanoseconds = [Int32](repeating: 0, count: count)
            let seconds = (0..<count).map { _ in Int64.random(in: -2...2, using: &sample.random) }
            sample.fill(seconds)
            if hasNanoseconds {
                for row in 0..<count {
                    nanoseconds[row] = seconds[row] < 0 ? -Int32(row % 3) : Int32(row % 3)
                }
            }
            nanoseconds.withUnsafeMutableBytes { memory in
                sample.view.aux = hasNanoseconds ? memory.baseAddress : nil
                for constant in [(-1, -1), (-1, 0), (0, 0), (0, 1), (1, 2), (0, -1)].map({
                    Timestamp(seconds: $0.0, nanoseconds: $0.1)
                }) {
                    for operation in Self.operators {
                        let expected = (0..<count).filter { row in
                            if sample.view.isNull(row) { return operation == .notEqual }
                            let found = Timestamp(
                                seconds: seconds[row], nanoseconds: sample.view.nanoseconds(row))
                            return CompareScan.matches(found, operation, constant)
                        }
                        #expect(
                            Self.run { out, _ in
                                CompareScan.dates(sample.view, count, operation, constant, out)
                            } == expected)
                    }
                }
            }
        }
    }

    @Test(
        "Kernels for bits and fixed bytes match a loop over the rows", arguments: [false, true], [false, true])
    func fixed(nulls: Bool, isEqual: Bool) {
        for count in Self.counts {
            let bits = SampleColumn(form: .bits, count: count, nulls: nulls, seed: 11)
            let expected = (0..<count).filter { ((bits.view.bit($0)) && !bits.view.isNull($0)) == isEqual }
            #expect(
                Self.run { out, _ in CompareScan.bools(bits.view, count, true, isEqual: isEqual, out) }
                    == expected)
            let wide = SampleColumn(form: .bytes16, count: count, nulls: nulls, seed: 12)
            let narrow = SampleColumn(form: .bytes12, count: count, nulls: nulls, seed: 13)
            guard count > 0 else { continue }
            let (low, high) = wide.view.bytes16(count / 2)
            let wideRows = (0..<count).filter {
                (wide.view.bytes16($0) == (low, high) && !wide.view.isNull($0)) == isEqual
            }
            #expect(
                Self.run { out, _ in CompareScan.bytes16(wide.view, count, low, high, isEqual: isEqual, out) }
                    == wideRows)
            let (a, b) = narrow.view.bytes12(count / 2)
            let narrowRows = (0..<count).filter {
                (narrow.view.bytes12($0) == (a, b) && !narrow.view.isNull($0)) == isEqual
            }
            #expect(
                Self.run { out, _ in CompareScan.bytes12(narrow.view, count, a, b, isEqual: isEqual, out) }
                    == narrowRows)
        }
    }

    @Test(
        "Text kernels match the test of single values", arguments: [ColumnForm.text16, .text32, .slots],
        [false, true])
    func texts(form: ColumnForm, nulls: Bool) {
        let pieces = [
            "a", "A", "b", "ä", "Ä", "×", "÷", "*", "?", "n", "N", "Hannah", "é", "ÿ", "\u{0}", "日", " ",
        ]
        let operations: [BytesOperator] = [
            .equal, .notEqual, .less, .lessOrEqual, .greater, .greaterOrEqual, .prefix, .suffix, .contains,
            .like,
        ]
        for count in Self.counts {
            let sample = SampleColumn(form: form, count: count, nulls: nulls, seed: UInt64(count) + 5)
            func word(_ length: Int) -> [UInt8] {
                Array(
                    (0..<length).map { _ in pieces.randomElement(using: &sample.random) ?? "" }.joined().utf8)
            }
            var texts = (0..<count).map { _ in word(Int.random(in: 0...9, using: &sample.random)) }
            for row in 0..<count where sample.view.isNull(row) { texts[row] = [] }
            sample.fill(texts: texts)
            for needle in (0...12).map({ word($0 / 2) }) + texts.prefix(4) {
                for operation in operations {
                    // Ordering is always case-sensitive.
                    let isOrdering = [.less, .lessOrEqual, .greater, .greaterOrEqual].contains(operation)
                    for isFolded in isOrdering ? [false] : [false, true] {
                        let test = BytesTest(operation, needle, isFolded: isFolded)
                        let expected = (0..<count).filter { row in
                            if sample.view.isNull(row) { return operation == .notEqual }
                            return naive(texts[row], operation, needle, isFolded)
                        }
                        let actual = Self.run { out, undecided in
                            TextScan.scan(sample.view, count, test, out, undecided: undecided)
                        }
                        #expect(
                            actual == expected, "\(operation) \(needle) folded \(isFolded) count \(count)")
                    }
                }
            }
            let set = ByteStringSet(Array(texts.prefix(20)))
            let members = Set(texts.prefix(20))
            let expected = (0..<count).filter { !sample.view.isNull($0) && members.contains(texts[$0]) }
            #expect(Self.run { TextScan.scan(sample.view, count, set, $0, undecided: $1) } == expected)
        }
    }

    /// The reference result, computed with the standard library.
    private func naive(_ value: [UInt8], _ operation: BytesOperator, _ needle: [UInt8], _ isFolded: Bool)
        -> Bool
    {
        let value = isFolded ? fold(value) : value
        let needle = isFolded ? fold(needle) : needle
        switch operation {
        case .equal: return value == needle
        case .notEqual: return value != needle
        case .less: return value.lexicographicallyPrecedes(needle)
        case .lessOrEqual: return !needle.lexicographicallyPrecedes(value)
        case .greater: return needle.lexicographicallyPrecedes(value)
        case .greaterOrEqual: return !value.lexicographicallyPrecedes(needle)
        case .prefix: return !needle.isEmpty && value.starts(with: needle)
        case .suffix: return !needle.isEmpty && value.reversed().starts(with: needle.reversed())
        case .contains:
            return !needle.isEmpty && value.indices.contains { value[$0...].starts(with: needle) }
        case .like:
            let characters = Array(String(decoding: value, as: UTF8.self).unicodeScalars)
            return like(characters[...], Array(String(decoding: needle, as: UTF8.self).unicodeScalars)[...])
        }
    }

    private func fold(_ bytes: [UInt8]) -> [UInt8] {
        var text = ""
        for scalar in String(decoding: bytes, as: UTF8.self).unicodeScalars {
            let isLetter = scalar.value < 0x80 || (0xC0...0xDE).contains(scalar.value) && scalar.value != 0xD7
            text += isLetter ? scalar.properties.lowercaseMapping : String(Character(scalar))
        }
        return Array(text.utf8)
    }

    private func like(_ value: ArraySlice<Unicode.Scalar>, _ pattern: ArraySlice<Unicode.Scalar>) -> Bool {
        guard let first = pattern.first else { return value.isEmpty }
        if first == "*" {
            return (value.startIndex...value.endIndex).contains { like(value[$0...], pattern.dropFirst()) }
        }
        guard let head = value.first, first == "?" || first == head else { return false }
        return like(value.dropFirst(), pattern.dropFirst())
    }

    @Test("Only text whose bytes lie in other blocks is left undecided")
    func blobs() {
        let sample = SampleColumn(form: .text16, count: 130, nulls: false, seed: 1)
        sample.fill(texts: (0..<130).map { _ in Array("abc".utf8) })
        let blobs = RowBitmap.makeRowBitmaps(3)
        defer { blobs.deallocate() }
        blobs.insertRow(3)
        blobs.insertRow(129)
        sample.view.blobs = blobs
        for operation in [BytesOperator.equal, .contains, .prefix, .like] {
            TextScan.scan(
                sample.view, 130, BytesTest(operation, Array("abc".utf8)), blobs + 16, undecided: blobs + 32)
            #expect(Self.rows(blobs + 32) == [3, 129])
            #expect((blobs + 16).rowCount == 128)
            #expect(!(blobs + 16).hasRow(3))
        }
    }

    @Test(
        "A set of integers finds its members, far apart or close together",
        arguments: [ColumnForm.uint8, .uint16, .uint32, .int64, .constant])
    func sets(form: ColumnForm) {
        for count in Self.counts {
            let sample = SampleColumn(form: form, count: count, nulls: true, seed: 21)
            sample.view.base = form == .int64 ? 0 : -40
            let found = (0..<count).map { sample.view.integer($0) }
            let some = Array(found.prefix(50))
            let many = (0..<600).map { _ in Int64(bitPattern: sample.random.next()) }
            // Numbers close to each other have a bit each; the others, and the extreme values, use a table.
            let low = some.min() ?? 0
            let near = (0..<700).map { low &+ Int64($0 * 7) }
            let ends: [Int64] = [0, .min, .max, 77]
            let first: [Int64] = [.min, .min + 1]
            let choices: [[Int64]] = [some, some + ends, near, some + many, first, [.max], []]
            for members in choices {
                let set = IntegerSet(members.shuffled(using: &sample.random))
                let wanted = Set(members)
                #expect(set.values == wanted.sorted())
                let expected = (0..<count).filter { !sample.view.isNull($0) && wanted.contains(found[$0]) }
                #expect(Self.run { out, _ in set.scan(sample.view, count, out) } == expected)
                let asked: [Int64] = Array(members.prefix(60)) + [1, low, low &- 1, low &+ 7, low &+ 8] + ends
                for value in asked {
                    #expect(set.contains(value) == wanted.contains(value))
                }
            }
        }
    }

    @Test("A set of texts finds its members of any length, folded or not", arguments: [false, true])
    func textSets(isFolded: Bool) {
        let sample = SampleColumn(form: .text16, count: 64, nulls: false, seed: 3)
        let pieces = ["a", "A", "ab", "é", "É", "12345678", "\u{0}", ""]
        let words = (0..<2000).map { _ in
            Array((0..<4).map { _ in pieces.randomElement(using: &sample.random) ?? "" }.joined().utf8)
        }
        func key(_ word: [UInt8]) -> [UInt8] { isFolded ? fold(word) : word }
        let members = Set(words.prefix(700).map(key))
        let set = ByteStringSet(Array(words.prefix(700)), isFolded: isFolded)
        #expect(set.count == members.count && Set((0..<set.count).map { set[$0] }) == members)
        for word in words {
            #expect(word.withUnsafeBytes { set.contains($0) } == members.contains(key(word)))
        }
        #expect(!ByteStringSet([]).contains(UnsafeRawBufferPointer(start: nil, count: 0)))
        #expect(ByteStringSet([[]]).contains(UnsafeRawBufferPointer(start: nil, count: 0)))
        // Equal in any order and with any repetitions.
        let turned = Array(words.prefix(700).reversed()) + Array(words.prefix(9))
        let again = ByteStringSet(turned, isFolded: isFolded)
        #expect(again == set && again.hashValue == set.hashValue && again.count == set.count)
        #expect(ByteStringSet(Array(words.prefix(700)), isFolded: !isFolded) != set)
        // The same number of strings and bytes.
        #expect(ByteStringSet([[1], [2]]) == ByteStringSet([[2], [1]]))
        #expect(ByteStringSet([[1], [2]]) != ByteStringSet([[1], [3]]))
        #expect(ByteStringSet([[1, 2], [3]]) != ByteStringSet([[1], [2, 3]]))
        #expect(set.areShorter(than: 33) && !set.areShorter(than: set[0].count))
    }

    @Test(
        "Aggregates skip nulls, NaN and rows that are not selected", arguments: [false, true],
        [false, true])
    func aggregates(nulls: Bool, isFiltered: Bool) {
        for count in Self.counts {
            let rows = RowBitmap.makeRowBitmaps(1)
            defer { rows.deallocate() }
            for form in [ColumnForm.uint8, .uint16, .uint32, .int64, .constant] {
                let sample = SampleColumn(form: form, count: count, nulls: nulls, seed: 31)
                sample.view.base = form == .int64 ? 0 : -40
                for word in 0..<16 { rows[word] = sample.random.next() }
                var total = IntegerAggregate()
                AggregateScan.integers(sample.view, count, isFiltered ? rows : nil, into: &total)
                let values = (0..<count).filter {
                    !sample.view.isNull($0) && (!isFiltered || rows.hasRow($0))
                }
                .map { sample.view.integer($0) }
                #expect(total.count == values.count)
                #expect(total.sum == values.reduce(0, &+))
                #expect(total.min == values.min() ?? .max)
                #expect(total.max == values.max() ?? .min)
            }
            for form in [ColumnForm.float64, .float32] {
                let sample = SampleColumn(form: form, count: count, nulls: nulls, seed: 32)
                let all = (0..<count).map { $0 % 7 == 0 ? Double.nan : Double($0 % 64) - 20 }
                if form == .float64 { sample.fill(all) } else { sample.fill(all.map { Float($0) }) }
                var total = DoubleAggregate()
                AggregateScan.doubles(sample.view, count, isFiltered ? rows : nil, into: &total)
                let values = (0..<count).filter {
                    !sample.view.isNull($0) && (!isFiltered || rows.hasRow($0))
                }
                .map { all[$0] }.filter { !$0.isNaN }
                #expect(total.count == values.count)
                // Whole numbers: exact in any order.
                #expect(total.sum == values.reduce(0, +))
                #expect(total.min == values.min() ?? .infinity)
                #expect(total.max == values.max() ?? -.infinity)
            }
        }
    }
}
