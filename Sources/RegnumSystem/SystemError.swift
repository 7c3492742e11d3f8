// SPDX-License-Identifier: Apache-2.0
// What the operating system refused, in the few kinds that callers tell apart.

/// An operation on a file that failed.
package struct SystemError: Error, Equatable, CustomStringConvertible {
    package enum Kind: Sendable {
        case notFound, permissionDenied, isDirectory, notDirectory, exists, noSpace, addressSpace,
            tooManyFiles, io
    }
    package var kind: Kind
    /// The operation, as a person would name it: "open", "write", "sync".
    package var operation: String
    package var path: String
    /// `errno`, or 0 where none is behind it.
    package var code: Int32

    package init(_ kind: Kind, _ operation: String, _ path: String, code: Int32 = 0) {
        self.kind = kind
        self.operation = operation
        self.path = path
        self.code = code
    }

    /// One line for a person, as "Cannot open '/data/a.realm': not found (error 2)".
    package var description: String {
        let suffix = code == 0 ? "" : " (error \(code))"
        return "Cannot \(operation) '\(path)': \(kind.phrase)\(suffix)"
    }
}

extension SystemError.Kind {
    fileprivate var phrase: String {
        switch self {
        case .notFound: "not found"
        case .permissionDenied: "permission denied"
        case .isDirectory: "it is a directory"
        case .notDirectory: "a part of the path is not a directory"
        case .exists: "it exists already"
        case .noSpace: "no space left"
        case .addressSpace: "no address space left"
        case .tooManyFiles: "too many open files"
        case .io: "input or output failed"
        }
    }
}
