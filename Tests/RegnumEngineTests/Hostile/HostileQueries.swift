// SPDX-License-Identifier: Apache-2.0
// Every query that the engine answers about a file that may be damaged, and all answers as one hash: positions,
// elements of collections, value, full-text and geospatial indexes, constraints, links, delete rules, column scans, and
// the space used.

import RegnumEngine

enum HostileQueries {
    static func ask(_ session: Session) throws(EngineError) -> Int {
        var hasher = Hasher()
        for table in session.tables {
            try askPositions(table, &hasher)
            for (column, definition) in table.definition.columns.enumerated() {
                if definition.collection != .none { try askElements(column, table, &hasher) }
                if table.hasIndex(column) { try askIndex(column, table, &hasher) }
                if table.hasTextIndex(column) { try askTexts(column, table, &hasher) }
                if table.hasPlaceIndex(column) { try askPlaces(column, table, &hasher) }
                if definition.hasBacklinks { try askLinks(column, table, session, &hasher) }
            }
            try askUniques(table, &hasher)
            try askRules(table, session, &hasher)
            try scan(table, &hasher)
            hasher.combine(try table.measureSpace().totalBytes)
        }
        return hasher.finalize()
    }

    /// Some of the existing keys.
    private static func someKeys(_ table: Table) throws(EngineError) -> [ObjectKey] {
        var keys: [ObjectKey] = []
        for position in 0..<min(table.count, 10) { keys.append(try table.key(atPosition: position)) }
        return keys
    }

    private static func askPositions(_ table: Table, _ hasher: inout Hasher) throws(EngineError) {
        for position in stride(from: 0, to: min(table.count, 3000), by: 7) {
            let key = try table.key(atPosition: position)
            hasher.combine(key)
            hasher.combine(try table.position(of: key))
        }
        for key in [0, 1, 7, 1024, 5000, 1 << 40, UInt64.max - 1] {
            hasher.combine(try table.contains(ObjectKey(key)))
        }
        if table.definition.isEmbedded { hasher.combine(try table.ownerlessRows()) }
        if let column = table.definition.primaryKey {
            for i in 0..<5 {
                let value = HostileContent.value(table.definition.columns[column].type, i)
                hasher.combine(try table.key(forPrimaryKey: value))
            }
        }
    }

    private static func askElements(_ column: Int, _ table: Table, _ hasher: inout Hasher) throws(EngineError) {
        let definition = table.definition.columns[column]
        for key in try someKeys(table) {
            let count = try table.listCount(column, of: key)
            hasher.combine(count)
            if count == 0 { continue }
            HostileUse.mix(try table.listValue(column, of: key, at: count - 1), &hasher)
            hasher.combine(try table.listChunk(column, of: key, from: count / 2).count)
            switch definition.collection {
            case .none, .list: break
            case .set:
                let value = try table.listValue(column, of: key, at: count / 2)
                hasher.combine(try table.setIndex(of: value, column, of: key))
            case .dictionary:
                let name = try table.dictionaryKey(column, of: key, at: count / 2)
                hasher.combine(try table.dictionaryIndex(of: name, column, of: key))
            }
        }
    }

    private static func askIndex(_ column: Int, _ table: Table, _ hasher: inout Hasher) throws(EngineError) {
        let type = table.definition.columns[column].type
        for i in 0..<11 {
            hasher.combine(try table.keys(inIndexOf: column, equalTo: HostileContent.value(type, i)))
        }
        hasher.combine(try table.keys(inIndexOf: column, equalTo: .null, limit: 5))
        if let ordered = try table.orderedKeys(inIndexOf: column, isAscending: true) {
            hasher.combine(ordered.keys)
            hasher.combine(ordered.firsts)
        }
        for isAscending in [false, true] {
            let keys = try table.extremeKeys(inIndexOf: column, isAscending: isAscending, limit: 5, most: 100)
            hasher.combine(keys?.sorted())
        }
        if type == .int { hasher.combine(try table.nextNumber(column)) }
        // Mixed values and bytes have no order to query.
        let values = IndexRange.values(from: HostileContent.value(type, 2), to: HostileContent.value(type, 7))
        guard let values else { return }
        for range in [values, .nulls] {
            hasher.combine(try table.count(inIndexOf: column, range))
            var keys: [UInt64] = []
            try table.forEachKey(inIndexOf: column, range) { key throws(EngineError) in
                keys.append(key)
                return true
            }
            hasher.combine(keys)
        }
    }

    private static func askTexts(_ column: Int, _ table: Table, _ hasher: inout Hasher) throws(EngineError) {
        let (alpha, beta) = (Array("alpha".utf8), Array("beta".utf8))
        let terms: [TextTerm] = [
            .word(alpha), .prefix(Array("a".utf8)), .phrase([alpha, beta], isOpen: false),
            .phrase([alpha, Array("b".utf8)], isOpen: true),
        ]
        let some = try someKeys(table)
        for term in terms {
            hasher.combine(try table.keys(with: term, inTextIndexOf: column))
            hasher.combine(try table.textEstimate(term, inTextIndexOf: column))
            for key in some { hasher.combine(try table.hasTerm(term, key, inTextIndexOf: column)) }
        }
        for score in try table.textScores(terms, of: some, inTextIndexOf: column) { hasher.combine(score.bitPattern) }
    }

