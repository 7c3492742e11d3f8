// SPDX-License-Identifier: Apache-2.0
// `expect(value) == other`, as the first article writes it with Nimble, over XCTest.

import XCTest

struct Expectation<Value> {
    let value: Value
    let file: StaticString
    let line: UInt
}

func expect<Value>(
    _ value: Value, file: StaticString = #filePath, line: UInt = #line
) -> Expectation<Value> {
    Expectation(value: value, file: file, line: line)
}

func == <Value: Equatable>(expectation: Expectation<Value>, other: Value) {
    XCTAssertEqual(expectation.value, other, file: expectation.file, line: expectation.line)
}

func != <Value: Equatable>(expectation: Expectation<Value>, other: Value) {
    XCTAssertNotEqual(expectation.value, other, file: expectation.file, line: expectation.line)
}
