// SPDX-License-Identifier: Apache-2.0
// Reads a new file back and compares each value with the source. Each side has its own code to compute digests. It
// shares only the definition of equal decimals with the conversion that wrote the file.

internal import Foundation
internal import RegnumEngine
internal import RegnumRealmFile

struct Verification<Source: ObjectSource> {
    private let source: Source
    private let session: Session
    private let plans: [ClassPlan]
    /// By class and column: the objects whose value differs because of a reported loss.
    private let lossy: [[KeyBits]]
    private let watch: ImportWatch
    private var keys: [KeyMap]
    private var classByTable: [TableKey: Int] = [:]

    init(
        _ source: Source, _ session: Session, _ plans: [ClassPlan], _ keys: [KeyMap], lossy: [[KeyBits]],
        _ watch: ImportWatch
    ) {
        self.source = source
        self.session = session
        self.plans = plans
        self.keys = keys
        self.lossy = lossy
        self.watch = watch
        for (index, plan) in plans.enumerated() { if let table = plan.table { classByTable[table] = index } }
    }

    /// Compares the classes and sets their checksums in the report. Throws `.verificationFailed` if the number of
    /// objects in the new file differs from the report, or if a value differs without a reported loss of that very
    /// value.
    mutating func run(_ report: inout RealmFileImportReport) throws {
        for place in plans.indices {
            guard let table = plans[place].table.flatMap({ session.table($0) }) else { continue }
            guard table.count == report.classes[place].written else {
                throw failure(
                    "class '\(plans[place].name)' has \(table.count) objects, not \(report.classes[place].written)")
            }
            var checksum = Digest()
            var (difference, differences): (String?, Int) = (nil, 0)
            let cursor = try source.objects(ofClass: plans[place].source)
            var completed = 0
            while let object = try cursor.next() {
                completed += 1
                try watch.report(.verifying, plans[place].name, completed, source.classes[place].objectCount)
                guard let key = keys[place].find(object.key), let location = try table.locate(key) else { continue }
                for (index, column) in plans[place].columns.enumerated() {
                    let expected = digest(try object.value(at: column.source), column)
                    let found = try digest(column, table, location)
                    checksum.add(found)
                    if expected != found, !lossy[place][index].contains(key) {
                        differences += 1
                        difference = difference ?? "\(plans[place].name).\(column.name) of object \(object.key)"
                    }
                }
            }
            if let difference {
                throw failure("\(differences) values differ, the first is \(difference)")
            }
            report.classes[place].checksum = checksum.text
        }
    }

    private func failure(_ words: String) -> RealmFileImportError {
        RealmFileImportError(
            .verificationFailed,
            "The new file differs from the old one: \(words). It was not kept, and the old file is unchanged. "
                + "Check the memory and the disk of this machine and import again; if it fails again in the same way, "
                + "report it as a bug of the import, and keep the old file.")
    }

    // MARK: The source

    private mutating func digest(_ value: RealmFileValue, _ column: ColumnPlan) -> UInt64 {
        switch (column.definition.collection, value) {
        case (.none, _): return digest(value)
        case (.set, .set(let values)): return values.reduce(Digest.set) { $0 &+ Digest.mixed(digest($1)) }
        case (_, .list(let values)): return values.reduce(into: Digest.list) { $0.add(digest($1)) }.value
        case (_, .dictionary(let entries)): return digest(entries)
        default: return 0
        }
    }

    private mutating func digest(_ entries: [RealmFileEntry]) -> UInt64 {
        entries.reduce(Digest.dictionary) { sum, entry in
            var one = Digest()
            one.add(digest(entry.key))
            one.add(digest(entry.value))
            return sum &+ one.value
        }
    }

    private mutating func digest(_ value: RealmFileValue) -> UInt64 {
        switch value {
        case .null, .rows: return Digest.null
        case .bool(let bit): return Digest.of(1, bit ? 1 : 0)
        case .int(let number): return Digest.of(2, UInt64(bitPattern: number))
        case .float(let number): return Digest.of(3, UInt64(number.bitPattern))
        case .double(let number): return Digest.of(4, number.bitPattern)
        case .string(let text): return Digest.of(5, text)
        case .data(let data): return data.withUnsafeBytes { Digest.of(6, $0) }
        case .date(let date):
            return Digest.of(7, UInt64(bitPattern: date.seconds), UInt64(bitPattern: Int64(date.nanoseconds)))
        case .decimal(let decimal):
            guard let bits = DecimalBits(decimal) else { return 0 }
            return Digest.of(8, bits.low, bits.high)
        case .objectId(let id): return id.bytes.withUnsafeBytes { Digest.of(9, $0) }
        case .uuid(let uuid): return withUnsafeBytes(of: uuid.uuid) { Digest.of(10, $0) }
        case .link(let link):
            guard let index = source.classIndex(ofTable: link.tableIndex), let key = keys[index].find(link.key) else {
                return 0
            }
            return Digest.of(11, UInt64(index), key.rawValue)
        case .list(let values), .set(let values):
            return values.reduce(into: Digest.list) { $0.add(digest($1)) }.value
        case .dictionary(let entries): return digest(entries)
        }
    }

