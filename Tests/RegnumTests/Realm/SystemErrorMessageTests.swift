// SPDX-License-Identifier: Apache-2.0
// The errors of the operating system: each `errno` that calls on a file can set has a reason and fitting advice.

import Foundation
import RegnumEngine
import Testing

@testable import Regnum
@testable import RegnumSystem

struct SystemErrorMessageTests {
    private static let operations = [
        "open", "inspect", "remove", "rename", "make directory", "sync directory", "read", "write", "allocate",
        "truncate", "sync", "map", "lock",
    ]

    /// `code` is the value on Linux.
    private func error(_ code: Int32, _ operation: String, at path: String = "/no/such/p") -> Realm.Error {
        Realm.Error(
            opening: "/no/such/p", readOnly: false, .system(SystemError(code: code, operation, path)))
    }

    #if os(Linux)
        @Test(
            "An error of the system has a reason and advice",
            arguments: [
                (EACCES, "open", Realm.Error.Reason.noPermission, "read-write permissions"),
                (EPERM, "open", .noPermission, "read-write permissions"),
                (EROFS, "open", .noPermission, "mounted read-only"),
                (ENOENT, "open", .missingFolder, "create it first"),
                (ENOTDIR, "open", .parentIsNotAFolder, "choose another fileURL"),
                (EISDIR, "open", .isAFolder, "append a file name"),
                (EEXIST, "open", .fileExists, "Choose a path"),
                (ENAMETOOLONG, "open", .nameTooLong, "a file name of at most 229 bytes"),
                (ELOOP, "open", .linkLoop, "Remove the link"),
                (EINVAL, "open", .invalidName, "special characters"),
                (EILSEQ, "open", .invalidName, "special characters"),
                (ENXIO, "open", .notARegularFile, "choose another fileURL"),
                (ENODEV, "open", .notARegularFile, "choose another fileURL"),
                (ETXTBSY, "open", .inUse, "Stop using it there"),
                (EBUSY, "rename", .inUse, "Stop using it there"),
                (EMFILE, "open", .tooManyFiles, "ulimit -n"),
                (ENFILE, "open", .tooManyFiles, "ulimit -n"),
                (ENOMEM, "open", .noMemory, "try again later"),
                (ENOMEM, "map", .noAddressSpace, "ulimit -v"),
                (EAGAIN, "map", .noAddressSpace, "ulimit -v"),
                (ENODEV, "map", .unsupportedFileSystem, "lock, map and sync"),
                (ENOLCK, "lock", .noLocks, "lock service"),
                (EINVAL, "lock", .unsupportedFileSystem, "lock, map and sync"),
                (EOPNOTSUPP, "lock", .unsupportedFileSystem, "lock, map and sync"),
                (ENOSYS, "sync", .unsupportedFileSystem, "lock, map and sync"),
                (EXDEV, "rename", .unsupportedFileSystem, "lock, map and sync"),
                (EFBIG, "write", .fileTooLarge, "ulimit -f"),
                (EFBIG, "allocate", .fileTooLarge, "ulimit -f"),
                (EOVERFLOW, "open", .fileTooLarge, "ulimit -f"),
                (ENOSPC, "write", .noSpace, "free some space"),
                (EDQUOT, "allocate", .noSpace, "a larger quota"),
                (ESTALE, "read", .unreachable, "Check the network"),
                (ENOTCONN, "open", .unreachable, "Check the network"),
                (ETIMEDOUT, "sync", .unreachable, "Check the network"),
                (EIO, "sync", .inputOutput, "check it"),
                (EUCLEAN, "read", .inputOutput, "check it"),
            ])
        func refusals(code: Int32, operation: String, reason: Realm.Error.Reason, advice: String) {
            let error = error(code, operation)
            #expect(error.reason == reason)
            #expect(error.localizedDescription.contains(advice), "\(error)")
        }

        @Test("Only errors of the storage itself mention the storage device")
        func medium() {
            for code in Int32(1)...133 {
                for operation in Self.operations {
                    let error = error(code, operation)
                    #expect(error.localizedDescription.contains("storage device") == (error.reason == .inputOutput))
                    #expect(error.reason != .unspecified)
                    #expect(!error.localizedDescription.hasSuffix(" "))
                }
            }
            let faults = [EIO, EUCLEAN, EBADMSG].map { error($0, "read").reason }
            #expect(faults == [.inputOutput, .inputOutput, .inputOutput])
        }
    #endif

    @Test("An error names the refused file if it is not the database", arguments: [true, false])
    func besides(_ isBeside: Bool) {
        let path = isBeside ? "/no/such/p.lock" : "/no/such/p"
        for kind in [SystemError.Kind.isDirectory, .permissionDenied, .linkLoop, .notAFile, .busy, .unsupported] {
            let error = Realm.Error(
                opening: "/no/such/p", readOnly: false, .system(SystemError(kind, "open", path)))
            #expect(error.localizedDescription.contains("'/no/such/p.lock'") == isBeside, "\(error)")
            #expect(error.fileURL?.path == "/no/such/p")
        }
    }
}
