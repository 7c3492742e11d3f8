// SPDX-License-Identifier: Apache-2.0
// The state of a source file, by which an import notices that another program wrote to the file in the meantime.

internal import RegnumSystem

/// The identity, the beginning and the length of a file. Each commit of Realm changes the header of a plain file, and
/// the metadata of the first page of an encrypted one.
struct SourceState: Equatable, Codable {
    private let device: UInt64
    private let inode: UInt64
    private let start: [UInt8]
    private let byteCount: Int

    init(_ file: any File) throws(SystemError) {
        (device, inode) = (file.identity.device, file.identity.inode)
        byteCount = try file.byteCount()
        var bytes: (UInt64, UInt64, UInt64) = (0, 0, 0)
        _ = try withUnsafeMutableBytes(of: &bytes) { bytes throws(SystemError) in try file.read(bytes, at: 0) }
        start = withUnsafeBytes(of: bytes) { Array($0) }
    }

    /// Returns the state of the file at `path`; nil if it cannot be read, or is not a file.
    static func ofFile(_ path: String) -> SourceState? {
        // Opening a pipe would block until another program opens it for writing.
        guard (try? PosixFileSystem.shared.status(path))?.kind == .file,
            let file = try? PosixFileSystem.shared.open(path, .readOnly)
        else { return nil }
        defer { file.close() }
        return try? SourceState(file)
    }
}
