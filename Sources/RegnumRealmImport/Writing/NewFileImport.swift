// SPDX-License-Identifier: Apache-2.0
// An import into a file that no other process can see yet: it creates the tables, writes the objects in batches, and
// then verifies the file if this is requested.

internal import RegnumEngine

struct NewFileImport<Source: ObjectSource> {
    /// The cost of the objects that are committed together: 1 for each object and each kilobyte of its values. The
    /// transactions of encrypted files stay in memory, so they are smaller: about 32 MB.
    static func batchCost(isEncrypted: Bool) -> Int { isEncrypted ? 32_000 : 200_000 }

    var source: Source
    var report: RealmFileImportReport
    var verifies = false
    var progress: ((RealmFileImportProgress) throws -> Void)?

    /// Writes and closes the file. It still has its temporary name then.
    func run(into file: NewFile) throws -> RealmFileImportReport {
        let objects = source.classes.reduce(0) { $0 + $1.objectCount }
        let watch = ImportWatch(objects: objects, passes: verifies ? 3 : 2, progress)
        let schema = NewSchema(source.classes)
        var report = report
        report.notes += schema.notes
        report.schemaVersion = source.schemaVersion
        var session: Session? = try file.makeSession()
        if let session {
            var plans: [ClassPlan] = []
            try writing(session) {
                try session.addTables(schema.tables)
                // A file without a version stays without one: it then opens with any version and without a migration.
                if let version = source.schemaVersion, version != .max { session.setSchemaVersion(version) }
                plans = ClassPlan.plans(source.classes, schema, session)
                return true
            }
            let importer = ObjectImporter(source, into: session, plans, isUpdating: false, report, watch)
            let cost = Self.batchCost(isEncrypted: session.database.isEncrypted)
            var isDone = false
            while !isDone {
                try writing(session) {
                    isDone = try importer.advance(cost: cost)
                    return isDone
                }
            }
            report = importer.report
            if verifies {
                var verification = Verification(
                    source, session, plans, importer.keys, lossy: importer.lossy, watch)
                try verification.run(&report)
            }
        }
        session = nil
        try watch.finish()
        try file.close()
        return report
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
    }
}
