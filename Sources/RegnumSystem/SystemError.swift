// SPDX-License-Identifier: Apache-2.0
// Errors of the operating system, reduced to the kinds that callers distinguish.

/// A failed operation on a file.
package struct SystemError: Error, Equatable, CustomStringConvertible {
    package enum Kind: Sendable, CaseIterable {
        case notFound, permissionDenied, isDirectory, notDirectory, exists, noSpace, addressSpace,
            tooManyFiles
        /// A component of the path has more bytes than the file system allows.
        case nameTooLong
        /// The file system does not allow the name.
        case invalidName
        /// The path contains a loop of symbolic links, or there is a link at the path instead of the file.
        case linkLoop
        /// The path leads to a device, a pipe or a socket.
        case notAFile
        /// The file would exceed the size limit of the file system or of the process.
        case fileTooLarge
        /// The file is in use in a way that forbids the operation.
        case busy
        /// The system's table of locks is full.
        case noLocks
        /// The file system lacks a feature that a database needs.
        case unsupported
        /// A network file system, or the process that serves one, does not respond, or no longer knows the file.
        case unreachable
        /// The system has no memory for the operation.
        case noMemory
        /// Any other error: the storage has failed.
        case io
    }
    package var kind: Kind
    /// The name of the operation in messages: "open", "write", "sync".
    package var operation: String
    package var path: String
    /// `errno`, or 0 if the error did not come from a system call.
    package var code: Int32

    package init(_ kind: Kind, _ operation: String, _ path: String, code: Int32 = 0) {
        self.kind = kind
        self.operation = operation
        self.path = path
        self.code = code
    }

    /// True if a lock was refused because the file system has no locks.
    package var isUnsupportedLock: Bool { code != 0 && SystemCalls.isUnsupportedLock(-Int(code)) }

    /// One line for messages, such as "Cannot open '/data/a.realm': no such file or directory (error 2)".
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
        case .exists: "it already exists"
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
        case .unreachable: "the file system does not respond"
        case .noMemory: "no memory left"
        case .io: "input or output failed"
        }
    }
}
