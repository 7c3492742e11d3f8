// SPDX-License-Identifier: Apache-2.0
// Sets up each workload's database: nothing here is timed.

import Foundation

final class Stage {
    private enum State: Equatable {
        case nothing, loaded, linked, memory, ofOneRun
    }

    /// Size of the file after all rows were inserted in one write and it was closed.
    private(set) var loadedBytes: [EngineName: Int] = [:]
    private let folder: URL
    private let people: People
    private var states: [EngineName: State] = [:]

    /// Creates a separate folder in `parent`, on the disk to be measured.
    init(parent: URL, people: People) throws {
        folder = parent.appendingPathComponent("bench-\(UUID().uuidString)")
        self.people = people
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    var calibrationFile: String { folder.appendingPathComponent("calibration").path }

    func removeAll() { try? FileManager.default.removeItem(at: folder) }

    /// Brings the engine to the state in which a run of the workload begins. Returns the file of that run.
    func prepare(_ fixture: Fixture, for engine: any Engine) throws -> String {
        switch fixture {
        case .empty:
            try close(engine)
            return try openNew("empty", engine, indexed: false)
        case .loaded:
            let path = try makeLoaded(engine)
            if states[engine.name] != .loaded {
                try close(engine)
                try engine.open(path, indexed: false)
                states[engine.name] = .loaded
            }
            try engine.commitUnrelated()
            return path
        case .closed:
            let path = try makeLoaded(engine)
            try close(engine)
            states[engine.name] = .ofOneRun
            return path
        case .copy:
            return try openCopy("copy", engine)
        case .linked:
            return try prepareLinked(engine)
        case .indexed:
            try close(engine)
            let path = try openNew("indexed", engine, indexed: true)
            try engine.insert(people.rows[..<engine.inputs.rows])
            try engine.commitUnrelated()
            return path
        case .memory:
            if states[engine.name] != .memory {
                try close(engine)
                if try engine.openMemory(people) { states[engine.name] = .memory }
            }
            return ""
        }
    }

    /// Ends a run: removes the file of that run only.
    func finish(_ fixture: Fixture, of engine: any Engine) throws {
        switch fixture {
        case .loaded, .linked, .memory: return
        case .closed: try close(engine)
        case .empty, .copy, .indexed:
            try close(engine)
            for name in ["empty", "copy", "indexed"] { remove(path(name, engine)) }
        }
    }

    func close(_ engine: any Engine) throws {
        try engine.close()
        states[engine.name] = .nothing
    }

    // MARK: Files

    private func path(_ name: String, _ engine: any Engine) -> String {
        folder.appendingPathComponent("\(engine.name.rawValue)-\(name)").path
    }

    private func remove(_ path: String) {
        for suffix in ["", "-wal", "-shm", ".lock"] {
            try? FileManager.default.removeItem(atPath: path + suffix)
        }
    }

    private func openNew(_ name: String, _ engine: any Engine, indexed: Bool) throws -> String {
        let path = path(name, engine)
        remove(path)
        try engine.open(path, indexed: indexed)
        states[engine.name] = .ofOneRun
        return path
    }

    private func makeLoaded(_ engine: any Engine) throws -> String {
        let path = path("loaded", engine)
        if loadedBytes[engine.name] != nil { return path }
        try close(engine)
        try engine.open(path, indexed: false)
        try engine.insert(people.rows[..<engine.inputs.rows])
        try close(engine)
        loadedBytes[engine.name] = fileBytes(path)
        return path
    }

    private func openCopy(_ name: String, _ engine: any Engine) throws -> String {
        let source = try makeLoaded(engine)
        try close(engine)
        let copy = path(name, engine)
        remove(copy)
        try FileManager.default.copyItem(atPath: source, toPath: copy)
        // So that no write of the copy itself falls into the timed part.
        sync(copy)
        try engine.open(copy, indexed: false)
        states[engine.name] = .ofOneRun
        return copy
    }

    private func prepareLinked(_ engine: any Engine) throws -> String {
        let path = path("linked", engine)
        if !FileManager.default.fileExists(atPath: path) {
            _ = try openCopy("linked", engine)
            _ = try engine.linkAll(engine.inputs.friends)
            try engine.indexFriends()
            states[engine.name] = .linked
        }
        if states[engine.name] != .linked {
            try close(engine)
            try engine.open(path, indexed: false)
            states[engine.name] = .linked
        }
        try engine.commitUnrelated()
        return path
    }

    private func sync(_ path: String) {
        let file = Foundation.open(path, O_RDWR)
        guard file >= 0 else { return }
        fsync(file)
        Foundation.close(file)
    }
}

/// Size of a database: its file and, for SQLite, the log that is part of it.
func fileBytes(_ path: String) -> Int {
    [path, path + "-wal"].reduce(0) { sum, path in
        let size = (try? FileManager.default.attributesOfItem(atPath: path))?[.size] as? Int
        return sum + (size ?? 0)
    }
}

/// Bytes of memory that belong to this process alone: pages of mapped files do not count.
func privateMemory() -> Int {
    guard let text = try? String(contentsOfFile: "/proc/self/smaps_rollup", encoding: .utf8) else { return 0 }
    for line in text.split(separator: "\n") where line.hasPrefix("Anonymous:") {
        return (line.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0) * 1_024
    }
    return 0
}
