// SPDX-License-Identifier: Apache-2.0
// Queries on the objects that are values of a managed map, figures over values, and access by names.

public import Foundation
internal import RegnumEngine
internal import RegnumQuery

extension Map {
    /// The values of the map as a query sees them, in the order of the keys; links that are nil are left out.
    private var results: Results<Value> {
        guard let place = checkedPlace() else {
            misuse(
                "This method may only be called on RLMDictionary instances retrieved from an RLMRealm. Add the "
                    + "object that has this map to a Realm first.")
        }
        return Results(state: place.results(Value._shape.target, .dictionary, elementName: Self.elementName))
    }

    /// The values that satisfy the predicate; misuse where it is not understood.
    public func filter(_ predicateFormat: String, _ args: Any...) -> Results<Value> {
        filter(NSPredicate(format: predicateFormat, argumentArray: args))
    }

    /// The values that satisfy the predicate; misuse for a predicate made of a block.
    public func filter(_ predicate: NSPredicate) -> Results<Value> { results.filter(predicate) }

    /// The values that satisfy the condition.
    public func `where`(_ isIncluded: (Query<Value>) -> Query<Bool>) -> Results<Value> {
        results.where(isIncluded)
    }

    /// The values ordered by the property at the key path.
    public func sorted(byKeyPath keyPath: String, ascending: Bool = true) -> Results<Value> {
        results.sorted(byKeyPath: keyPath, ascending: ascending)
    }

    /// The values ordered by the descriptors, the first one first.
    public func sorted<S: Sequence>(by sortDescriptors: S) -> Results<Value> where S.Element == SortDescriptor {
        results.sorted(by: sortDescriptors)
    }

    /// The values without those that equal an earlier one in all the properties.
    public func distinct<S: Sequence>(by keyPaths: S) -> Results<Value> where S.Element == String {
        results.distinct(by: keyPaths)
    }
}

extension Map where Value: OptionalProtocol, Value.Wrapped: ObjectBase {
    /// The values ordered by the property.
    public func sorted<T: _HasPersistedType>(
        by keyPath: KeyPath<Value.Wrapped, T>, ascending: Bool = true
    ) -> Results<Value> where T.PersistedType: SortableType {
        sorted(byKeyPath: _name(for: keyPath), ascending: ascending)
    }

    /// The values without those that equal an earlier one in all the properties.
    public func distinct<S: Sequence>(by keyPaths: S) -> Results<Value>
    where S.Element == PartialKeyPath<Value.Wrapped> { distinct(by: keyPaths.map { _name(for: $0) }) }

    /// The smallest value of the property; nil where there is none.
    public func min<T: _HasPersistedType>(of keyPath: KeyPath<Value.Wrapped, T>) -> T?
    where T.PersistedType: MinMaxType { min(ofProperty: _name(for: keyPath)) }

    /// The largest value of the property; nil where there is none.
    public func max<T: _HasPersistedType>(of keyPath: KeyPath<Value.Wrapped, T>) -> T?
    where T.PersistedType: MinMaxType { max(ofProperty: _name(for: keyPath)) }

    /// The sum of the property's values; ints wrap.
    public func sum<T: _HasPersistedType>(of keyPath: KeyPath<Value.Wrapped, T>) -> T
    where T.PersistedType: AddableType { sum(ofProperty: _name(for: keyPath)) }

    /// The average of the property's values; nil where there is none.
    public func average<T: _HasPersistedType>(of keyPath: KeyPath<Value.Wrapped, T>) -> T?
    where T.PersistedType: AddableType { average(ofProperty: _name(for: keyPath)) }
}

// MARK: Figures

extension Map {
    private func figure(
        _ kind: AggregateKind, of property: String, _ operation: String
    ) -> RegnumEngine.Value {
        if checkedPlace() != nil { return results.state.figure(kind, of: property, operation) }
        return ValueFigures.figure(kind, of: property, operation, in: self)
    }

    /// The smallest value of the property; nil where there is none.
    public func min<T: _HasPersistedType>(ofProperty property: String) -> T?
    where T.PersistedType: MinMaxType { converted(figure(.min, of: property, "min")) }

    /// The largest value of the property; nil where there is none.
    public func max<T: _HasPersistedType>(ofProperty property: String) -> T?
    where T.PersistedType: MinMaxType { converted(figure(.max, of: property, "max")) }

    /// The sum of the property's values; ints wrap.
    public func sum<T: _HasPersistedType>(ofProperty property: String) -> T
    where T.PersistedType: AddableType { converted(figure(.sum, of: property, "sum"), to: T.self) }

    /// The average of the property's values; nil where there is none.
    public func average<T: _HasPersistedType>(ofProperty property: String) -> T?
    where T.PersistedType: AddableType { converted(figure(.avg, of: property, "average")) }

