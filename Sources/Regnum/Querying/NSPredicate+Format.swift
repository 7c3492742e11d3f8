// SPDX-License-Identifier: Apache-2.0
// `NSPredicate(format:)`, which Foundation on Linux does not have. The parsed form travels inside the predicate's
// block and is fetched by evaluating it with a private probe: no table beside it that grows. Elsewhere Foundation's
// own initialiser is used.

public import Foundation
internal import RegnumQuery

/// Sent through `evaluate(with:)`; one of our predicates leaves its parsed form in it.
private final class PredicateProbe {
    var parsed: ParsedPredicate?
}

/// What a predicate's block holds.
private struct ParsedBox: @unchecked Sendable {
    // Sendable: never changed after it is made; arguments are read by whoever filters, as with Foundation's.
    let parsed: ParsedPredicate
}

#if !canImport(ObjectiveC)
    extension NSPredicate {
        /// A predicate from its text; misuse where the text is not understood.
        public convenience init(format: String, _ arguments: Any...) {
            self.init(format: format, argumentArray: arguments)
        }

        /// A predicate from its text; misuse where the text is not understood.
        public convenience init(format: String, argumentArray: [Any]?) {
            let box: ParsedBox
            do {
                box = ParsedBox(parsed: try ParsedPredicate(parsing: format, arguments: argumentArray ?? []))
            } catch { misuse(error.description) }
            self.init(block: { object, _ in
                if let probe = object as? PredicateProbe {
                    probe.parsed = box.parsed
                    return false
                }
                return box.parsed.isSatisfied(by: object)
            })
        }
    }
#endif

extension NSPredicate {
    /// The form that queries evaluate; misuse for a block of the user's own.
    func predicate(for realm: RealmCore?, depth: Int = 0) -> QueryPredicate {
        if depth > QueryNode.nestingLimit { QueryNode.refuseDepth() }
        if let compound = self as? NSCompoundPredicate {
            let parts = Self.flattened(compound).map { $0.predicate(for: realm, depth: depth + 1) }
            switch compound.compoundPredicateType {
            case .and: return .and(parts)
            case .or: return .or(parts)
            case .not: return .not(parts.first ?? .constant(true))
            @unknown default: misuse("Only support compound, comparison, and constant predicates")
            }
        }
        if let constant = (self as any ConstantPredicate).constantValue { return .constant(constant) }
        let probe = PredicateProbe()
        _ = evaluate(with: probe)
        guard let parsed = probe.parsed else {
            misuse(
                "Only support compound, comparison, and constant predicates. A predicate made of a block cannot be "
                    + "turned into a query: write it as a format, or filter the elements in Swift.")
        }
        return parsed.predicate(for: realm, depth: depth)
    }
}

extension NSPredicate {
    /// The parts of a compound with those of compounds of its kind inside in their place: a chain made one by one
    /// is as deep as it is long.
    private static func flattened(_ compound: NSCompoundPredicate) -> [NSPredicate] {
        let kind = compound.compoundPredicateType
        var parts: [NSPredicate] = []
        var pending = compound.subpredicates.map { $0 as NSPredicate }
        if kind == .not { return pending }
        pending.reverse()
        while let next = pending.popLast() {
            if let inner = next as? NSCompoundPredicate, inner.compoundPredicateType == kind {
                pending += inner.subpredicates.reversed().map { $0 as NSPredicate }
            } else {
                parts.append(next)
            }
        }
        return parts
    }
}

/// Corelibs marks `predicateFormat` deprecated; behind a requirement it can be read without a warning.
private protocol ConstantPredicate {
    var constantValue: Bool? { get }
}

extension NSPredicate: ConstantPredicate {
    @available(*, deprecated, message: "read through ConstantPredicate")
    fileprivate var constantValue: Bool? {
        switch predicateFormat {
        case "TRUEPREDICATE": true
        case "FALSEPREDICATE": false
        default: nil
        }
    }
}
