// SPDX-License-Identifier: Apache-2.0
// What the operating system refused, in the few kinds that callers tell apart.

/// An operation on a file that failed.
package struct SystemError: Error, Equatable, CustomStringConvertible {
    package enum Kind: Sendable, CaseIterable {
        case notFound, permissionDenied, isDirectory, notDirectory, exists, noSpace, addressSpace,
            tooManyFiles
        /// A part of the path has more bytes than the file system allows.
        case nameTooLong
        /// The file system does not take the name.
        case invalidName
        /// The path is a loop of symbolic links, or a link stands where a file has to be.
        case linkLoop
        /// A device, a pipe or a socket.
        case notAFile
        /// The file would be longer than the file system, or the limit of the process, allows.
        case fileTooLarge
        /// The system uses the file in a way that forbids the operation.
        case busy
        /// The system has no room for another lock.
        case noLocks
        /// The file system cannot do what a database needs.
        case unsupported
        /// A network file system, or the process that serves one, does not answer, or no longer knows the file.
        case unreachable
        /// The system has no memory for the operation.
        case noMemory
        /// Anything else: the storage has failed.
        case io
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

    /// True for a lock that was refused because the file system has none.
    package var isUnsupportedLock: Bool { code != 0 && SystemCalls.isUnsupportedLock(-Int(code)) }

    /// One line for a person, as "Cannot open '/data/a.realm': no such file or directory (error 2)".
    package var description: String {
        let suffix = code == 0 ? "" : " (error \(code))"
        return "Cannot \(operation) '\(path)': \(kind.phrase)\(suffix)"
    }
}

extension SystemError.Kind {
    fileprivate var phrase: String {
        switch self {
        case .notFound: "no such file or directory"
        case .permissionDenied: "permission denied"
        case .isDirectory: "it is a directory"
        case .notDirectory: "a part of the path is not a directory"
        case .exists: "it exists already"
        case .noSpace: "no space left"
        case .addressSpace: "no address space left"
        case .tooManyFiles: "too many open files"
        case .nameTooLong: "the name is too long"
        case .invalidName: "the file system does not allow the name"
        case .linkLoop: "too many symbolic links, or a link in place of a file"
        case .notAFile: "it is a device, a pipe or a socket"
        case .fileTooLarge: "the file would become too large"
        case .busy: "it is in use"
        case .noLocks: "no locks left"
        case .unsupported: "the file system does not support it"
        case .unreachable: "the file system does not answer"
        case .noMemory: "no memory left"
        case .io: "input or output failed"
        }
    }
}
