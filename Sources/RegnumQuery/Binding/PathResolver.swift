// SPDX-License-Identifier: Apache-2.0
// Resolves key paths against the schema.

import RegnumEngine

struct ResolvedAggregate {
    var kind: AggregateKind
    var column: Int?
    /// The type of the aggregated values; `int` for @count.
    var type: ColumnType
    /// The name used in error messages.
    var property: String
}

extension BoundAggregate {
    init(_ aggregate: ResolvedAggregate, _ path: BoundPath) {
        self.init(kind: aggregate.kind, path: path, column: aggregate.column, type: aggregate.type)
    }
}

struct ResolvedPath {
    /// The segments as written.
    var segments: [KeyPathSegment]
    var bound: BoundPath
    var aggregate: ResolvedAggregate?
    /// The name and the class of the last property.
    var property: String
    var className: String
    var type: ColumnType
    var isNullable: Bool
    /// The linked class, if the path ends at objects.
    var targetClass: QueryClass?
    /// True if the property has a full-text index.
    var isContentIndexed = false
    /// The dictionary column at the end of the path, if it ends there.
    var dictionary: Int?

    var end: PathEnd { bound.end }
    var isToMany: Bool { bound.isToMany }
    /// True if the path contains a collection that requires ANY or NONE. `@allKeys` and `@allValues` are collection
    /// operators: they already mean any entry of the dictionary, and of the collections before it.
    var needsAny: Bool {
        guard isToMany else { return false }
        guard let last = segments.lastIndex(where: { $0.name == "@allKeys" || $0.name == "@allValues" }) else {
            return true
        }
        let behind = segments.count - 1 - last
        switch end {
        case .object: return bound.steps.suffix(behind).contains { $0.isToMany }
        case .elements, .keys: return behind > 0
        case .column, .entry, .nested: return bound.steps.suffix(max(behind - 1, 0)).contains { $0.isToMany }
        }
    }
    var typeName: String { targetClass?.name ?? type.shown }
    /// The path as written, for error messages.
    var written: String { segments.written }
}

extension [KeyPathSegment] {
    /// The names joined by dots, for error messages.
    var written: String { map(\.name).joined(separator: ".") }
}

extension PredicateBinder {
    /// The maximum number of properties in a key path. Evaluation follows links by recursion.
    package static let pathLimit = 30

    func resolve(_ written: KeyPathOperand, _ start: QueryClass) throws(QueryError) -> ResolvedPath {
        do {
            let (first, outer) = try origin(of: written, start)
            var path = try resolve(written, from: first)
            path.bound.outer = outer
            return path
        } catch {
            var placed = error
            placed.position = error.position ?? written.position
            throw placed
        }
    }

    private func resolve(_ written: KeyPathOperand, from start: QueryClass) throws(QueryError) -> ResolvedPath {
        var segments = written.segments
        guard segments.count <= Self.pathLimit else {
            throw QueryError(
                .keyPath,
                "Invalid keypath: it has \(segments.count) parts, and a key path may have at most \(Self.pathLimit).")
        }
        // SELF is the queried object, inside a SUBQUERY too.
        if written.variable == nil, let first = segments.first, first.subscripts.isEmpty,
            segments.count > 1 || !scopes.isEmpty, first.name.uppercased() == "SELF",
            start.properties[first.name] == nil
        {
            segments.removeFirst()
            if segments.isEmpty { return Self.object("SELF", start) }
        }
        var current = start
        var steps: [PathStep] = []
        var result: ResolvedPath?
        for (index, segment) in segments.enumerated() {
            if segment.name.isEmpty {
                throw QueryError(
                    .keyPath,
                    "Invalid keypath '\(segments.written)': "
                        + (index == segments.count - 1 && index > 0
                            ? "no key name after last '.'" : "no key name before '.'"))
            }
            if segment.name.utf8.first == UInt8(ascii: "@") {
                if segment.name == "@allValues", var path = result, path.dictionary != nil {
                    path.dictionary = nil
                    result = path
                    continue
                }
                return try aggregate(segments, index, result)
            }
            if let result, result.targetClass == nil {
                throw QueryError(
                    .keyPath,
                    "Invalid keypath '\(segments.written)': Property '\(result.className).\(result.property)' is "
                        + "not a link or collection and can only appear at the end of a keypath.")
            }
            if let target = result?.targetClass { current = target }
            result = try step(segment, current, segments, &steps)
        }
        if let result { return result }
        guard let variable = written.variable else {
            throw QueryError(.keyPath, "Invalid keypath '': no key name before '.'")
        }
        return Self.object("$" + variable, start)
    }

    /// A path to the object itself.
    private static func object(_ name: String, _ queryClass: QueryClass) -> ResolvedPath {
        ResolvedPath(
            segments: [KeyPathSegment(name)], bound: BoundPath(end: .object), property: name,
            className: queryClass.name, type: .link, isNullable: false, targetClass: queryClass)
    }