    private static func askPlaces(_ column: Int, _ table: Table, _ hasher: inout Hasher) throws(EngineError) {
        for box in [
            PlaceBox(south: 52, north: 53, west: 13, east: 15), PlaceBox(south: -90, north: 90, west: -180, east: 180),
        ] {
            let ranges = PlaceCell.ranges(of: box)
            hasher.combine(try table.keys(in: ranges, inPlaceIndexOf: column))
            hasher.combine(try table.placeCount(in: ranges, inIndexOf: column))
        }
    }

    private static func askLinks(
        _ column: Int, _ table: Table, _ session: Session, _ hasher: inout Hasher
    ) throws(EngineError) {
        let definition = table.definition.columns[column]
        hasher.combine(table.hasLinks(in: column))
        for target in session.tables
        where definition.type == .mixed || definition.target == target.definition.key {
            for key in 1..<UInt64(20) {
                hasher.combine(try target.backlinks(to: ObjectKey(key), from: table, column: column))
                hasher.combine(try target.backlinkCount(to: ObjectKey(key), from: table, column: column))
            }
        }
    }

    private static func askUniques(_ table: Table, _ hasher: inout Hasher) throws(EngineError) {
        let definition = table.definition
        for (number, unique) in definition.uniques.enumerated() {
            let columns = unique.columns.compactMap { key in definition.columns.firstIndex { $0.key == key } }
            for key in try someKeys(table) {
                var values: [Value] = []
                for column in columns { values.append(try table.value(column, of: key)) }
                hasher.combine(try table.key(inUnique: number, equalTo: values))
            }
        }
    }

    private static func askRules(_ table: Table, _ session: Session, _ hasher: inout Hasher) throws(EngineError) {
        for key in try someKeys(table) {
            let plan = try session.planDelete([RowKey(table: table.definition.key, key: key)])
            hasher.combine(plan.rows.count)
            hasher.combine(plan.denials.count)
            hasher.combine(try session.links(clearedBy: plan))
        }
    }

    // MARK: Scans

    private static func scan(_ table: Table, _ hasher: inout Hasher) throws(EngineError) {
        let found = RowBitmap.makeRowBitmaps(3)
        defer { found.deallocate() }
        var (integers, doubles) = (IntegerAggregate(), DoubleAggregate())
        try table.forEachGroup { group throws(EngineError) in
            let count = group.pointee.count
            for (column, definition) in table.definition.columns.enumerated() where definition.collection == .none {
                let view = group.columns[column]
                found.clearRows()
                (found + 16).clearRows()
                (found + 32).clearRows()
                scan(view, count, definition.type, found, found + 16)
                CompareScan.nulls(view, count, found + 32)
                for word in 0..<48 { hasher.combine(found[word]) }
                switch definition.type {
                case .int: AggregateScan.integers(view, count, nil, into: &integers)
                case .float, .double: AggregateScan.doubles(view, count, nil, into: &doubles)
                default: break
                }
            }
            return true
        }
        hasher.combine(integers.count)
        hasher.combine(integers.sum)
        hasher.combine(integers.min)
        hasher.combine(integers.max)
        hasher.combine(doubles.count)
        for number in [doubles.sum, doubles.min, doubles.max] { hasher.combine(number.bitPattern) }
    }

    private static func scan(
        _ view: ColumnView, _ count: Int, _ type: ColumnType, _ out: RowBitmap, _ other: RowBitmap
    ) {
        switch type {
        case .bool: CompareScan.bools(view, count, true, isEqual: true, out)
        case .int:
            CompareScan.integers(view, count, .lessOrEqual, 4, out)
            IntegerSet([1, 3, 1 << 40]).scan(view, count, other)
            other[0] ^= UInt64(CompareScan.countIntegers(view, count, .greater, 4) ?? 0)
        case .float: CompareScan.floats(view, count, .greater, 2, out)
        case .double: CompareScan.doubles(view, count, .less, 2, out)
        case .string, .data:
            TextScan.scan(view, count, BytesTest(.contains, Array("ext".utf8)), out, undecided: other)
        case .date:
            CompareScan.dates(view, count, .greaterOrEqual, Timestamp(seconds: 3, nanoseconds: 5), out)
        case .objectID: CompareScan.bytes12(view, count, 3, 9, isEqual: true, out)
        case .uuid: CompareScan.bytes16(view, count, 3, 1, isEqual: true, out)
        case .decimal128: CompareScan.bytes16(view, count, 3, 0x3040_0000_0000_0000, isEqual: false, out)
        case .link: CompareScan.integers(view, count, .equal, 3, out)
        case .mixed: break
        }
    }
}
