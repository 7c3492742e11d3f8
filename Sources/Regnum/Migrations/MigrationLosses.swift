// SPDX-License-Identifier: Apache-2.0
// Finds the values that a rehearsed migration lost, by comparing the file before and after it, object by object.

internal import RegnumEngine

struct MigrationLosses {
    private(set) var values: [UnconvertedValue] = []
    private(set) var counts: [String: Int] = [:]
    private static let limit = 1000
    private static let shownCharacters = 80

    /// A column before the migration, and the one that replaces it.
    private struct Pair {
        let old: Int
        let new: Int
        /// True if it is the same column; only its nulls are compared.
        let isSame: Bool
    }

    /// Compares the tables that both versions have. Copies preserve the keys of tables, columns and objects.
    mutating func find(from before: Session, to after: Session) throws(EngineError) {
        for old in before.tables {
            guard let new = after.table(old.definition.key) else { continue }
            let pairs = Self.pairs(old.definition, new.definition)
            if pairs.isEmpty { continue }
            for position in 0..<old.count {
                let key = try old.key(atPosition: position)
                guard try new.contains(key) else { continue }
                for pair in pairs { try compare(pair, old, new, key) }
            }
        }
    }

    private static func pairs(_ old: TableDefinition, _ new: TableDefinition) -> [Pair] {
        old.columns.indices.compactMap { place in
            let column = old.columns[place]
            if column.isHidden { return nil }
            if let same = new.columns.firstIndex(where: { $0.key == column.key }) {
                let refusesNulls = column.isNullable && !new.columns[same].isNullable
                return refusesNulls ? Pair(old: place, new: same, isSame: true) : nil
            }
            return new.columns.firstIndex { $0.name == column.name && !$0.isHidden }
                .map { Pair(old: place, new: $0, isSame: false) }
        }
    }

    private mutating func compare(_ pair: Pair, _ old: Table, _ new: Table, _ key: ObjectKey) throws(EngineError) {
        let before = try Self.content(old, pair.old, key)
        if pair.isSame {
            if !before.values.contains(.null) { return }
            let after = try Self.content(new, pair.new, key)
            if before.isCollection ? !Self.hasReplacedNulls(before, after, old, pair.old) : !after.isDefault { return }
        } else {
            if before.isDefault { return }
            if try !Self.content(new, pair.new, key).isDefault { return }
        }
        let name = old.definition.name
        let property = old.definition.columns[pair.old].name
        counts["\(name).\(property)", default: 0] += 1
        if values.count >= Self.limit { return }
        let primary: Value
        if let column = old.definition.primaryKey {
            primary = try old.value(column, of: key)
        } else {
            primary = .int(Int64(key.rawValue))
        }
        let shown = before.values.map(Self.text)
        let value = before.isCollection ? "[\(shown.joined(separator: ", "))]" : shown.first ?? ""
        values.append(
            UnconvertedValue(
                className: name, property: property, object: Self.text(primary), value: Self.cut(value)))
    }

    /// True if a null of the collection has become zero or empty, as it does if the migration block does not replace
    /// it.
    private static func hasReplacedNulls(
        _ before: Content, _ after: Content, _ table: Table, _ column: Int
    ) -> Bool {
        let definition = table.definition.columns[column]
        let zero = Value.zero(definition.type)
        switch definition.collection {
        case .none: return false
        case .list:
            // If the nulls were only removed, a zero is an element of its own, not a replaced null.
            if after.values == before.values.filter({ $0 != .null }) { return false }
            return zip(before.values, after.values).contains { $0 == .null && $1 == zero }
        case .set:
            // If the set already held a zero, the null has merged with it.
            var left = Set(before.values)
            left.remove(.null)
            left.insert(zero)
            return Set(after.values) == left
        case .dictionary:
            let now = Dictionary(zip(after.keys, after.values), uniquingKeysWith: { first, _ in first })
            return zip(before.keys, before.values).contains { $1 == .null && now[$0] == zero }
        }
    }

    /// The values of one object's property.
    private struct Content {
        var values: [Value]
        /// For a dictionary: one key for each value.
        var keys: [String] = []
        var isCollection: Bool
        /// True if it equals the value of a property never set.
        var isDefault: Bool
    }

    private static func content(_ table: Table, _ column: Int, _ key: ObjectKey) throws(EngineError) -> Content {
        let definition = table.definition.columns[column]
        if definition.collection == .dictionary {
            let entries = try table.dictionaryEntries(column, of: key)
            return Content(
                values: entries.map(\.value), keys: entries.map(\.key), isCollection: true, isDefault: entries.isEmpty)
        }
        if definition.collection != .none {
            let values = try table.listValues(column, of: key)
            return Content(values: values, isCollection: true, isDefault: values.isEmpty)
        }
        let value = try table.value(column, of: key)
        let isZero = definition.type != .link && definition.type != .mixed && value == .zero(definition.type)
        return Content(
            values: [value], isCollection: false, isDefault: value == .null || value == .link(.none) || isZero)
    }

    private static func text(_ value: Value) -> String {
        switch value {
        case .null: "nil"
        case .bool(let bool): "\(bool)"
        case .int(let int): "\(int)"
        case .float(let float): "\(float)"
        case .double(let double): "\(double)"
        case .string(let string): "\"\(string)\""
        case .data(let bytes): "\(bytes.count) bytes"
        case .decimal128(let low, let high): DecimalBits(low: low, high: high).text
        case .link(let key), .typedLink(_, let key): "object \(key.rawValue)"
        default: "\(value)"
        }
    }

    private static func cut(_ text: String) -> String {
        text.count > shownCharacters ? text.prefix(shownCharacters) + "..." : text
    }
}
