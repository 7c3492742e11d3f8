// SPDX-License-Identifier: Apache-2.0
// One object as text for an editor, and the update of the object from the edited text.

internal import RegnumEngine
internal import RegnumSystem

/// An object as indented JSON with tags. **Unstable**, like `Inspector`.
public struct ObjectText: Sendable, Equatable {
    /// The number of the object in its class.
    public internal(set) var key: UInt64
    /// The text, with one property on each line.
    public internal(set) var text: String
}

extension Inspector {
    /// The object with a primary key, given as text, or with a number, given as `#7`; nil if there is none. Throws
    /// `InspectionError`, for example if the text cannot be a primary key of the class.
    public func objectText(_ className: String, identity: String) throws -> ObjectText? {
        let session = try makeSession()
        let table = try table(className, session)
        guard let key = try Self.key(identity, table, session, database.path) else { return nil }
        return ObjectText(key: key.rawValue, text: try Self.text(table, key, session, database.path))
    }

    private static func key(
        _ identity: String, _ table: Table, _ session: Session, _ path: String
    ) throws -> ObjectKey? {
        let definition = table.definition
        if definition.primaryKey == nil || identity.hasPrefix("#"), let number = UInt64(identity.drop { $0 == "#" }) {
            let key = ObjectKey(number)
            let isThere = number > 0 && number < 1 << 62
            return isThere
                ? try inspecting(path) { () throws(EngineError) in try table.contains(key) } ? key : nil : nil
        }
        guard let primary = definition.primaryKey else {
            throw InspectionError(
                path: path,
                description: "Class '\(definition.name)' has no primary key: name an object as #7, by its number.")
        }
        let parser = ObjectParser(session: session, path: path)
        do {
            let column = definition.columns[primary]
            let value = try parser.scalar(try parser.json(identity, isQuoted: true, of: column), column.type)
            return try inspecting(path) { () throws(EngineError) in try table.key(forPrimaryKey: value) }
        } catch let problem as ObjectParser.Problem {
            throw InspectionError(
                path: path,
                description: "'\(identity)' cannot be a primary key of class '\(definition.name)': \(problem.message).")
        }
    }

    static func text(_ table: Table, _ key: ObjectKey, _ session: Session, _ path: String) throws -> String {
        let formatter = ObjectFormatter(session: session)
        var lines: [String] = []
        for (column, definition) in table.definition.columns.enumerated() where !definition.isHidden {
            var line = "  "
            JSONValue.quote(definition.name, to: &line)
            line += ": " + (try inspecting(path) { () throws(EngineError) in try formatter.json(table, column, key) })
            lines.append(line)
        }
        return "{\n" + lines.joined(separator: ",\n") + "\n}\n"
    }
}

extension ObjectEditor {
    /// Changes an object to JSON that was made from its text. Properties that are left out keep their values. Throws
    /// `RefusedObject`, with line 0, if the object has changed since the text was read, or if a value is not valid.
    /// Returns false if nothing differs.
    public func replace(_ old: ObjectText, by json: [UInt8]) throws -> Bool {
        let key = ObjectKey(old.key)
        let isThere = try inspecting(path) { () throws(EngineError) in try table.contains(key) }
        guard isThere, try Inspector.text(table, key, session, path) == old.text else {
            throw RefusedObject(
                line: 0,
                description: isThere
                    ? "the object was changed by another process meanwhile"
                    : "the object was deleted by another process meanwhile")
        }
        return try replace(key, by: json)
    }
}
