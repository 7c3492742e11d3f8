// SPDX-License-Identifier: Apache-2.0
// What is wrong with a query.

package struct QueryError: Error, Equatable, CustomStringConvertible {
    package enum Kind: Sendable, Equatable {
        /// The text is no predicate.
        case syntax
        /// An argument is missing or of a type that cannot stand where it is used.
        case argument
        /// A key path names what is not there.
        case keyPath
        /// A value cannot be compared with the property.
        case value
        /// Nothing of this kind can be asked.
        case unsupported
    }

    package var kind: Kind
    /// One sentence with the words that RealmSwift's exception has, then advice where there is some.
    package var message: String
    /// UTF-8 offset in the text, or nil where the predicate was not parsed.
    package var position: Int?
    /// What could have stood there.
    package var expected: [String]

    package init(_ kind: Kind, _ message: String, position: Int? = nil, expected: [String] = []) {
        self.kind = kind
        self.message = message
        self.position = position
        self.expected = expected
    }

    package var description: String { message }
}
