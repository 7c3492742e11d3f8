// SPDX-License-Identifier: Apache-2.0
// Comparisons with values stored as embedded objects. They compare members, because two embedded objects are never
// identical.

import RegnumEngine

extension PredicateBinder {
    /// Binds `path == value`, `path != value` and `path IN values`; nil if no value is stored as an embedded object.
    func memberwise(
        _ path: ResolvedPath, _ comparison: Comparison, _ constant: Constant
    ) throws(QueryError) -> BoundPredicate? {
        switch (comparison.comparison, constant) {
        case (.equal, .embedded(let value)): return try hasMembers(of: value, path)
        case (.notEqual, .embedded(let value)): return try hasMembers(of: value, path, isInverted: true)
        case (.in, .array(let values)) where values.contains(where: \.isEmbedded):
            var parts: [BoundPredicate] = []
            for value in values {
                if case .embedded(let value) = value {
                    parts.append(try hasMembers(of: value, path))
                } else {
                    let test = try ConstantBinder(path: path, options: comparison.options).test(.equal, value)
                    parts.append(.test(path.bound, test))
                }
            }
            return .or(parts.inOneOrder())
        default: return nil
        }
    }

    /// For a to-many path: tests whether one object at its end has all members, or, inverted, differs in at least one.
    private func hasMembers(
        of value: EmbeddedArgument, _ path: ResolvedPath, isInverted: Bool = false
    ) throws(QueryError) -> BoundPredicate {
        guard case .object = path.end, let target = path.targetClass, target.name == value.className else {
            throw ConstantBinder(path: path, options: []).mismatch(.embedded(value))
        }
        if let flaw = value.flaw { throw QueryError(.value, flaw) }
        // After the last to-many step, a link on the path may be nil.
        var start = path.bound
        var collection: BoundPath?
        if let last = path.bound.steps.lastIndex(where: \.isToMany) {
            var front = path.bound
            front.steps = Array(path.bound.steps[...last])
            collection = front
            start = BoundPath(steps: Array(path.bound.steps[(last + 1)...]), end: .object)
        }
        let isElement = collection != nil && start.steps.isEmpty
        var parts: [BoundPredicate] = isElement ? [] : [.test(start, .isNotNull)]
        for member in value.members {
            var steps = start.steps
            var property = try step(KeyPathSegment(member.name), target, [KeyPathSegment(member.name)], &steps)
            property.bound.outer = start.outer
            let test = try ConstantBinder(path: property, options: []).test(.equal, member.value)
            parts.append(.test(property.bound, test))
        }
        let holds = BoundPredicate.and(parts)
        guard let collection else { return isInverted ? .not(holds) : holds }
        let some = BoundPredicate.subquery(collection, isInverted ? .not(holds) : holds, .int(.greater, 0))
        // Nil values of a map also differ.
        return isInverted && isElement ? .or([some, .test(path.bound, .isNull)]) : some
    }

    /// Binds a comparison of the queried elements themselves with values stored as embedded objects.
    func elementItself(
        _ written: KeyPathOperand, _ comparison: Comparison, _ constant: Constant, _ queryClass: QueryClass
    ) throws(QueryError) -> BoundPredicate? {
        var asks = constant.isEmbedded
        if case .array(let values) = constant { asks = values.contains(where: \.isEmbedded) }
        guard asks, scopes.isEmpty, written.variable == nil, written.segments.count == 1,
            written.segments[0].name.uppercased() == "SELF", queryClass.properties[written.segments[0].name] == nil
        else { return nil }
        let element = ResolvedPath(
            segments: written.segments, bound: BoundPath(end: .object), property: "SELF", className: queryClass.name,
            type: .link, isNullable: false, targetClass: queryClass)
        return try memberwise(element, comparison, constant)
    }
}
