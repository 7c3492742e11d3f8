// SPDX-License-Identifier: Apache-2.0
// A store in a folder, which may be on a network file system. An object is a file that appears under its name in one
// step, by a rename that fails if the name is taken.

public import Foundation
package import RegnumSystem
internal import Synchronization

/// The objects of a repository as files of a folder: on a local disk, or mounted by NFS or sshfs.
///
/// Any thread. Errors are `BackupError` with the code `.storage`.
public final class DirectoryStore: BackupStore {
    private let root: String
    private let files: any FileSystem
    /// The folders whose names this object has made durable.
    private let durable = Mutex<Set<String>>([])

    /// A store in the folder at `url`, which is created with the first object.
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
            do throws(SystemError) { try files.renameIfAbsent(temporary, to: target) } catch {
                try? files.remove(temporary)
                if error.kind == .exists { return false }
                throw error
            }
            try files.syncName(of: target)
            return true
        }
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
        if missing.isEmpty, durable.withLock({ $0.contains(folder) }) { return }
        if !missing.isEmpty { try files.makeDirectories(folder) }
        var names = Set(missing)
        place = folder
        while place.utf8.count > root.utf8.count {
            names.insert(place)
            place = parentPath(place)
        }
        names.insert(root)
        for name in names.sorted() { try files.syncName(of: name) }
        durable.withLock { _ = $0.insert(folder) }
    }

    public func delete(_ name: String) throws {
        try wrapping {
            do throws(SystemError) { try files.remove(path(name)) } catch {
                if error.kind != .notFound { throw error }
            }
        }
    }
}
