// SPDX-License-Identifier: Apache-2.0
// One run of an import of CSV or JSON: stores the objects, counts them, and reports those that are refused.

/// Stores the objects of CSV or JSON through an editor. **Unstable**, like `Inspector`.
///
/// The caller commits or rolls back the editor after `finish`.
public struct ObjectImport {
    public struct Counts: Sendable, Equatable {
        public internal(set) var inserted = 0
        public internal(set) var updated = 0
        public internal(set) var unchanged = 0
        public internal(set) var refused = 0
    }

    /// The head of a CSV that cannot be used.
    public struct HeadProblem: Error, Sendable, Equatable, CustomStringConvertible {
        public internal(set) var description: String
    }

    private let editor: ObjectEditor
    private let refused: (_ line: Int, _ reason: String) -> Void
    private let progress: (_ objects: Int) throws -> Void
    private var counts = Counts()

    /// `refused` is called for each refused object, `progress` after each 10,000 objects, refused ones included; an error
    /// that `progress` throws ends the import.
    public init(
        _ editor: ObjectEditor, refused: @escaping (_ line: Int, _ reason: String) -> Void,
        progress: @escaping (_ objects: Int) throws -> Void
    ) {
        self.editor = editor
        self.refused = refused
        self.progress = progress
    }

    /// Stores all records. Throws `HeadProblem`, `InspectionError`, and errors of the source.
    public mutating func putCSV(_ reader: CSVReader) throws {
        var reader = reader
        guard let head = try nextHead(&reader) else {
            throw HeadProblem(description: "The CSV is empty: its first line names properties.")
        }
        do { try editor.setFields(head.fields.map(\.text), line: head.line) } catch let refused as RefusedObject {
            throw HeadProblem(
                description: "The head of the CSV cannot be used: \(refused.description). Its first line names "
                    + "properties of the class.")
        }
        while true {
            do {
                guard let record = try reader.next() else { return }
                try count(try editor.put(fields: record.fields, line: record.line))
            } catch let refused as RefusedObject {
                refuse(refused.line, refused.description)
                try report()
            } catch let problem as CSVReader.Problem {
                refuse(problem.line, problem.message)
                try report()
            }
        }
    }

    private func nextHead(_ reader: inout CSVReader) throws -> CSVReader.Record? {
        do { return try reader.next() } catch let problem as CSVReader.Problem {
            throw HeadProblem(description: "The head of the CSV cannot be used: \(problem.message).")
        }
    }

    /// Stores all objects. Throws `InspectionError`, and errors of the source.
    public mutating func putJSON(_ reader: JSONObjectsReader) throws {
        var reader = reader
        while true {
            do {
                guard let object = try reader.next() else { return }
                try count(try editor.put(json: object.json, line: object.line))
            } catch let refused as RefusedObject {
                refuse(refused.line, refused.description)
                try report()
            } catch let problem as CSVReader.Problem {
                // Nothing after it can be delimited.
                return refuse(problem.line, problem.message)
            }
        }
    }

    private mutating func count(_ outcome: ObjectEditor.Outcome) throws {
        switch outcome {
        case .inserted: counts.inserted += 1
        case .updated: counts.updated += 1
        case .unchanged: counts.unchanged += 1
        }
        try report()
    }

    private mutating func refuse(_ line: Int, _ reason: String) {
        counts.refused += 1
        refused(line, reason)
    }

    private func report() throws {
        let all = counts.inserted + counts.updated + counts.unchanged + counts.refused
        if all % 10_000 == 0 { try progress(all) }
    }

    /// Sets the remaining links. Returns the counts of the whole import. Throws `InspectionError`.
    public mutating func finish() throws -> Counts {
        for refused in try editor.setRemainingLinks() {
            refuse(refused.line, refused.description)
            if refused.wasInserted { counts.inserted -= 1 }
        }
        return counts
    }
}
