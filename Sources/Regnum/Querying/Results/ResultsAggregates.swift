// SPDX-License-Identifier: Apache-2.0
// Minimum, maximum, sum and average of a property of the elements. Nulls and NaN are ignored.

public import Foundation
internal import RegnumEngine
internal import RegnumQuery

extension ResultsState {
    /// Returns the aggregate of a property; `.null` if there are no values. An unknown property, or an operation that
    /// its type does not support, is a programmer error.
    func figure(_ kind: AggregateKind, of property: String, _ operation: String) -> Value {
        check()
        if case .values(let owner, let column, _, let kindName) = source {
            if property == "self" { return figure(kind, operation, owner, column) }
            misuse("\(kindName.prefix(1).uppercased())\(kindName.dropFirst()) can only be aggregated on \"self\".")
        }
        guard let binding else { return ValueAggregates.figure(kind, of: property, operation, in: [], elementType) }
        guard let index = binding.schema.place(named: property) else {
            misuse("Invalid property name '\(property)' for class '\(binding.schema.name)'.")
        }
        let column = binding.columns[index]
        let definition = column < 0 ? nil : binding.table.definition.columns[column]
        let type = definition?.type ?? .link
        guard definition?.collection == CollectionKind.none, ValueAggregates.exists(kind, of: type) else {
            misuse(
                "Operation '\(operation)' not supported for \(type.shown) property "
                    + "'\(binding.schema.name).\(property)'")
        }
        let query = self.query ?? ObjectQuery(session: realm.session, table: binding.tableKey)
        return observing(query) { () throws(EngineError) in
            if case .table = source { return try query.aggregate(kind, column) }
            return try query.aggregate(kind, column, among: currentKeys())
        }
    }

    /// Returns the aggregate of the values in a collection.
    private func figure(_ kind: AggregateKind, _ operation: String, _ owner: RowReference, _ column: Int) -> Value {
        let definition = owner.binding.table.definition.columns[column]
        guard ValueAggregates.exists(kind, of: definition.type) else {
            let kinds = [CollectionKind.list: "list", .set: "set", .dictionary: "dictionary"]
            let schema = owner.binding.schema
            let name = schema.properties.first { $0.columnName == definition.name }?.name ?? definition.name
            misuse(
                "Operation '\(operation)' not supported for \(definition.type.shown)"
                    + "\(definition.isNullable ? "?" : "") \(kinds[definition.collection] ?? "") "
                    + "'\(schema.name).\(name)'")
        }
        return ValueAggregates.figure(kind, of: currentValues(), isDecimal: definition.type == .mixed)
    }
}

/// Converts an aggregate to the type that the caller asks for.
func converted<T>(_ value: Value, to type: T.Type) -> T {
    let number: NSNumber
    switch value {
    case .int(let value): number = NSNumber(value: value)
    case .float(let value): number = NSNumber(value: value)
    case .double(let value): number = NSNumber(value: value)
    case .decimal128: return converted(Decimal128._fromRaw(_RawValue(value)), to: type)
    default:
        let date = Date._fromRaw(_RawValue(value))
        if let date = date as? T { return date }
        if let stored = T.self as? any _HasPersistedType.Type, let date = coerced(date, stored) as? T { return date }
        if let date = NSDate(timeIntervalSinceReferenceDate: date.timeIntervalSinceReferenceDate) as? T { return date }
        misuse("A date cannot be returned as \(type).")
    }
    if let number = number as? T, T.self == NSNumber.self { return number }
    if let stored = T.self as? any _HasPersistedType.Type {
        let given: Any? =
            switch (value, stored._shape.type) {
            case (.int(let value), .int): whole(value, stored)
            case (.float(let value), .int): whole(Int64(clamping: Double(value)), stored)
            case (.double(let value), .int): whole(Int64(clamping: value), stored)
            case (.int(let value), _): coerced(Int(value), stored)
            case (.float(let value), _): coerced(value, stored)
            case (.double(let value), .float): coerced(Float(value), stored)
            case (.double(let value), _): coerced(value, stored)
            default: coerced(number, stored)
            }
        if let given, let value = given as? T { return value }
    }
    misuse("A number cannot be returned as \(type).")
}

private func converted<T>(_ number: Decimal128, to type: T.Type) -> T {
    if let number = number as? T { return number }
    if let stored = T.self as? any _HasPersistedType.Type, let value = coerced(number, stored) as? T { return value }
    misuse("A Decimal128 cannot be returned as \(type).")
}

/// Converts a whole number to the width of the type; it wraps on overflow, as `NSNumber` does.
private func whole(_ value: Int64, _ type: any _HasPersistedType.Type) -> Any? {
    coerced(Int(value), type) ?? coerced(Int32(truncatingIfNeeded: value), type)
        ?? coerced(Int16(truncatingIfNeeded: value), type) ?? coerced(Int8(truncatingIfNeeded: value), type)
}

