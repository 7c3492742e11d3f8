// SPDX-License-Identifier: Apache-2.0
// The users and groups beside the three kinds of POSIX who may use a file: its access list, as Linux keeps it. Where a
// file has one, its permissions show in place of those of the group the most that anybody of the list may.

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Elsewhere than on Linux no file has one.
enum AccessList {
    private static let name = "system.posix_acl_access"

    enum Found: Equatable {
        case none
        /// In the form of the system.
        case list([UInt8])
        /// It cannot be told.
        case unknown
    }

    static func read(_ descriptor: Int32) -> Found {
        #if os(Linux)
            let length = readAttribute(descriptor, name, nil, 0)
            if length < 0 { return errno == ENODATA || errno == ENOTSUP || errno == ENOSYS ? .none : .unknown }
            if length == 0 { return .none }
            var bytes = [UInt8](repeating: 0, count: length)
            let count = bytes.withUnsafeMutableBytes { readAttribute(descriptor, name, $0.baseAddress, $0.count) }
            return count == length ? .list(bytes) : .unknown
        #else
            return .none
        #endif
    }

    /// Gives the open file that list, and the permissions that are in it. False where that cannot be done.
    static func write(_ list: [UInt8], to descriptor: Int32) -> Bool {
        #if os(Linux)
            return list.withUnsafeBytes { writeAttribute(descriptor, name, $0.baseAddress, $0.count, 0) } == 0
        #else
            return false
        #endif
    }

    /// Takes away what list the open file has.
    static func remove(_ descriptor: Int32) {
        #if os(Linux)
            _ = removeAttribute(descriptor, name)
        #endif
    }
}

// Of sys/xattr.h, which is not imported.
#if os(Linux)
    @_silgen_name("fgetxattr")
    private func readAttribute(
        _ descriptor: Int32, _ name: UnsafePointer<CChar>, _ value: UnsafeMutableRawPointer?, _ byteCount: Int
    ) -> Int

    @_silgen_name("fsetxattr")
    private func writeAttribute(
        _ descriptor: Int32, _ name: UnsafePointer<CChar>, _ value: UnsafeRawPointer?, _ byteCount: Int, _ flags: Int32
    ) -> Int32

    @_silgen_name("fremovexattr")
    private func removeAttribute(_ descriptor: Int32, _ name: UnsafePointer<CChar>) -> Int32
#endif
