// SPDX-License-Identifier: Apache-2.0
// Queries on the values of a managed map, aggregates over values, and access by name.

public import Foundation
internal import RegnumEngine
internal import RegnumQuery

extension Map {
    /// The values of the map as the input of a query, in the order of the keys; nil links are left out.
    private var results: Results<Value> {
        guard let place = checkedPlace() else {
            misuse(
                "This method may only be called on RLMDictionary instances retrieved from an RLMRealm. Add the "
                    + "object that has this map to a Realm first.")
        }
        return Results(state: place.results(Value._shape.target, .dictionary, elementName: Self.elementName))
    }

    /// Returns the values that satisfy the predicate. A malformed predicate is a programmer error.
    public func filter(_ predicateFormat: String, _ args: Any...) -> Results<Value> {
        filter(NSPredicate(format: predicateFormat, argumentArray: args))
    }

    /// Returns the values that satisfy the predicate. A predicate created from a block is a programmer error.
    public func filter(_ predicate: NSPredicate) -> Results<Value> { results.filter(predicate) }

    /// Returns the values that satisfy the condition.
    public func `where`(_ isIncluded: (Query<Value>) -> Query<Bool>) -> Results<Value> {
        results.where(isIncluded)
    }

    /// Returns the values sorted by the property at the key path.
    public func sorted(byKeyPath keyPath: String, ascending: Bool = true) -> Results<Value> {
        results.sorted(byKeyPath: keyPath, ascending: ascending)
    }

    /// Returns the values sorted by the descriptors; the first descriptor takes precedence.
    public func sorted<S: Sequence>(by sortDescriptors: S) -> Results<Value> where S.Element == SortDescriptor {
        results.sorted(by: sortDescriptors)
    }

    /// Returns the values without those that equal an earlier value in all the given properties.
    public func distinct<S: Sequence>(by keyPaths: S) -> Results<Value> where S.Element == String {
        results.distinct(by: keyPaths)
    }
}

extension Map where Value: OptionalProtocol, Value.Wrapped: ObjectBase {
    /// Returns the values sorted by the property.
    public func sorted<T: _HasPersistedType>(
        by keyPath: KeyPath<Value.Wrapped, T>, ascending: Bool = true
    ) -> Results<Value> where T.PersistedType: SortableType {
        sorted(byKeyPath: _name(for: keyPath), ascending: ascending)
    }

    /// Returns the values without those that equal an earlier value in all the given properties.
    public func distinct<S: Sequence>(by keyPaths: S) -> Results<Value>
    where S.Element == PartialKeyPath<Value.Wrapped> { distinct(by: keyPaths.map { _name(for: $0) }) }

    /// Returns the smallest value of the property, or nil if there is none.
    public func min<T: _HasPersistedType>(of keyPath: KeyPath<Value.Wrapped, T>) -> T?
    where T.PersistedType: MinMaxType { min(ofProperty: _name(for: keyPath)) }

    /// Returns the largest value of the property, or nil if there is none.
    public func max<T: _HasPersistedType>(of keyPath: KeyPath<Value.Wrapped, T>) -> T?
    where T.PersistedType: MinMaxType { max(ofProperty: _name(for: keyPath)) }

    /// Returns the sum of the property's values. Integers wrap on overflow.
    public func sum<T: _HasPersistedType>(of keyPath: KeyPath<Value.Wrapped, T>) -> T
    where T.PersistedType: AddableType { sum(ofProperty: _name(for: keyPath)) }

    /// Returns the average of the property's values, or nil if there is none.
    public func average<T: _HasPersistedType>(of keyPath: KeyPath<Value.Wrapped, T>) -> T?
    where T.PersistedType: AddableType { average(ofProperty: _name(for: keyPath)) }
}

// MARK: Aggregates

extension Map {
    private func figure(
        _ kind: AggregateKind, of property: String, _ operation: String
    ) -> RegnumEngine.Value {
        if checkedPlace() != nil { return results.state.figure(kind, of: property, operation) }
        return ValueAggregates.figure(kind, of: property, operation, in: self)
    }

    /// Returns the smallest value of the property, or nil if there is none.
    public func min<T: _HasPersistedType>(ofProperty property: String) -> T?
    where T.PersistedType: MinMaxType { converted(figure(.min, of: property, "min")) }

    /// Returns the largest value of the property, or nil if there is none.
    public func max<T: _HasPersistedType>(ofProperty property: String) -> T?
    where T.PersistedType: MinMaxType { converted(figure(.max, of: property, "max")) }

    /// Returns the sum of the property's values. Integers wrap on overflow.
    public func sum<T: _HasPersistedType>(ofProperty property: String) -> T
    where T.PersistedType: AddableType { converted(figure(.sum, of: property, "sum"), to: T.self) }

