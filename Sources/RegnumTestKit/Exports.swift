// SPDX-License-Identifier: Apache-2.0
// Expectations get their source location from a macro of Swift Testing, so files that use XCTest need that module, too.

@_exported public import Testing
