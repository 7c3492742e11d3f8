// SPDX-License-Identifier: Apache-2.0
// Writes a file's tables and objects in the text form of the fixtures.

import Foundation
import RegnumRealmFile

enum RealmDump {
    /// A line for each table and each object.
    static func lines(_ file: RealmFile) throws -> [String] {
        var lines: [String] = []
        for table in file.tables {
            let kind = [.topLevel: 0, .embedded: 1, .asymmetric: 2][table.kind] ?? 9
            lines.append("T \(table.tableName) key=\(table.index) n=\(table.objectCount) type=\(kind)")
            try file.forEachObject(of: table) { object in
                var line = "O \(object.key)"
                for (index, property) in table.properties.enumerated() {
                    line +=
                        "\t\(property.name):"
                        + text(
                            try object.value(at: index), isSingle: property.collection == .none && property.type != .any
                        )
                }
                lines.append(line)
            }
        }
        return lines
    }

    static func text(_ value: RealmFileValue, isSingle: Bool = false) -> String {
        switch value {
        case .null: return "null"
        case .bool(let value): return value ? "true" : "false"
        case .int(let value): return "\(value)"
        case .float(let value): return "f:" + padded(UInt64(value.bitPattern), 8)
        case .double(let value): return "d:" + padded(value.bitPattern, 16)
        case .string(let value): return "s:" + hex(value.utf8)
        case .data(let value): return "b:" + hex(value)
        case .date(let value): return "t:\(value.seconds),\(value.nanoseconds)"
        case .decimal(let value): return decimal(value)
        case .objectId(let value): return "o:\(value)"
        case .uuid(let value): return "u:" + value.uuidString.lowercased()
        case .link(let link): return isSingle ? "L:\(link.key)" : "L:\(link.tableIndex),\(link.key)"
        case .list(let values), .set(let values): return "[" + values.map { text($0) }.joined(separator: "|") + "]"
        case .dictionary(let entries):
            let texts = entries.map { (key: text($0.key).replacing("s:", with: ""), value: text($0.value)) }
            return "{" + texts.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: "|") + "}"
        case .rows(let rows):
            return "(" + rows.map { $0.map { text($0) }.joined(separator: ",") }.joined(separator: "|") + ")"
        }
    }

    private static func decimal(_ value: RealmFileDecimal) -> String {
        switch value.kind {
        case .notANumber: return "D:NaN"
        case .infinity: return value.isNegative ? "D:-Inf" : "D:Inf"
        case .finite:
            let digits = String(value.coefficient.high, radix: 16) + padded(value.coefficient.low, 16)
            return "D:\(value.isNegative ? 1 : 0),\(digits),\(value.exponent)"
        }
    }

    private static func padded(_ value: UInt64, _ count: Int) -> String {
        let digits = String(value, radix: 16)
        return String(repeating: "0", count: max(0, count - digits.count)) + digits
    }

    private static func hex(_ bytes: some Sequence<UInt8>) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}
