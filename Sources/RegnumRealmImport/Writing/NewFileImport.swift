// SPDX-License-Identifier: Apache-2.0
// An import into a file that no other process can see yet: it creates the tables, writes the objects in batches, and
// then verifies the file if this is requested. It continues the import of a killed process if it can.

internal import RegnumEngine

struct NewFileImport<Source: ObjectSource> {
    /// The cost of the objects that are committed together: 1 for each object and each kilobyte of its values. The
    /// transactions of encrypted files stay in memory, so they are smaller: about 32 MB.
    static func batchCost(isEncrypted: Bool) -> Int { isEncrypted ? 32_000 : 200_000 }

    var source: Source
    var report: RealmFileImportReport
    var verifies = false
    /// The source and the options, for an import that can be continued; nil for others.
    var origin: ImportOrigin?
    /// The cost of a batch; nil for `batchCost(isEncrypted:)`.
    var batchCost: Int?
    var progress: ((RealmFileImportProgress) throws -> Void)?
    /// Called after each commit.
    var onCommit: (() throws -> Void)?

    /// An import that has its tables.
    private struct Begun {
        let session: Session
        let importer: ObjectImporter<Source>
        let verifies: Bool
    }

    /// Writes and closes the file. It still has its temporary name then.
    func run(into file: NewFile) throws -> RealmFileImportReport {
        let (report, watch) = try fillOrRepeat(file)
        try watch.finish()
        try file.close()
        return report
    }

    /// Like `fill`, but starts over if the content that a killed process has left turns out to be damaged.
    private func fillOrRepeat(_ file: NewFile) throws -> (RealmFileImportReport, ImportWatch) {
        do { return try fill(file) } catch {
            guard file.isLeftover, Self.isDamage(error) else { throw error }
        }
        try file.startOver()
        return try fill(file)
    }

    private static func isDamage(_ error: any Error) -> Bool {
        if let error = error as? RealmFileImportError { return error.code == .verificationFailed }
        if case .corrupted? = error as? EngineError { return true }
        return false
    }

    /// Writes the file, and has released the session when it returns.
    private func fill(_ file: NewFile) throws -> (RealmFileImportReport, ImportWatch) {
        let schema = NewSchema(source.classes)
        let state = ImportStateTable(origin, source.classes)
        let begun = try resumed(file, schema, state) ?? begin(file, schema, state)
        let (session, importer) = (begun.session, begun.importer)
        let cost = batchCost ?? Self.batchCost(isEncrypted: session.database.isEncrypted)
        while importer.step != .finished {
            try writing(session) {
                let isDone = try importer.advance(cost: cost)
                if let state { try state.save(importer.state(state.origin), session) }
                return isDone
            }
        }
        var report = importer.report
        if begun.verifies {
            var verification = Verification(
                source, session, importer.plans, importer.keys, lossy: importer.lossy, importer.watch)
            try verification.run(&report)
        }
        if let state {
            try writing(session) {
                try state.remove(session)
                return true
            }
        }
        return (report, importer.watch)
    }

    private func watch(verifies: Bool) -> ImportWatch {
        let objects = source.classes.reduce(0) { $0 + $1.objectCount }
        return ImportWatch(objects: objects, passes: verifies ? 3 : 2, progress)
    }

    /// Creates the tables.
    private func begin(_ file: NewFile, _ schema: NewSchema, _ state: ImportStateTable?) throws -> Begun {
        let watch = watch(verifies: verifies)
        var report = report
        report.notes += schema.notes
        report.schemaVersion = source.schemaVersion
        let session = try file.makeSession()
        var plans: [ClassPlan] = []
        try writing(session) {
            try session.addTables(schema.tables + (state == nil ? [] : [ImportStateTable.definition]))
            // A file without a version stays without one: it then opens with any version and without a migration.
            if let version = source.schemaVersion, version != .max { session.setSchemaVersion(version) }
            plans = ClassPlan.plans(source.classes, schema, session)
            return true
        }
        let importer = ObjectImporter(source, into: session, plans, isUpdating: false, report, watch)
        return Begun(session: session, importer: importer, verifies: verifies)
    }

    /// Returns the import that a killed process has left in the file. If there is none, or it cannot be continued,
    /// empties the file and returns nil. The file is checked as a whole, and an import that is continued is always
    /// verified: a loss of power may have damaged the parts that the process had written.
    private func resumed(_ file: NewFile, _ schema: NewSchema, _ state: ImportStateTable?) throws -> Begun? {
        guard file.isLeftover else { return nil }
        do {
            if let state, let begun = try begun(try file.makeSession(), schema, state) { return begun }
        } catch is EngineError {
            // The leftover is damaged.
        }
        try file.startOver()
        return nil
    }

    private func begun(_ session: Session, _ schema: NewSchema, _ state: ImportStateTable) throws -> Begun? {
        guard let state = try state.load(session), schema.isThatOf(session),
            IntegrityCheck.run(session.database, isUnfinished: true).isClean
        else { return nil }
        let plans = ClassPlan.plans(source.classes, schema, session)
        let importer = ObjectImporter(
            source, into: session, plans, isUpdating: false, report, watch(verifies: true))
        guard try importer.restore(state) else { return nil }
        return Begun(session: session, importer: importer, verifies: true)
    }

    /// Runs `body` in a write transaction. Only the last commit must reach stable storage, because no other process
    /// sees the file before that. `body` returns true in the last transaction.
    private func writing(_ session: Session, _ body: () throws -> Bool) throws {
        try session.beginWrite()
        do {
            let isLast = try body()
            try session.commitWrite(isLast ? .full : .relaxed)
        } catch {
            if session.isWriting { session.rollbackWrite() }
            throw error
        }
        try onCommit?()
    }
}