    /// The class that a path starts at, and the number of SUBQUERY levels outwards. Inside a SUBQUERY, a path starts
    /// with the variable of that SUBQUERY or of an enclosing one; a path without a variable starts at the queried
    /// object.
    private func origin(of written: KeyPathOperand, _ start: QueryClass) throws(QueryError) -> (QueryClass, Int) {
        guard let variable = written.variable else { return (root ?? start, scopes.count) }
        guard let place = scopes.lastIndex(where: { $0.variable == variable }) else {
            throw QueryError(.keyPath, "The variable $\(variable) is not that of a SUBQUERY around the key path.")
        }
        return (scopes[place].queryClass, scopes.count - 1 - place)
    }

    /// Appends one property to a path that is written as `segments`.
    func step(
        _ segment: KeyPathSegment, _ current: QueryClass, _ segments: [KeyPathSegment], _ steps: inout [PathStep]
    ) throws(QueryError) -> ResolvedPath {
        guard let property = current.properties[segment.name] else {
            if segments.count == 1, segment.name.uppercased() == "SELF" {
                throw QueryError(.unsupported, "SELF as an operand is not supported: name a property.")
            }
            var message =
                "Invalid keypath '\(segments.written)': Property '\(segment.name)' not found in object of type "
                + "'\(current.name)'"
            if let near = nearestName(to: segment.name, in: Array(current.properties.keys)) {
                message += ". Did you mean '\(near)'?"
            }
            throw QueryError(.keyPath, message)
        }
        if !segment.subscripts.isEmpty {
            if case .column(let number, let definition) = property {
                if definition.type == .mixed, definition.collection == .none || definition.collection == .dictionary {
                    return try nested(segment, current, segments, steps, number)
                }
                if definition.collection == .dictionary {
                    return try entry(segment, current, segments, &steps, number, definition)
                }
            }
            throw QueryError(
                .unsupported,
                "Invalid keypath '\(segments.written)': only dictionaries and realm `Any` support subscript "
                    + "predicates.")
        }
        switch property {
        case .backlinks(let origin, let column, let originName):
            guard let target = schema.queryClass(origin) else {
                throw QueryError(
                    .keyPath, "Invalid keypath '\(segments.written)': the class '\(originName)' is not in the schema.")
            }
            steps.append(.backlinks(origin: origin, column: column))
            return ResolvedPath(
                segments: segments, bound: BoundPath(steps: steps, end: .object), property: segment.name,
                className: current.name, type: .link, isNullable: false, targetClass: target)
        case .column(let number, let definition):
            return try step(segment, current, segments, &steps, number, definition)
        }
    }

    private func step(
        _ segment: KeyPathSegment, _ current: QueryClass, _ segments: [KeyPathSegment], _ steps: inout [PathStep],
        _ number: Int, _ definition: ColumnDefinition
    ) throws(QueryError) -> ResolvedPath {
        let isMany = definition.collection != .none
        let dictionary = definition.collection == .dictionary ? number : nil
        if definition.type == .link, let table = definition.target {
            guard let target = schema.queryClass(table) else {
                throw QueryError(
                    .keyPath,
                    "Invalid keypath '\(segments.written)': the class that '\(segment.name)' links to is not in the "
                        + "schema.")
            }
            steps.append(
                isMany ? .links(column: number, target: table) : .link(column: number, target: table))
            return ResolvedPath(
                segments: segments, bound: BoundPath(steps: steps, end: .object), property: segment.name,
                className: current.name, type: .link, isNullable: !isMany, targetClass: target,
                dictionary: dictionary)
        }
        let end: PathEnd = isMany ? .elements(number, definition.type) : .column(number, definition.type)
        // A null link makes the value null.
        let isNullable = definition.isNullable || !steps.isEmpty
        return ResolvedPath(
            segments: segments, bound: BoundPath(steps: steps, end: end), property: segment.name,
            className: current.name,
            type: definition.type, isNullable: isNullable, targetClass: nil,
            isContentIndexed: definition.isContentIndexed,
            dictionary: dictionary)
    }

    /// `dictionary['key']`.
    private func entry(
        _ segment: KeyPathSegment, _ current: QueryClass, _ segments: [KeyPathSegment], _ steps: inout [PathStep],
        _ number: Int, _ definition: ColumnDefinition
    ) throws(QueryError) -> ResolvedPath {
        guard segment.subscripts.count == 1 else {
            throw QueryError(
                .unsupported,
                "Invalid subscript size '\(segments.written)': nested dictionaries queries are only allowed in "
                    + "mixed properties.")
        }
        let key: String
        switch segment.subscripts[0] {
        case .key(let text), .exactKey(let text): key = text
        case .index, .any, .other:
            throw QueryError(
                .unsupported,
                "Invalid subscript type '\(segments.written)': only string keys are allowed as subscripts of "
                    + "dictionary queries.")
        }
        var path = ResolvedPath(
            segments: segments, bound: BoundPath(end: .entry(number, key, definition.type)), property: segment.name,
            className: current.name, type: definition.type, isNullable: true)
        if definition.type == .link, let table = definition.target {
            guard let target = schema.queryClass(table) else {
                throw QueryError(
                    .keyPath,
                    "Invalid keypath '\(segments.written)': the class that '\(segment.name)' links to is not in the "
                        + "schema.")
            }
            steps.append(.entry(column: number, key: key, target: table))
            path.bound.end = .object
            path.targetClass = target
        }
        path.bound.steps = steps
        return path
    }