    /// Returns the average of the property's values, or nil if there is none.
    public func average<T: _HasPersistedType>(ofProperty property: String) -> T?
    where T.PersistedType: AddableType { converted(figure(.avg, of: property, "average")) }

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

    /// The values as engine values.
    var engineValues: [RegnumEngine.Value] {
        guard let place = checkedPlace() else { return rawItems.map(\.value) }
        return place.entries().map(\.value)
    }
}

extension Map where Value.PersistedType: MinMaxType {
    /// Returns the smallest value, or nil if there is none. Nulls and NaN are ignored.
    public func min() -> Value? { converted(ValueAggregates.figure(.min, of: engineValues)) }

    /// Returns the largest value, or nil if there is none. Nulls and NaN are ignored.
    public func max() -> Value? { converted(ValueAggregates.figure(.max, of: engineValues)) }
}

extension Map where Value.PersistedType: AddableType {
    /// Returns the sum of the values. Integers wrap on overflow.
    public func sum() -> Value {
        let isUnmanaged = checkedPlace() == nil
        let shape = Value._shape
        return converted(
            isUnmanaged
                ? ValueAggregates.unmanagedSum(of: engineValues, shape)
                : ValueAggregates.figure(.sum, of: engineValues, isDecimal: shape.type == .any), to: Value.self)
    }

    /// Returns the average of the values, or nil if there is none.
    public func average<T: _HasPersistedType>() -> T? where T.PersistedType: AddableType {
        converted(ValueAggregates.figure(.avg, of: engineValues, isDecimal: Value._shape.type == .any))
    }
}

// MARK: Access by name

extension Map {
    /// Returns the value of a key in the form that subscripts of objects return: `NSNull` for null, nil if there is no
    /// such key. "@count" returns the number of entries.
    public func value(forKey key: String) -> Any? {
        switch key {
        case "@count": count
        case "@invalidated", "invalidated": isInvalidated
        default: shownValue(key)
        }
    }

    /// Returns the value of a key in the form that subscripts of objects return; `NSNull` for null.
    private func shownValue(_ key: String) -> Any? {
        let shape = Value._shape
        guard shape.isPartial || shape.hasEmbeddedForm, let place = checkedPlace() else {
            guard let value = self[Key(_mapKey: key)] else { return nil }
            return byName(Value._dynamic(value), Value._isBridgedByName) ?? NSNull()
        }
        guard let value = place.value(forKey: key) else { return nil }
        return byName(place.shown(value, as: Value.self), Value._isBridgedByName) ?? NSNull()
    }

    /// Returns a property of the value of a key, `rex.age`; or an aggregate over all values, `@sum.age`, or `@sum.self`
    /// if they are not objects.
    public func value(forKeyPath keyPath: String) -> Any? {
        if keyPath.hasPrefix("@") {
            if keyPath == "@count" || keyPath.hasPrefix("@count.") { return count }
            if Value._shape.target != nil { return results.value(forKeyPath: keyPath) }
            return ValueAggregates.value(of: engineValues, at: keyPath)
        }
        guard let dot = keyPath.firstIndex(of: ".") else { return value(forKey: keyPath) }
        let object = shownValue(String(keyPath[..<dot])).flatMap { objectBase($0) }
        return object?.value(forKeyPath: String(keyPath[keyPath.index(after: dot)...]))
    }

    /// Sets the value of a key; nil removes the entry. A value that does not fit, or calling it outside a write
    /// transaction, is a programmer error.
    public func setValue(_ value: Any?, forKey key: String) {
        guard let value = value.flatMap({ unwrapped($0) }) else { return removeObject(for: Key(_mapKey: key)) }
        if Value._shape.isPartial, let place = writablePlace() {
            checkKey(key)
            return place.setEntry(key, storedElement(value, as: Value.self, .dictionary, isKnown: true))
        }
        updateValue(coercedElement(value, Value.self, .dictionary), forKey: Key(_mapKey: key))
    }
}

// For code that needs Objective-C-style objects.
extension RealmKeyedCollection {
    /// Like the `value(forKey:)` that returns any value, but strings and numbers are Foundation's.
    @_disfavoredOverload
    public func value(forKey key: String) -> AnyObject? { value(forKey: key).map { $0 as AnyObject } }

    /// Like the `value(forKeyPath:)` that returns any value, but strings and numbers are Foundation's.
    @_disfavoredOverload
    public func value(forKeyPath keyPath: String) -> AnyObject? { value(forKeyPath: keyPath).map { $0 as AnyObject } }

    /// Returns the value of a key, which must be a String, in the form that `value(forKey:)` returns; nil if there is
    /// no such key.
    @_disfavoredOverload
    public func object(forKey key: AnyObject) -> AnyObject? {
        (key as? String).flatMap { self[Key(_mapKey: $0)] }.map { dynamicBridgeCast(fromSwift: $0) as AnyObject }
    }
}
