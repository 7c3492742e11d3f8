// SPDX-License-Identifier: Apache-2.0
// An import of CSV or JSON, or the preview of one, and its report.

internal import RegnumEngine
internal import RegnumInspect
internal import RegnumSystem

/// The report of an import.
struct StudioImport: Sendable {
    /// The number of refused objects that are named.
    private static let shownRefusals = 100

    var counts: ObjectImport.Counts
    private var refusals: [JSONValue]

    /// Stores the objects of a request. Throws if `isOver`, which is asked now and then, says that the time is over.
    static func run(
        _ call: StudioCall, _ editor: ObjectEditor, isOver: @escaping () -> Bool
    ) throws -> StudioImport {
        var refusals: [JSONValue] = []
        var run = ObjectImport(editor) { line, reason in
            if refusals.count < shownRefusals { refusals.append(["line": .int(line), "reason": .string(reason)]) }
        } progress: { _ in
            if isOver() { throw StudioFailure.timeout }
        }
        let source = ByteSource([UInt8](call.body))
        switch call["format"] {
        case "json": try run.putJSON(JSONObjectsReader(source))
        case "tsv": try run.putCSV(CSVReader(source, separator: 0x09))
        default: try run.putCSV(CSVReader(source))
        }
        let counts = try run.finish()
        return StudioImport(counts: counts, refusals: refusals)
    }

    func json(isKept: Bool, _ state: JSONValue) -> JSONValue {
        [
            "inserted": .int(counts.inserted), "updated": .int(counts.updated), "unchanged": .int(counts.unchanged),
            "refused": .int(counts.refused), "refusals": .array(refusals), "written": .bool(isKept), "state": state,
        ]
    }
}

extension StudioView {
    /// The report that an import would have. It is computed from this version, so no writer waits for it.
    func previewImport(_ call: StudioCall) throws -> StudioImport {
        let editor = try inspector.previewEditing(try call.text("class"), in: session)
        return try StudioImport.run(call, editor) { [session] in session.scanStop?.isStopped ?? false }
    }
}
