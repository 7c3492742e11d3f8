// SPDX-License-Identifier: Apache-2.0
// Evaluates a plan for one object. Used for single objects, for lists of keys, and for conditions without a kernel.

import RegnumEngine

extension Evaluator {
    func holds(_ node: PlanNode, _ table: Table, _ location: RowLocation) throws(EngineError) -> Bool {
        switch node {
        case .constant(let value): return value
        case .and(let parts):
            for part in parts where try !holds(part, table, location) { return false }
            return true
        case .or(let parts):
            for part in parts where try holds(part, table, location) { return true }
            return false
        case .not(let part): return try !holds(part, table, location)
        case .column(let number, let type, let test): return try passes(table, location, number, type, test)
        case .key(let test): return test.matches(int: Int64(bitPattern: location.key.rawValue))
        case .elements(let number, let type, let test):
            return try !table.forEachLeaf(number, location) { list in
                for index in 0..<list.count where test.matches(list, index, type) { return false }
                return true
            }
        case .dictionaryKeys(let number, let test):
            return try !table.forEachDictionaryLeaf(number, location) { leaf in
                for index in 0..<leaf.keys.count where test.matches(bytes: leaf.keys.bytes(index)) { return false }
                return true
            }
        case .entry(let number, let key, let type, let test):
            return try withEntry(key, number, table, location) { leaf, index in
                index.map { test.matches(leaf.values, $0, type) } ?? test.matchesNull
            } ?? test.matchesNull
        case .nested(let number, let steps, let test):
            return try !forEachNested(number, steps, table, location) { !test.matches($0) }
        case .through(let through):
            if case .entry(let number, let key, _) = through.step,
                try self.link(key, number, table, location) == nil
            {
                return through.matchesNull
            }
            if case .link(let number, _) = through.step, location.group.columns[number].integer(location.row) == 0 {
                return through.matchesNull
            }
            // A result that depends on an outer object is not the same for all of them, and is not cached.
            let asksOnce = through.hasManyWays && scopes.isEmpty
            return try !forEachObject([through.step], table, location) { other, place throws(EngineError) in
                if asksOnce, through.failing.contains(place.key.rawValue) { return true }
                if try holds(through.inner, other, place) { return false }
                if asksOnce { through.failing.insert(place.key.rawValue) }
                return true
            }
        case .aggregate(let aggregate):
            return aggregate.test.matches(try value(aggregate.aggregate, table, location))
        case .comparePaths(let left, let comparison, let right, let options):
            return try compare(left, comparison, right, options, table, location)
        case .compareAggregate(let aggregate, let comparison, let path):
            return try compare(aggregate, comparison, path, table, location)
        case .subquery(let path, let inner, let test, let isCorrelated):
            var evaluator = self
            if isCorrelated { evaluator.scopes.append(Scope(table: table, location: location)) }
            let start = start(of: path, table, location)
            return test.matches(
                int: try evaluator.count(path.steps[...], start, inner, upTo: test.decidedCount))
        case .outer(let levels, let node):
            // The condition on the outer object refers to no further outer objects, so the scopes may stay.
            let scope = scopes[scopes.count - levels]
            return try holds(node, scope.table, scope.location)
        case .text(let text):
            if let passing = try passingTexts(text, table) { return passing.contains(location.key.rawValue) }
            return try table.hasTerm(text.term, location.key, inTextIndexOf: text.column)
        case .geo(let test): return try lies(test, table, location)
        case .pieces(let pieces): return try holds(pieces, table, location)
        case .piece(let index): return pieceAnswers[index]
        }
    }

    private func compare(
        _ aggregate: BoundAggregate, _ comparison: ComparisonOperator, _ path: BoundPath, _ table: Table,
        _ location: RowLocation
    ) throws(EngineError) -> Bool {
        let found = try value(aggregate, table, location)
        let other = aggregate.counterpart(try value(path, table, location))
        return Self.compare(found, comparison, other, [], isMixed: path.isMixed)
    }

    private func holds(_ pieces: [PlanNode], _ table: Table, _ location: RowLocation) throws(EngineError) -> Bool {
        var evaluator = self
        evaluator.pieceAnswers = []
        for piece in pieces {
            let holds = try evaluator.holds(piece, table, location)
            evaluator.pieceAnswers.append(holds)
        }
        return evaluator.pieceAnswers.last ?? true
    }

