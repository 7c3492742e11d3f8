// SPDX-License-Identifier: Apache-2.0
// Requests for windows of rows, single objects, elements and backlinks.

internal import Foundation
internal import RegnumEngine
internal import RegnumInspect
internal import RegnumQuery
internal import RegnumSystem

extension StudioView {
    // MARK: Rows

    /// A window of the results of a query: of `offset` and `limit`, or around the object `anchor`, which becomes row
    /// `row` of the window, so that a grid keeps its rows when other processes commit. With `columns`, a JSON array of
    /// names, the cells are the whole values of these properties as text, in fewer rows if they are long.
    func rows(_ call: StudioCall) throws -> JSONValue {
        let name = try call.text("class")
        let limit = try call.number("limit", 1...500, default: 100)
        var offset = try call.number("offset", 0...Int.max, default: 0)
        let start = ContinuousClock.now
        let list = try list(name, try queryText(call))
        var anchor: Int?
        if call["anchor"] != nil {
            let key = try call.key("anchor")
            anchor = Self.isNumber(key) ? try list.position(of: ObjectKey(key)) : nil
            if let anchor { offset = max(0, anchor - (try call.number("row", 0...500, default: 0))) }
        }
        offset = min(offset, list.count)
        let table = try table(name)
        let keys = try list.keys(offset..<offset + min(limit, list.count - offset))
        let writer = CellWriter(session)
        let columns = try columns(call, of: table)
        let rows = try reading { () throws(EngineError) in
            var rows: [JSONValue] = []
            var characters = 0
            for key in keys where characters < Self.wholeCharacters {
                guard let columns else {
                    rows.append([.int(key.rawValue), try writer.cells(table, key)])
                    continue
                }
                let cells = try writer.writer.cells(table, key, columns: columns)
                characters += cells.reduce(0) { $0 + ($1?.utf8.count ?? 0) }
                rows.append([.int(key.rawValue), .array(cells.map { $0.map(JSONValue.string) ?? .null })])
            }
            return rows
        }
        return [
            "version": .int(session.version), "count": .int(list.count), "offset": .int(offset),
            "anchor": anchor.map { .int($0) } ?? .null, "rows": .array(rows),
            "microseconds": .int(Self.microseconds(since: start)),
        ]
    }

    /// The number of characters after which a window of whole values ends.
    private static let wholeCharacters = 4_000_000

    /// The columns that a request names; nil if it names none.
    func columns(_ call: StudioCall, of table: Table) throws -> [Int]? {
        guard let text = call["columns"], !text.isEmpty else { return nil }
        let problem = StudioFailure.argument("columns", "a JSON array of names of properties")
        guard case .array(let names)? = try? JSONParser.parse(Array(text.utf8)) else { throw problem }
        return try names.map { name in
            guard case .string(let name) = name, let column = table.definition.column(named: name),
                !table.definition.columns[column].isHidden
            else { throw problem }
            return column
        }
    }

    static func microseconds(since start: ContinuousClock.Instant) -> Int {
        let (seconds, attoseconds) = (ContinuousClock.now - start).components
        return Int(seconds) * 1_000_000 + Int(attoseconds / 1_000_000_000_000)
    }

    // MARK: Objects

    /// An object with all its values, and the number of links to it. `json` has each value as it is edited.
    func object(_ call: StudioCall) throws -> JSONValue {
        let table = try table(try call.text("class"))
        let key = try object(try call.key(), in: table)
        let writer = CellWriter(session)
        return try reading { () throws(EngineError) in
            var values: [JSONValue] = []
            for (column, definition) in table.definition.columns.enumerated() where !definition.isHidden {
                var members: [JSONMember] = [
                    .init(key: "name", value: .string(definition.name)),
                    .init(key: "node", value: try writer.node(table, column, key)),
                ]
                if let json = try editedText(table, column, key, writer) {
                    members.append(.init(key: "json", value: .string(json)))
                }
                values.append(.object(members))
            }
            return [
                "version": .int(session.version), "class": .string(table.definition.name), "key": .int(key.rawValue),
                "label": .string(try writer.label(table, key)), "values": .array(values),
                "backlinks": .array(try backlinkCounts(to: key, in: table)),
            ]
        }
    }

    /// The JSON of a value that is edited; nil if it is too long to be edited in a page.
    private func editedText(
        _ table: Table, _ column: Int, _ key: ObjectKey, _ writer: CellWriter
    ) throws(EngineError) -> String? {
        if !isEditing { return nil }
        switch table.definition.columns[column].collection {
        case .none: break
        case .list, .set: if try table.listCount(column, of: key) > 1000 { return nil }
        case .dictionary: if try table.dictionaryCount(column, of: key) > 1000 { return nil }
        }
        let json: String
        do throws(EngineError) { json = try writer.writer.json(table, column, key) } catch {
            if case .limit = error { return nil }
            throw error
        }
        return json.utf8.count <= CellWriter.textLength ? json : nil
    }

    private func backlinkCounts(to key: ObjectKey, in table: Table) throws(EngineError) -> [JSONValue] {
        var counts: [JSONValue] = []
        for origin in session.tables {
            for (column, definition) in origin.definition.columns.enumerated()
            where Self.mayLead(definition, to: table) && origin.hasLinks(in: column) {
                let count = try table.backlinkCount(to: key, from: origin, column: column)
                if count == 0 { continue }
                counts.append([
                    "class": .string(origin.definition.name), "property": .string(definition.name),
                    "count": .int(count),
                ])
            }
        }
        return counts
    }

