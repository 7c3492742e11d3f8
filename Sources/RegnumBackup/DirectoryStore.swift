// SPDX-License-Identifier: Apache-2.0
// A store in a folder, which may be on a network file system. An object is a file that appears under its name in one
// step, by a rename that fails if the name is taken.

public import Foundation
internal import RegnumSystem

/// The objects of a repository as files of a folder: on a local disk, or mounted by NFS or sshfs.
///
/// Any thread. Errors are `BackupError` with the code `.storage`.
public final class DirectoryStore: BackupStore {
    private let root: String
    private let files = PosixFileSystem.shared

    /// A store in the folder at `url`, which is created with the first object.
    public init(_ url: URL) { root = url.standardizedFileURL.path }

    private func path(_ name: String) -> String { root + "/" + name }

    private func wrapping<R>(_ body: () throws -> R) throws -> R {
        do { return try body() } catch let error as SystemError { throw BackupError(.storage, "\(error).") }
    }

    public func list(_ prefix: String) throws -> [String] {
        var names: [String] = []
        var folders = [prefix]
        while let folder = folders.popLast() {
            let place = folder.isEmpty ? root : path(String(folder.dropLast()))
            for entry in try entries(of: place) {
                if entry.hasSuffix(Self.unfinished) {
                    removeIfOld(place + "/" + entry)
                    continue
                }
                let isFolder = try wrapping { try files.status(place + "/" + entry)?.kind == .directory }
                if isFolder { folders.append(folder + entry + "/") } else { names.append(folder + entry) }
            }
        }
        return names
    }

    /// The names in a folder; none if it does not exist.
    private func entries(of folder: String) throws -> [String] {
        guard try wrapping({ try files.status(folder) }) != nil else { return [] }
        do { return try FileManager.default.contentsOfDirectory(atPath: folder) } catch {
            if try wrapping({ try files.status(folder) }) == nil { return [] }
            throw BackupError(.storage, "Cannot list '\(folder)': \(error.localizedDescription).")
        }
    }

    public func byteCount(of name: String) throws -> Int? {
        try wrapping { try files.status(path(name)).flatMap { $0.kind == .file ? $0.byteCount : nil } }
    }

    public func get(_ name: String) throws -> [UInt8]? { try read(name, nil) }

    public func get(_ name: String, range: Range<Int>) throws -> [UInt8]? { try read(name, range) }

    private func read(_ name: String, _ range: Range<Int>?) throws -> [UInt8]? {
        try wrapping { () throws -> [UInt8]? in
            let file: any File
            do throws(SystemError) { file = try files.open(path(name), .readOnly) } catch {
                if error.kind == .notFound || error.kind == .notDirectory { return nil }
                throw error
            }
            defer { file.close() }
            let all = try file.byteCount()
            let wanted = (range ?? 0..<all).clamped(to: 0..<all)
            var bytes = [UInt8](repeating: 0, count: wanted.count)
            let count = try bytes.withUnsafeMutableBytes { try file.read($0, at: wanted.lowerBound) }
            bytes.removeLast(bytes.count - count)
            return bytes
        }
    }

    /// The end of the names of files that are being written. A list omits them, and removes those that a process has
    /// left for more than a day.
    private static let unfinished = ".tmp"
    private static let longestWrite: TimeInterval = 86_400

    private func removeIfOld(_ path: String) {
        let date = (try? FileManager.default.attributesOfItem(atPath: path))?[.modificationDate] as? Date
        if let date, date.timeIntervalSinceNow < -Self.longestWrite { try? files.remove(path) }
    }

    public func putIfAbsent(_ name: String, _ bytes: [UInt8]) throws -> Bool {
        try wrapping { () throws -> Bool in
            let target = path(name)
            if try files.status(target) != nil { return false }
            let folder = String(target[..<(target.lastIndex(of: "/") ?? target.startIndex)])
            let isNewFolder = try files.status(folder) == nil
            if isNewFolder { try files.makeDirectories(folder) }
            let temporary = target + "." + String(UInt64.random(in: 0 ... .max), radix: 16) + Self.unfinished
            let file = try files.open(temporary, .createNew(permissions: 0o600))
            do {
                defer { file.close() }
                try bytes.withUnsafeBytes { try file.write($0, at: 0) }
                try file.sync(.full)
            } catch {
                try? files.remove(temporary)
                throw error
            }
            do throws(SystemError) { try files.renameIfAbsent(temporary, to: target) } catch {
                try? files.remove(temporary)
                if error.kind == .exists { return false }
                throw error
            }
            try files.syncName(of: target)
            if isNewFolder { try files.syncName(of: folder) }
            return true
        }
    }

    public func delete(_ name: String) throws {
        try wrapping {
            do throws(SystemError) { try files.remove(path(name)) } catch {
                if error.kind != .notFound { throw error }
            }
        }
    }
}
