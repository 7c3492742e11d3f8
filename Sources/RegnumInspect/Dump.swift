// SPDX-License-Identifier: Apache-2.0
// Prints a database file as readable text: space, versions, schema.

internal import RegnumEngine
internal import RegnumSystem

extension Inspector {
    /// Writes the file's use of space, its versions, and each table with its columns. The format of the text may change
    /// in any release. Control characters in names are escaped. Reads the whole file once. Throws `InspectionError`, in
    /// which case nothing is written.
    public func dump(to output: inout some TextOutputStream) throws {
        let report = try report()
        let session = try inspecting(database.path) { () throws(EngineError) in try database.makeSession() }
        var text = "file \(PrintableText.escaped(database.path))\n"
        text +=
            "  \(report.fileBytes) bytes, pages of \(report.pageBytes): \(report.reachablePages) reachable, "
        text += "\(report.pendingPages) pending, \(report.freePages) free, \(report.reservedPages) reserved\n"
        if report.keptVersions > 0 {
            text += "  history: \(report.keptVersions) older versions, \(report.keptPages) pages\n"
        }
        text += Self.versions(session, database)
        for space in report.tables {
            guard let table = session.table(named: space.name) else { continue }
            text += "table \(PrintableText.escaped(space.name)): \(space.objects) objects, "
            text += "\(space.totalBytes) bytes (row groups "
            text +=
                "\(space.rowGroupBytes), blobs \(space.blobBytes), indexes \(space.indexBytes), backlinks "
            text += "\(space.backlinkBytes))\n"
            for column in table.definition.columns {
                text += "  \(PrintableText.escaped(Self.line(column, session)))\n"
            }
        }
        output.write(text)
    }

    private static func versions(_ session: Session, _ database: Database) -> String {
        let number = session.schemaVersion
        let schema = number == Catalog.neverSet ? "never set" : "\(number)"
        let pinned = database.versions.pinned.map(String.init).joined(separator: ", ")
        return "version \(session.version), schema version \(schema); read here: \(pinned)\n"
    }

    private static func line(_ column: ColumnDefinition, _ session: Session) -> String {
        var type = "\(column.type)"
        if let target = column.target { type = session.table(target)?.definition.name ?? "link without a target" }
        if column.isNullable { type += "?" }
        if column.collection != .none { type = "\(column.collection) of \(type)" }
        var words = ["\(column.name): \(type)"]
        if column.isPrimaryKey { words.append("primary key") }
        if column.isIndexed { words.append("indexed") }
        if column.isContentIndexed { words.append(column.type == .string ? "full text" : "location") }
        if column.isHidden { words.append("hidden") }
        return words.joined(separator: ", ")
    }
}
