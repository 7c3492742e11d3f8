// SPDX-License-Identifier: Apache-2.0
// Keyset pagination: the objects after a given object, as a predicate that finds the next page without counting rows.

package import RegnumEngine

extension BoundPredicate {
    /// True for the objects that come after `key` in the order of `keys`, with ties broken by key. Each sort key comes
    /// with the value that the object has there. The sort keys must not contain links.
    package static func behind(_ key: ObjectKey, _ keys: [(key: SortKey, value: Value)]) -> BoundPredicate {
        var behind = BoundPredicate.test(BoundPath(end: .object), .link(.greater, key))
        for (key, value) in keys.reversed() {
            let path = BoundPath(end: .column(key.column, key.type))
            func test(_ comparison: ComparisonOperator) -> ValueTest {
                if let test = ValueTest(comparison, value) { return test }
                // Null comes before all values.
                return comparison == .equal ? .isNull : comparison == .greater ? .isNotNull : .never
            }
            var next: BoundPredicate
            if case .bool(let value) = value {
                next = value == key.isAscending ? .constant(false) : .test(path, .bool(.equal, !value))
            } else {
                next = .test(path, test(key.isAscending ? .greater : .less))
            }
            if !key.isAscending, value != .null { next = .or([next, .test(path, .isNull)]) }
            behind = .or([next, .and([.test(path, test(.equal)), behind])])
        }
        return behind
    }
}
