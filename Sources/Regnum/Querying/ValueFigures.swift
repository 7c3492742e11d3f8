// SPDX-License-Identifier: Apache-2.0
// Smallest, largest, sum and average of values in memory: of an unmanaged list's elements, and of lists of
// values.
// Nulls and NaN are left out, as in queries.

internal import Foundation
internal import RegnumEngine
internal import RegnumQuery

enum ValueFigures {
    /// `.null` where there is none; the sum of nothing is 0. Sums of integers wrap, others are made as
    /// Double, of decimals as Decimal128.
    static func figure(_ kind: AggregateKind, of values: [Value], isDecimal: Bool = false) -> Value {
        var total = ValueAggregate(isDecimal: isDecimal)
        for value in values { total.add(value) }
        return total.result(kind)
    }

    /// The sum of values in memory. Of values of any type it is a decimal, but the sum of nothing is the integer 0.
    static func unmanagedSum(of values: [Value], _ shape: _PropertyShape) -> Value {
        var total = ValueAggregate(isDecimal: shape.type == .any)
        for value in values { total.add(value) }
        return total.count == 0 && shape.type == .any ? .int(0) : total.result(.sum)
    }

    /// By one of the operators of key-value coding: `@sum.self`. Misuse for what they do not know.
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

    /// A figure as key-value coding shows it: whole numbers and Floats as `NSNumber`, whatever the property's type is.
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

    /// Whether values of the type have such a figure: dates have no sum and no average.
    static func exists(_ kind: AggregateKind, of type: ColumnType) -> Bool {
        switch type {
        case .int, .float, .double, .decimal128, .mixed: true
        case .date: kind == .min || kind == .max
        default: false
        }
    }

    /// Of a property of the objects in an unmanaged collection, or of its values. Misuse as for managed collections, in
    /// the words that RealmSwift has for these.
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

    /// Of a property of objects of the class `target`, or of nothing.
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

    /// What a subscript shows of a number or a date.
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
    /// The elements as the engine keeps them.
    private var engineValues: [Value] {
        let handle = _handle
        return handle.owned?.engineValues ?? handle.state?.currentValues() ?? []
    }

    private func figure(_ kind: AggregateKind) -> Value {
        ValueFigures.figure(kind, of: engineValues, isDecimal: Element._shape.type == .any)
    }
}

extension RealmCollection where Element.PersistedType: MinMaxType {
    /// The smallest element; nil where there is none. Nulls and NaN are left out.
    public func min() -> Element? { converted(figure(.min)) }

    /// The largest element; nil where there is none. Nulls and NaN are left out.
    public func max() -> Element? { converted(figure(.max)) }
}

extension RealmCollection where Element.PersistedType: AddableType {
    /// The sum of the elements; ints wrap.
    public func sum() -> Element {
        let isUnmanaged = _handle.state == nil
        return converted(
            isUnmanaged ? ValueFigures.unmanagedSum(of: engineValues, Element._shape) : figure(.sum), to: Element.self)
    }

    /// The average of the elements; nil where there is none.
    public func average<T: _HasPersistedType>() -> T? where T.PersistedType: AddableType { converted(figure(.avg)) }
}
