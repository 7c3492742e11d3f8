// SPDX-License-Identifier: Apache-2.0
// Responses that wait or that are long: changes by other processes, exports, and the bytes of data.

internal import Foundation
internal import RegnumEngine
internal import RegnumInspect
internal import RegnumSystem

extension Studio {
    /// The longest wait for a change.
    private static let longestWait = Duration.seconds(20)
    private static let pause = Duration.milliseconds(100)

    /// Waits until there is another version than `after`, at most as long as `wait` (in ms) says. Returns the newest
    /// version and the classes that have changed since then.
    func changes(_ call: StudioCall) async throws -> StudioResponse {
        let seen = try call.number("after", 0...Int.max, default: 0)
        let wait = min(Self.longestWait, .milliseconds(try call.number("wait", 0...60_000, default: 20_000)))
        let end = ContinuousClock.now + wait
        while true {
            let json = try await worker.run { file in try file.changes(since: UInt64(seen)) }
            if let json { return StudioResponse(200, json: json) }
            if ContinuousClock.now >= end { return StudioResponse(200, json: ["version": .int(seen), "classes": []]) }
            try await Task.sleep(for: Self.pause)
        }
    }

    /// The results of a query as CSV or JSON, with the given columns, at one version.
    func export(_ call: StudioCall) async throws -> StudioResponse {
        let isJSON = call["format"] == "json"
        let export = try await worker.scan(.scans, call) { view in
            RunningExport(try ObjectExport(view, call, isJSON: isJSON))
        }
        let worker = worker
        let longestPause = options.longestPause
        let chunks = AsyncThrowingStream<Data, any Error>(unfolding: {
            try await worker.scan(.scans) { stop -> Data? in
                let chunk = try export.next(stop)
                let turn = export.turn
                worker.later(.scans, longestPause) { export.end(after: turn) }
                return chunk
            }
        })
        return StudioResponse(
            200, type: isJSON ? "application/json" : "text/csv; charset=utf-8; header=present", .stream(chunks))
    }

    /// The bytes of a property of type Data. Browsers show no other type than a picture.
    func data(_ call: StudioCall) async throws -> StudioResponse {
        let bytes = try await worker.run { file in
            let view = file.view
            let table = try view.table(try call.text("class"))
            let key = try view.object(try call.key(), in: table)
            let column = try view.column(try call.text("property"), of: table)
            let isSingle = table.definition.columns[column].collection == .none
            let value = try view.reading { () throws(EngineError) in
                isSingle ? try table.value(column, of: key) : .null
            }
            guard case .data(let bytes) = value else {
                throw StudioFailure(404, "noData", "The property has no data.")
            }
            return bytes
        }
        return StudioResponse(200, type: StudioPicture.type(bytes) ?? "application/octet-stream", .data(Data(bytes)))
    }
}

extension StudioFile {
    /// The newest version, and the classes that have changed after `version`; nil if that is the newest one. If the
    /// newest one is older, as the file was replaced, everything has changed.
    func changes(since version: UInt64) throws -> JSONValue? {
        try refresh()
        if session.version == version { return nil }
        let isOther = session.version < version
        let classes = session.tables.filter { isOther || changedAt[$0.definition.name, default: 0] > version }
        return [
            "version": .int(session.version), "schema": .bool(isOther || schemaChangedAt > version),
            "classes": .array(
                classes.map { ["name": .string($0.definition.name), "objects": .int($0.count)] }),
        ]
    }
}

/// An export, until its reader has all chunks or takes no more.
private final class RunningExport: @unchecked Sendable {
    // Sendable: used on the queue of the scans only.
    private var export: ObjectExport?
    /// The number of chunks that were asked for.
    private(set) var turn = 0

    init(_ export: ObjectExport) { self.export = export }

    func next(_ stop: ScanStop) throws -> Data? {
        turn += 1
        guard let export else { throw StudioFailure.timeout }
        return try export.next(stop)
    }

    /// Ends the export unless a chunk was asked for since then.
    func end(after turn: Int) { if turn == self.turn { export = nil } }
}

/// An export that is under way. Memory: 8 bytes for each result, and a chunk.
private final class ObjectExport: @unchecked Sendable {
    // Sendable: used on the queue of the scans only, one chunk after another.
    private static let chunkLength = 1 << 18

    private let view: StudioView
    private let table: Table
    private let list: ResultList
    private let isJSON: Bool
    private let columns: [Int]
    private let writer: ObjectFormatter
    private var position = 0
    private var hasBegun = false
    private var isDone = false

    init(_ view: StudioView, _ call: StudioCall, isJSON: Bool) throws {
        let table = try view.table(try call.text("class"))
        self.view = view
        self.table = table
        list = try view.list(table.definition.name, try view.queryText(call))
        self.isJSON = isJSON
        let visible = table.definition.columns.indices.filter { !table.definition.columns[$0].isHidden }
        columns = try view.columns(call, of: table) ?? visible
        writer = ObjectFormatter(session: view.session)
    }

    /// The next chunk; nil at the end.
    func next(_ stop: ScanStop) throws -> Data? { try view.scanning(stop) { try next() } }

    private func next() throws -> Data? {
        if isDone { return nil }
        var text = ""
        if !hasBegun {
            hasBegun = true
            if !isJSON { text += CSVText.record(columns.map { table.definition.columns[$0].name }) }
        }
        while position < list.count, text.utf8.count < Self.chunkLength {
            let keys = try list.keys(position..<position + min(200, list.count - position))
            try view.reading { () throws(EngineError) in
                for key in keys {
                    if isJSON {
                        text += position == 0 ? "[\n" : ",\n"
                        text += try json(key)
                    } else {
                        text += try record(key)
                    }
                    position += 1
                }
            }
        }
        if position >= list.count {
            isDone = true
            if isJSON { text += position == 0 ? "[]\n" : "\n]\n" }
        }
        return Data(text.utf8)
    }

    private func record(_ key: ObjectKey) throws(EngineError) -> String {
        CSVText.record(try writer.cells(table, key, columns: columns))
    }

    private func json(_ key: ObjectKey) throws(EngineError) -> String {
        var text = "{"
        for (index, column) in columns.enumerated() {
            if index > 0 { text += ", " }
            JSONValue.quote(table.definition.columns[column].name, to: &text)
            text += ": " + (try writer.json(table, column, key))
        }
        return text + "}"
    }
}
