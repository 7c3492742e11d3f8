// SPDX-License-Identifier: Apache-2.0
// Reports how the space in a file is used.

internal import RegnumEngine
internal import RegnumSystem

/// The use of a file's pages at one version. **Unstable**, like `Inspector`.
///
/// `reservedPages + reachablePages + keptPages + pendingPages + freePages` is the number of pages up to the last one
/// ever used; the file may be longer.
public struct SpaceReport: Sendable, Equatable {
    /// The version that was measured.
    public internal(set) var version: UInt64 = 0
    /// The length of the file, in bytes.
    public internal(set) var fileBytes = 0
    /// The size of a page, in bytes.
    public internal(set) var pageBytes = 0
    /// The number of pages of the header and the commit slots.
    public internal(set) var reservedPages = 0
    /// The number of pages that the version uses.
    public internal(set) var reachablePages = 0
    /// The number of pages that only the older versions of the file's history need.
    public internal(set) var keptPages = 0
    /// The number of older versions that the file keeps in its history.
    public internal(set) var keptVersions = 0
    /// The number of pages that it does not use, but that are kept for other versions that may still be read.
    public internal(set) var pendingPages = 0
    /// The number of pages that the next write may use.
    public internal(set) var freePages = 0
    /// The number of blocks that the version uses. A block is one or more pages.
    public internal(set) var blocks = 0
    /// The tables in ascending order of their names.
    public internal(set) var tables: [TableSpaceReport] = []

    /// The number of objects in all tables.
    public var objects: Int { tables.reduce(0) { $0 + $1.objects } }
}

/// The use of space by one table in a `SpaceReport`. Sizes are whole pages, in bytes.
public struct TableSpaceReport: Sendable, Equatable {
    public internal(set) var name = ""
    public internal(set) var objects = 0
    /// The size of the objects' values.
    public internal(set) var rowGroupBytes = 0
    /// The size of long values and lists.
    public internal(set) var blobBytes = 0
    public internal(set) var indexBytes = 0
    /// The size of the structures that find the objects that link to an object.
    public internal(set) var backlinkBytes = 0

    public var totalBytes: Int { rowGroupBytes + blobBytes + indexBytes + backlinkBytes }
}

extension Inspector {
    /// Measures the file. Reads the whole file once. Throws `InspectionError` if the file is so damaged that tables
    /// cannot be read; `integrityFindings()` then reports the damage.
    public func report() throws -> SpaceReport {
        try inspecting(database.path) { () throws(EngineError) in
            var report = SpaceReport()
            // The check examines the newest version, which a concurrent commit may make newer than the snapshot's. Then
            // both are repeated.
            while true {
                let session = try database.makeSession()
                session.scanStop = stop?.scans
                let check = IntegrityCheck.run(database, stop: stop?.scans)
                try session.checkStop()
                let newest = database.versions.newest
                guard newest.number == session.version else { continue }
                report.version = newest.number
                report.blocks = check.blocks
                report.freePages = check.freePages
                report.pendingPages = check.pendingPages
                (report.keptPages, report.keptVersions) = (check.keptPages, check.keptVersions)
                report.pageBytes = FormatLimits.pageByteCount
                report.reservedPages = Int(FormatLimits.reservedPages)
                report.reachablePages =
                    Int(newest.highWater) - report.reservedPages - check.freePages - check.pendingPages
                    - check.keptPages
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
