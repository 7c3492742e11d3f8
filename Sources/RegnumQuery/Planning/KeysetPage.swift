// SPDX-License-Identifier: Apache-2.0
// What comes behind an object in an order, as a predicate: the beginning of the next page without counting rows.

package import RegnumEngine

extension BoundPredicate {
    /// Passed by the objects that come behind `key` in the order of `keys`, ties by key. Each of `keys` with the value
    /// that the object has there. The keys must not lead through links.
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