    /// The number of objects at the end of the steps that pass; stops counting at `enough`.
    private func count(
        _ steps: ArraySlice<PathStep>, _ start: Scope, _ node: PlanNode, upTo enough: Int64
    ) throws(EngineError) -> Int64 {
        var count: Int64 = 0
        _ = try forEachObject(steps, start.table, start.location) { other, place throws(EngineError) in
            if try holds(node, other, place) { count += 1 }
            return count < enough
        }
        return count
    }

    func lies(_ test: GeoTest, _ table: Table, _ location: RowLocation) throws(EngineError) -> Bool {
        guard try isPoint(table, location, test.typeColumn) else { return false }
        // Longitude, then latitude. A list may continue in further leaves.
        var degrees = (0.0, 0.0)
        var count = 0
        try table.forEachLeaf(test.coordinatesColumn, location) { list in
            for index in 0..<list.count where count < 2 && !list.isNull(index) {
                let value = Double(bitPattern: list.integer(index))
                if count == 0 { degrees.0 = value } else { degrees.1 = value }
                count += 1
            }
            return count < 2
        }
        return count == 2 && test.matches(latitude: degrees.1, longitude: degrees.0)
    }

    private func isPoint(_ table: Table, _ location: RowLocation, _ column: Int) throws(EngineError) -> Bool {
        if location.group.columns[column].isNull(location.row) { return false }
        return try table.withBytes(column, at: location) { $0.elementsEqual("Point".utf8) }
    }

    /// Tests a column of one object, without allocation.
    private func passes(
        _ table: Table, _ location: RowLocation, _ number: Int, _ type: ColumnType, _ test: ValueTest
    ) throws(EngineError) -> Bool {
        let column = location.group.columns[number]
        let row = location.row
        if column.isNull(row) { return test.matchesNull }
        switch type {
        case .int: return test.matches(int: column.integer(row))
        case .link:
            let key = column.integer(row)
            return key == 0 ? test.matchesNull : test.matches(int: key)
        case .bool: return test.matches(bool: column.bit(row))
        case .float: return test.matches(double: Double(column.float(row)))
        case .double: return test.matches(double: column.double(row))
        case .date:
            return test.matches(
                date: Timestamp(seconds: column.integer(row), nanoseconds: column.nanoseconds(row)))
        case .objectID:
            let (low, high) = column.bytes12(row)
            return test.matches(low: low, high: UInt64(high))
        case .uuid, .decimal128:
            let (low, high) = column.bytes16(row)
            return test.matches(low: low, high: high)
        case .mixed: return test.matches(try table.value(number, at: location))
        case .string, .data:
            return try table.withBytes(number, at: location) { test.matches(bytes: $0) }
        }
    }

    // MARK: Paths

    /// The object at which the steps of a path begin.
    private func start(of path: BoundPath, _ table: Table, _ location: RowLocation) -> Scope {
        path.outer == 0 ? Scope(table: table, location: location) : scopes[scopes.count - path.outer]
    }

    /// Calls `body` with each object that the steps lead to, once for each path to it, until it returns false; then
    /// returns false. Skips keys of deleted objects.
    func forEachObject(
        _ steps: ArraySlice<PathStep>, _ table: Table, _ location: RowLocation,
        _ body: (Table, RowLocation) throws(EngineError) -> Bool
    ) throws(EngineError) -> Bool {
        guard let step = steps.first else { return try body(table, location) }
        guard let other = session.table(step.target) else { return true }
        let rest = steps.dropFirst()
        switch step {
        case .link(let number, _):
            let key = UInt64(bitPattern: location.group.columns[number].integer(location.row))
            guard key != 0, let place = try other.locate(ObjectKey(key)) else { return true }
            return try forEachObject(rest, other, place, body)
        case .links(let number, _):
            return try table.forEachLeaf(number, location) { list throws(EngineError) in
                for index in 0..<list.count where !list.isNull(index) {
                    guard let place = try other.locate(ObjectKey(list.integer(index))) else { continue }
                    guard try forEachObject(rest, other, place, body) else { return false }
                }
                return true
            }
        case .entry(let number, let key, _):
            guard let target = try link(key, number, table, location), let place = try other.locate(target) else {
                return true
            }
            return try forEachObject(rest, other, place, body)
        case .backlinks(_, let number):
            for key in try table.backlinks(to: location.key, from: other, column: number) {
                guard let place = try other.locate(key) else { continue }
                guard try forEachObject(rest, other, place, body) else { return false }
            }
            return true
        }
    }

