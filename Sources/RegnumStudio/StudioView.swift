// SPDX-License-Identifier: Apache-2.0
// One version of the file as one lane of requests reads it, and the results that are kept of it. The requests that read
// are extensions: StudioView+Reading, StudioView+Queries.

internal import Foundation
internal import RegnumEngine
internal import RegnumInspect

final class StudioView: @unchecked Sendable {
    // Sendable: made on the worker's queue, then used on the queue of its lane only.
    /// The number of results that are kept: those of the grids that a user goes back and forth between.
    private static let listLimit = 4
    /// The number of objects in all of them, of 8 bytes each, beyond which only the newest results are kept.
    private static let keptObjects = 4_000_000

    let options: StudioOptions
    let inspector: Inspector
    let session: Session
    private var lists: [(name: String, text: String, list: ResultList)] = []

    init(_ options: StudioOptions, _ inspector: Inspector, _ session: Session) {
        self.options = options
        self.inspector = inspector
        self.session = session
    }

    var path: String { options.fileURL.path }
    var isEditing: Bool { !inspector.database.options.isReadOnly }

    /// Runs `body`, whose scans end with an error once `stop` is stopped.
    func scanning<R>(_ stop: ScanStop, _ body: () throws -> R) throws -> R {
        session.scanStop = stop
        defer { session.scanStop = nil }
        return try body()
    }

    /// The table of a class. Throws `InspectionError` if there is none.
    func table(_ className: String) throws -> Table { try inspector.table(className, session) }

    /// The results of a query as text.
    func list(_ className: String, _ text: String) throws -> ResultList {
        if let index = lists.firstIndex(where: { $0.name == className && $0.text == text }) {
            let found = lists.remove(at: index)
            lists.append(found)
        } else {
            let table = try table(className)
            lists.append((className, text, try ResultList(try inspector.query(text, table, session), table, path)))
        }
        while lists.count > 1, lists.count > Self.listLimit || keptCount > Self.keptObjects { lists.removeFirst() }
        return lists[lists.count - 1].list
    }

    private var keptCount: Int { lists.reduce(0) { $0 + $1.list.keptCount } }

    func reading<R>(_ body: () throws(EngineError) -> R) throws -> R { try inspecting(path, body) }

    /// True if an object may have the number.
    static func isNumber(_ key: UInt64) -> Bool { key > 0 && key < 1 << 62 }

    /// The object with the number. Throws `StudioFailure` if there is none.
    func object(_ key: UInt64, in table: Table) throws -> ObjectKey {
        let isThere = try reading { () throws(EngineError) in
            Self.isNumber(key) ? try table.contains(ObjectKey(key)) : false
        }
        guard isThere else {
            throw StudioFailure(404, "noSuchObject", "There is no '\(table.definition.name)' with the number \(key).")
        }
        return ObjectKey(key)
    }
}
