// SPDX-License-Identifier: Apache-2.0
// Reports the kit's findings to the running test of Swift Testing or of XCTest.

internal import Foundation
internal import Regnum
internal import Testing

#if canImport(XCTest)
    internal import XCTest
#endif

enum Report {
    /// Records a failure of the running test at `location`. Any thread. On a thread that belongs to no known test, the
    /// failure is recorded in both libraries, only one of which is running tests.
    static func issue(_ text: String, at location: SourceLocation) {
        #if canImport(XCTest)
            if Test.current == nil {
                if let test = RealmTestCase.running {
                    test.recordFailure(
                        withDescription: text, inFile: location.filePath, atLine: location.line, expected: true)
                } else {
                    XCTFail("\(location.fileID):\(location.line): \(text)")
                }
            }
        #endif
        Issue.record(Comment(rawValue: text), sourceLocation: location)
    }

    /// Writes a message for the person who runs the tests, in addition to failures that are reported elsewhere.
    static func note(_ text: String) {
        FileHandle.standardError.write(Data("RegnumTestKit: \(text)\n".utf8))
    }
}
