// SPDX-License-Identifier: Apache-2.0
// `expectIntegrity`: the integrity check over a Realm's data, as an expectation of a test.

public import Foundation
public import Regnum
public import Testing

/// Expects that the data which `configuration` names is whole: every block matches its checksum, no page is
/// lost or used twice, indexes and backlinks agree with the objects. Each finding is recorded as an issue of
/// the running test, at the line of this call.
///
/// A file is opened anew, as another process would; a file that is missing or cannot be opened is a finding.
/// Data in memory is checked while a Realm of that name is open; where none is, there is nothing to find.
///
/// - Returns: the findings, one sentence each, for tests that are not written with Swift Testing. At most
///   100.
/// - Thread: any, and it waits until nobody writes; inside a write transaction of the calling thread it is
///   misuse.
/// - Cost: reads everything once; memory is one byte a page of the file.
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

/// As `expectIntegrity(of:)`, of the file at `fileURL`.
@discardableResult
public func expectIntegrity(of fileURL: URL, sourceLocation: SourceLocation = #_sourceLocation) -> [String] {
    expectIntegrity(of: Realm.Configuration(fileURL: fileURL), sourceLocation: sourceLocation)
}
