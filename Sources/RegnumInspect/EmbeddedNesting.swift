// SPDX-License-Identifier: Apache-2.0
// How deep embedded objects may be within one another. Their text and their images are read and written by functions
// that call themselves for each level, so a limit keeps the stack from overflowing: for hostile JSON, for a damaged file
// whose objects contain themselves, and for objects that a program has nested without end.

internal import RegnumEngine

enum EmbeddedNesting {
    /// The greatest number of levels below the object itself. JSON with as many levels has at most 2 levels of its own
    /// for each, a list and an object, which its parser reads.
    static let depthLimit = 100

    static let message = "objects are embedded in one another more than \(depthLimit) levels deep"

    static func check(_ depth: Int) throws(EngineError) {
        if depth > depthLimit { throw EngineError.limit(message) }
    }
}