    // MARK: The new file

    private func digest(_ plan: ColumnPlan, _ table: Table, _ location: RowLocation) throws -> UInt64 {
        let column = plan.column
        switch plan.definition.collection {
        case .none: return digest(try table.value(column, at: location), plan.targetClass)
        case .set:
            return try table.listValues(column, at: location)
                .reduce(Digest.set) { $0 &+ Digest.mixed(digest($1, plan.targetClass)) }
        case .list:
            return try table.listValues(column, at: location)
                .reduce(into: Digest.list) { $0.add(digest($1, plan.targetClass)) }.value
        case .dictionary: return digest(try table.dictionaryEntries(column, of: location.key), plan.targetClass)
        }
    }

    private func digest(_ entries: [DictionaryEntry], _ target: Int?) -> UInt64 {
        entries.reduce(Digest.dictionary) { sum, entry in
            var one = Digest()
            one.add(Digest.of(5, entry.key))
            one.add(digest(entry.value, target))
            return sum &+ one.value
        }
    }

    private func digest(_ value: Value, _ target: Int?) -> UInt64 {
        switch value {
        case .null: return Digest.null
        case .bool(let bit): return Digest.of(1, bit ? 1 : 0)
        case .int(let number): return Digest.of(2, UInt64(bitPattern: number))
        case .float(let number): return Digest.of(3, UInt64(number.bitPattern))
        case .double(let number): return Digest.of(4, number.bitPattern)
        case .string(let text): return Digest.of(5, text)
        case .data(let data): return data.withUnsafeBytes { Digest.of(6, $0) }
        case .date(let date):
            return Digest.of(7, UInt64(bitPattern: date.seconds), UInt64(bitPattern: Int64(date.nanoseconds)))
        case .decimal128(let low, let high):
            let bits = DecimalBits(low: low, high: high).canonical
            return Digest.of(8, bits.low, bits.high)
        case .objectID(let low, let high):
            return withUnsafeBytes(of: (low.littleEndian, high.littleEndian)) {
                Digest.of(9, .init(rebasing: $0[..<12]))
            }
        case .uuid(let low, let high):
            return withUnsafeBytes(of: (low.littleEndian, high.littleEndian)) { Digest.of(10, $0) }
        case .link(let key): return Digest.of(11, UInt64(target ?? -1), key.rawValue)
        case .typedLink(let table, let key):
            return Digest.of(11, UInt64(classByTable[table] ?? 0), key.rawValue)
        case .list(let values): return values.reduce(into: Digest.list) { $0.add(digest($1, nil)) }.value
        case .dictionary(let entries): return digest(entries, nil)
        }
    }
}

/// A 64-bit hash of the words added to it, in their order. Different words have the same hash with a probability of
/// about 2^-64. Not cryptographic.
struct Digest {
    static let null: UInt64 = 0x9ae1_6a3b_2f90_404f
    static let set: UInt64 = 0x2545_f491_4f6c_dd1d
    /// The digest of an empty list, to which the digests of the elements are added in order.
    static let list = Digest(tag: 20)
    static let dictionary: UInt64 = 0xd6e8_feb8_6659_fd93

    private(set) var value: UInt64

    init(tag: UInt64 = 0) { value = Self.mixed(tag &+ 0x9e37_79b9_7f4a_7c15) }

    mutating func add(_ word: UInt64) { value = Self.mixed(value ^ Self.mixed(word)) &+ 0x9e37_79b9_7f4a_7c15 }

    static func mixed(_ word: UInt64) -> UInt64 {
        var x = word
        x = (x ^ (x >> 30)) &* 0xbf58_476d_1ce4_e5b9
        x = (x ^ (x >> 27)) &* 0x94d0_49bb_1331_11eb
        return x ^ (x >> 31)
    }

    static func of(_ tag: UInt64, _ word: UInt64) -> UInt64 {
        var digest = Digest(tag: tag)
        digest.add(word)
        return digest.value
    }

    static func of(_ tag: UInt64, _ first: UInt64, _ second: UInt64) -> UInt64 {
        var digest = Digest(tag: tag)
        digest.add(first)
        digest.add(second)
        return digest.value
    }

    static func of(_ tag: UInt64, _ text: String) -> UInt64 {
        var text = text
        return text.withUTF8 { of(tag, UnsafeRawBufferPointer($0)) }
    }

    static func of(_ tag: UInt64, _ bytes: UnsafeRawBufferPointer) -> UInt64 {
        var digest = Digest(tag: tag)
        digest.add(UInt64(bytes.count))
        var offset = 0
        while offset + 8 <= bytes.count {
            digest.add(bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
            offset += 8
        }
        var rest: UInt64 = 0
        for byte in bytes[offset...] { rest = rest << 8 | UInt64(byte) }
        if offset < bytes.count { digest.add(rest) }
        return digest.value
    }

    /// 16 hexadecimal digits.
    var text: String {
        let digits = String(value, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}
