// SPDX-License-Identifier: Apache-2.0
// Parts of results as results: what SQL says with LIMIT and OFFSET, and pages that go on behind an object. Additions
// to RealmSwift's API.

internal import RegnumEngine
internal import RegnumQuery

extension RealmCollection {
    /// The first `maximum` elements. Live: what moves into them or out of them does so here too. Of sorted results the
    /// others are not sorted. A filter, a sort or distinct put on it asks only these elements.
    @_disfavoredOverload
    public func limit(_ maximum: Int) -> Results<Element> {
        if maximum < 0 { misuse("limit(\(maximum)): a limit cannot be negative.") }
        return appending(.slice(offset: 0, limit: maximum))
    }

    /// All elements but the first `count`. A page far from the beginning is found faster by `after(_:)`.
    @_disfavoredOverload
    public func offset(_ count: Int) -> Results<Element> {
        if count < 0 { misuse("offset(\(count)): an offset cannot be negative.") }
        return appending(.slice(offset: count, limit: nil))
    }

    /// The elements ordered by the property at the key path, strings by `collation`.
    public func sorted(
        byKeyPath keyPath: String, ascending: Bool = true, collation: SortCollation
    ) -> Results<Element> {
        sorted(by: [SortDescriptor(keyPath: keyPath, ascending: ascending, collation: collation)])
    }
}

extension RealmCollection where Element: ObjectBase {
    /// The elements behind `object` in the order of the collection, whether it is still an element or not: the next
    /// page of a long list, found by the values that `object` has now, so that no element is shown twice or left out
    /// because others came or went before it.
    ///
    /// ```swift
    /// let page = people.sorted(byKeyPath: "name").after(lastShown).limit(50)
    /// ```
    ///
    /// The collection has to be all objects of a class, filtered and sorted by properties of the objects themselves,
    /// with bytes for strings, and not by Decimal128 or AnyRealmValue; misuse otherwise.
    @_disfavoredOverload
    public func after(_ object: Element) -> Results<Element> {
        let state = managed()
        do throws(QueryError) { return appending(.behind(try state.behind(object))) } catch {
            misuse(error.message)
        }
    }
}

extension ResultsState {
    fileprivate func behind(_ object: ObjectBase) throws(QueryError) -> BoundPredicate {
        check()
        guard case .table = source, let binding else {
            misuse("after(_:) needs all objects of a class, filtered and sorted; a list has positions.")
        }
        if object.isInvalidated { misuse("Object has been deleted or invalidated.") }
        guard object.realm?.core === realm, object.binding.tableKey == binding.tableKey else {
            misuse("after(_:) needs an object of the same Realm and class.")
        }
        var keys: [SortKey] = []
        for step in steps {
            switch step {
            case .filter, .behind: continue
            case .sort(let descriptors):
                var next: [SortKey] = []
                let schema = RealmQuerySchema(realm: realm)
                for descriptor in descriptors { next.append(try descriptor.key(for: binding.tableKey, in: schema)) }
                keys = next + keys
            case .distinct, .slice:
                misuse("after(_:) comes before limit, offset and distinct.")
            }
        }
        let isPlain = keys.allSatisfy {
            $0.links.isEmpty && !$0.isFolded && $0.type != .decimal128 && $0.type != .mixed
        }
        guard isPlain else {
            misuse(
                "after(_:) needs an order by properties of the objects themselves, strings by their bytes, and none of "
                    + "Decimal128 or AnyRealmValue. Page with offset(_:) and limit(_:) instead.")
        }
        let row = object.rowKey
        let values = engine { () throws(EngineError) in
            var values: [(SortKey, Value)] = []
            for key in keys { values.append((key, try binding.table.value(key.column, of: row))) }
            return values
        }
        return .behind(row, values.map { (key: $0.0, value: $0.1) })
    }
}
