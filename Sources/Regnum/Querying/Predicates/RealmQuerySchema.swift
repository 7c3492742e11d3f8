// SPDX-License-Identifier: Apache-2.0
// The schema that queries use for a Realm: properties by their Swift names, and backlinks. Also builds the query from
// the steps of a `ResultsState`.

internal import RegnumEngine
internal import RegnumQuery

/// Created for one binding of a predicate; the classes it finds are cached in the Realm's settings.
struct RealmQuerySchema: QuerySchema {
    let realm: RealmCore

    func queryClass(_ table: TableKey) -> QueryClass? { realm.alone { known(table) } }

    private func known(_ table: TableKey) -> QueryClass? {
        let settings = realm.settings
        if let known = settings.queryClasses[table] { return known }
        let made: QueryClass?
        if let binding = realm.binding(forTable: table) {
            made = queryClass(binding)
        } else {
            // A table whose class is not in the schema: its columns have the names in the file.
            made = realm.session.table(table).flatMap { TableSchema([$0.definition]).queryClass(table) }
        }
        settings.queryClasses[table] = made
        return made
    }

    private func queryClass(_ binding: ClassBinding) -> QueryClass {
        let columns = binding.table.definition.columns
        var properties: [String: QueryProperty] = [:]
        for (property, number) in zip(binding.schema.properties, binding.columns) {
            if number >= 0 {
                properties[property.name] = .column(number, columns[number])
            } else if let backlinks = backlinks(property) {
                properties[property.name] = backlinks
            }
        }
        return QueryClass(
            name: binding.schema.name, table: binding.tableKey, properties: properties,
            isEmbedded: binding.table.definition.isEmbedded)
    }

    private func backlinks(_ property: ClassProperty) -> QueryProperty? {
        guard let type = property.shape.target, let origin = realm.bindingIfAny(for: type),
            let index = origin.schema.properties.firstIndex(where: { $0.name == property.originProperty }),
            origin.columns[index] >= 0
        else { return nil }
        return .backlinks(
            originTable: origin.tableKey, originColumn: origin.columns[index], originClassName: origin.schema.name)
    }
}

extension ResultsState {
    /// Builds the query of the steps: all filters together, then the sorts in order. Returns nil if there are no steps.
    func makeQuery(_ binding: ClassBinding) throws(QueryError) -> ObjectQuery? {
        if steps.isEmpty { return nil }
        let schema = RealmQuerySchema(realm: realm)
        if steps.count == 1, case .filter(let predicate) = steps[0] {
            let bound = try PredicateBinder.bind(predicate, to: binding.tableKey, in: schema)
            return ObjectQuery(session: realm.session, table: binding.tableKey, predicate: bound)
        }
        var filters: [Predicate] = []
        var bounds: [BoundPredicate] = []
        var orderings: [Ordering] = []
        /// True after a slice: later filters apply to the remaining objects.
        var isCut = false
        for step in steps {
            switch step {
            case .filter(let predicate) where isCut:
                orderings.append(
                    .filter(try PredicateBinder.bind(predicate, to: binding.tableKey, in: schema)))
            case .filter(let predicate): filters.append(predicate)
            case .behind(let predicate):
                if isCut { orderings.append(.filter(predicate)) } else { bounds.append(predicate) }
            case .slice(let offset, let limit):
                orderings.append(.slice(offset: offset, limit: limit))
                isCut = true
            case .sort(let descriptors):
                var keys: [SortKey] = []
                for descriptor in descriptors { keys.append(try descriptor.key(for: binding.tableKey, in: schema)) }
                if !keys.isEmpty { orderings.append(.sort(keys)) }
            case .distinct(let paths):
                var keys: [SortKey] = []
                for path in paths {
                    keys.append(try SortKey.bind(path, to: binding.tableKey, in: schema, verb: "distinct"))
                }
                if !keys.isEmpty { orderings.append(.distinct(keys)) }
            }
        }
        var bound: BoundPredicate?
        if !filters.isEmpty {
            let predicate = filters.count == 1 ? filters[0] : .and(filters)
            bounds.insert(try PredicateBinder.bind(predicate, to: binding.tableKey, in: schema), at: 0)
        }
        if !bounds.isEmpty { bound = bounds.count == 1 ? bounds[0] : .and(bounds) }
        return ObjectQuery(
            session: realm.session, table: binding.tableKey, predicate: bound, orderings: orderings)
    }
}