    /// The smallest value of the property, whatever its type.
    public func min(ofProperty property: String) -> NSNumber? { converted(figure(.min, of: property, "min")) }
    /// The earliest date of the property.
    public func min(ofProperty property: String) -> NSDate? { converted(figure(.min, of: property, "min")) }
    /// The largest value of the property, whatever its type.
    public func max(ofProperty property: String) -> NSNumber? { converted(figure(.max, of: property, "max")) }
    /// The latest date of the property.
    public func max(ofProperty property: String) -> NSDate? { converted(figure(.max, of: property, "max")) }
    /// The sum of the property's values, whatever their type.
    public func sum(ofProperty property: String) -> NSNumber {
        converted(figure(.sum, of: property, "sum"), to: NSNumber.self)
    }
    /// The average of the property's values; nil where there is none.
    public func average(ofProperty property: String) -> NSNumber? {
        converted(figure(.avg, of: property, "average"))
    }

    /// The values as the engine has them.
    var engineValues: [RegnumEngine.Value] {
        guard let place = checkedPlace() else { return rawItems.map(\.value) }
        return place.entries().map(\.value)
    }
}

extension Map where Value.PersistedType: MinMaxType {
    /// The smallest value; nil where there is none. Nulls and NaN are left out.
    public func min() -> Value? { converted(ValueFigures.figure(.min, of: engineValues)) }

    /// The largest value; nil where there is none. Nulls and NaN are left out.
    public func max() -> Value? { converted(ValueFigures.figure(.max, of: engineValues)) }
}

extension Map where Value.PersistedType: AddableType {
    /// The sum of the values; ints wrap.
    public func sum() -> Value {
        let isUnmanaged = checkedPlace() == nil
        let shape = Value._shape
        return converted(
            isUnmanaged
                ? ValueFigures.unmanagedSum(of: engineValues, shape)
                : ValueFigures.figure(.sum, of: engineValues, isDecimal: shape.type == .any), to: Value.self)
    }

    /// The average of the values; nil where there is none.
    public func average<T: _HasPersistedType>() -> T? where T.PersistedType: AddableType {
        converted(ValueFigures.figure(.avg, of: engineValues, isDecimal: Value._shape.type == .any))
    }
}

// MARK: By names

extension Map {
    /// The value of a key as subscripts of objects show it, `NSNull` for a null, nil where there is no such key; of
    /// "@count" the number of entries.
    public func value(forKey key: String) -> Any? {
        switch key {
        case "@count": count
        case "@invalidated", "invalidated": isInvalidated
        default: shownValue(key)
        }
    }

    /// As subscripts of objects show it; `NSNull` for null.
    private func shownValue(_ key: String) -> Any? {
        let shape = Value._shape
        guard shape.isPartial || shape.hasEmbeddedForm, let place = checkedPlace() else {
            guard let value = self[Key(_mapKey: key)] else { return nil }
            return byName(Value._dynamic(value), Value._isBridgedByName) ?? NSNull()
        }
        guard let value = place.value(forKey: key) else { return nil }
        return byName(place.shown(value, as: Value.self), Value._isBridgedByName) ?? NSNull()
    }

    /// A property of the value of a key, `rex.age`; or one figure over all values, `@sum.age`, or `@sum.self`
    /// where they are no objects.
    public func value(forKeyPath keyPath: String) -> Any? {
        if keyPath.hasPrefix("@") {
            if keyPath == "@count" || keyPath.hasPrefix("@count.") { return count }
            if Value._shape.target != nil { return results.value(forKeyPath: keyPath) }
            return ValueFigures.value(of: engineValues, at: keyPath)
        }
        guard let dot = keyPath.firstIndex(of: ".") else { return value(forKey: keyPath) }
        let object = shownValue(String(keyPath[..<dot])).flatMap { objectBase($0) }
        return object?.value(forKeyPath: String(keyPath[keyPath.index(after: dot)...]))
    }

    /// Sets the value of a key; nil removes it. Misuse for a value that does not fit, and outside a write.
    public func setValue(_ value: Any?, forKey key: String) {
        guard let value = value.flatMap({ unwrapped($0) }) else { return removeObject(for: Key(_mapKey: key)) }
        if Value._shape.isPartial, let place = writablePlace() {
            checkKey(key)
            return place.setEntry(key, storedElement(value, as: Value.self, .dictionary, isKnown: true))
        }
        updateValue(coercedElement(value, Value.self, .dictionary), forKey: Key(_mapKey: key))
    }
}

// For code that asks for objects of the runtime.
extension RealmKeyedCollection {
    /// As the one that gives any value: strings and numbers come as those of Foundation.
    @_disfavoredOverload
    public func value(forKey key: String) -> AnyObject? { value(forKey: key).map { $0 as AnyObject } }

    /// As the one that gives any value: strings and numbers come as those of Foundation.
    @_disfavoredOverload
    public func value(forKeyPath keyPath: String) -> AnyObject? { value(forKeyPath: keyPath).map { $0 as AnyObject } }

    /// The value of a key, which is a String, as `value(forKey:)` gives it; nil where there is no such key.
    @_disfavoredOverload
    public func object(forKey key: AnyObject) -> AnyObject? {
        (key as? String).flatMap { self[Key(_mapKey: $0)] }.map { dynamicBridgeCast(fromSwift: $0) as AnyObject }
    }
}
