// SPDX-License-Identifier: Apache-2.0
// Queries and deletes objects by class name and predicate, without the classes of the program.

internal import Foundation
internal import RegnumEngine
internal import RegnumQuery

/// The output format of `Inspector.query`. **Unstable**, like `Inspector`.
public enum ObjectFormat: Sendable {
    /// One line for each object; long strings are truncated.
    case text
    /// A JSON array of objects. A link is an object with `class`, and `primaryKey` or `key`; embedded objects are
    /// nested; data is base64; dates are ISO 8601 in UTC; decimals, and numbers that JSON lacks, are strings.
    case json
}

extension Inspector {
    /// Writes the objects of a class that match the predicate, in the order of their creation, at most `limit`. Returns
    /// the number of all matches. Properties have the names of their columns, and are in column order.
    ///
    /// Throws `InspectionError` if the file does not have the class, if the predicate is invalid, or if the file is
    /// damaged.
    @discardableResult
    public func query(
        _ className: String, where predicate: String = "TRUEPREDICATE", as format: ObjectFormat = .text,
        limit: Int = .max, to output: inout some TextOutputStream
    ) throws -> Int {
        let session = try inspecting(database.path) { () throws(EngineError) in try database.makeSession() }
        let table = try table(className, session)
        let keys = try matching(predicate, table, session)
        return try inspecting(database.path) { () throws(EngineError) in
            let writer = ObjectWriter(session: session)
            if format == .json { output.write("[") }
            for (number, key) in keys.prefix(max(limit, 0)).enumerated() {
                switch format {
                case .text: output.write(try writer.line(table, key) + "\n")
                case .json: output.write((number > 0 ? ",\n" : "\n") + (try writer.json(table, key)))
                }
            }
            if format == .json { output.write(keys.isEmpty || limit <= 0 ? "]\n" : "\n]\n") }
            return keys.count
        }
    }

    /// The number of objects of the class that match the predicate. Throws the same errors as `query`.
    public func count(_ className: String, where predicate: String = "TRUEPREDICATE") throws -> Int {
        let session = try inspecting(database.path) { () throws(EngineError) in try database.makeSession() }
        return try matching(predicate, try table(className, session), session).count
    }

    /// Deletes the objects that match the predicate, with the objects embedded in them, in one transaction. Returns the
    /// number of matches. Links to them become null; collections lose their entries for them.
    ///
    /// Throws the same errors as `query`, or an error if the file cannot be written, in which case it is unchanged.
    @discardableResult
    public func delete(_ className: String, where predicate: String) throws -> Int {
        if database.options.isReadOnly {
            throw InspectionError(path: database.path, description: "'\(database.path)' is open read-only.")
        }
        let session = try inspecting(database.path) { () throws(EngineError) in
            let session = try database.makeSession()
            try session.beginWrite()
            return session
        }
        do {
            let table = try table(className, session)
            let keys = try matching(predicate, table, session)
            try inspecting(database.path) { () throws(EngineError) in
                for key in keys where try table.contains(key) { try table.delete(key) }
                try session.commitWrite()
            }
            return keys.count
        } catch {
            if session.isWriting { session.rollbackWrite() }
            throw error
        }
    }

    private func table(_ className: String, _ session: Session) throws -> Table {
        if let table = session.table(named: className) { return table }
        let names = session.tables.map(\.definition.name).sorted().joined(separator: ", ")
        throw InspectionError(
            path: database.path,
            description: "'\(database.path)' has no class '\(className)'. "
                + (names.isEmpty ? "It has none at all." : "It has: \(names)."))
    }

