// SPDX-License-Identifier: Apache-2.0
// Prints predicates as text that parses to the same tree.

extension Predicate: CustomStringConvertible {
    /// The predicate as text. Constants without a literal form are `%@`; `formatted` includes them.
    package var description: String { formatted.format }

    /// The text and its arguments, which `PredicateParser.parse` converts back to the same tree.
    package var formatted: (format: String, arguments: [Constant]) {
        var printer = PredicatePrinter()
        printer.text(self)
        return (printer.text, printer.arguments)
    }
}

extension KeyPathOperand: CustomStringConvertible {
    package var description: String {
        var printer = PredicatePrinter()
        printer.text(self)
        return printer.text
    }
}

struct PredicatePrinter {
    var text = ""
    var arguments: [Constant] = []

    private enum Item {
        case text(String)
        case predicate(Predicate, pieces: [Predicate])
    }

    /// Without recursion, except for SUBQUERYs: conditions may be deeply nested.
    mutating func text(_ predicate: Predicate) {
        // A stack: the next item is last.
        var pending = [Item.predicate(predicate, pieces: [])]
        while let item = pending.popLast() {
            guard case .predicate(let predicate, let pieces) = item else {
                if case .text(let word) = item { text += word }
                continue
            }
            switch predicate {
            case .constant(let value): text += value ? "TRUEPREDICATE" : "FALSEPREDICATE"
            case .and(let parts):
                pending += Self.compound(parts, " AND ", empty: "TRUEPREDICATE", pieces).reversed()
            case .or(let parts):
                pending += Self.compound(parts, " OR ", empty: "FALSEPREDICATE", pieces).reversed()
            case .not(let part):
                pending += [.text(")"), .predicate(part, pieces: pieces), .text("NOT (")]
            case .comparison(let comparison): text(comparison)
            case .pieces(let inner): if let last = inner.last { pending.append(.predicate(last, pieces: inner)) }
            case .piece(let index): pending.append(.predicate(pieces[index], pieces: pieces))
            }
        }
    }

    private static func compound(
        _ parts: [Predicate], _ word: String, empty: String, _ pieces: [Predicate]
    ) -> [Item] {
        if parts.isEmpty { return [.text(empty)] }
        var items: [Item] = []
        for (index, part) in parts.enumerated() {
            if index > 0 { items.append(.text(word)) }
            if case .comparison = part {
                items.append(.predicate(part, pieces: pieces))
            } else {
                items += [.text("("), .predicate(part, pieces: pieces), .text(")")]
            }
        }
        return items
    }

    private mutating func text(_ comparison: Comparison) {
        if comparison.modifier != .direct { text += comparison.modifier.rawValue + " " }
        text(comparison.left)
        text += " " + comparison.comparison.rawValue
        if !comparison.options.isEmpty {
            text += "["
            if comparison.options.contains(.caseInsensitive) { text += "c" }
            if comparison.options.contains(.diacriticInsensitive) { text += "d" }
            text += "]"
        }
        text += " "
        text(comparison.right)
    }

    private mutating func text(_ operand: Operand) {
        switch operand {
        case .keyPath(let path): text(path)
        case .constant(let constant): text(constant)
        case .list(let operands):
            text += "{"
            for (index, operand) in operands.enumerated() {
                if index > 0 { text += ", " }
                text(operand)
            }
            text += "}"
        case .subquery(let path, let variable, let predicate, let suffix):
            text += "SUBQUERY("
            text(path)
            text += ", $\(variable), "
            text(predicate)
            text += ")"
            for segment in suffix {
                text += "."
                text(segment)
            }
        }
    }

    mutating func text(_ path: KeyPathOperand) {
        if let variable = path.variable { text += "$" + variable }
        for (index, segment) in path.segments.enumerated() {
            if index > 0 || path.variable != nil { text += "." }
            text(segment)
        }
    }

    private mutating func text(_ segment: KeyPathSegment) {
        if Keyword.isReserved(segment.name) { text += "#" }
        text += segment.name
        for part in segment.subscripts {
            text += "["
            switch part {
            case .key(let key), .exactKey(let key): text(Constant.string(key))
            case .index(let index): text += String(index)
            case .any: text += "#any"
            case .other(let other): text += other
            }
            text += "]"
        }
    }

    private mutating func text(_ constant: Constant) {
        switch constant {
        case .null: text += "NULL"
        case .bool(let value): text += value ? "TRUE" : "FALSE"
        case .int(let value): text += String(value)
        case .double(let value) where value.isFinite: text += "\(value)"
        case .string(let value): printQuoted(value)
        case .array(let values):
            text += "{"
            for (index, value) in values.enumerated() {
                if index > 0 { text += ", " }
                text(value)
            }
            text += "}"
        default:
            text += "%@"
            arguments.append(constant)
        }
    }

    private mutating func printQuoted(_ value: String) {
        text += "\""
        for scalar in value.unicodeScalars {
            switch scalar {
            case "\"": text += "\\\""
            case "\\": text += "\\\\"
            case "\n": text += "\\n"
            case "\r": text += "\\r"
            case "\t": text += "\\t"
            default:
                if scalar.value < 32 || scalar.value == 127 {
                    let digits = String(scalar.value, radix: 16)
                    text += "\\x" + String(repeating: "0", count: 2 - digits.utf8.count) + digits
                } else {
                    text.unicodeScalars.append(scalar)
                }
            }
        }
        text += "\""
    }
}
