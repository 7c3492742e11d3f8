// SPDX-License-Identifier: Apache-2.0
// Uses every feature on a file that may be damaged: each step throws or answers. The queries are in `HostileQueries`.

import RegnumEngine
import RegnumInspect
import RegnumSimulation
import RegnumSystem

enum HostileUse {
    /// The result of each step.
    struct Outcome: Sendable {
        private(set) var errors: [(step: String, error: EngineError)] = []
        /// A digest of all that a step has read; equal for equal data within a process.
        private(set) var digests: [(step: String, digest: Int)] = []
        /// The findings of the integrity check.
        fileprivate(set) var findings: [String] = []
        /// The losses of a salvage that completed.
        fileprivate(set) var losses: [String] = []

        var isRight: Bool { errors.isEmpty && findings.isEmpty && losses.isEmpty }

        fileprivate mutating func attempt(_ step: String, _ body: () throws -> Int) {
            do {
                let digest = try body()
                digests.append((step, digest))
            } catch let error as EngineError {
                errors.append((step, error))
            } catch {
                fatalError("an error of another type: \(error)")
            }
        }
    }

    /// Opens, checks, reads everything, writes and commits. Returns true if no step found anything wrong.
    @discardableResult
    static func run(_ bytes: [UInt8]) -> Bool {
        // First with the default options; then so that the first read finds the damage.
        let early = outcome(bytes, checksSmallFiles: true)
        let late = outcome(bytes, checksSmallFiles: false)
        return early.isRight || late.isRight
    }

    static func outcome(_ bytes: [UInt8], checksSmallFiles: Bool, key: EncryptionKey? = nil) -> Outcome {
        let files = SimulatedFileSystem(seed: 1, reservedByteCount: 64 << 20)
        files.setContents(of: HostileFile.path, bytes)
        var options = Database.OpenOptions()
        options.checksSmallFiles = checksSmallFiles
        options.encryptionKey = key
        var outcome = Outcome()
        var opened: Database?
        outcome.attempt("open") {
            opened = try Database.open(path: HostileFile.path, fileSystem: files, options: options)
            return 0
        }
        guard let database = opened else { return outcome }
        outcome.attempt("values") { try values(try database.makeSession()) }
        outcome.attempt("answers") { try HostileQueries.ask(try database.makeSession()) }
        outcome.findings = IntegrityCheck.run(database).findings.map(\.description)
        // The result is the same for both ways of opening.
        if !checksSmallFiles {
            outcome.attempt("copy") { try writeCopy(database, files) }
            salvage(database, files, &outcome)
        }
        write(database, "changed", &outcome) { session in
            for table in session.tables { try change(table, session) }
        }
        write(database, "reshaped", &outcome) { session in try reshape(session) }
        write(database, "emptied", &outcome) { session in
            for table in session.tables where !table.definition.isEmbedded { try table.deleteAll() }
        }
        outcome.attempt("after") { try values(try database.makeSession()) }
        if outcome.isRight { outcome.findings = IntegrityCheck.run(database).findings.map(\.description) }
        return outcome
    }

    // MARK: Reading

    /// Every value of every object.
    static func values(_ session: Session) throws(EngineError) -> Int {
        var hasher = Hasher()
        for table in session.tables { try read(table, &hasher) }
        return hasher.finalize()
    }

    private static func read(_ table: Table, _ hasher: inout Hasher) throws(EngineError) {
        hasher.combine(table.definition.name)
        try table.forEachGroup { group throws(EngineError) in
            for row in 0..<group.pointee.count {
                let location = RowLocation(group: group, row: row)
                hasher.combine(location.key)
                for (column, definition) in table.definition.columns.enumerated() {
                    switch definition.collection {
                    case .none: mix(try table.value(column, at: location), &hasher)
                    case .list, .set: mix(.list(try table.listValues(column, at: location)), &hasher)
                    case .dictionary: mix(.dictionary(try table.dictionaryEntries(column, of: location.key)), &hasher)
                    }
                }
                hasher.combine(try table.locate(location.key) != nil)
            }
            return true
        }
    }

    /// Every bit of a value: `==` treats some different values as equal.
    static func mix(_ value: Value, _ hasher: inout Hasher) {
        switch value {
        case .float(let number): hasher.combine(number.bitPattern)
        case .double(let number): hasher.combine(number.bitPattern)
        case .string(let text): hasher.combine(Array(text.utf8))
        case .list(let values):
            hasher.combine(values.count)
            for value in values { mix(value, &hasher) }
        case .dictionary(let entries):
            hasher.combine(entries.count)
            for entry in entries {
                hasher.combine(Array(entry.key.utf8))
                mix(entry.value, &hasher)
            }
        default: hasher.combine(value)
        }
    }

