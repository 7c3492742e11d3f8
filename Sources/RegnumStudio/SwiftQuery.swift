// SPDX-License-Identifier: Apache-2.0
// A predicate as the Swift code of `where { }`, as far as that can express it.

internal import RegnumEngine
internal import RegnumInspect
internal import RegnumQuery

enum SwiftQuery {
    /// The depth of conditions up to which they are written.
    private static let depthLimit = 64

    /// The condition; nil if `where` has no form for a part of it.
    static func text(_ predicate: Predicate, _ depth: Int = 0) -> String? {
        if depth > depthLimit { return nil }
        switch predicate {
        case .and(let parts): return joined(parts, " && ", depth)
        case .or(let parts): return joined(parts, " || ", depth)
        case .not(let part): return text(part, depth + 1).map { "!(\($0))" }
        case .comparison(let comparison): return text(comparison)
        case .constant, .pieces, .piece: return nil
        }
    }

    private static func joined(_ parts: [Predicate], _ sign: String, _ depth: Int) -> String? {
        var texts: [String] = []
        for part in parts {
            guard let text = text(part, depth + 1) else { return nil }
            if case .comparison = part { texts.append(text) } else { texts.append("(\(text))") }
        }
        return texts.isEmpty ? nil : texts.joined(separator: sign)
    }

    private static func text(_ comparison: Comparison) -> String? {
        switch comparison.modifier {
        case .direct, .any: break
        case .none:
            var inner = comparison
            inner.modifier = .any
            return text(inner).map { "!(\($0))" }
        case .all: return nil
        }
        guard let left = operand(comparison.left), let right = operand(comparison.right) else { return nil }
        let options = options(comparison.options)
        switch comparison.comparison {
        case .equal, .notEqual:
            if options.isEmpty { return "\(left) \(comparison.comparison.rawValue) \(right)" }
            return "\(left).\(comparison.comparison == .equal ? "equals" : "notEquals")(\(right)\(options))"
        case .less, .lessOrEqual, .greater, .greaterOrEqual:
            return options.isEmpty ? "\(left) \(comparison.comparison.rawValue) \(right)" : nil
        case .beginsWith: return "\(left).starts(with: \(right)\(options))"
        case .endsWith: return "\(left).ends(with: \(right)\(options))"
        case .contains: return "\(left).contains(\(right)\(options))"
        case .like:
            return comparison.options.contains(.diacriticInsensitive)
                ? nil : "\(left).like(\(right)\(options.isEmpty ? "" : ", caseInsensitive: true"))"
        case .text: return "\(left).fullTextSearch(\(right))"
        case .in: return options.isEmpty ? "\(left).in(\(right))" : nil
        case .between:
            guard case .constant(.array(let bounds)) = comparison.right, bounds.count == 2,
                let low = constant(bounds[0]), let high = constant(bounds[1])
            else { return nil }
            return "\(left).contains(\(low)...\(high))"
        case .matches: return nil
        }
    }

    private static func options(_ options: ComparisonOptions) -> String {
        var names: [String] = []
        if options.contains(.caseInsensitive) { names.append(".caseInsensitive") }
        if options.contains(.diacriticInsensitive) { names.append(".diacriticInsensitive") }
        return names.isEmpty ? "" : ", options: [\(names.joined(separator: ", "))]"
    }

    private static func operand(_ operand: Operand) -> String? {
        switch operand {
        case .keyPath(let path): return text(path)
        case .constant(let constant): return self.constant(constant)
        case .list, .subquery: return nil
        }
    }

    private static func text(_ path: KeyPathOperand) -> String? {
        guard path.variable == nil else { return nil }
        var text = "$0"
        var names = path.segments
        // `scores.@max.value` is `scores.value.max`; `scores.@max` is `scores.max`.
        if let index = names.firstIndex(where: { $0.name.hasPrefix("@") }) {
            guard ["@count", "@min", "@max", "@sum", "@avg"].contains(names[index].name) else { return nil }
            names.append(names.remove(at: index))
        }
        for segment in names {
            guard segment.subscripts.isEmpty, !segment.name.isEmpty else { return nil }
            text += "." + (segment.name.hasPrefix("@") ? String(segment.name.dropFirst()) : segment.name)
        }
        return text
    }

    private static func constant(_ constant: Constant) -> String? {
        switch constant {
        case .null: return "nil"
        case .bool, .int, .float, .double: return constant.shown
        case .string(let text): return literal(text)
        case .date(let time):
            return "Date(timeIntervalSince1970: \(Double(time.seconds) + Double(time.nanoseconds) / 1e9))"
        case .uuid: return "UUID(uuidString: \"\(constant.shown)\")!"
        case .objectID: return "try! ObjectId(string: \"\(constant.shown)\")"
        case .array(let values):
            var texts: [String] = []
            for value in values {
                guard let text = self.constant(value) else { return nil }
                texts.append(text)
            }
            return "[" + texts.joined(separator: ", ") + "]"
        default: return nil
        }
    }

    /// A clause after the predicate as a call.
    static func text(_ clause: QueryClause) -> String {
        switch clause {
        case .sort(let paths) where paths.count == 1:
            return ".sorted(byKeyPath: \(literal(paths[0].path))\(paths[0].isAscending ? "" : ", ascending: false"))"
        case .sort(let paths):
            let sorts = paths.map { "SortDescriptor(keyPath: \(literal($0.path)), ascending: \($0.isAscending))" }
            return ".sorted(by: [\(sorts.joined(separator: ", "))])"
        case .distinct(let paths): return ".distinct(by: [\(paths.map(literal).joined(separator: ", "))])"
        case .limit(let limit): return ".limit(\(limit))"
        }
    }

    /// A text as a literal of Swift.
    static func literal(_ text: String) -> String {
        var literal = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": literal += "\\\""
            case "\\": literal += "\\\\"
            case "\n": literal += "\\n"
            case "\r": literal += "\\r"
            case "\t": literal += "\\t"
            case _ where scalar.value < 0x20 || scalar.value == 0x7f:
                literal += "\\u{" + String(scalar.value, radix: 16) + "}"
            default: literal.unicodeScalars.append(scalar)
            }
        }
        return literal + "\""
    }
}
