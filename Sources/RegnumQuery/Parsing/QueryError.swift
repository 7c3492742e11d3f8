// SPDX-License-Identifier: Apache-2.0
// The error of an invalid query.

package struct QueryError: Error, Equatable, CustomStringConvertible {
    package enum Kind: Sendable, Equatable {
        /// The text is not a predicate.
        case syntax
        /// An argument is missing, or has a type that is not allowed there.
        case argument
        /// A key path names something that does not exist.
        case keyPath
        /// A value cannot be compared with the property.
        case value
        /// Queries of this kind are not supported.
        case unsupported
    }

    package var kind: Kind
    /// One sentence with the text of RealmSwift's exception, followed by advice if there is any.
    package var message: String
    /// The UTF-8 offset in the text, or nil if the predicate was not parsed from text.
    package var position: Int?
    /// The tokens that would have been valid there.
    package var expected: [String]

    package init(_ kind: Kind, _ message: String, position: Int? = nil, expected: [String] = []) {
        self.kind = kind
        self.message = message
        self.position = position
        self.expected = expected
    }

    package var description: String { message }
}