    /// `any['key'][0][#any]`.
    private func nested(
        _ segment: KeyPathSegment, _ current: QueryClass, _ segments: [KeyPathSegment], _ steps: [PathStep],
        _ number: Int
    ) throws(QueryError) -> ResolvedPath {
        var nested: [NestedStep] = []
        for part in segment.subscripts {
            switch part {
            // RealmSwift writes `[#any]` like this in string subscripts.
            case .key("#any"): nested.append(.any)
            case .key(let key), .exactKey(let key): nested.append(.key(key))
            case .index(let index): nested.append(.index(index))
            case .any: nested.append(.any)
            case .other(let shown):
                throw QueryError(
                    .unsupported,
                    "Invalid subscript type '\(segments.written)[\(shown)]': only string keys, positions and #any "
                        + "are allowed as subscripts of mixed properties.")
            }
        }
        return ResolvedPath(
            segments: segments, bound: BoundPath(steps: steps, end: .nested(number, nested)), property: segment.name,
            className: current.name, type: .mixed, isNullable: true)
    }

    // MARK: Collection operators

    private func aggregate(
        _ segments: [KeyPathSegment], _ index: Int, _ before: ResolvedPath?
    ) throws(QueryError) -> ResolvedPath {
        let name = segments[index].name
        if name == "@allKeys", let path = before, let column = path.dictionary {
            return try allKeys(of: path, column, segments, index)
        }
        guard let kind = AggregateKind(rawValue: name) else {
            throw QueryError(
                .unsupported,
                name == "@allKeys" || name == "@allValues"
                    ? "Invalid keypath '\(segments.written)': \(name) is only allowed right after a dictionary "
                        + "property."
                    : "Unsupported collection operation '\(name)'")
        }
        guard var path = before, path.isToMany else {
            throw QueryError(
                .keyPath,
                "Invalid keypath '\(segments.written)': collection operation '\(name)' must be applied to a collection")
        }
        let rest = segments[(index + 1)...]
        if rest.contains(where: { $0.name.hasPrefix("@") }) {
            throw QueryError(
                .keyPath,
                "Invalid keypath '\(segments.written)': at most one collection operation per keypath is supported.")
        }
        path.segments = segments
        if kind == .count {
            guard rest.isEmpty else {
                throw QueryError(
                    .keyPath, "Invalid keypath '\(segments.written)': @count must appear at the end of a keypath.")
            }
            path.aggregate = ResolvedAggregate(kind: kind, column: nil, type: .int, property: path.property)
            return path
        }
        let type: ColumnType
        var column: Int?
        if let target = path.targetClass {
            guard rest.count == 1, let property = rest.first,
                case .column(let number, let definition)? =
                    target.properties[property.name], definition.collection == .none
            else {
                throw QueryError(
                    .keyPath,
                    "Invalid keypath '\(segments.written)': \(name) on a collection of objects must be followed by a "
                        + "single numeric property of '\(target.name)'.")
            }
            column = number
            type = definition.type
            path.property = property.name
            path.className = target.name
        } else {
            guard rest.isEmpty else {
                throw QueryError(
                    .keyPath, "Invalid keypath '\(segments.written)': \(name) must appear at the end of a keypath.")
            }
            type = path.type
        }
        try checkNumeric(type, kind, segments)
        path.aggregate = ResolvedAggregate(kind: kind, column: column, type: type, property: path.property)
        return path
    }

    private func allKeys(
        of path: ResolvedPath, _ column: Int, _ segments: [KeyPathSegment], _ index: Int
    ) throws(QueryError) -> ResolvedPath {
        guard index == segments.count - 1 else {
            throw QueryError(
                .keyPath, "Invalid keypath '\(segments.written)': @allKeys must appear at the end of a keypath.")
        }
        var keys = path
        // A dictionary of links has a step to its objects.
        if case .object = keys.bound.end { keys.bound.steps.removeLast() }
        keys.bound.end = .keys(column)
        keys.type = .string
        keys.isNullable = false
        keys.targetClass = nil
        keys.dictionary = nil
        return keys
    }

    private func checkNumeric(
        _ type: ColumnType, _ kind: AggregateKind, _ segments: [KeyPathSegment]
    ) throws(QueryError) {
        switch type {
        case .int, .float, .double, .decimal128, .mixed: return
        case .date:
            if kind == .min || kind == .max { return }
            throw QueryError(.value, "Cannot sum or average date properties: '\(segments.written)'.")
        default:
            throw QueryError(
                .value,
                "Invalid keypath '\(segments.written)': \(kind.rawValue) can only be applied to a collection of "
                    + "numeric values.")
        }
    }
}
