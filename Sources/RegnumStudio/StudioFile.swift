// SPDX-License-Identifier: Apache-2.0
// The open database of a studio: the version that is shown, whether it may be written, and the changes that can be
// undone. Used on the worker's queue.

internal import Foundation
internal import RegnumEngine
internal import RegnumInspect

final class StudioFile {
    /// The number of changes that can be undone.
    static let undoLimit = 100

    let options: StudioOptions
    private var follower: VersionFollower
    /// The version that is shown, as the requests read it that are answered at once.
    private(set) var view: StudioView
    /// The same version, as the lanes of scans read it.
    private var scanViews: [ScanLane: StudioView] = [:]
    /// The last version, as far as it was seen, that has changed the objects of a class.
    private(set) var changedAt: [String: UInt64] = [:]
    /// The last version, as far as it was seen, that has changed the schema.
    private(set) var schemaChangedAt: UInt64 = 0
    /// The last change is last. Numbers ascend and are never used again.
    private(set) var history: [(number: Int, title: String, step: UndoStep, bytes: Int)] = []
    private var historyBytes: Int { history.reduce(0) { $0 + $1.bytes } }
    /// True if the last change has made the studio forget changes because of their size: the page says so.
    private var hasForgotten = false
    private var changeCount = 0

    init(_ options: StudioOptions) throws {
        self.options = options
        let follower = try Self.open(options, isReadOnly: true)
        self.follower = follower
        view = StudioView(options, follower.inspector, follower.session)
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
        history.append((changeCount, title, step, step.byteCount))
        if history.count > Self.undoLimit { history.removeFirst() }
        while historyBytes > options.undoByteLimit {
            history.removeFirst()
            hasForgotten = true
        }
    }

    /// True once after changes were forgotten.
    func takeForgotten() -> Bool {
        defer { hasForgotten = false }
        return hasForgotten
    }

    /// Removes the last change, which was undone.
    func pop(_ restored: RestoredObjects) {
        history.removeLast()
        for index in history.indices { history[index].step.replace(restored) }
    }

    /// Removes all changes, as older ones may concern the objects of one that cannot be undone.
    func forgetHistory() {
        history = []
        hasForgotten = true
    }

    // MARK: The version that is shown

    /// The version that is shown, for a lane: at the same version until another one is shown.
    func scanView(_ lane: ScanLane) throws -> StudioView {
        if let view = scanViews[lane] { return view }
        let session = try inspector.makeSession()
        if session.version != self.session.version {
            try inspecting(path) { () throws(EngineError) in try session.move(to: self.session) }
        }
        let view = StudioView(options, inspector, session)
        scanViews[lane] = view
        return view
    }

    /// Notes the classes that differ, which are all of another file, and shows the newer version.
    private func note(_ older: Session, _ newer: Session, isOther: Bool) {
        view = StudioView(options, inspector, session)
        scanViews = [:]
        if isOther || older.schemaStamp != newer.schemaStamp { schemaChangedAt = newer.version }
        for table in newer.tables {
            let name = table.definition.name
            if isOther || older.table(named: name)?.rowsStamp != table.rowsStamp { changedAt[name] = newer.version }
        }
    }
}
