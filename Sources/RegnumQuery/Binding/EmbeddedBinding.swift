// SPDX-License-Identifier: Apache-2.0
// Comparisons with values that are stored as embedded objects: member by member, as two objects are never the same.

import RegnumEngine

extension PredicateBinder {
    /// Binds `path == value`, `path != value` and `path IN values`; nil where no value is stored as an embedded object.
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
            return .or(parts)
        default: return nil
        }
    }

    /// Of a path to many whether one and the same object at its end has the members, or lacks one of them.
    private func hasMembers(
        of value: EmbeddedArgument, _ path: ResolvedPath, isInverted: Bool = false
    ) throws(QueryError) -> BoundPredicate {
        guard case .object = path.end, let target = path.targetClass, target.name == value.className else {
            throw ConstantBinder(path: path, options: []).mismatch(.embedded(value))
        }
        if let flaw = value.flaw { throw QueryError(.value, flaw) }
        var start = path.bound
        if path.isToMany { start = BoundPath(end: .object) }
        var parts: [BoundPredicate] = path.isToMany ? [] : [.test(start, .isNotNull)]
        for member in value.members {
            var steps = start.steps
            var property = try step(KeyPathSegment(member.name), target, [KeyPathSegment(member.name)], &steps)
            property.bound.outer = start.outer
            let test = try ConstantBinder(path: property, options: []).test(.equal, member.value)
            parts.append(.test(property.bound, test))
        }
        let holds = BoundPredicate.and(parts)
        if path.isToMany { return .subquery(path.bound, isInverted ? .not(holds) : holds, .int(.greater, 0)) }
        return isInverted ? .not(holds) : holds
    }
}
