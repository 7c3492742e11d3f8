// SPDX-License-Identifier: Apache-2.0
// Everything that can be done with a file, done with one that may be damaged: each step throws or answers.

import RegnumEngine
import RegnumSimulation
import RegnumSystem

enum HostileUse {
    /// Opens, checks, reads everything, writes and commits. True where nothing was found wrong on the way.
    @discardableResult
    static func run(_ bytes: [UInt8]) -> Bool {
        // As users open it; then so that damage is met by whoever comes to it first.
        let isWhole = run(bytes, checksSmallFiles: true)
        return run(bytes, checksSmallFiles: false) || isWhole
    }

    private static func run(_ bytes: [UInt8], checksSmallFiles: Bool) -> Bool {
        let files = SimulatedFileSystem(seed: 1, reservedByteCount: 64 << 20)
        files.setContents(of: HostileFile.path, bytes)
        var options = Database.OpenOptions()
        options.checksSmallFiles = checksSmallFiles
        guard let database = try? Database.open(path: HostileFile.path, fileSystem: files, options: options) else {
            return false
        }
        var isRight = attempt {
            let session = try database.makeSession(); for table in session.tables { try read(table) }
        }
        isRight =
            attempt {
                let session = try database.makeSession(); for table in session.tables { try look(table, session) }
            } && isRight
        isRight = IntegrityCheck.run(database).isClean && isRight
        isRight = attempt { try write(database) } && isRight
        return attempt {
            let session = try database.makeSession(); for table in session.tables { try read(table) }
        } && isRight
    }

    private static func attempt(_ body: () throws -> Void) -> Bool {
        do {
            try body()
            return true
        } catch is EngineError {
            return false
        } catch {
            fatalError("an error of another type: \(error)")
        }
    }

    /// Every value of every object.
    private static func read(_ table: Table) throws {
        try table.forEachGroup { group throws(EngineError) in
            for row in 0..<group.pointee.count {
                let location = RowLocation(group: group, row: row)
                for (column, definition) in table.definition.columns.enumerated() {
                    switch definition.collection {
                    case .none: _ = try table.value(column, at: location)
                    case .list, .set: _ = try table.listValues(column, at: location)
                    case .dictionary: _ = try table.dictionaryEntries(column, of: location.key)
                    }
                }
                _ = try table.locate(location.key)
            }
            return true
        }
    }

    /// By position, by key, by index, by link.
    private static func look(_ table: Table, _ session: Session) throws {
        for position in stride(from: 0, to: min(table.count, 3000), by: 7) {
            let key = try table.key(atPosition: position)
            _ = try table.position(of: key)
        }
        for key in [0, 1, 7, 1024, 5000, 1 << 40, UInt64.max - 1] { _ = try table.locate(ObjectKey(key)) }
        for (column, definition) in table.definition.columns.enumerated() {
            if table.hasIndex(column) {
                for value in samples(definition.type) { _ = try table.keys(inIndexOf: column, equalTo: value) }
                _ = try table.orderedKeys(inIndexOf: column, isAscending: true)
                _ = try table.extremeKeys(inIndexOf: column, isAscending: false, limit: 5, most: 100)
            }
            if definition.type == .link || definition.type == .mixed {
                for target in session.tables {
                    for key in 1..<20 {
                        let key = ObjectKey(UInt64(key))
                        if definition.type == .mixed || definition.target == target.definition.key {
                            _ = try target.backlinks(to: key, from: table, column: column)
                        }
                    }
                }
            }
        }
    }

    private static func samples(_ type: ColumnType) -> [Value] {
        switch type {
        case .int: (-1...10).map { .int($0) }
        case .string: (0..<11).map { .string("text \($0)") }
        case .uuid: (0..<5).map { .uuid($0, 1) }
        default: []
        }
    }

    /// Changes, adds and deletes objects, and commits.
    private static func write(_ database: Database) throws {
        let session = try database.makeSession()
        try session.beginWrite()
        do {
            for table in session.tables { try change(table) }
            try session.commitWrite()
        } catch {
            if session.isWriting { session.rollbackWrite() }
            throw error
        }
        try session.beginWrite()
        do {
            for table in session.tables { try table.deleteAll() }
            try session.commitWrite()
        } catch {
            if session.isWriting { session.rollbackWrite() }
            throw error
        }
    }

    private static func change(_ table: Table) throws {
        var keys: [ObjectKey] = []
        for position in stride(from: 0, to: min(table.count, 1000), by: 97) {
            keys.append(try table.key(atPosition: position))
        }
        for (i, key) in keys.enumerated() where try table.contains(key) {
            if i % 3 == 2 {
                try table.delete(key)
                continue
            }
            for (column, definition) in table.definition.columns.enumerated() where !definition.isPrimaryKey {
                switch (definition.collection, definition.type) {
                case (.none, .int): try table.set(.int(77), column, of: key)
                case (.none, .string): try table.set(.string("changed"), column, of: key)
                case (.list, .string): try table.listInsert([.string("more")], column, of: key, at: 0)
                case (.list, .int):
                    if try table.listCount(column, of: key) > 0 { try table.listRemove(0..<1, column, of: key) }
                case (.set, .double): _ = try table.setInsert(.double(9), column, of: key)
                case (.dictionary, .mixed): try table.dictionarySet("other", .int(4), column, of: key)
                default: break
                }
            }
        }
        let location = try table.insertRow()
        try table.finishInsert(location)
    }
}
