// SPDX-License-Identifier: Apache-2.0
// Repositories of backups: the first backup, one after few changes, verification and restoring, and what a process that
// follows the file costs its writer.

import ArgumentParser
import Foundation
import RealmSwift
import RegnumBackup
import Synchronization

struct BackupsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backups", abstract: "Measures backups, and what they cost a writer.")

    @Option(help: "Objects in the database.")
    var objects = 1_000_000

    @Option(help: "Commits with, and without, a process that follows the file.")
    var commits = 2_000

    @Option(help: "Folder for the database and the repositories.")
    var directory = ".build-bench"

    func run() throws {
        let folder = URL(fileURLWithPath: directory).appendingPathComponent("backups-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let people = People(count: objects + 4 * commits)
        let engine = RegnumEngine(inputs: Inputs(people, rows: objects, lookups: 0))
        let file = folder.appendingPathComponent("people.realm")
        try engine.open(file.path, indexed: false)
        try engine.insert(people.rows[..<objects])
        print("| task | time | bytes |\n|---|---|---|")
        let byteCount = try size(file)
        try row("copy of the file by the system, synced", byteCount) { try copy(file, folder) }
        let form: [(name: String, isCompressed: Bool)] = [("plain", false), ("compressed", true)]
        for (name, isCompressed) in form {
            do { try measure(name, isCompressed, engine, file, folder, byteCount) } catch let error as BackupError
                where error.code == .unsupported
            { print("| \(name): \(error.message) | | |") }
        }
        try follow(engine, people, file, folder)
    }

    private func measure(
        _ name: String, _ isCompressed: Bool, _ engine: RegnumEngine, _ file: URL, _ folder: URL, _ byteCount: Int
    ) throws {
        let store = DirectoryStore(folder.appendingPathComponent(name))
        let repository = try BackupRepository(store, creating: true, isCompressed: isCompressed)
        var made: BackupRepository.Backup?
        try row("\(name): first backup", byteCount) { made = try repository.backUp(file) }
        print("| \(name): the bytes that it has stored | | \(made?.storedByteCount ?? 0) |")
        let step = objects / 1_000
        guard try engine.setAges((0..<1_000).map { (row: $0 * step, age: $0 % 90 + 1) }) else {
            throw Failure("the ages were not set")
        }
        try row("\(name): backup after 1,000 changed objects far apart", nil) { made = try repository.backUp(file) }
        print("| \(name): the bytes that it has stored | | \(made?.storedByteCount ?? 0) |")
        try engine.commitUnrelated()
        try row("\(name): backup after one new object", nil) { made = try repository.backUp(file) }
        print("| \(name): the bytes that it has stored | | \(made?.storedByteCount ?? 0) |")
        try row("\(name): verify all three", byteCount) {
            guard try repository.verify().isRestorable else { throw Failure("the repository is damaged") }
        }
        try row("\(name): restore", byteCount) {
            try repository.restore(.newest, to: folder.appendingPathComponent("\(name).realm"))
        }
    }

    /// Commits of one thread, and of 16, in turn with and without a follower in this process.
    private func follow(_ engine: RegnumEngine, _ people: People, _ file: URL, _ folder: URL) throws {
        let repository = folder.appendingPathComponent("followed")
        _ = try BackupRepository(DirectoryStore(repository), creating: true).backUp(file)
        var next = objects
        func rows() -> [PersonRow] {
            defer { next += commits / 4 }
            return Array(people.rows[next..<next + commits / 4])
        }
        var times: [String: [Double]] = [:]
        for turn in 0..<8 {
            let follower = turn % 2 == 1 ? Follower(file, repository) : nil
            let (alone, shared) = (rows(), rows())
            let first = try nanoseconds { try engine.insertOneByOne(alone) }
            let second = try nanoseconds { try engine.insertFromThreads(16, shared, file.path) }
            let name = follower == nil ? "alone" : "followed"
            times["I2, \(name)", default: []].append(first / Double(alone.count))
            times["G16, \(name)", default: []].append(second / Double(shared.count))
            if let follower { print("| backups of \(2 * alone.count) commits | | \(try follower.end()) |") }
        }
        for (name, figures) in times.sorted(by: { $0.key < $1.key }) {
            print("| \(name): each commit, median of four | \(Int(figures.sorted()[1] / 1_000)) us | |")
        }
    }

    private func copy(_ file: URL, _ folder: URL) throws {
        let target = folder.appendingPathComponent("copy")
        try FileManager.default.copyItem(at: file, to: target)
        let handle = try FileHandle(forUpdating: target)
        try handle.synchronize()
        try handle.close()
        try FileManager.default.removeItem(at: target)
    }

    private func size(_ file: URL) throws -> Int {
        try file.resourceValues(forKeys: [.fileSizeKey]).fileSize ?? 0
    }

    private func row(_ task: String, _ byteCount: Int?, _ body: () throws -> Void) throws {
        let elapsed = try nanoseconds(body)
        let rate = byteCount.map { ", \(Int(Double($0) / elapsed * 1_000)) MB/s" } ?? ""
        print("| \(task) | \(Int(elapsed / 1_000_000)) ms\(rate) | \(byteCount ?? 0) |")
    }
}

/// A thread that follows a file.
private final class Follower: Sendable {
    private let isEnded = Atomic(false)
    private let backups = Atomic(0)
    private let failure = Mutex<String?>(nil)
    private let done = DispatchSemaphore(value: 0)

    init(_ file: URL, _ folder: URL) {
        Thread.detachNewThread { [self] in
            do {
                try BackupRepository(DirectoryStore(folder)).follow(
                    file, isEnded: { isEnded.load(ordering: .relaxed) }
                ) { event in
                    if case .backedUp = event { backups.add(1, ordering: .relaxed) }
                }
            } catch { failure.withLock { $0 = "\(error)" } }
            done.signal()
        }
    }

    /// Ends it. Returns the number of its backups.
    func end() throws -> Int {
        isEnded.store(true, ordering: .relaxed)
        done.wait()
        if let failure = failure.withLock({ $0 }) { throw Failure(failure) }
        return backups.load(ordering: .relaxed)
    }
}
