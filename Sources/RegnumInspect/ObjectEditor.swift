// SPDX-License-Identifier: Apache-2.0
// Creates and updates objects of one class from JSON or CSV, in one transaction.

package import RegnumEngine
internal import RegnumSystem

/// The reason why an object was refused, as part of a sentence. **Unstable**, like `Inspector`.
public struct RefusedObject: Error, Sendable, Equatable, CustomStringConvertible {
    /// The line number that the caller passed for the object.
    public internal(set) var line: Int
    public internal(set) var description: String
    /// The outcome that `put` has returned, if the object was refused by `setRemainingLinks`.
    public internal(set) var outcome: ObjectEditor.Outcome?
    /// The position of the object among those that were given to the editor, from 1.
    var number = 0
}

/// A field of a CSV record. **Unstable**, like `Inspector`.
public struct CSVField: Sendable, Equatable {
    public var text: String
    /// True if the field was in quotation marks. An empty field without them is null.
    public var isQuoted: Bool

    public init(_ text: String, isQuoted: Bool = false) {
        self.text = text
        self.isQuoted = isQuoted
    }
}

/// A write transaction for objects of one class. An object with the primary key of an existing one updates it. An
/// object that `put` refuses changes nothing. Confined to one thread. **Unstable**, like `Inspector`.
///
/// The editor of a preview has no transaction, and must not be committed. See `Inspector.previewEditing`.
///
/// The transaction is rolled back if the editor is released without `commit`.
public final class ObjectEditor {
    public enum Outcome: Sendable { case inserted, updated, unchanged }

    let session: Session
    let table: Table
    let path: String
    private let parser: ObjectParser
    private let store: ObjectStore
    /// Set if nothing is written.
    private let preview: PreviewedObjects?
    /// The columns of the CSV fields.
    private var fields: [Int] = []
    /// The number of objects that were given to the editor, refused ones included.
    private(set) var number = 0
    /// Values with links to objects that did not exist when they were read.
    private var later: [Later] = []
    private struct Later {
        var line: Int
        var number: Int
        var key: ObjectKey
        var outcome: Outcome
        var column: Int
        var value: JSONValue
    }
    /// The effect of the transaction, to undo it; nil if that is not asked for, or takes too much memory.
    private(set) var recording: RecordedChanges?

    init(_ session: Session, _ table: Table, _ path: String, isPreview: Bool = false) {
        self.session = session
        self.table = table
        self.path = path
        preview = isPreview ? PreviewedObjects(session, table) : nil
        parser = ObjectParser(session: session, path: path, preview: preview)
        store = ObjectStore(session: session)
    }

    deinit { rollback() }

    // MARK: Objects

    /// Sets the properties to which the fields of the following records belong. Throws `RefusedObject` if the class
    /// lacks one of them.
    public func setFields(_ names: [String], line: Int) throws {
        fields = []
        for name in names {
            guard let column = table.definition.column(named: name), !table.definition.columns[column].isHidden else {
                throw RefusedObject(
                    line: line, description: "class '\(table.definition.name)' has no property '\(name)'")
            }
            if fields.contains(column) {
                throw RefusedObject(line: line, description: "property '\(name)' is named twice")
            }
            fields.append(column)
        }
    }

    /// Stores the object of a CSV record. Throws `RefusedObject`, or `InspectionError` if reading or writing the file
    /// fails.
    public func put(fields values: [CSVField], line: Int) throws -> Outcome {
        number += 1
        // `CSVText` writes a single null as two empty fields.
        let isNull = fields.count == 1 && values == [CSVField(""), CSVField("")]
        guard values.count == fields.count || isNull else {
            throw RefusedObject(line: line, description: "it has \(values.count) fields, not \(fields.count)")
        }
        var members: [JSONMember] = []
        for (field, column) in zip(values, fields) {
            let definition = table.definition.columns[column]
            do {
                members.append(
                    .init(
                        key: definition.name,
                        value: try parser.json(field.text, isQuoted: field.isQuoted, of: definition)))
            } catch let problem as ObjectParser.Problem {
                throw RefusedObject(line: line, description: problem.at(definition.name).message)
            }
        }
        return try put(.object(members), line)
    }

    /// Stores the object of a JSON text in UTF-8. Throws `RefusedObject`, or `InspectionError` if reading or writing
    /// the file fails.
    public func put(json: [UInt8], line: Int) throws -> Outcome {
        number += 1
        let value: JSONValue
        do throws(JSONParser.Problem) { value = try JSONParser.parse(json) } catch {
            throw RefusedObject(line: line, description: "it is not JSON: \(error.message)")
        }
        return try put(value, line)
    }

