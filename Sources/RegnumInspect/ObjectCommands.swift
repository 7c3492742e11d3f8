// SPDX-License-Identifier: Apache-2.0
// Queries and deletes objects by class name and predicate, without the classes of the program.

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
    /// Writes the objects of a class that match the predicate, at most `limit`, see `forEachObject`. Returns the number
    /// of all matches. Properties have the names of their columns, and are in column order.
    ///
    /// Throws `InspectionError` if the file does not have the class, if the predicate is invalid, or if the file is
    /// damaged.
    @discardableResult
    public func query(
        _ className: String, where predicate: String = "TRUEPREDICATE", as format: ObjectFormat = .text,
        limit: Int = .max, to output: inout some TextOutputStream
    ) throws -> Int {
        var isFirst = true
        let count = try forEachObject(of: className, matching: predicate, limit: limit) { object in
            switch format {
            case .text: output.write(try object.line() + "\n")
            case .json: output.write((isFirst ? "[\n" : ",\n") + (try object.json()))
            }
            isFirst = false
        }
        if format == .json { output.write(isFirst ? "[]\n" : "\n]\n") }
        return count
    }

    /// The number of objects of the class that match the predicate. Throws the same errors as `query`.
    public func count(_ className: String, where predicate: String = "TRUEPREDICATE") throws -> Int {
        let session = try makeSession()
        let query = try query(predicate, try table(className, session), session)
        return try inspecting(database.path) { () throws(EngineError) in try query.count() }
    }

    /// Deletes the objects that match the predicate, with the objects embedded in them, in one transaction. Returns the
    /// number of matches. Links to them become null; collections lose their entries for them.
    ///
    /// Throws the same errors as `query`, or an error if the file cannot be written, in which case it is unchanged.
    @discardableResult
    public func delete(_ className: String, where predicate: String) throws -> Int {
        try requireWritable()
        let session = try inspecting(database.path) { () throws(EngineError) in
            let session = try database.makeSession()
            try session.beginWrite()
            return session
        }
        do {
            let table = try table(className, session)
            let query = try query(predicate, table, session)
            let keys = try inspecting(database.path) { () throws(EngineError) in try query.keys() }
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
}
