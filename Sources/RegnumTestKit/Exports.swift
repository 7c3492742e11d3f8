// SPDX-License-Identifier: Apache-2.0
// Expectations know the line that they stand on through a macro of Swift Testing, so files that use XCTest need its
// module too.

@_exported public import Testing
