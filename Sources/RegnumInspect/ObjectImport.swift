// SPDX-License-Identifier: Apache-2.0
// One run of an import of CSV or JSON: stores the objects, counts them, and reports those that are refused.

/// Stores the objects of CSV or JSON through an editor. **Unstable**, like `Inspector`.
///
/// The caller commits or rolls back the editor after `finish`. If objects were refused and the others are to be stored,
/// use `run`.
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
    /// The reasons of the objects that are left out, by their numbers; see `ObjectEditor.number`.
    private var leftOut: [Int: String] = [:]
    /// The objects that `finish` has refused, in the same way.
    private var refusedLast: [Int: String] = [:]

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
                if try isLeftOut(record.line) { continue }
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
                if try isLeftOut(object.line) { continue }
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

    /// Refuses the next object if it was refused before.
    private mutating func isLeftOut(_ line: Int) throws -> Bool {
        guard let reason = leftOut[editor.number + 1] else { return false }
        editor.skip()
        refuse(line, reason)
        try report()
        return true
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
            refusedLast[refused.number] = refused.description
            switch refused.outcome {
            case .inserted: counts.inserted -= 1
            case .updated: counts.updated -= 1
            case .unchanged: counts.unchanged -= 1
            case nil: break
            }
        }
        return counts
    }

    /// A whole import, which the caller commits or rolls back.
    ///
    /// `put` passes the objects to `putCSV` or `putJSON`. With `skippingRefused` it may be called several times: an
    /// object whose link cannot be set is known to be refused only at the end, when others may have been stored that
    /// depend on it. Everything is rolled back then, and stored again without it. `begin` is called before each time,
    /// and makes the editor; earlier calls of `refused` do not count then. Throws the errors of `begin` and `put`.
    public static func run(
        skippingRefused: Bool, begin: () throws -> ObjectEditor,
        refused: @escaping (_ line: Int, _ reason: String) -> Void, progress: @escaping (_ objects: Int) throws -> Void,
        put: (inout ObjectImport) throws -> Void
    ) throws -> (editor: ObjectEditor, counts: Counts) {
        var leftOut: [Int: String] = [:]
        while true {
            let editor = try begin()
            var run = ObjectImport(editor, refused: refused, progress: progress)
            run.leftOut = leftOut
            try put(&run)
            let counts = try run.finish()
            if !skippingRefused || run.refusedLast.isEmpty { return (editor, counts) }
            leftOut.merge(run.refusedLast) { old, _ in old }
            editor.rollback()
        }
    }
}
