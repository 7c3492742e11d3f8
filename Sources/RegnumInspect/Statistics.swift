// SPDX-License-Identifier: Apache-2.0
// The space of each property and index, and the processes that have a file open.

internal import RegnumEngine

/// The use of space by one property. **Unstable**, like `Inspector`.
public struct PropertySpaceReport: Sendable, Equatable {
    public internal(set) var className = ""
    public internal(set) var name = ""
    /// The encoded values within row groups.
    public internal(set) var valueBytes = 0
    /// The size of long values and collections, in whole pages.
    public internal(set) var blobBytes = 0
    /// The size of the indexes, in whole pages.
    public internal(set) var indexBytes = 0
    /// The size of the structures that find the objects that link to an object, in whole pages.
    public internal(set) var backlinkBytes = 0
    public var totalBytes: Int { valueBytes + blobBytes + indexBytes + backlinkBytes }
}

/// A process that has a file open. **Unstable**, like `Inspector`.
public struct OpenProcessReport: Sendable, Equatable {
    /// 0 if it is not known: processes that only read do not publish their id, and are reported as one.
    public internal(set) var process = 0
    /// The versions that it keeps readable, ascending.
    public internal(set) var versions: [UInt64] = []
    /// Every version from this one on is kept, if there are more than are listed.
    public internal(set) var everyVersionFrom: UInt64?
    /// True if a write transaction of the process is running.
    public internal(set) var isWriting = false
}

extension Inspector {
    /// Measures the properties of all classes. Reads all row groups. Throws `InspectionError`.
    public func propertySpace() throws -> [PropertySpaceReport] {
        let session = try makeSession()
        return try inspecting(database.path) { () throws(EngineError) in
            var reports: [PropertySpaceReport] = []
            for table in session.tables.sorted(by: { $0.definition.name < $1.definition.name }) {
                for (space, column) in zip(try table.measureColumnSpace(), table.definition.columns)
                where !column.isHidden {
                    reports.append(
                        PropertySpaceReport(
                            className: table.definition.name, name: column.name, valueBytes: space.rowBytes,
                            blobBytes: space.blobBytes, indexBytes: space.indexBytes,
                            backlinkBytes: space.backlinkBytes))
                }
            }
            return reports
        }
    }

    /// The processes that have the file open, except the caller, and the versions that they pin. Space that only a
    /// pinned version needs is not reused. Throws `InspectionError`.
    public func openProcesses() throws -> [OpenProcessReport] {
        try inspecting(database.path) { () throws(EngineError) in
            try database.otherProcesses().map {
                OpenProcessReport(
                    process: Int($0.process), versions: $0.pins, everyVersionFrom: $0.floor, isWriting: $0.isWriting)
            }
        }
    }

    /// The number of the newest version when the file was opened.
    public var newestVersion: UInt64 { database.newestVersion }
}
