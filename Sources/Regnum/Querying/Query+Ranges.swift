// SPDX-License-Identifier: Apache-2.0
// Ranges in type-safe queries, of values and of what collections hold.

extension Query where T: Comparable {
    /// True where the value lies in the range.
    public func contains(_ range: Range<T>) -> Query<Bool> { halfOpen(range.lowerBound, range.upperBound) }

    /// True where the value lies in the range.
    public func contains(_ range: ClosedRange<T>) -> Query<Bool> { closed(range.lowerBound, range.upperBound) }
}

extension Query where T: OptionalProtocol, T.Wrapped: Comparable {
    /// True where the value is not nil and lies in the range.
    public func contains(_ range: Range<T.Wrapped>) -> Query<Bool> { halfOpen(range.lowerBound, range.upperBound) }

    /// True where the value is not nil and lies in the range.
    public func contains(_ range: ClosedRange<T.Wrapped>) -> Query<Bool> {
        closed(range.lowerBound, range.upperBound)
    }
}

extension Query where T: RealmCollection, T.Element: Comparable {
    /// True where all elements lie in the range (and there is one).
    public func contains(_ range: Range<T.Element>) -> Query<Bool> {
        all(from: range.lowerBound, .less, range.upperBound)
    }

    /// True where all elements lie in the range (and there is one).
    public func contains(_ range: ClosedRange<T.Element>) -> Query<Bool> {
        all(from: range.lowerBound, .lessOrEqual, range.upperBound)
    }
}

extension Query where T: RealmCollection, T.Element: OptionalProtocol, T.Element.Wrapped: Comparable {
    /// True where all elements that are not nil lie in the range (and there is one).
    public func contains(_ range: Range<T.Element.Wrapped>) -> Query<Bool> {
        all(from: range.lowerBound, .less, range.upperBound)
    }

    /// True where all elements that are not nil lie in the range (and there is one).
    public func contains(_ range: ClosedRange<T.Element.Wrapped>) -> Query<Bool> {
        all(from: range.lowerBound, .lessOrEqual, range.upperBound)
    }
}

extension Query where T: RealmKeyedCollection, T.Value: Comparable {
    /// True where all values lie in the range (and there is one).
    public func contains(_ range: Range<T.Value>) -> Query<Bool> {
        all(from: range.lowerBound, .less, range.upperBound)
    }

    /// True where all values lie in the range (and there is one).
    public func contains(_ range: ClosedRange<T.Value>) -> Query<Bool> {
        all(from: range.lowerBound, .lessOrEqual, range.upperBound)
    }
}

extension Query where T: RealmKeyedCollection, T.Value: OptionalProtocol, T.Value.Wrapped: Comparable {
    /// True where all values that are not nil lie in the range (and there is one).
    public func contains(_ range: Range<T.Value.Wrapped>) -> Query<Bool> {
        all(from: range.lowerBound, .less, range.upperBound)
    }

    /// True where all values that are not nil lie in the range (and there is one).
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

    /// By the smallest and the largest of them.
    private func all(from low: Any, _ order: QueryNode.Operator, _ high: Any) -> Query<Bool> {
        let (smallest, largest): (Query, Query) = (aggregate("@min"), aggregate("@max"))
        return smallest.comparison(.greaterOrEqual, low) && largest.comparison(order, high)
    }
}
