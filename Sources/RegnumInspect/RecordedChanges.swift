// SPDX-License-Identifier: Apache-2.0
// The changes of an import as they are made, so that it can be undone.

internal import RegnumEngine

/// The new objects of a transaction, and the old values of changed ones. Confined to the session.
struct RecordedChanges {
    private let table: Table
    private let session: Session
    private let reader: ImageReader
    private let byteLimit: Int
    private var byteCount = 0
    private var inserted: Set<ObjectKey> = []
    private var before: [ObjectKey: PlannedObject] = [:]
    /// True after the limits were reached.
    private var isFull = false

    init(_ table: Table, _ session: Session, _ byteLimit: Int) {
        self.table = table
        self.session = session
        self.byteLimit = byteLimit
        reader = ImageReader(session: session)
    }

    mutating func noteInserted(_ key: ObjectKey) {
        if isFull { return }
        inserted.insert(key)
        check()
    }

    /// Keeps the values of columns of an object that is changed next, unless they are kept already.
    mutating func note(_ key: ObjectKey, _ columns: some Collection<Int>) throws(EngineError) {
        if isFull || inserted.contains(key) { return }
        let known = before[key] ?? PlannedObject(table: table.definition.key)
        let missing = columns.filter { known.values[$0] == nil }
        if missing.isEmpty { return }
        do throws(EngineError) {
            let image = try reader.object(table, key, columns: missing)
            // It is kept as it was and as it is.
            byteCount += 2 * image.byteCount
            before[key] = PlannedObject(
                table: known.table, values: known.values.merging(image.values) { old, _ in old })
        } catch {
            // Objects that are nested too deeply have no image.
            guard case .limit = error else { throw error }
            byteCount = .max
        }
        check()
    }

    private mutating func check() {
        guard inserted.count + before.count > Inspector.undoLimit || byteCount > byteLimit else { return }
        isFull = true
        (inserted, before) = ([], [:])
    }

    /// The step that undoes the changes; nil if the limits were reached.
    func step() throws(EngineError) -> UndoStep? {
        if isFull { return nil }
        var step = UndoStep(session)
        var bytes = byteCount
        for key in inserted {
            let image = try reader.object(table, key)
            bytes += 2 * image.byteCount
            if bytes > byteLimit { return nil }
            step.inserted.append(.init(row: row(key), before: image, after: image))
        }
        let store = ObjectStore(session: session)
        for (key, image) in before where try !store.isSame(image, key) {
            let after = try reader.object(table, key, columns: Array(image.values.keys))
            step.changes.append(.init(row: row(key), before: image, after: after))
        }
        return step
    }

    private func row(_ key: ObjectKey) -> RowKey { RowKey(table: table.definition.key, key: key) }
}