    /// Calls `body` with the index of a key in a dictionary, or nil if the key is missing. Returns nil without a call
    /// if the dictionary is empty.
    private func withEntry<R>(
        _ key: String, _ number: Int, _ table: Table, _ location: RowLocation,
        _ body: (DictionaryCodec.Reader, Int?) -> R
    ) throws(EngineError) -> R? {
        var found: R?
        try table.forEachDictionaryLeaf(number, location) { leaf in
            let (index, isFound) = leaf.search(key)
            found = body(leaf, isFound ? index : nil)
            return !isFound && index == leaf.keys.count
        }
        return found
    }

    /// Calls `body` with each value that the steps lead to, until it returns false; then returns false.
    @discardableResult
    private func forEachNested(
        _ number: Int, _ steps: [NestedStep], _ table: Table, _ location: RowLocation, _ body: (Value) -> Bool
    ) throws(EngineError) -> Bool {
        if table.definition.columns[number].collection != .dictionary {
            return try table.value(number, at: location).forEachNested(steps[...], body)
        }
        let rest = steps.dropFirst()
        switch steps.first {
        case .key(let key)?:
            let value = try withEntry(key, number, table, location) { leaf, index in
                index.map { leaf.values.value($0) } ?? .null
            }
            return (value ?? .null).forEachNested(rest, body)
        case .any?:
            return try table.forEachLeaf(number, location) { list in
                for index in 0..<list.count where !list.value(index).forEachNested(rest, body) { return false }
                return true
            }
        case .index?, nil: return body(.null)
        }
    }

    /// The target of the link stored under a dictionary's key; nil if it is null or missing.
    private func link(
        _ key: String, _ number: Int, _ table: Table, _ location: RowLocation
    ) throws(EngineError) -> ObjectKey? {
        let word = try withEntry(key, number, table, location) { leaf, index in
            index.flatMap { leaf.values.isNull($0) ? nil : leaf.values.integer($0) }
        }
        return word.flatMap { $0 }.flatMap { $0 == 0 ? nil : ObjectKey($0) }
    }

    /// The value at the end of a path without collections; null after a null link.
    func value(_ path: BoundPath, _ table: Table, _ location: RowLocation) throws(EngineError) -> Value {
        var result = Value.null
        let start = start(of: path, table, location)
        _ = try forEachObject(path.steps[...], start.table, start.location) { other, place throws(EngineError) in
            switch path.end {
            case .column(let number, _): result = try other.value(number, at: place)
            case .object: result = .link(place.key)
            case .entry(let number, let key, _):
                result =
                    try withEntry(key, number, other, place) { leaf, index in
                        index.map { leaf.values.value($0) } ?? .null
                    } ?? .null
            case .nested(let number, let steps):
                try forEachNested(number, steps, other, place) { value in
                    result = value
                    return false
                }
            case .elements, .keys: break
            }
            return false
        }
        return result
    }

    private func compare(
        _ left: BoundPath, _ comparison: ComparisonOperator, _ right: BoundPath, _ options: ComparisonOptions,
        _ table: Table, _ location: RowLocation
    ) throws(EngineError) -> Bool {
        Self.compare(
            try value(left, table, location), comparison, try value(right, table, location), options,
            isMixed: left.isMixed)
    }

    /// Compares two values whose types the schema allows to be compared. `isMixed`: the property holds values of any
    /// type.
    static func compare(
        _ found: Value, _ comparison: ComparisonOperator, _ other: Value, _ options: ComparisonOptions,
        isMixed: Bool
    ) -> Bool {
        if other == .null {
            switch comparison {
            case .equal, .lessOrEqual, .greaterOrEqual, .like: return found == .null
            case .notEqual: return found != .null
            default: return false
            }
        }
        if found == .null { return comparison == .notEqual }
        if isMixed { return MixedTest(comparison, other, options).matches(found) }
        // One of them is a decimal and the other may be another kind of number.
        if found.isDecimal || other.isDecimal {
            return CompareScan.matches(MixedTest.order(found, other), comparison.scanOperator, 0)
        }
        return ValueTest(comparison, other, options)?.matches(found) ?? (comparison == .notEqual)
    }

    // MARK: Aggregates