    /// Leaves an object out that was refused before.
    func skip() { number += 1 }

    private func put(_ json: JSONValue, _ line: Int) throws -> Outcome {
        var later: [(Int, JSONValue)] = []
        let planned: PlannedObject
        do { planned = try parser.object(json, of: table) { later.append(($0, $1)) } } catch let problem
            as ObjectParser.Problem
        {
            throw RefusedObject(line: line, description: problem.message)
        }
        let old = try existing(planned, line)
        if let reason = try brokenConstraint(planned, old) { throw RefusedObject(line: line, description: reason) }
        let (key, outcome) = try inspecting(path) { () throws(EngineError) -> (ObjectKey, Outcome) in
            if let preview { return try preview.put(planned, old) }
            guard let old else {
                let key = try store.insert(planned)
                recording?.noteInserted(key)
                return (key, .inserted)
            }
            try recording?.note(old, planned.values.keys)
            return (old, try store.update(old, planned) ? .updated : .unchanged)
        }
        for (column, value) in later {
            self.later.append(
                Later(line: line, number: number, key: key, outcome: outcome, column: column, value: value))
        }
        return outcome
    }

    /// Creates an object of a JSON text in UTF-8. Throws `RefusedObject`, with line 0, also if there is an object with
    /// the primary key.
    func insert(_ json: [UInt8]) throws -> ObjectKey {
        do {
            let planned = try parser.object(try parsed(json), of: table)
            if try existing(planned, 0) != nil {
                throw primaryKeyProblem("there is an object with this primary key")
            }
            if let reason = try brokenConstraint(planned, nil) { throw ObjectParser.Problem(message: reason) }
            return try inspecting(path) { () throws(EngineError) in try store.insert(planned) }
        } catch let problem as ObjectParser.Problem {
            throw RefusedObject(line: 0, description: problem.message)
        }
    }

    private func parsed(_ json: [UInt8]) throws -> JSONValue {
        do throws(JSONParser.Problem) { return try JSONParser.parse(json) } catch {
            throw ObjectParser.Problem(message: "it is not JSON: \(error.message)")
        }
    }

    private func primaryKeyProblem(_ message: String) -> ObjectParser.Problem {
        let problem = ObjectParser.Problem(message: message)
        return table.definition.primaryKey.map { problem.at(table.definition.columns[$0].name) } ?? problem
    }

    func replace(_ key: ObjectKey, by json: [UInt8]) throws -> Bool {
        do {
            let planned = try parser.object(try parsed(json), of: table)
            if let primary = table.definition.primaryKey, case .value(let value)? = planned.values[primary] {
                let found = try inspecting(path) { () throws(EngineError) in try table.key(forPrimaryKey: value) }
                guard found == key else { throw primaryKeyProblem("the primary key must not be changed") }
            }
            if let reason = try brokenConstraint(planned, key) { throw ObjectParser.Problem(message: reason) }
            return try inspecting(path) { () throws(EngineError) in try store.update(key, planned) }
        } catch let problem as ObjectParser.Problem {
            throw RefusedObject(line: 0, description: problem.message)
        }
    }

    /// The object with the primary key; nil if there is none, or the class has no primary key.
    private func existing(_ planned: PlannedObject, _ line: Int) throws -> ObjectKey? {
        guard let primary = table.definition.primaryKey else { return nil }
        let column = table.definition.columns[primary]
        guard case .value(let value)? = planned.values[primary] else {
            throw RefusedObject(line: line, description: "its primary key '\(column.name)' is missing")
        }
        let stored = try inspecting(path) { () throws(EngineError) in try table.key(forPrimaryKey: value) }
        return stored ?? preview?.key(forPrimaryKey: value, in: table)
    }

    /// Returns which unique constraint the object would violate, as a message; nil if none. `old` is the object to be
    /// updated.
    private func brokenConstraint(_ planned: PlannedObject, _ old: ObjectKey?) throws -> String? {
        for (number, unique) in table.definition.uniques.enumerated() {
            let values = try uniqueValues(unique, planned, old)
            let found = try inspecting(path) { () throws(EngineError) -> ObjectKey? in
                if let preview { return try preview.holder(number, values) }
                return try table.key(inUnique: number, equalTo: values)
            }
            guard let found, found != old else { continue }
            let names = table.definition.positions(of: unique).map { table.definition.columns[$0].name }
            if names.count == 1 { return "property '\(names[0])': another object has the same value, but it is unique" }
            return "another object has the same values of its unique constraint (\(names.joined(separator: ", ")))"
        }
        return nil
    }

