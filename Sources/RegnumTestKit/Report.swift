// SPDX-License-Identifier: Apache-2.0
// Where the kit's findings go: to the running test of Swift Testing, or to that of XCTest.

internal import Foundation
internal import Regnum
internal import Testing

#if canImport(XCTest)
    internal import XCTest
#endif

enum Report {
    /// Records a failure of the running test at `location`. Any thread; a thread that no test is known on tells both
    /// libraries, of which one runs tests.
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

    /// Words for the person who runs the tests, beside failures that others report.
    static func note(_ text: String) {
        FileHandle.standardError.write(Data("RegnumTestKit: \(text)\n".utf8))
    }
}
