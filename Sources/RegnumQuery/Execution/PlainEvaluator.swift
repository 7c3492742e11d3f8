// SPDX-License-Identifier: Apache-2.0
// Evaluates predicates on objects that are not in a table: unmanaged objects of the program. Works on one object and
// one value at a time, because speed does not matter here.

package import RegnumEngine

/// An object as a predicate sees it. Columns are numbered as in the `QuerySchema` that the predicate was bound to.
package protocol PlainObject {
    /// The value of a column that is neither a collection nor a link.
    func value(_ column: Int) -> Value
    /// The target of a link.
    func link(_ column: Int) -> (any PlainObject)?
    /// The objects in a collection; for a map, its values that are not nil.
    func links(_ column: Int) -> [any PlainObject]
    /// The values in a collection; for a map, its values.
    func elements(_ column: Int) -> [Value]
    /// The keys of a map.
    func keys(_ column: Int) -> [String]
    /// The value of a map's key; null if there is none.
    func entry(_ column: Int, _ key: String) -> Value
    /// The object stored under a map's key.
    func link(_ column: Int, _ key: String) -> (any PlainObject)?
}

extension BoundPredicate {
    /// True if the object satisfies the predicate; nil if that cannot be determined without a table.
    package func isSatisfied(by object: any PlainObject) -> Bool? { isSatisfied([object], []) }

    /// `objects`: the object being evaluated, preceded by the outer objects of enclosing SUBQUERYs. `pieces`: the
    /// results of the pieces before this one.
    private func isSatisfied(_ objects: [any PlainObject], _ pieces: [Bool?]) -> Bool? {
        switch self {
        case .constant(let value): return value
        case .and(let parts): return Self.all(parts, objects, pieces, true)
        case .or(let parts): return Self.all(parts, objects, pieces, false)
        case .not(let part): return part.isSatisfied(objects, pieces).map { !$0 }
        case .test(let path, let test): return path.contains(path.start(objects), test)
        case .aggregate(let aggregate, let test):
            return aggregate.value(aggregate.path.start(objects)).map { test.matches($0) }
        case .comparePaths(let left, let comparison, let right, let options):
            guard let value = left.value(left.start(objects)), let other = right.value(right.start(objects)) else {
                return nil
            }
            return Evaluator.compare(value, comparison, other, options, isMixed: left.isMixed)
        case .compareAggregate(let aggregate, let comparison, let path):
            guard let value = aggregate.value(aggregate.path.start(objects)),
                let other = path.value(path.start(objects))
            else { return nil }
            return Evaluator.compare(value, comparison, aggregate.counterpart(other), [], isMixed: path.isMixed)
        case .subquery(let path, let inner, let test):
            var count: Int64 = 0
            for other in path.objects(path.start(objects)).compactMap({ $0 }) {
                guard let holds = inner.isSatisfied(objects + [other], []) else { return nil }
                if holds { count += 1 }
            }
            return test.matches(int: count)
        case .text, .geo: return nil
        case .pieces(let parts):
            var known: [Bool?] = []
            for part in parts { known.append(part.isSatisfied(objects, known)) }
            return known.last ?? true
        case .piece(let index): return pieces[index]
        }
    }

    /// True if all parts hold or, if `kind` is false, if at least one does.
    private static func all(
        _ parts: [BoundPredicate], _ objects: [any PlainObject], _ pieces: [Bool?], _ kind: Bool
    ) -> Bool? {
        for part in parts {
            guard let holds = part.isSatisfied(objects, pieces) else { return nil }
            if holds != kind { return !kind }
        }
        return kind
    }
}

extension BoundPath {
    /// The object at which the steps begin.
    fileprivate func start(_ objects: [any PlainObject]) -> any PlainObject { objects[objects.count - 1 - outer] }

    /// The objects that the steps lead to; nil for a null link on the path, unless the path has a to-many step.
    fileprivate func objects(_ object: any PlainObject) -> [(any PlainObject)?] {
        var found: [(any PlainObject)?] = [object]
        var isToMany = false
        for step in steps {
            isToMany = isToMany || step.isToMany
            found = found.flatMap { object -> [(any PlainObject)?] in
                guard let object else { return step.isToMany ? [] : [nil] }
                switch step {
                case .link(let column, _): return [object.link(column)]
                case .links(let column, _): return object.links(column)
                case .entry(let column, let key, _): return [object.link(column, key)]
                // No object links to an object that is not in a table.
                case .backlinks: return []
                }
            }
            if isToMany { found.removeAll { $0 == nil } }
        }
        return found
    }

    /// All values at the end; nil if they cannot be determined.
    private func values(_ object: any PlainObject) -> [Value]? {
        switch end {
        case .column(let column, _): objects(object).map { $0?.value(column) ?? .null }
        case .entry(let column, let key, _): objects(object).map { $0?.entry(column, key) ?? .null }
        case .elements(let column, _): objects(object).flatMap { $0?.elements(column) ?? [] }
        case .keys(let column): objects(object).flatMap { ($0?.keys(column) ?? []).map { .string($0) } }
        case .nested, .object: nil
        }
    }

    /// True if at least one value passes.
    fileprivate func contains(_ object: any PlainObject, _ test: ValueTest) -> Bool? {
        if let values = values(object) { return values.contains { test.matches($0) } }
        guard case .object = end else { return nil }
        // A predicate can only refer to objects in tables, and this object is not one of them.
        let stranger = Value.link(ObjectKey(.max))
        return objects(object).contains { test.matches($0 == nil ? .null : stranger) }
    }

    /// The single value at the end.
    fileprivate func value(_ object: any PlainObject) -> Value? { values(object)?.first }
}

extension BoundAggregate {
    fileprivate func value(_ object: any PlainObject) -> Value? {
        if kind == .count, case .object = path.end {
            return .int(Int64(path.objects(object).compactMap { $0 }.count))
        }
        var total = ValueAggregate(isDecimal: isDecimal)
        var count: Int64 = 0
        for owner in path.objects(object).compactMap({ $0 }) {
            switch path.end {
            case .elements(let column, _):
                for value in owner.elements(column) {
                    total.add(value)
                    count += 1
                }
            case .object: if let column { total.add(owner.value(column)) }
            default: return nil
            }
        }
        return kind == .count ? .int(count) : total.result(kind)
    }
}
