// SPDX-License-Identifier: Apache-2.0
// `NSPredicate(format:)`, which Foundation lacks on Linux. The parsed form is stored in the predicate's block and
// retrieved by evaluating it with a private probe, so no growing side table is needed. On other platforms Foundation's
// own initialiser is used.

public import Foundation
internal import RegnumQuery

/// Passed to `evaluate(with:)`; a predicate created here stores its parsed form in it.
private final class PredicateProbe {
    var parsed: ParsedPredicate?
}

/// The state captured by a predicate's block.
private struct ParsedBox: @unchecked Sendable {
    // Sendable: never changed after it is created; arguments are read on the thread that filters, as with Foundation's.
    let parsed: ParsedPredicate
}

#if !canImport(ObjectiveC)
    extension NSPredicate {
        /// Creates a predicate from its text. A malformed text is a programmer error.
        public convenience init(format: String, _ arguments: Any...) {
            self.init(format: format, argumentArray: arguments)
        }

        /// Creates a predicate from its text. A malformed text is a programmer error.
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
    /// Returns the form that queries evaluate. A user's block is a programmer error. Not recursive, because compound
    /// predicates may be deeply nested.
    func predicate(for realm: RealmCore?) -> QueryPredicate {
        guard self is NSCompoundPredicate else { return simplePredicate(for: realm) }
        enum Item {
            case predicate(NSPredicate)
            case and(Int)
            case or(Int)
            case not
        }
        var builder = ConditionBuilder<QueryPredicate>()
        // The next item is the last one.
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

    /// Returns the form of a predicate that is not a compound.
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

/// Corelibs marks `predicateFormat` as deprecated; through a protocol requirement it can be read without a warning.
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
