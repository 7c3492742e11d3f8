// SPDX-License-Identifier: Apache-2.0
// An import into a file that nobody else sees yet: tables first, then objects in batches, then a look at what was written.

internal import RegnumEngine

struct NewFileImport<Source: ObjectSource> {
    /// Objects, or as many kilobytes of long values, that are committed together: bounds the memory of encrypted files, whose
    /// transactions stay in memory.
    private static var batchCost: Int { 200_000 }

    var source: Source
    var report: RealmFileImportReport
    var verifies = false
    var progress: ((RealmFileImportProgress) throws -> Void)?

    /// Writes everything, and closes the file. It has not got its name then.
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
                session.setSchemaVersion(source.schemaVersion.flatMap { $0 == .max ? nil : $0 } ?? 0)
                plans = ClassPlan.plans(source.classes, schema, session)
                return true
            }
            let importer = ObjectImporter(source, into: session, plans, isUpdating: false, report, watch)
            var isDone = false
            while !isDone {
                try writing(session) {
                    isDone = try importer.advance(cost: Self.batchCost)
                    return isDone
                }
            }
            report = importer.report
            if verifies {
                var verification = Verification(
                    source, session, plans, importer.keys, lossyValues: importer.lossyValues, watch)
                try verification.run(&report)
            }
        }
        session = nil
        try watch.finish()
        try file.close()
        return report
    }

    /// One transaction. Only the last one has to be on stable storage: there is no file before.
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
