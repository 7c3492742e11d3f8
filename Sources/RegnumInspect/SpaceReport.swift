// SPDX-License-Identifier: Apache-2.0
// Where the bytes of a file are.

internal import RegnumEngine
internal import RegnumSystem

/// What a file's pages are used for, at one version. **Unstable**, as `Inspector` is.
///
/// `reservedPages + reachablePages + pendingPages + freePages` are the pages up to the last one ever used;
/// the file may be longer.
public struct SpaceReport: Sendable, Equatable {
    /// The version that was looked at.
    public internal(set) var version: UInt64 = 0
    /// Length of the file, in bytes.
    public internal(set) var fileBytes = 0
    /// Length of a page, in bytes.
    public internal(set) var pageBytes = 0
    /// Pages of the header and the commit slots.
    public internal(set) var reservedPages = 0
    /// Pages that the version uses.
    public internal(set) var reachablePages = 0
    /// Pages that it does not use, kept for older versions that may still be read.
    public internal(set) var pendingPages = 0
    /// Pages that the next write may use.
    public internal(set) var freePages = 0
    /// Blocks that the version uses. A block is one page or more.
    public internal(set) var blocks = 0
    /// By name, ascending.
    public internal(set) var tables: [TableSpaceReport] = []

    /// Objects of all tables.
    public var objects: Int { tables.reduce(0) { $0 + $1.objects } }
}

/// One table in a `SpaceReport`. Sizes are whole pages, in bytes.
public struct TableSpaceReport: Sendable, Equatable {
    public internal(set) var name = ""
    public internal(set) var objects = 0
    /// Of the objects' values.
    public internal(set) var rowGroupBytes = 0
    /// Of long values and lists.
    public internal(set) var blobBytes = 0
    public internal(set) var indexBytes = 0
    /// Of what finds the objects that link to another one.
    public internal(set) var backlinkBytes = 0

    public var totalBytes: Int { rowGroupBytes + blobBytes + indexBytes + backlinkBytes }
}

extension Inspector {
    /// Measures the file. Reads everything once. Throws `InspectionError` where the file is damaged so much
    /// that tables cannot be read; `integrityFindings()` says then what is wrong.
    public func report() throws -> SpaceReport {
        try inspecting(database.path) { () throws(EngineError) in
            var report = SpaceReport()
            // The check looks at the newest version: whoever commits meanwhile makes it another than the
            // session's.
            while true {
                let session = try database.makeSession()
                let check = IntegrityCheck.run(database)
                let newest = database.versions.newest
                guard newest.number == session.version else { continue }
                report.version = newest.number
                report.blocks = check.blocks
                report.freePages = check.freePages
                report.pendingPages = check.pendingPages
                report.pageBytes = FormatLimits.pageByteCount
                report.reservedPages = Int(FormatLimits.reservedPages)
                report.reachablePages =
                    Int(newest.highWater) - report.reservedPages - check.freePages - check.pendingPages
                for table in session.tables { report.tables.append(try Self.report(table)) }
                break
            }
            report.tables.sort { $0.name < $1.name }
            do throws(SystemError) {
                report.fileBytes = try database.fileSystem.status(database.path)?.byteCount ?? 0
            } catch {
                throw .system(error)
            }
            return report
        }
    }

    private static func report(_ table: Table) throws(EngineError) -> TableSpaceReport {
        let space = try table.measureSpace()
        return TableSpaceReport(
            name: table.definition.name, objects: table.count, rowGroupBytes: space.rowGroupBytes,
            blobBytes: space.blobBytes, indexBytes: space.indexBytes, backlinkBytes: space.backlinkBytes)
    }
}