extension Int64 {
    /// Truncates the fraction; a number out of range becomes the nearest Int64, and NaN becomes 0.
    fileprivate init(clamping value: Double) {
        self = value.isNaN ? 0 : Int64(exactly: value.rounded(.towardZero)) ?? (value < 0 ? .min : .max)
    }
}

/// Like `converted(_:to:)`, but returns nil for null.
func converted<T>(_ value: Value) -> T? {
    if case .null = value { return nil }
    return converted(value, to: T.self)
}

private func coerced<T: _HasPersistedType>(_ value: Any, _ type: T.Type) -> Any? { T._coerced(value) }

private func coerced<T: _HasPersistedType>(_ number: NSNumber, _ type: T.Type) -> Any? {
    if let value = T._coerced(number) { return value }
    return T._coerced(number.doubleValue)
}

extension RealmCollection {
    /// Returns the aggregate: a managed collection runs its query, an unmanaged list uses its elements.
    private func figure(_ kind: AggregateKind, of property: String, _ operation: String) -> Value {
        let handle = _handle
        if let state = handle.state { return state.figure(kind, of: property, operation) }
        if let list = handle.owned { return ValueAggregates.figure(kind, of: property, operation, in: list) }
        guard let target = Element._shape.target else { return kind == .sum ? .int(0) : .null }
        return ValueAggregates.figure(kind, of: property, operation, in: [], target)
    }

    /// Returns the smallest value of the property, or nil if there is none.
    public func min<T: _HasPersistedType>(
        ofProperty property: String
    ) -> T? where T.PersistedType: MinMaxType {
        converted(figure(.min, of: property, "min"))
    }

    /// Returns the largest value of the property, or nil if there is none.
    public func max<T: _HasPersistedType>(
        ofProperty property: String
    ) -> T? where T.PersistedType: MinMaxType {
        converted(figure(.max, of: property, "max"))
    }

    /// Returns the smallest value of the property, for a property of any number type.
    public func min(ofProperty property: String) -> NSNumber? { converted(figure(.min, of: property, "min")) }
    /// Returns the earliest date of the property.
    public func min(ofProperty property: String) -> NSDate? { converted(figure(.min, of: property, "min")) }
    /// Returns the largest value of the property, for a property of any number type.
    public func max(ofProperty property: String) -> NSNumber? { converted(figure(.max, of: property, "max")) }
    /// Returns the latest date of the property.
    public func max(ofProperty property: String) -> NSDate? { converted(figure(.max, of: property, "max")) }
    /// Returns the sum of the property's values, for a property of any number type.
    public func sum(ofProperty property: String) -> NSNumber {
        converted(figure(.sum, of: property, "sum"), to: NSNumber.self)
    }
    /// Returns the average of the property's values, or nil if there is none.
    public func average(ofProperty property: String) -> NSNumber? {
        converted(figure(.avg, of: property, "average"))
    }

    /// Returns the sum of the property's values. Integers wrap on overflow.
    public func sum<T: _HasPersistedType>(
        ofProperty property: String
    ) -> T where T.PersistedType: AddableType {
        converted(figure(.sum, of: property, "sum"), to: T.self)
    }

    /// Returns the average of the property's values, or nil if there is none.
    public func average<T: _HasPersistedType>(
        ofProperty property: String
    ) -> T? where T.PersistedType: AddableType {
        converted(figure(.avg, of: property, "average"))
    }
}

extension RealmCollection where Element: ObjectBase {
    /// Returns the smallest value of the property, or nil if there is none.
    public func min<T: _HasPersistedType>(of keyPath: KeyPath<Element, T>) -> T? where T.PersistedType: MinMaxType {
        min(ofProperty: _name(for: keyPath))
    }

    /// Returns the largest value of the property, or nil if there is none.
    public func max<T: _HasPersistedType>(of keyPath: KeyPath<Element, T>) -> T? where T.PersistedType: MinMaxType {
        max(ofProperty: _name(for: keyPath))
    }

    /// Returns the sum of the property's values. Integers wrap on overflow.
    public func sum<T: _HasPersistedType>(of keyPath: KeyPath<Element, T>) -> T where T.PersistedType: AddableType {
        sum(ofProperty: _name(for: keyPath))
    }

    /// Returns the average of the property's values, or nil if there is none.
    public func average<T: _HasPersistedType>(
        of keyPath: KeyPath<Element, T>
    ) -> T? where T.PersistedType: AddableType {
        average(ofProperty: _name(for: keyPath))
    }
}