    private static func mayLead(_ column: ColumnDefinition, to table: Table) -> Bool {
        column.type == .mixed || column.type == .link && column.target == table.definition.key
    }

    /// A window of the objects of class `from` whose `property` leads to an object.
    func backlinks(_ call: StudioCall) throws -> JSONValue {
        let table = try table(try call.text("class"))
        let key = try object(try call.key(), in: table)
        let origin = try self.table(try call.text("from"))
        let column = try column(try call.text("property"), of: origin)
        guard Self.mayLead(origin.definition.columns[column], to: table) else {
            throw StudioFailure.argument("property", "a property that leads to class '\(table.definition.name)'")
        }
        let offset = try call.number("offset", 0...Int.max, default: 0)
        let limit = try call.number("limit", 1...200, default: 50)
        let writer = CellWriter(session)
        return try reading { () throws(EngineError) in
            let count =
                origin.hasLinks(in: column) ? try table.backlinkCount(to: key, from: origin, column: column) : 0
            var objects: [JSONValue] = []
            let start = min(offset, count)
            for position in start..<start + min(limit, count - start) {
                guard let holder = try table.backlink(to: key, from: origin, column: column, at: position) else {
                    break
                }
                objects.append(["key": .int(holder.rawValue), "label": .string(try writer.label(origin, holder))])
            }
            return ["count": .int(count), "offset": .int(offset), "objects": .array(objects)]
        }
    }

    /// A window of the elements of a collection.
    func elements(_ call: StudioCall) throws -> JSONValue {
        let table = try table(try call.text("class"))
        let key = try object(try call.key(), in: table)
        let column = try column(try call.text("property"), of: table)
        let definition = table.definition.columns[column]
        guard definition.collection != .none else { throw StudioFailure.argument("property", "a collection") }
        let offset = try call.number("offset", 0...Int.max, default: 0)
        let limit = try call.number("limit", 1...500, default: 100)
        return try reading { () throws(EngineError) in
            let count =
                definition.collection == .dictionary
                ? try table.dictionaryCount(column, of: key) : try table.listCount(column, of: key)
            let start = min(offset, count)
            let nodes = try CellWriter(session).elements(table, column, key, start..<start + min(limit, count - start))
            return ["n": .int(count), "offset": .int(start), "items": .array(nodes)]
        }
    }

    func column(_ name: String, of table: Table) throws -> Int {
        guard let column = table.definition.column(named: name), !table.definition.columns[column].isHidden else {
            throw StudioFailure(
                404, "noSuchProperty", "Class '\(table.definition.name)' has no property '\(name)'.")
        }
        return column
    }

    // MARK: Pickers

    /// Objects to link to: by number (`#7`), by primary key, or by a part of the text that names them.
    func find(_ call: StudioCall) throws -> JSONValue {
        let table = try table(try call.text("class"))
        let text = call["text"] ?? ""
        var keys: [ObjectKey] = []
        if let found = try? inspector.objectText(table.definition.name, identity: text) {
            keys = [ObjectKey(found.key)]
        }
        if let column = CellWriter.labelColumn(table.definition), !text.isEmpty {
            let path = KeyPathOperand([KeyPathSegment(table.definition.columns[column].name)])
            let predicate = RegnumQuery.Predicate.comparison(
                Comparison(.keyPath(path), .contains, .constant(.string(text)), options: .caseInsensitive))
            let bound = try PredicateBinder.bind(
                predicate, to: table.definition.key, in: TableSchema(session.tables.map(\.definition)))
            let query = ObjectQuery(session: session, table: table.definition.key, predicate: bound)
            keys += try reading { () throws(EngineError) in try query.keys(first: 20) }.filter { !keys.contains($0) }
        } else if text.isEmpty {
            keys = try list(table.definition.name, "").keys(0..<20)
        }
        let writer = CellWriter(session)
        return try reading { () throws(EngineError) in
            var objects: [JSONValue] = []
            for key in keys where try table.contains(key) {
                objects.append(["key": .int(key.rawValue), "label": .string(try writer.label(table, key))])
            }
            return ["objects": .array(objects)]
        }
    }

    /// The values that a property of a class of moderate size has, at most 50, as plain text.
    func distinctValues(_ call: StudioCall) throws -> JSONValue {
        let table = try table(try call.text("class"))
        let definition = table.definition.columns[try column(try call.text("property"), of: table)]
        guard table.count <= 100_000, definition.type == .int || definition.type == .string,
            definition.collection == .none, let position = table.definition.column(named: definition.name)
        else { return ["values": []] }
        let key = SortKey(column: position, type: definition.type)
        let query = ObjectQuery(
            session: session, table: table.definition.key, orderings: [.distinct([key]), .sort([key])])
        let writer = ObjectFormatter(session: session)
        return try reading { () throws(EngineError) in
            var values: [JSONValue] = []
            for key in try query.keys(first: 51) {
                let value = try table.value(position, of: key)
                let text = try writer.plain(value)
                // Names of an enum are short. Long texts are no choice.
                if text.utf8.count > CellWriter.cellLength { return ["values": []] }
                if value != .null { values.append(.string(text)) }
            }
            return ["values": values.count > 50 ? [] : .array(values)]
        }
    }
}
