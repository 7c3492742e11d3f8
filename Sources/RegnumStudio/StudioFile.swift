// SPDX-License-Identifier: Apache-2.0
// The open database of a studio: the version that is shown, whether it may be written, the results that are kept, and
// the changes that can be undone. Used on the worker's queue.

internal import Foundation
internal import RegnumEngine
internal import RegnumInspect

final class StudioFile {
    /// The number of changes that can be undone.
    static let undoLimit = 100
    /// The number of results that are kept: those of the grids that a user goes back and forth between.
    private static let listLimit = 4
    /// The number of objects in all of them, of 8 bytes each, beyond which only the newest results are kept.
    private static let keptObjects = 4_000_000

    let options: StudioOptions
    private var follower: VersionFollower
    private var lists: [(name: String, text: String, list: ResultList)] = []
    /// The last version, as far as it was seen, that has changed the objects of a class.
    private(set) var changedAt: [String: UInt64] = [:]
    /// The last version, as far as it was seen, that has changed the schema.
    private(set) var schemaChangedAt: UInt64 = 0
    /// The last change is last. Numbers ascend and are never used again.
    private(set) var history: [(number: Int, title: String, step: UndoStep)] = []
    private var changeCount = 0

    init(_ options: StudioOptions) throws {
        self.options = options
        follower = try Self.open(options, isReadOnly: true)
    }

    private static func open(_ options: StudioOptions, isReadOnly: Bool) throws -> VersionFollower {
        try VersionFollower(
            path: options.fileURL.path, isReadOnly: isReadOnly, encryptionKey: options.encryptionKey,
            busyTimeout: options.busyTimeout)
    }

    var inspector: Inspector { follower.inspector }
    var session: Session { follower.session }
    var path: String { options.fileURL.path }
    var isEditing: Bool { !follower.isReadOnly }

    /// Opens the file to write it, as any other process would, or to read it again.
    func setEditing(_ wanted: Bool) throws {
        if wanted == isEditing { return }
        if wanted, !options.allowsEditing {
            throw StudioFailure(403, "notEditable", options.note ?? "This file is shown only.")
        }
        let next = try Self.open(options, isReadOnly: !wanted)
        let (older, isOther) = (follower.session, follower.fileNumber != next.fileNumber)
        follower = next
        if !wanted { history = [] }
        note(older, next.session, isOther: isOther)
    }

    /// Throws `StudioFailure` unless the user has switched to editing. Throws `InspectionError` if the file was deleted:
    /// a change would be lost with it.
    func requireEditing() throws {
        guard isEditing else {
            throw StudioFailure(403, "readOnly", "The file is only read: switch to editing first.")
        }
        try refresh()
    }

    /// Advances to the newest version.
    func refresh() throws {
        let (older, file) = (follower.session, follower.fileNumber)
        guard try follower.advance() else { return }
        let isOther = follower.fileNumber != file
        // The changes were made in the file that was replaced.
        if isOther { history = [] }
        note(older, follower.session, isOther: isOther)
    }

    // MARK: The changes that can be undone

    func push(_ title: String, _ step: UndoStep) {
        changeCount += 1
        history.append((changeCount, title, step))
        if history.count > Self.undoLimit { history.removeFirst() }
    }

    /// Removes the last change, which was undone.
    func pop(_ restored: RestoredObjects) {
        history.removeLast()
        for index in history.indices { history[index].step.replace(restored) }
    }

    /// Removes all changes.
    func forgetHistory() { history = [] }

    // MARK: Results

    /// Notes the classes that differ, which are all of another file, and drops the results.
    private func note(_ older: Session, _ newer: Session, isOther: Bool) {
        lists = []
        if isOther || older.schemaStamp != newer.schemaStamp { schemaChangedAt = newer.version }
        for table in newer.tables {
            let name = table.definition.name
            if isOther || older.table(named: name)?.rowsStamp != table.rowsStamp { changedAt[name] = newer.version }
        }
    }

    /// The table of a class. Throws `InspectionError` if there is none.
    func table(_ className: String) throws -> Table { try inspector.table(className, session) }

    /// The results of a query as text, at the version that is shown.
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