    private func value(
        _ aggregate: BoundAggregate, _ table: Table, _ location: RowLocation
    ) throws(EngineError) -> Value {
        let start = start(of: aggregate.path, table, location)
        var total = ValueAggregate(isDecimal: aggregate.isDecimal)
        let steps = aggregate.path.steps
        if aggregate.kind == .count, steps.count == 1, case .object = aggregate.path.end {
            switch steps[0] {
            case .links(let number, _): return .int(Int64(try start.table.elementCount(number, start.location)))
            case .backlinks(let origin, let number):
                guard let other = session.table(origin) else { return .int(0) }
                let count = try start.table.backlinkCount(to: start.location.key, from: other, column: number)
                return .int(Int64(count))
            case .link, .entry: break
            }
        }
        _ = try forEachObject(steps[...], start.table, start.location) { other, place throws(EngineError) in
            if case .elements(let number, _) = aggregate.path.end {
                try other.forEachLeaf(number, place) { list in
                    for index in 0..<list.count {
                        total.add(aggregate.kind == .count ? .int(1) : list.value(index))
                    }
                    return true
                }
            } else if let number = aggregate.column {
                total.add(try other.value(number, at: place))
            } else {
                total.add(.int(1))
            }
            return true
        }
        return total.result(aggregate.kind)
    }
}

extension Value {
    fileprivate var isDecimal: Bool { if case .decimal128 = self { true } else { false } }

    /// Calls `body` with each value that the steps lead to, or null if they lead nowhere, until it returns false; then
    /// returns false.
    fileprivate func forEachNested(_ steps: ArraySlice<NestedStep>, _ body: (Value) -> Bool) -> Bool {
        guard let step = steps.first else { return body(self) }
        let rest = steps.dropFirst()
        switch (step, self) {
        case (.key(let key), .dictionary(let entries)):
            let found = entries.first { $0.key.utf8.elementsEqual(key.utf8) }
            return (found?.value ?? .null).forEachNested(rest, body)
        case (.index(let index), .list(let values)):
            let isThere = index >= 0 && index < Int64(values.count)
            return (isThere ? values[Int(index)] : .null).forEachNested(rest, body)
        case (.any, .dictionary(let entries)): return entries.allSatisfy { $0.value.forEachNested(rest, body) }
        case (.any, .list(let values)): return values.allSatisfy { $0.forEachNested(rest, body) }
        case (.any, _): return true
        case (.key, _), (.index, _): return body(.null)
        }
    }
}

extension ValueTest {
    /// A comparison with a value; nil for null and for values that have neither an order nor a kernel.
    init?(_ comparison: ComparisonOperator, _ value: Value, _ options: ComparisonOptions = []) {
        switch value {
        case .null, .typedLink, .list, .dictionary: return nil
        case .bool(let value): self = .bool(comparison, value)
        case .int(let value): self = .int(comparison, value)
        case .float(let value): self = .float(comparison, value)
        case .double(let value): self = .double(comparison, value)
        case .date(let value): self = .date(comparison, value)
        case .objectID(let low, let high): self = .objectID(comparison, low, high)
        case .uuid(let low, let high): self = .uuid(comparison, low, high)
        case .decimal128(let low, let high): self = .decimal(comparison, DecimalBits(low: low, high: high))
        case .link(let key): self = .link(comparison, key)
        case .string(let value): self = .bytes(BytesTest(comparison, Array(value.utf8), options))
        case .data(let value): self = .bytes(BytesTest(comparison, value, options))
        }
    }
}

extension BytesTest {
    init(_ comparison: ComparisonOperator, _ needle: [UInt8], _ options: ComparisonOptions) {
        let operation: BytesOperator
        switch comparison {
        case .notEqual: operation = .notEqual
        case .less: operation = .less
        case .lessOrEqual: operation = .lessOrEqual
        case .greater: operation = .greater
        case .greaterOrEqual: operation = .greaterOrEqual
        case .beginsWith: operation = .prefix
        case .endsWith: operation = .suffix
        case .contains: operation = .contains
        case .like: operation = .like
        default: operation = .equal
        }
        self.init(
            operation, needle, isFolded: options.contains(.caseInsensitive),
            isDiacriticInsensitive: options.contains(.diacriticInsensitive))
    }
}

extension ValueTest {
    /// The smallest count of objects from which the result no longer changes.
    fileprivate var decidedCount: Int64 {
        switch self {
        case .int(.greater, let n), .int(.lessOrEqual, let n), .int(.equal, let n), .int(.notEqual, let n):
            n < 0 ? 1 : n == .max ? .max : n + 1
        case .int(.greaterOrEqual, let n), .int(.less, let n): max(n, 1)
        default: .max
        }
    }
}
