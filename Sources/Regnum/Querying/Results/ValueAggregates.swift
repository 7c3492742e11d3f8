// SPDX-License-Identifier: Apache-2.0
// Minimum, maximum, sum and average of values in memory: of the elements of an unmanaged list, and of lists of values.
// Nulls and NaN are ignored, as in queries.

internal import Foundation
internal import RegnumEngine
internal import RegnumQuery

enum ValueAggregates {
    /// Returns an aggregate; `.null` if there are no values, but the sum of no values is 0. Sums of integers wrap on
    /// overflow; other sums are computed as Double, those of decimals as Decimal128.
    static func figure(_ kind: AggregateKind, of values: [Value], isDecimal: Bool = false) -> Value {
        var total = ValueAggregate(isDecimal: isDecimal)
        for value in values { total.add(value) }
        return total.result(kind)
    }

    /// Returns the sum of values in memory. For values of any type it is a decimal, but the sum of no values is the
    /// integer 0.
    static func unmanagedSum(of values: [Value], _ shape: _PropertyShape) -> Value {
        var total = ValueAggregate(isDecimal: shape.type == .any)
        for value in values { total.add(value) }
        return total.count == 0 && shape.type == .any ? .int(0) : total.result(.sum)
    }

    /// Evaluates an operator of key-value coding: `@sum.self`. An unknown operator is a programmer error.
    static func value(of values: [Value], at keyPath: String) -> Any? {
        let kinds: [String: AggregateKind] = ["@min": .min, "@max": .max, "@sum": .sum, "@avg": .avg]
        let parts = keyPath.split(separator: ".", maxSplits: 1).map(String.init)
        guard let kind = kinds[parts[0]] else {
            misuse("Unsupported KVC collection operator found in key path '\(keyPath)'")
        }
        guard parts.count == 2, parts[1] == "self" else {
            misuse("A collection of values can only be aggregated on \"self\": write '\(parts[0]).self'.")
        }
        return shown(figure(kind, of: values))
    }

    /// Converts an aggregate to the form that key-value coding returns: whole numbers and Floats become `NSNumber`,
    /// whatever the property's type.
    static func shown(_ value: Value) -> Any? {
        switch value {
        case .int(let value): byName(Int(value), true)
        case .float(let value): byName(value, true)
        case .double(let value): value
        case .decimal128: Decimal128._fromRaw(_RawValue(value))
        case .date: Date._fromRaw(_RawValue(value))
        default: nil
        }
    }

    /// Returns whether the type supports the aggregate: dates have no sum and no average.
    static func exists(_ kind: AggregateKind, of type: ColumnType) -> Bool {
        switch type {
        case .int, .float, .double, .decimal128, .mixed: true
        case .date: kind == .min || kind == .max
        default: false
        }
    }

    /// Returns the aggregate of a property of the objects in an unmanaged collection, or of its values. The programmer
    /// errors are those of managed collections, with RealmSwift's messages.
    static func figure(
        _ kind: AggregateKind, of name: String, _ operation: String, in list: any AnyOwnedCollection
    ) -> Value {
        let kindOfList = type(of: list)
        guard let target = kindOfList.targetClass else {
            let words = kindOfList.words
            guard name == "self" else { misuse("\(words.name) of values can only be aggregated on \"self\".") }
            if !exists(kind, of: kindOfList.elementType.columnType) {
                misuse("\(operation)OfProperty: is not supported for \(kindOfList.elementName) \(words.kind)")
            }
            return figure(kind, of: list.engineValues, isDecimal: kindOfList.elementType == .any)
        }
        return figure(kind, of: name, operation, in: list.anyElements, target, isManaged: false)
    }

    /// Returns the aggregate of a property of objects of the class `target`; also works if there are no objects.
    static func figure(
        _ kind: AggregateKind, of name: String, _ operation: String, in elements: [Any], _ target: ObjectBase.Type,
        isManaged: Bool = true
    ) -> Value {
        let schema = ClassSchema.of(target)
        guard let property = schema.property(named: name) else {
            misuse("Invalid property name '\(name)' for class '\(schema.name)'.")
        }
        let type = property.columnType
        guard !property.isOwnedCollection, !property.isComputed, exists(kind, of: type) else {
            let subject = "\(type.shown) property '\(schema.name).\(name)'"
            misuse(
                isManaged
                    ? "Operation '\(operation)' not supported for \(subject)"
                    : "\(operation)OfProperty: is not supported for \(subject)")
        }
        return figure(
            kind,
            of: elements.map { element in
                guard let object = element as? ObjectBase else { return .null }
                return value(property.get(object))
            }, isDecimal: type == .mixed)
    }

    /// Converts a number or a date from the form that subscripts return.
    private static func value(_ shown: Any?) -> Value {
        switch shown {
        case let value as Int: .int(Int64(value))
        case let value as Float: .float(value)
        case let value as Double: .double(value)
        case let value as Decimal128: Decimal128._toRaw(value).value
        case let value as Date: Date._toRaw(value).value
        default: .null
        }
    }
}

// MARK: Collections of values

extension RealmCollection {
    /// The elements as engine values.
    private var engineValues: [Value] {
        let handle = _handle
        return handle.owned?.engineValues ?? handle.state?.currentValues() ?? []
    }

    private func figure(_ kind: AggregateKind) -> Value {
        ValueAggregates.figure(kind, of: engineValues, isDecimal: Element._shape.type == .any)
    }
}

extension RealmCollection where Element.PersistedType: MinMaxType {
    /// Returns the smallest element, or nil if there is none. Nulls and NaN are ignored.
    public func min() -> Element? { converted(figure(.min)) }

    /// Returns the largest element, or nil if there is none. Nulls and NaN are ignored.
    public func max() -> Element? { converted(figure(.max)) }
}

extension RealmCollection where Element.PersistedType: AddableType {
    /// Returns the sum of the elements. Integers wrap on overflow.
    public func sum() -> Element {
        let isUnmanaged = _handle.state == nil
        return converted(
            isUnmanaged ? ValueAggregates.unmanagedSum(of: engineValues, Element._shape) : figure(.sum),
            to: Element.self)
    }

    /// Returns the average of the elements, or nil if there is none.
    public func average<T: _HasPersistedType>() -> T? where T.PersistedType: AddableType { converted(figure(.avg)) }
}