    /// The values of a constraint that the object would have.
    private func uniqueValues(
        _ unique: UniqueDefinition, _ planned: PlannedObject, _ old: ObjectKey?
    ) throws -> [Value] {
        var values: [Value] = []
        for column in table.definition.positions(of: unique) {
            if case .value(let value)? = planned.values[column] {
                values.append(value)
            } else if let old {
                values.append(
                    try inspecting(path) { () throws(EngineError) -> Value in
                        if let value = preview?.value(column, of: old) { return value }
                        return try table.value(column, of: old)
                    })
            } else {
                values.append(table.definition.columns[column].standard)
            }
        }
        return values
    }

    /// Sets the links to objects that were stored after the objects that link to them. Returns the objects whose links
    /// cannot be set, each once. `put` has stored them, and other objects may link to them: roll back, and store the
    /// others again without them, as `ObjectImport.run` does.
    public func setRemainingLinks() throws -> [RefusedObject] {
        var refused: [RefusedObject] = []
        for each in later where refused.last?.number != each.number {
            let (key, column) = (each.key, each.column)
            let definition = table.definition.columns[column]
            do {
                var planned = PlannedObject(table: table.definition.key)
                planned.values[column] = try parser.value(each.value, of: definition)
                if let reason = try brokenConstraint(planned, key) {
                    throw ObjectParser.Problem(message: reason)
                }
                try inspecting(path) { () throws(EngineError) -> Void in
                    if let preview {
                        _ = try preview.put(planned, key)
                    } else {
                        try recording?.note(key, planned.values.keys)
                        _ = try store.update(key, planned)
                    }
                }
            } catch let problem as ObjectParser.Problem {
                refused.append(
                    RefusedObject(
                        line: each.line, description: problem.at(definition.name).message, outcome: each.outcome,
                        number: each.number))
            }
        }
        later = []
        return refused
    }

    // MARK: The transaction

    /// From now on the changes are recorded, so that `undoStep` can undo them, while the old values take at most
    /// `bytes`. For a new editor that is no preview.
    package func record(atMost bytes: Int) { recording = RecordedChanges(table, session, bytes) }

    /// The step that undoes the recorded changes; nil if they are too many, or their values take too much memory. Call
    /// it before `commit`.
    package func undoStep() throws -> UndoStep? {
        try inspecting(path) { () throws(EngineError) in try recording?.step() }
    }

    /// Makes the changes durable. If it throws `InspectionError`, nothing is changed.
    public func commit() throws {
        precondition(preview == nil, "a preview is never committed")
        try inspecting(path) { () throws(EngineError) in try session.commitWrite() }
    }

    /// Discards the changes.
    public func rollback() { if session.isWriting { session.rollbackWrite() } }
}

extension Inspector {
    /// Begins a write transaction for objects of a class. Waits until no other write transaction is open. Throws
    /// `InspectionError` if the file lacks the class, or cannot be written.
    public func beginEditing(_ className: String) throws -> ObjectEditor {
        try requireWritable()
        let session = try makeSession()
        try inspecting(database.path) { () throws(EngineError) in try session.beginWrite() }
        do {
            return ObjectEditor(session, try editedTable(className, session), database.path)
        } catch {
            session.rollbackWrite()
            throw error
        }
    }

    /// An editor that reports what it would do, at the newest version, and stores nothing. No writer waits for it, and it
    /// waits for none; the file may be open to be read only. Throws `InspectionError` if the file lacks the class.
    public func previewEditing(_ className: String) throws -> ObjectEditor {
        try previewEditing(className, in: try makeSession())
    }

    /// The same, at the version of a session.
    package func previewEditing(_ className: String, in session: Session) throws -> ObjectEditor {
        ObjectEditor(session, try editedTable(className, session), database.path, isPreview: true)
    }

    /// The table of a class whose objects are edited by themselves.
    private func editedTable(_ className: String, _ session: Session) throws -> Table {
        let table = try table(className, session)
        if table.definition.isEmbedded {
            throw InspectionError(
                path: database.path,
                description: "Class '\(className)' is embedded: change the objects that its objects belong to.")
        }
        return table
    }

    func requireWritable() throws {
        if database.options.isReadOnly {
            throw InspectionError(path: database.path, description: "'\(database.path)' is open to be read only.")
        }
    }
}
