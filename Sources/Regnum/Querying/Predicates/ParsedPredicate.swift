// SPDX-License-Identifier: Apache-2.0
// Predicates written as text. In a program's format string a syntax error is a programmer error; text from a user goes
// through `ParsedPredicate`, which throws.

public import Foundation
internal import RegnumQuery

/// A predicate parsed from text: `age > %@ AND name BEGINSWITH %@`.
///
/// ```swift
/// let predicate = try ParsedPredicate(parsing: searchField.text)
/// let found = try people.filter(predicate)
/// ```
public struct ParsedPredicate {
    let format: String
    private let tree: QueryPredicate
    private let mentionsObjects: Bool

    /// Parses `text`, substituting `arguments` for `%@`, `%K`, `%d` and so on. Throws `Error`.
    public init(parsing text: String, arguments: [Any] = []) throws(Error) {
        format = text
        let constants = arguments.map { Constant(any: $0, realm: nil) }
        mentionsObjects = constants.contains(where: \.mentionsObjects)
        do throws(QueryError) { tree = try PredicateParser.parse(text, constants) } catch {
            throw Error(error, in: text)
        }
    }

    /// Returns the tree for a Realm, with objects of other Realms marked.
    func predicate(for realm: RealmCore?) -> QueryPredicate {
        guard mentionsObjects, let realm else { return tree }
        return tree.lookingAgain { argument in
            (argument.object as? ObjectBase).map { PredicateArguments.object($0, realm) } ?? argument
        }
    }
}

extension ParsedPredicate {
    /// An error in the text of a predicate, suitable for showing to the user who typed it.
    public struct Error: Swift.Error, Sendable, Equatable, CustomStringConvertible, LocalizedError {
        /// A sentence that describes the error; for an unknown name it includes the nearest known one.
        public let message: String
        /// The number of characters before the error in the text. Nil if the error is in an argument or concerns the
        /// predicate as a whole.
        public let position: Int?
        /// The tokens that would have been valid at the position.
        public let expected: [String]

        public var description: String {
            var text = message
            if let position { text += " (at character \(position + 1))" }
            if let first = expected.first, !message.contains(first) {
                text += " Expected: " + expected.joined(separator: ", ") + "."
            }
            return text
        }
        public var errorDescription: String? { description }

        init(_ error: QueryError, in text: String) {
            message = error.message
            expected = error.expected
            position = error.position.map { offset in
                let bytes = text.utf8
                let index = bytes.index(bytes.startIndex, offsetBy: Swift.min(offset, bytes.count))
                return text.distance(from: text.startIndex, to: index)
            }
        }
    }
}

extension Constant {
    fileprivate var mentionsObjects: Bool {
        switch self {
        case .object, .predicate: true
        case .array(let values): values.contains(where: \.mentionsObjects)
        case .dictionary(let members): members.contains(where: \.value.mentionsObjects)
        default: false
        }
    }
}
