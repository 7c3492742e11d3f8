// SPDX-License-Identifier: Apache-2.0
// A store in a folder, which may be on a network file system. An object is a file that appears under its name in one
// step, by a rename that fails if the name is taken.

public import Foundation
package import RegnumSystem
internal import Synchronization

/// The objects of a repository as files of a folder: on a local disk, or mounted by NFS or sshfs.
///
/// Any thread. Errors are `BackupError` with the code `.storage`. A file system on which two processes could both put an
/// object of one name, because it has neither hard links nor renames that fail if the name is taken, is refused.
public final class DirectoryStore: BackupStore {
    private let root: String
    private let files: any FileSystem
    private struct Known {
        /// The folders whose names this object has made durable.
        var durable: Set<String> = []
        /// True once an object was found or put.
        var isInUse = false
    }
    private let known = Mutex(Known())

    /// A store in the folder at `url`, which is created with the first object. Once this object has found or put
    /// something, a folder that is gone is an error, and is not created again: its file system is not mounted.
    public convenience init(_ url: URL) {
        self.init(url.standardizedFileURL.path, in: PosixFileSystem.shared)
    }

    package init(_ root: String, in files: any FileSystem) {
        self.root = root
        self.files = files
    }

    private func path(_ name: String) -> String { root + "/" + name }

    private func wrapping<R>(_ body: () throws -> R) throws -> R {
        do { return try body() } catch let error as SystemError { throw BackupError(.storage, "\(error).") }
    }

    private func noteUse() { known.withLock { $0.isInUse = true } }

    /// Throws if the folder was there and is gone.
    private func requireFolder() throws {
        guard known.withLock({ $0.isInUse }), try wrapping({ try files.status(root) }) == nil else { return }
        throw BackupError(.storage, "The folder '\(root)' is gone: its file system may not be mounted.")
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
                if !isFolder {
                    names.append(folder + entry)
                } else if !Self.isLink(place + "/" + entry) {
                    folders.append(folder + entry + "/")
                }
            }
        }
        if names.isEmpty { try requireFolder() } else { noteUse() }
        return names
    }

    /// True for a symbolic link. Lists do not follow links to folders: the files there do not belong to this store, and
    /// would be deleted with its objects.
    private static func isLink(_ path: String) -> Bool {
        (try? FileManager.default.destinationOfSymbolicLink(atPath: path)) != nil
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
        let status = try wrapping { try files.status(path(name)) }
        guard let status, status.kind == .file else {
            try requireFolder()
            return nil
        }
        noteUse()
        return status.byteCount
    }

    public func get(_ name: String) throws -> [UInt8]? { try read(name, nil) }

    public func get(_ name: String, range: Range<Int>) throws -> [UInt8]? { try read(name, range) }

    private func read(_ name: String, _ range: Range<Int>?) throws -> [UInt8]? {
        let bytes = try wrapping { () throws -> [UInt8]? in
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
        if bytes == nil { try requireFolder() } else { noteUse() }
        return bytes
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
        try requireFolder()
        let isPut = try wrapping { () throws -> Bool in
            let target = path(name)
            if try files.status(target) != nil { return false }
            let folder = String(target[..<(target.lastIndex(of: "/") ?? target.startIndex)])
            try makeFolder(folder)
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
            do throws(SystemError) { try files.renameInOneStepIfAbsent(temporary, to: target) } catch {
                try? files.remove(temporary)
                if error.kind == .exists { return false }
                if error.kind == .unsupported { throw unsafeFolder }
                throw error
            }
            try files.syncName(of: target)
            return true
        }
        noteUse()
        return isPut
    }

    private var unsafeFolder: BackupError {
        BackupError(
            .storage,
            "The file system of '\(root)' has neither hard links nor renames that fail if the name is taken: two "
                + "processes could make backups at once, so a repository is not safe there.")
    }

    /// Makes a folder of the store and those that contain it, if they are missing, and their names durable. Also if
    /// they exist: a process that made them may have ended before that.
    private func makeFolder(_ folder: String) throws(SystemError) {
        var missing: [String] = []
        var place = folder
        while place != parentPath(place), try files.status(place) == nil {
            missing.append(place)
            place = parentPath(place)
        }
        if missing.isEmpty, known.withLock({ $0.durable.contains(folder) }) { return }
        if !missing.isEmpty { try files.makeDirectories(folder) }
        var names = Set(missing)
        place = folder
        while place.utf8.count > root.utf8.count {
            names.insert(place)
            place = parentPath(place)
        }
        names.insert(root)
        for name in names.sorted() { try files.syncName(of: name) }
        known.withLock { _ = $0.durable.insert(folder) }
    }

    public func delete(_ name: String) throws {
        try wrapping {
            do throws(SystemError) { try files.remove(path(name)) } catch {
                if error.kind == .notFound { return }
                throw error
            }
            // After a power loss the entry of a backup must not be there again, whose blocks are deleted next.
            try files.syncName(of: path(name))
        }
    }
}
