// SPDX-License-Identifier: Apache-2.0
// Dumps the whole content of a database as JSON, one object of a table on each line, as `Tests/Golden/reader.py` does
// from the bytes of the file. A value is null or a string that begins with its type. Floating-point numbers, decimals
// and bytes are hexadecimal digits, so that no bit is lost.

import RegnumEngine

enum GoldenDump {
    static func json(_ session: Session) throws -> String {
        let tables = try session.tables.sorted { $0.definition.key < $1.definition.key }.map { try json($0) }
        return """
            {"version":\(session.version),"schemaVersion":\(session.schemaVersion),"tables":[
            \(tables.joined(separator: ",\n"))
            ]}

            """
    }

    private static func json(_ table: Table) throws -> String {
        let definition = table.definition
        let columns = definition.columns.map(json).joined(separator: ",\n")
        var rows: [String] = []
        try table.forEachGroup { group throws(EngineError) in
            for row in 0..<group.pointee.count {
                let location = RowLocation(group: group, row: row)
                var values: [String] = []
                for column in definition.columns.indices {
                    values.append(try json(table, column, location, definition.columns[column]))
                }
                rows.append("[\(location.key.rawValue),\(values.joined(separator: ","))]")
            }
            return true
        }
        var uniques = definition.uniques.map(json).joined(separator: ",")
        if !uniques.isEmpty { uniques = "\"uniques\":[\(uniques)]," }
        return """
            {"key":\(definition.key.rawValue),"name":\(quoted(definition.name)),"embedded":\(definition.isEmbedded),\
            "columns":[
            \(columns)
            ],\(uniques)"rows":[
            \(rows.joined(separator: ",\n"))
            ]}
            """
    }

    /// Keys that older golden files lack are only written if they differ from the default.
    private static func json(_ column: ColumnDefinition) -> String {
        var rules = column.isContentIndexed ? ",\"contents\":true" : ""
        if column.deleteRule != .nullify { rules += ",\"deleteRule\":\"\(column.deleteRule)\"" }
        if column.originRule != .nullify { rules += ",\"originRule\":\"\(column.originRule)\"" }
        return """
            {"key":\(column.key.rawValue),"name":\(quoted(column.name)),"type":"\(column.type)",\
            "collection":"\(column.collection)","nullable":\(column.isNullable),"indexed":\(column.isIndexed),\
            "primary":\(column.isPrimaryKey),"hidden":\(column.isHidden),\
            "target":\(column.target.map { "\($0.rawValue)" } ?? "null")\(rules)}
            """
    }

    private static func json(_ unique: UniqueDefinition) -> String {
        let columns = unique.columns.map { "\($0.rawValue)" }.joined(separator: ",")
        return "{\"key\":\(unique.key.rawValue),\"columns\":[\(columns)]}"
    }

    private static func json(
        _ table: Table, _ column: Int, _ location: RowLocation, _ definition: ColumnDefinition
    ) throws(EngineError) -> String {
        switch definition.collection {
        case .none: return json(try table.value(column, at: location))
        case .list, .set: return json(.list(try table.listValues(column, at: location)))
        case .dictionary: return json(.dictionary(try table.dictionaryEntries(column, of: location.key)))
        }
    }

    private static func json(_ value: Value) -> String {
        switch value {
        case .null: "null"
        case .bool(let value): "\"bool:\(value)\""
        case .int(let value): "\"int:\(value)\""
        case .float(let value): "\"float:\(hex(value.bitPattern))\""
        case .double(let value): "\"double:\(hex(value.bitPattern))\""
        case .string(let text): quoted("string:" + text)
        case .data(let bytes): "\"data:\(bytes.map { hex($0) }.joined())\""
        case .date(let date): "\"date:\(date.seconds),\(date.nanoseconds)\""
        case .objectID(let low, let high): "\"objectID:\(hex(low.byteSwapped))\(hex(high.byteSwapped))\""
        case .uuid(let low, let high): "\"uuid:\(hex(low.byteSwapped))\(hex(high.byteSwapped))\""
        case .link(let key): "\"link:\(key.rawValue)\""
        case .decimal128(let low, let high): "\"decimal128:\(hex(high))\(hex(low))\""
        case .typedLink(let table, let key): "\"link:\(table.rawValue)/\(key.rawValue)\""
        case .list(let values): "[\(values.map(json).joined(separator: ","))]"
        case .dictionary(let entries):
            "{\(entries.map { "\(quoted($0.key)):\(json($0.value))" }.joined(separator: ","))}"
        }
    }

    private static func hex<I: FixedWidthInteger>(_ value: I) -> String {
        let digits = String(value, radix: 16)
        return String(repeating: "0", count: I.bitWidth / 4 - digits.count) + digits
    }

    private static func quoted(_ text: String) -> String {
        var out = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"", "\\": out += "\\\(scalar)"
            case _ where scalar.value < 32: out += "\\u" + hex(UInt16(scalar.value))
            default: out.unicodeScalars.append(scalar)
            }
        }
        return out + "\""
    }
}
