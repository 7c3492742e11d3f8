// SPDX-License-Identifier: Apache-2.0
// Packs the values of sort keys into adjacent bits, most significant first, up to 128 bits per row.

import RegnumEngine

struct KeyPacking {
    /// A sort key with the bits that it contributes.
    private struct Part {
        var key: SortKey
        var hasNulls = false
        /// For numbers: order-preserving words; for integers, their two's complement.
        var least: UInt64 = 0
        var greatest: UInt64 = 0
        /// The number of bits of a value.
        var bits: UInt64 = 0

        var isText: Bool { key.type == .string || key.type == .data }
    }

    private var parts: [Part] = []
    /// The number of bits in use.
    private(set) var bits: UInt64 = 0
    /// True if equal bits imply that all keys are equal.
    private(set) var isExact = true

    static let limit: UInt64 = 128

    var hasTexts: Bool { parts.contains { $0.isText } }

    /// Packs as many keys as fit; nil if the first cannot be packed. `bits` is 0 if all values are the same.
    init?(_ keys: [SortKey], _ rows: RowList) {
        for key in keys {
            guard bits < Self.limit, let part = Self.part(key, rows) else {
                isExact = false
                break
            }
            parts.append(part)
            if part.isText { isExact = false }
            let wanted = bits + part.bits + (part.hasNulls ? 1 : 0)
            if wanted > Self.limit { isExact = false }
            bits = min(wanted, Self.limit)
        }
        if parts.isEmpty { return nil }
    }

    /// Nil if the key's values are not stored in the rows' own columns or are not ordered by their bytes.
    private static func part(_ key: SortKey, _ rows: RowList) -> Part? {
        guard key.links.isEmpty, !key.isFolded, key.entry == nil else { return nil }
        var part = Part(key: key)
        switch key.type {
        case .bool: part.bits = 1
        case .float, .double:
            findRange(&part, rows, zone: { SortExtractor.ordered(Double(bitPattern: UInt64(bitPattern: $0))) }) {
                SortExtractor.word($0, $1, key.type, 0)
            }
        case .int, .link: findIntegerRange(&part, rows)
        case .date:
            guard !anyRun(key, rows, { view, _, _ in view.aux != nil }) else { return nil }
            findIntegerRange(&part, rows)
        case .string, .data:
            guard !anyRun(key, rows, { view, numbers, run in run.contains { view.isBlob(Int(numbers[$0])) } }) else {
                return nil
            }
            part.bits = limit
        default: return nil
        }
        part.hasNulls = anyRun(key, rows) { view, numbers, run in
            view.validity != nil && run.contains { view.isNull(Int(numbers[$0])) }
        }
        return part
    }

    private static func findIntegerRange(_ part: inout Part, _ rows: RowList) {
        let sign: UInt64 = 1 << 63
        findRange(&part, rows, zone: { UInt64(bitPattern: $0) ^ sign }) { UInt64(bitPattern: $0.integer($1)) ^ sign }
        guard part.bits > 0 else { return }
        part.least ^= sign
        part.greatest ^= sign
    }

    /// Finds the least and the greatest word in value order, and the number of bits for their difference. `zone`:
    /// converts a bound of the column's zone map to a word.
    @inline(__always)
    private static func findRange(
        _ part: inout Part, _ rows: RowList, zone: (Int64) -> UInt64, _ word: (ColumnView, Int) -> UInt64
    ) {
        var least = UInt64.max
        var greatest = UInt64.min
        forEachRun(part.key, rows) { view, numbers, run in
            if view.hasZone {
                least = min(least, zone(view.zoneMin))
                greatest = max(greatest, zone(view.zoneMax))
            } else {
                for index in run where !view.isNull(Int(numbers[index])) {
                    let value = word(view, Int(numbers[index]))
                    least = min(least, value)
                    greatest = max(greatest, value)
                }
            }
        }
        guard least < greatest else { return }
        part.least = least
        part.greatest = greatest
        part.bits = UInt64(64 - (greatest &- least).leadingZeroBitCount)
    }

    // MARK: Filling

    /// ORs the bits into zeroed entries, one per row; bits beyond `room` are dropped. Nulls come first, or last in
    /// descending order.
    func fill<Entry: SortEntry>(_ entries: UnsafeMutablePointer<Entry>, _ rows: RowList, room: UInt64 = limit) {
        var offset: UInt64 = 0
        for part in parts {
            guard offset < room else { return }
            let key = part.key
            if part.hasNulls {
                let place = Place(bits: 1, at: offset, room)
                Self.forEachRun(key, rows) { view, numbers, run in
                    for index in run where view.isNull(Int(numbers[index])) != key.isAscending {
                        Self.put(1, place, entries + index)
                    }
                }
                offset += 1
                if offset == room { return }
            }
            if part.bits > 0 { Self.fill(part, at: offset, room, entries, rows) }
            offset += part.bits
        }
    }

