// SPDX-License-Identifier: Apache-2.0
// `expectIntegrity`: the integrity check of a Realm's data, as an expectation of a test.

public import Foundation
public import Regnum
public import Testing

/// Expects that the data named by `configuration` is intact: every block matches its checksum, no page is lost or used
/// twice, and indexes and backlinks agree with the objects. Each finding is recorded as an issue of the running test,
/// at the line of this call.
///
/// A file is opened again, as by another process; a file that is missing or cannot be opened is a finding. In-memory
/// data is checked if a Realm of that name is open; otherwise there is nothing to find.
///
/// - Returns: The findings, one sentence each, at most 100, for tests that do not use Swift Testing.
/// - Thread: Any. Waits until no write transaction is open; calling it inside a write transaction of the same thread is
///   a programmer error.
/// - Complexity: Reads all data once; uses one byte of memory per page of the file.
@discardableResult
public func expectIntegrity(
    of configuration: Realm.Configuration = .defaultConfiguration,
    sourceLocation: SourceLocation = #_sourceLocation
) -> [String] {
    let findings = configuration.integrityFindings()
    for finding in findings {
        Report.issue("Integrity: \(finding)", at: sourceLocation)
    }
    return findings
}

/// Same as `expectIntegrity(of:)`, for the file at `fileURL`.
@discardableResult
public func expectIntegrity(of fileURL: URL, sourceLocation: SourceLocation = #_sourceLocation) -> [String] {
    expectIntegrity(of: Realm.Configuration(fileURL: fileURL), sourceLocation: sourceLocation)
}