    private func matching(_ predicate: String, _ table: Table, _ session: Session) throws -> [ObjectKey] {
        let query: ObjectQuery
        do throws(QueryError) {
            let schema = TableSchema(session.tables.map(\.definition))
            let bound = try PredicateBinder.bind(
                try PredicateParser.parse(predicate), to: table.definition.key, in: schema)
            query = ObjectQuery(session: session, table: table.definition.key, predicate: bound)
        } catch {
            throw InspectionError(
                path: database.path, description: "The predicate '\(predicate)' cannot be used: \(error.message)")
        }
        return try inspecting(database.path) { () throws(EngineError) in try query.keys() }
    }
}

/// Formats objects as text. Confined to the session.
struct ObjectWriter {
    let session: Session
    /// The number of characters at which strings in lines are truncated.
    private static let shownCharacters = 80
    /// The depth of nested embedded objects up to which they are written; deeper ones are named only. Bounds the use of
    /// the stack.
    private static let shownDepth = 256

    /// The embedded objects written within the current object. Each has one owner, so one that occurs twice is damage,
    /// and may be a cycle.
    private final class Nested {
        struct Row: Hashable {
            var table: TableKey
            var key: ObjectKey
        }
        var rows: Set<Row> = []
        var depth = 0
    }

    private let nested = Nested()

    init(session: Session) { self.session = session }

    func line(_ table: Table, _ key: ObjectKey) throws(EngineError) -> String {
        var words = ["\(table.definition.name) #\(key.rawValue)"]
        for (column, definition) in table.definition.columns.enumerated() where !definition.isHidden {
            words.append("\(definition.name)=\(try text(table, column, key, isJSON: false))")
        }
        return words.joined(separator: " ")
    }

    func json(_ table: Table, _ key: ObjectKey) throws(EngineError) -> String {
        var members: [String] = []
        for (column, definition) in table.definition.columns.enumerated() where !definition.isHidden {
            members.append("\(Self.quoted(definition.name)): \(try text(table, column, key, isJSON: true))")
        }
        return "{" + members.joined(separator: ", ") + "}"
    }

    private func text(_ table: Table, _ column: Int, _ key: ObjectKey, isJSON: Bool) throws(EngineError) -> String {
        let definition = table.definition.columns[column]
        switch definition.collection {
        case .none: return try text(try table.value(column, of: key), definition.target, isJSON)
        case .list, .set: return try array(try table.listValues(column, of: key), definition.target, isJSON)
        case .dictionary:
            return try object(try table.dictionaryEntries(column, of: key), definition.target, isJSON)
        }
    }

    private func array(_ values: [Value], _ target: TableKey?, _ isJSON: Bool) throws(EngineError) -> String {
        var texts: [String] = []
        for value in values { texts.append(try text(value, target, isJSON)) }
        return "[" + texts.joined(separator: ", ") + "]"
    }

    private func object(
        _ entries: [DictionaryEntry], _ target: TableKey?, _ isJSON: Bool
    ) throws(EngineError) -> String {
        var texts: [String] = []
        for entry in entries { texts.append("\(Self.quoted(entry.key)): \(try text(entry.value, target, isJSON))") }
        return "{" + texts.joined(separator: ", ") + "}"
    }