    // MARK: Copies

    private static func writeCopy(_ database: Database, _ files: SimulatedFileSystem) throws -> Int {
        let path = "/d/copy.realm"
        try database.makeSession().writeCopy(to: path, in: files)
        return try values(try Database.open(path: path, fileSystem: files).makeSession())
    }

    private static func salvage(_ database: Database, _ files: SimulatedFileSystem, _ outcome: inout Outcome) {
        var losses: [String] = []
        outcome.attempt("salvage") {
            let target = try Database.open(path: "/d/saved.realm", fileSystem: files).makeSession()
            var salvage = Salvage(source: try database.makeSession(), target: target)
            try salvage.run()
            losses = salvage.report.losses
            if losses.isEmpty, !salvage.report.isComplete { losses = ["objects that nothing is said of"] }
            // The salvaged part of a damaged file is not a state that it ever had.
            return try losses.isEmpty ? values(target) : 0
        }
        outcome.losses = losses
    }

    // MARK: Writing

    /// One transaction, and its change set.
    private static func write(
        _ database: Database, _ step: String, _ outcome: inout Outcome, _ body: (Session) throws -> Void
    ) {
        var shown: (older: Session, newer: Session)?
        outcome.attempt(step) {
            let (older, session) = (try database.makeSession(), try database.makeSession())
            try session.beginWrite()
            do {
                try body(session)
                try session.commitWrite()
            } catch {
                if session.isWriting { session.rollbackWrite() }
                throw error
            }
            shown = (older, session)
            return try values(session)
        }
        guard let shown else { return }
        outcome.attempt("differences, \(step)") {
            var hasher = Hasher()
            for changes in try shown.newer.changes(since: shown.older) {
                hasher.combine(changes.table)
                hasher.combine(changes.deleted)
                hasher.combine(changes.inserted)
                hasher.combine(changes.modified)
                hasher.combine(changes.columns)
            }
            return hasher.finalize()
        }
    }

    /// Changes each kind of column, adds and deletes objects.
    private static func change(_ table: Table, _ session: Session) throws {
        var keys: [ObjectKey] = []
        for position in stride(from: 0, to: min(table.count, 1000), by: table.count > 100 ? 97 : 3) {
            keys.append(try table.key(atPosition: position))
        }
        for (i, key) in keys.enumerated() where try table.contains(key) {
            if i % 3 == 2 {
                let plan = try session.planDelete([RowKey(table: table.definition.key, key: key)])
                if plan.denials.isEmpty { try table.delete(key) }
                continue
            }
            for (column, definition) in table.definition.columns.enumerated() where !definition.isPrimaryKey {
                switch definition.collection {
                case .none:
                    if let value = try newValue(column, i, table, session) { try table.set(value, column, of: key) }
                case .list: try changeList(column, key, i, table, session)
                case .set: try changeSet(column, key, i, table, session)
                case .dictionary:
                    if let value = try newValue(column, i, table, session) {
                        try table.dictionarySet("other", value, column, of: key)
                    }
                    try table.dictionaryRemove("key 0", column, of: key)
                }
            }
        }
        if table.definition.isEmbedded { return }
        let location = try table.insertRow()
        let key = location.key
        try table.finishInsert(location)
        if let column = table.definition.primaryKey {
            try table.set(HostileContent.otherValue(table.definition.columns[column].type, 999), column, of: key)
        }
    }

    private static func changeList(
        _ column: Int, _ key: ObjectKey, _ i: Int, _ table: Table, _ session: Session
    ) throws {
        guard let value = try newValue(column, i, table, session) else { return }
        try table.listInsert([value], column, of: key, at: 0)
        if let other = try newValue(column, i + 1, table, session) {
            try table.listSet(other, column, of: key, at: 0)
        }
        let count = try table.listCount(column, of: key)
        if count > 1 { try table.listMove(column, of: key, from: 0, to: count - 1) }
        if count > 2 { try table.listRemove(1..<2, column, of: key) }
    }

