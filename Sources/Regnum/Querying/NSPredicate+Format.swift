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
    /// The form that queries evaluate; misuse for a block of the user's own. Without recursion: compounds may be nested
    /// deeply.
    func predicate(for realm: RealmCore?) -> QueryPredicate {
        guard self is NSCompoundPredicate else { return simplePredicate(for: realm) }
        enum Item {
            case predicate(NSPredicate)
            case and(Int)
            case or(Int)
            case not
        }
        var builder = ConditionBuilder<QueryPredicate>()
        // What comes next is last.
        var pending = [Item.predicate(self)]
        while let item = pending.popLast() {
            switch item {
            case .and(let count): builder.and(count)
            case .or(let count): builder.or(count)
            case .not: builder.not()
            case .predicate(let predicate):
                guard let compound = predicate as? NSCompoundPredicate else {
                    builder.append(tree: predicate.simplePredicate(for: realm))
                    continue
                }
                let parts = compound.subpredicates.map { $0 as NSPredicate }
                switch compound.compoundPredicateType {
                case .and: pending.append(.and(parts.count))
                case .or: pending.append(.or(parts.count))
                case .not: pending.append(.not)
                @unknown default: misuse("Only support compound, comparison, and constant predicates")
                }
                if compound.compoundPredicateType == .not {
                    pending.append(.predicate(parts.first ?? NSPredicate(value: true)))
                } else {
                    pending += parts.reversed().map { .predicate($0) }
                }
            }
        }
        return builder.build()
    }

    /// That of a predicate that is no compound.
    private func simplePredicate(for realm: RealmCore?) -> QueryPredicate {
        if let constant = (self as any ConstantPredicate).constantValue { return .constant(constant) }
        let probe = PredicateProbe()
        _ = evaluate(with: probe)
        guard let parsed = probe.parsed else {
            misuse(
                "Only support compound, comparison, and constant predicates. A predicate made of a block cannot be "
                    + "turned into a query: write it as a format, or filter the elements in Swift.")
        }
        return parsed.predicate(for: realm)
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