    private func text(_ value: Value, _ target: TableKey?, _ isJSON: Bool) throws(EngineError) -> String {
        switch value {
        case .null: return "null"
        case .bool(let bool): return bool ? "true" : "false"
        case .int(let int): return "\(int)"
        case .float(let float): return float.isFinite || !isJSON ? "\(float)" : "\"\(float)\""
        case .double(let double): return double.isFinite || !isJSON ? "\(double)" : "\"\(double)\""
        case .string(let string): return shown(string, isJSON)
        case .data(let bytes):
            return isJSON ? "\"\(Data(bytes).base64EncodedString())\"" : "<\(bytes.count) bytes>"
        case .date(let time): return isJSON ? "\"\(Self.date(time))\"" : Self.date(time)
        case .objectID(let low, let high):
            let text = Self.hex(low, 8) + Self.hex(UInt64(high), 4)
            return isJSON ? "\"\(text)\"" : text
        case .uuid(let low, let high):
            let digits = Array((Self.hex(low, 8) + Self.hex(high, 8)).uppercased())
            let text = [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { String(digits[$0]) }.joined(separator: "-")
            return isJSON ? "\"\(text)\"" : text
        case .decimal128(let low, let high):
            let text = DecimalBits(low: low, high: high).text
            return isJSON ? "\"\(text)\"" : text
        case .link(let key): return try link(key, target, isJSON)
        case .typedLink(let table, let key): return try link(key, table, isJSON)
        case .list(let values): return try array(values, nil, isJSON)
        case .dictionary(let entries): return try object(entries, nil, isJSON)
        }
    }

    private func link(_ key: ObjectKey, _ target: TableKey?, _ isJSON: Bool) throws(EngineError) -> String {
        guard let table = target.flatMap({ session.table($0) }), key != .none else { return "null" }
        let definition = table.definition
        if definition.isEmbedded, nested.depth < Self.shownDepth,
            nested.rows.insert(Nested.Row(table: definition.key, key: key)).inserted
        {
            nested.depth += 1
            defer {
                nested.depth -= 1
                if nested.depth == 0 { nested.rows.removeAll() }
            }
            return isJSON ? try json(table, key) : "(\(try line(table, key)))"
        }
        if !isJSON { return "\(definition.name)#\(key.rawValue)" }
        guard let primary = definition.primaryKey else {
            return "{\"class\": \(Self.quoted(definition.name)), \"key\": \(key.rawValue)}"
        }
        let value = try text(try table.value(primary, of: key), nil, true)
        return "{\"class\": \(Self.quoted(definition.name)), \"primaryKey\": \(value)}"
    }

    private func shown(_ string: String, _ isJSON: Bool) -> String {
        if isJSON || string.utf8.count <= Self.shownCharacters { return Self.quoted(string) }
        let start = string.prefix(Self.shownCharacters)
        return start.endIndex == string.endIndex ? Self.quoted(string) : Self.quoted(String(start)) + "..."
    }

    /// The string as a JSON literal.
    private static func quoted(_ string: String) -> String {
        var text = "\""
        for scalar in string.unicodeScalars {
            switch scalar {
            case "\"": text += "\\\""
            case "\\": text += "\\\\"
            case "\n": text += "\\n"
            case "\t": text += "\\t"
            case "\r": text += "\\r"
            case _ where scalar.value < 0x20 || scalar.value == 0x7f:
                text += "\\u00" + hex(UInt64(scalar.value), 1)
            default: text.unicodeScalars.append(scalar)
            }
        }
        return text + "\""
    }

    /// The bytes of a word, lowest first, as two hexadecimal digits each.
    private static func hex(_ word: UInt64, _ bytes: Int) -> String {
        (0..<bytes).map { byte in
            let digits = String((word >> UInt64(8 * byte)) & 0xff, radix: 16)
            return digits.count < 2 ? "0" + digits : digits
        }.joined()
    }

    /// The time in ISO 8601, with as many fractional digits as it needs.
    private static func date(_ time: Timestamp) -> String {
        // A damaged time may be outside the range of calendars.
        if abs(Double(time.seconds)) > 1e14 { return "\(time.seconds) s since 1970" }
        let whole = Date(timeIntervalSince1970: Double(time.seconds)).formatted(.iso8601)
        if time.nanoseconds == 0 { return whole }
        // Times before 1970 have negative nanoseconds.
        let isBefore = time.nanoseconds < 0
        let start =
            isBefore
            ? Date(timeIntervalSince1970: Double(time.seconds - 1)).formatted(.iso8601) : whole
        let fraction = isBefore ? 1_000_000_000 + Int(time.nanoseconds) : Int(time.nanoseconds)
        var digits = String(String(1_000_000_000 + fraction).dropFirst())
        while digits.hasSuffix("0") { digits.removeLast() }
        return start.dropLast() + "." + digits + "Z"
    }
}
