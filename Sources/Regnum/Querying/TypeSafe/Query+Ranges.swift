// SPDX-License-Identifier: Apache-2.0
// Ranges in type-safe queries, for values and for the elements of collections.

extension Query where T: Comparable {
    /// Returns whether the value is in the range.
    public func contains(_ range: Range<T>) -> Query<Bool> { halfOpen(range.lowerBound, range.upperBound) }

    /// Returns whether the value is in the range.
    public func contains(_ range: ClosedRange<T>) -> Query<Bool> { closed(range.lowerBound, range.upperBound) }
}

extension Query where T: OptionalProtocol, T.Wrapped: Comparable {
    /// Returns whether the value is not nil and is in the range.
    public func contains(_ range: Range<T.Wrapped>) -> Query<Bool> { halfOpen(range.lowerBound, range.upperBound) }

    /// Returns whether the value is not nil and is in the range.
    public func contains(_ range: ClosedRange<T.Wrapped>) -> Query<Bool> {
        closed(range.lowerBound, range.upperBound)
    }
}

extension Query where T: RealmCollection, T.Element: Comparable {
    /// Returns whether there are elements and all are in the range.
    public func contains(_ range: Range<T.Element>) -> Query<Bool> {
        all(from: range.lowerBound, .less, range.upperBound)
    }

    /// Returns whether there are elements and all are in the range.
    public func contains(_ range: ClosedRange<T.Element>) -> Query<Bool> {
        all(from: range.lowerBound, .lessOrEqual, range.upperBound)
    }
}

extension Query where T: RealmCollection, T.Element: OptionalProtocol, T.Element.Wrapped: Comparable {
    /// Returns whether there are non-nil elements and all of them are in the range.
    public func contains(_ range: Range<T.Element.Wrapped>) -> Query<Bool> {
        all(from: range.lowerBound, .less, range.upperBound)
    }

    /// Returns whether there are non-nil elements and all of them are in the range.
    public func contains(_ range: ClosedRange<T.Element.Wrapped>) -> Query<Bool> {
        all(from: range.lowerBound, .lessOrEqual, range.upperBound)
    }
}

extension Query where T: RealmKeyedCollection, T.Value: Comparable {
    /// Returns whether there are values and all are in the range.
    public func contains(_ range: Range<T.Value>) -> Query<Bool> {
        all(from: range.lowerBound, .less, range.upperBound)
    }

    /// Returns whether there are values and all are in the range.
    public func contains(_ range: ClosedRange<T.Value>) -> Query<Bool> {
        all(from: range.lowerBound, .lessOrEqual, range.upperBound)
    }
}

extension Query where T: RealmKeyedCollection, T.Value: OptionalProtocol, T.Value.Wrapped: Comparable {
    /// Returns whether there are non-nil values and all of them are in the range.
    public func contains(_ range: Range<T.Value.Wrapped>) -> Query<Bool> {
        all(from: range.lowerBound, .less, range.upperBound)
    }

    /// Returns whether there are non-nil values and all of them are in the range.
    public func contains(_ range: ClosedRange<T.Value.Wrapped>) -> Query<Bool> {
        all(from: range.lowerBound, .lessOrEqual, range.upperBound)
    }
}

extension Query {
    private func halfOpen(_ low: Any, _ high: Any) -> Query<Bool> {
        comparison(.greaterOrEqual, low) && comparison(.less, high)
    }

    private func closed(_ low: Any, _ high: Any) -> Query<Bool> {
        Query<Bool>(.between(node, QueryConstant(low), QueryConstant(high)))
    }

    /// Compares the smallest and the largest element with the bounds.
    private func all(from low: Any, _ order: QueryNode.Operator, _ high: Any) -> Query<Bool> {
        let (smallest, largest): (Query, Query) = (aggregate("@min"), aggregate("@max"))
        return smallest.comparison(.greaterOrEqual, low) && largest.comparison(order, high)
    }
}
