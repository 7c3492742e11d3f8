// SPDX-License-Identifier: Apache-2.0
// The access list (POSIX ACL) of a file on Linux: the users and groups, besides owner, group and others, that may use
// it. If a file has a list, its group permission bits show the maximum permissions of any entry of the list.

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Reads and writes access lists. On systems other than Linux no file has one.
enum AccessList {
    private static let name = "system.posix_acl_access"

    enum Found: Equatable {
        case none
        /// The list, in the system's encoding.
        case list([UInt8])
        /// The system does not say whether there is a list.
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

    /// Sets the list of the open file, and with it the file's permissions. Returns false on failure.
    static func write(_ list: [UInt8], to descriptor: Int32) -> Bool {
        #if os(Linux)
            return list.withUnsafeBytes { writeAttribute(descriptor, name, $0.baseAddress, $0.count, 0) } == 0
        #else
            return false
        #endif
    }

    /// Removes the access list of the open file, if it has one.
    static func remove(_ descriptor: Int32) {
        #if os(Linux)
            _ = removeAttribute(descriptor, name)
        #endif
    }
}

// From sys/xattr.h, which is not imported.
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