    private static func changeSet(
        _ column: Int, _ key: ObjectKey, _ i: Int, _ table: Table, _ session: Session
    ) throws {
        if let value = try newValue(column, i, table, session) { try table.setInsert(value, column, of: key) }
        if let first = try table.listValues(column, of: key).first { try table.setRemove(first, column, of: key) }
    }

    /// A value that no other object of the table has, as far as the type has so many. An embedded object is a new one;
    /// nil if there is nothing to link to.
    private static func newValue(_ column: Int, _ i: Int, _ table: Table, _ session: Session) throws -> Value? {
        let definition = table.definition.columns[column]
        guard definition.type == .link else { return HostileContent.otherValue(definition.type, i) }
        guard let target = definition.target.flatMap({ session.table($0) }) else { return nil }
        if table.ownsTargets(of: column) {
            let location = try target.insertRow()
            let key = location.key
            try target.finishInsert(location)
            return .link(key)
        }
        guard target.count > 0 else { return nil }
        return .link(try target.key(atPosition: 0))
    }

    /// Removes the last column, adds another, and toggles indexes.
    private static func reshape(_ session: Session) throws {
        var definitions: [TableDefinition] = []
        for table in session.tables where !table.definition.isEmbedded && table.definition.uniques.isEmpty {
            var definition = table.definition
            if definition.columns.count > 1 { definition.columns.removeLast() }
            for i in definition.columns.indices
            where definition.columns[i].mayBeIndexed && !definition.columns[i].isPrimaryKey {
                definition.columns[i].isIndexed.toggle()
            }
            definition.columns.append(
                ColumnDefinition(
                    key: ColumnKey(definition.nextColumnKey), name: "added later", type: .date, isIndexed: true))
            definition.nextColumnKey += 1
            definitions.append(definition)
        }
        try session.reshape(definitions)
    }
}

// MARK: Possible effects of damage

extension HostileUse {
    /// The states that a file with stale checksums may show: for each step its result for the newest state and for the
    /// one before.
    struct States: Sendable {
        private var digests: [String: Set<Int>] = [:]
        /// The number of distinct states.
        var count: Int { digests["values"]?.count ?? 0 }

        init(_ bytes: [UInt8], key: EncryptionKey? = nil) throws {
            for bytes in [bytes, try HostileFile.withoutNewestSlot(bytes, key: key)] {
                for step in HostileUse.outcome(bytes, checksSmallFiles: false, key: key).digests {
                    digests[step.step, default: []].insert(step.digest)
                }
            }
            // A failed transaction has changed nothing.
            let transactions = ["values", "changed", "reshaped", "emptied"]
            digests["after"] = Set(transactions.flatMap { digests[$0] ?? [] })
        }

        /// Descriptions of the faults of an outcome: errors that damage may not cause, and results of no known state.
        func faults(_ outcome: Outcome, mayLackHeader: Bool = false) -> [String] {
            var faults: [String] = []
            for (step, error) in outcome.errors
            where !HostileUse.mayComeOfDamage(error, mayLackHeader: mayLackHeader) {
                faults.append("\(step): the error \(error)")
            }
            for (step, digest) in outcome.digests where !isKnown(step, digest, outcome) {
                faults.append("\(step): neither the newest state nor the one before")
            }
            let readers = ["values", "answers", "copy", "salvage"]
            let hasMetDamage = outcome.errors.contains { readers.contains($0.step) } || !outcome.losses.isEmpty
            if hasMetDamage, outcome.findings.isEmpty {
                faults.append("damage that the integrity check does not find: \(outcome.errors) \(outcome.losses)")
            }
            return faults
        }

        private func isKnown(_ step: String, _ digest: Int, _ outcome: Outcome) -> Bool {
            if step == "salvage", !outcome.losses.isEmpty { return true }
            if let known = digests[step], known.contains(digest) { return true }
            // If one transaction has failed, the next is based on another state.
            let ofReading = ["open", "values", "answers", "copy", "salvage"]
            return !ofReading.contains(step) && !outcome.errors.isEmpty
        }
    }

    /// True for the errors of damage with stale checksums: they name a block, or the file as a whole.
    static func mayComeOfDamage(_ error: EngineError, mayLackHeader: Bool) -> Bool {
        switch error {
        case .corrupted(let damage):
            let ofTheFile = [
                "no commit of the file is complete", "the file ends before its content does",
                "the file ends before its first commit",
            ]
            return damage.page != nil || ofTheFile.contains(damage.what)
        case .notADatabase: return mayLackHeader
        default: return false
        }
    }
}
