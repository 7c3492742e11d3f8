// SPDX-License-Identifier: Apache-2.0
// Predicates written as text. Programs write them as format strings, where a fault is a mistake of the program;
// text that comes from a person goes through `ParsedPredicate`, which throws.

public import Foundation
internal import RegnumQuery

/// A predicate whose text was understood: `age > %@ AND name BEGINSWITH %@`.
///
/// ```swift
/// let predicate = try ParsedPredicate(parsing: searchField.text)
/// let found = try people.filter(predicate)
/// ```
public struct ParsedPredicate {
    let format: String
    private let tree: QueryPredicate
    private let mentionsObjects: Bool

    /// Understands `text`, with `arguments` in the places of `%@`, `%K`, `%d` and so on. Throws `Error`.
    public init(parsing text: String, arguments: [Any] = []) throws(Error) {
        format = text
        let constants = arguments.map { Constant(any: $0, realm: nil) }
        mentionsObjects = constants.contains(where: \.mentionsObjects)
        do throws(QueryError) { tree = try PredicateParser.parse(text, constants) } catch {
            throw Error(error, in: text)
        }
    }

    /// The tree for a Realm; objects of another are marked in it.
    func predicate(for realm: RealmCore?) -> QueryPredicate {
        guard mentionsObjects, let realm else { return tree }
        return tree.lookingAgain { argument in
            (argument.object as? ObjectBase).map { PredicateArguments.object($0, realm) } ?? argument
        }
    }
}

extension ParsedPredicate {
    /// What is wrong with the text of a predicate, for showing it to whoever typed it.
    public struct Error: Swift.Error, Sendable, Equatable, CustomStringConvertible, LocalizedError {
        /// What is wrong, in a sentence; where a name is unknown, with the nearest one that is known.
        public let message: String
        /// Where in the text: characters before the fault. Nil where it is about an argument or the whole.
        public let position: Int?
        /// What could have stood there.
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
