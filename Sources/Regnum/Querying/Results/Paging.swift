// SPDX-License-Identifier: Apache-2.0
// Slices of results as results: the equivalent of SQL's LIMIT and OFFSET, and pages that continue after an object.
// Additions to RealmSwift's API.

internal import RegnumEngine
internal import RegnumQuery

extension RealmCollection {
    /// Returns the first `maximum` elements. The result is live: an element that moves into or out of the first
    /// `maximum` enters or leaves the result. In sorted results, only these elements are sorted. Filters, sorts and
    /// distinct applied to the result see only these elements.
    @_disfavoredOverload
    public func limit(_ maximum: Int) -> Results<Element> {
        if maximum < 0 { misuse("limit(\(maximum)): a limit cannot be negative.") }
        return appending(.slice(offset: 0, limit: maximum))
    }

    /// Returns all elements except the first `count`. For a page far from the beginning, `after(_:)` is faster.
    @_disfavoredOverload
    public func offset(_ count: Int) -> Results<Element> {
        if count < 0 { misuse("offset(\(count)): an offset cannot be negative.") }
        return appending(.slice(offset: count, limit: nil))
    }

    /// Returns the elements sorted by the property at the key path, with strings ordered by `collation`.
    public func sorted(
        byKeyPath keyPath: String, ascending: Bool = true, collation: SortCollation
    ) -> Results<Element> {
        sorted(by: [SortDescriptor(keyPath: keyPath, ascending: ascending, collation: collation)])
    }
}

extension RealmCollection where Element: ObjectBase {
    /// Returns the elements after `object` in the order of the collection, whether or not it is still an element: the
    /// next page of a long list. The page is found by the current values of `object`, so no element is shown twice or
    /// left out because others were inserted or removed before it.
    ///
    /// ```swift
    /// let page = people.sorted(byKeyPath: "name").after(lastShown).limit(50)
    /// ```
    ///
    /// The collection must be all objects of a class, filtered and sorted by properties of the objects themselves, with
    /// strings ordered by bytes, and not by Decimal128 or AnyRealmValue. Any other collection is a programmer error.
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
                misuse("Call after(_:) before limit, offset and distinct.")
            }
        }
        let isPlain = keys.allSatisfy {
            $0.links.isEmpty && !$0.isFolded && $0.type != .decimal128 && $0.type != .mixed
        }
        guard isPlain else {
            misuse(
                "after(_:) requires an order by properties of the objects themselves, with strings ordered by bytes, "
                    + "and not by Decimal128 or AnyRealmValue. Page with offset(_:) and limit(_:) instead.")
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
