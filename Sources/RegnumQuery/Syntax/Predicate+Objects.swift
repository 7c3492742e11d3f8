// SPDX-License-Identifier: Apache-2.0
// Replaces the objects among the constants of a predicate, for the Realm it is used in.

extension Predicate {
    /// Returns the predicate with each object replaced by the result of `look`. O(size of the predicate).
    package func lookingAgain(at look: (ObjectArgument) -> ObjectArgument) -> Predicate {
        switch self {
        case .constant, .piece: self
        case .and(let parts): .and(parts.map { $0.lookingAgain(at: look) })
        case .or(let parts): .or(parts.map { $0.lookingAgain(at: look) })
        case .pieces(let parts): .pieces(parts.map { $0.lookingAgain(at: look) })
        case .not(let part): .not(part.lookingAgain(at: look))
        case .comparison(let comparison): .comparison(comparison.lookingAgain(at: look))
        }
    }
}

extension Comparison {
    fileprivate func lookingAgain(at look: (ObjectArgument) -> ObjectArgument) -> Comparison {
        var comparison = self
        comparison.left = left.lookingAgain(at: look)
        comparison.right = right.lookingAgain(at: look)
        return comparison
    }
}

extension Operand {
    fileprivate func lookingAgain(at look: (ObjectArgument) -> ObjectArgument) -> Operand {
        switch self {
        case .keyPath: self
        case .constant(let constant): .constant(constant.lookingAgain(at: look))
        case .list(let operands): .list(operands.map { $0.lookingAgain(at: look) })
        case .subquery(let path, let variable, let predicate, let suffix):
            .subquery(path, variable: variable, predicate.lookingAgain(at: look), suffix: suffix)
        }
    }
}

extension Constant {
    fileprivate func lookingAgain(at look: (ObjectArgument) -> ObjectArgument) -> Constant {
        switch self {
        case .object(let object): .object(look(object))
        case .array(let values): .array(values.map { $0.lookingAgain(at: look) })
        case .dictionary(let members):
            .dictionary(members.map { EmbeddedArgument.Member($0.name, $0.value.lookingAgain(at: look)) })
        default: self
        }
    }
}
