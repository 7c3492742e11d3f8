// SPDX-License-Identifier: Apache-2.0
// Requests about the file as a whole: its schema, its counts, and the processes that have it open.

internal import Foundation
internal import RegnumEngine
internal import RegnumInspect
internal import RegnumSystem

extension StudioFile {
    /// The file and its schema, at the newest version.
    func describe() throws -> JSONValue {
        try refresh()
        let bytes = try? FileManager.default.attributesOfItem(atPath: path)[.size] as? Int
        let tables = session.tables.sorted { $0.definition.name < $1.definition.name }
        return [
            "name": .string(options.name), "path": .string(path), "note": .optional(options.note),
            "version": .int(session.version),
            // The greatest number: no program has opened the file with classes yet.
            "schemaVersion": session.schemaVersion == .max ? .null : .int(session.schemaVersion),
            "bytes": .int(bytes ?? 0), "isEncrypted": .bool(inspector.database.isEncrypted),
            "isEditing": .bool(isEditing), "allowsEditing": .bool(options.allowsEditing),
            "undo": undoTitles, "undoNumber": undoNumber,
            "classes": .array(tables.map { describe($0) }),
        ]
    }

    private func describe(_ table: Table) -> JSONValue {
        let definition = table.definition
        let uniques = definition.uniques.map { unique -> JSONValue in
            .array(
                unique.columns.compactMap { key in
                    definition.columns.first { $0.key == key }.map { .string($0.name) }
                })
        }
        return [
            "name": .string(definition.name), "objects": .int(table.count), "isEmbedded": .bool(definition.isEmbedded),
            "properties": .array(definition.columns.filter { !$0.isHidden }.map { describe($0) }),
            "uniques": .array(uniques),
        ]
    }

    private func describe(_ column: ColumnDefinition) -> JSONValue {
        let property = PropertyDescription(column, session)
        return [
            "name": .string(column.name), "type": .string(property.type), "text": .string(property.text),
            "collection": .string(property.collection.rawValue), "isLink": .bool(property.isLink),
            "isOptional": .bool(property.isOptional), "isPrimaryKey": .bool(column.isPrimaryKey),
            "isIndexed": .bool(column.isIndexed), "isContentIndexed": .bool(column.isContentIndexed),
            "onDelete": .string("\(column.deleteRule)"), "onTargetDelete": .string("\(column.originRule)"),
        ]
    }

    /// The processes that have the file open.
    func pins() throws -> JSONValue {
        try refresh()
        let processes = try inspector.openProcesses().map { process -> JSONValue in
            [
                "process": process.process == 0 ? .null : .int(process.process),
                "versions": .array(process.versions.map { .int($0) }),
                "everyVersionFrom": process.everyVersionFrom.map { .int($0) } ?? .null,
                "isWriting": .bool(process.isWriting),
            ]
        }
        return [
            "newest": .int(inspector.newestVersion), "processes": .array(processes),
            "own": .int(ProcessInfo.processInfo.processIdentifier),
        ]
    }
}