    private static func fill<Entry: SortEntry>(
        _ part: Part, at offset: UInt64, _ room: UInt64, _ entries: UnsafeMutablePointer<Entry>, _ rows: RowList
    ) {
        let (key, least, greatest) = (part.key, part.least, part.greatest)
        let place = Place(bits: part.bits, at: offset, room)
        switch key.type {
        case .string, .data: addTexts(key, at: offset, entries, rows)
        case .float, .double:
            addWords(key, place, entries, rows) { view, row in
                let word = SortExtractor.word(view, row, key.type, 0)
                return key.isAscending ? word &- least : greatest &- word
            }
        case .bool:
            addWords(key, place, entries, rows) { view, row in view.bit(row) == key.isAscending ? 1 : 0 }
        default:
            addWords(key, place, entries, rows) { view, row in
                let value = UInt64(bitPattern: view.integer(row))
                return key.isAscending ? value &- least : greatest &- value
            }
        }
    }

    @inline(__always)
    private static func addWords<Entry: SortEntry>(
        _ key: SortKey, _ place: Place, _ entries: UnsafeMutablePointer<Entry>, _ rows: RowList,
        _ word: (ColumnView, Int) -> UInt64
    ) {
        forEachRun(key, rows) { view, numbers, run in
            let isNullable = view.validity != nil
            for index in run {
                let row = Int(numbers[index])
                if isNullable, view.isNull(row) { continue }
                put(word(view, row), place, entries + index)
            }
        }
    }

    /// Uses all remaining bits of 128. Equal bits do not imply equal strings.
    private static func addTexts<Entry: SortEntry>(
        _ key: SortKey, at shift: UInt64, _ entries: UnsafeMutablePointer<Entry>, _ rows: RowList
    ) {
        let turn: UInt64 = key.isAscending ? 0 : .max
        forEachRun(key, rows) { view, numbers, run in
            for index in run {
                let row = Int(numbers[index])
                if view.isNull(row) { continue }
                let bytes = view.bytes(row)
                guard let address = bytes.baseAddress else {
                    put(turn, turn, shift, entries + index)
                    continue
                }
                let text = TextRef(address: address, count: bytes.count)
                put(RowSorter.word(text, 0) ^ turn, RowSorter.word(text, 8) ^ turn, shift, entries + index)
            }
        }
    }

    // MARK: Bits

    /// The position of a value: the number of its low bits that were dropped, and the number of bits after it.
    private struct Place {
        let cut: UInt64
        let behind: UInt64

        init(bits: UInt64, at offset: UInt64, _ room: UInt64) {
            let kept = min(bits, room - offset)
            cut = bits - kept
            behind = KeyPacking.limit - offset - kept
        }
    }

    @inline(__always)
    private static func put<Entry: SortEntry>(_ value: UInt64, _ place: Place, _ entry: UnsafeMutablePointer<Entry>) {
        let value = value &>> place.cut
        if place.behind >= 64 {
            entry.pointee.formUnion(high: value &<< (place.behind &- 64), low: 0)
        } else {
            entry.pointee.formUnion(
                high: place.behind > 0 ? value &>> (64 &- place.behind) : 0, low: value &<< place.behind)
        }
    }

    /// ORs 128 bits, shifted right.
    @inline(__always)
    private static func put<Entry: SortEntry>(
        _ high: UInt64, _ low: UInt64, _ shift: UInt64, _ entry: UnsafeMutablePointer<Entry>
    ) {
        if shift >= 64 {
            entry.pointee.formUnion(high: 0, low: high &>> (shift &- 64))
        } else if shift > 0 {
            entry.pointee.formUnion(high: high &>> shift, low: high &<< (64 &- shift) | low &>> shift)
        } else {
            entry.pointee.formUnion(high: high, low: low)
        }
    }

    // MARK: Runs

    /// Calls `body` for each run of rows of one group, with the key's column in the group, the row numbers of all rows,
    /// and the index range of the run.
    @inline(__always)
    private static func forEachRun(
        _ key: SortKey, _ rows: RowList, _ body: (ColumnView, UnsafeBufferPointer<UInt16>, Range<Int>) -> Void
    ) {
        _ = anyRun(key, rows) { view, numbers, run in
            body(view, numbers, run)
            return false
        }
    }

    @inline(__always)
    private static func anyRun(
        _ key: SortKey, _ rows: RowList, _ isFound: (ColumnView, UnsafeBufferPointer<UInt16>, Range<Int>) -> Bool
    ) -> Bool {
        rows.anyRun { group, numbers, run in isFound(group.columns[key.column], numbers, run) }
    }
}
