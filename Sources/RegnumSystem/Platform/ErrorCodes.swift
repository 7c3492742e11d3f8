// SPDX-License-Identifier: Apache-2.0
// From `errno` to the kinds of `SystemError`. The kind decides which advice the user gets, so every value that opening,
// locking, mapping, reading, writing or syncing a file can give belongs to a kind with the right advice. What is left is
// `io`: the storage has failed.

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

extension SystemError {
    /// The error of a system call; `code` is `errno`.
    package init(code: Int32, _ operation: String, _ path: String) {
        self.init(Self.kind(code, operation), operation, path, code: code)
    }

    private static func kind(_ code: Int32, _ operation: String) -> Kind {
        switch code {
        case ENOENT: .notFound
        case EACCES, EPERM, EROFS: .permissionDenied
        case EISDIR, ENOTEMPTY: .isDirectory
        case ENOTDIR: .notDirectory
        case EEXIST: .exists
        case ENAMETOOLONG: .nameTooLong
        case ELOOP: .linkLoop
        case ENXIO: .notAFile
        case EILSEQ: .invalidName
        case ENOSPC, EDQUOT: .noSpace
        case EFBIG, EOVERFLOW: .fileTooLarge
        case EMFILE, ENFILE: .tooManyFiles
        case EBUSY, ETXTBSY, EDEADLK: .busy
        case ENOLCK: .noLocks
        case EOPNOTSUPP, ENOTSUP, ENOSYS, EXDEV, EMLINK: .unsupported
        case ESTALE, ENOTCONN, ETIMEDOUT, EHOSTDOWN, EHOSTUNREACH, ENETDOWN, ENETUNREACH, ECONNRESET, ECONNABORTED,
            ECONNREFUSED, EPIPE:
            .unreachable
        case ENOMEM, EAGAIN, ENOBUFS: isMapping(operation) ? .addressSpace : .noMemory
        // Of a device that has gone, or of a file system that maps no files.
        case ENODEV: isMapping(operation) ? .unsupported : .notAFile
        // Of names that the file system does not allow, and of calls that it does not know.
        case EINVAL: isNaming(operation) ? .invalidName : .unsupported
        default: .io
        }
    }

    private static func isMapping(_ operation: String) -> Bool { operation == "map" || operation == "reserve" }

    private static func isNaming(_ operation: String) -> Bool {
        ["open", "rename", "inspect", "remove", "make directory"].contains(operation)
    }
}
