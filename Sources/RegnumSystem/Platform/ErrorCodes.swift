// SPDX-License-Identifier: Apache-2.0
// Maps `errno` to the kinds of `SystemError`. The kind decides which advice the user gets, so every value that opening,
// locking, mapping, reading, writing or syncing a file can return belongs to a kind with the right advice. All others
// are `io`: the storage has failed.

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
        // A device that is gone, or a file system that cannot map files.
        case ENODEV: isMapping(operation) ? .unsupported : .notAFile
        // A name that the file system does not allow, or a call that it does not support.
        case EINVAL: isNaming(operation) ? .invalidName : .unsupported
        default: .io
        }
    }

    private static func isMapping(_ operation: String) -> Bool { operation == "map" || operation == "reserve" }

    private static func isNaming(_ operation: String) -> Bool {
        ["open", "rename", "inspect", "remove", "make directory"].contains(operation)
    }
}
