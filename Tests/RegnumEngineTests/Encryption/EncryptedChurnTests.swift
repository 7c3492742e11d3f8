// SPDX-License-Identifier: Apache-2.0
// Searches every file for plain text before every sync while an encrypted file is used: in transactions large enough to
// spill, and while blocks move to shrink the file.

#if Encryption
    import RegnumEngine
    import RegnumSimulation
    import RegnumSystem
    import Synchronization
    import Testing

    @Suite struct EncryptedChurnTests {
        private static let secrets = NewTable(
            name: "SecretTable",
            columns: [
                NewColumn(name: "number", type: .int),
                NewColumn(name: "secretBody", type: .string, isContentIndexed: true),
                NewColumn(name: "named", type: .string, collection: .dictionary),
                NewColumn(name: "any", type: .mixed, isNullable: true, isIndexed: true),
                NewColumn(name: "alone", type: .string),
                NewColumn(name: "data", type: .data),
            ])

        /// Bytes of plain values, of folded terms, of dictionary keys, of mixed values, of unique constraints, of long
        /// values, and of the schema.
        private static let words: Set<String> = [
            "Volltext", "volltext", "Schluessel", "Beliebig", "Einzig", "Langwert", "SecretTable", "secretBody",
        ]

        private final class Search: Sendable {
            let found = Mutex<Set<String>>([])
            /// Searched for in the database file.
            let longest = Mutex<Int>(0)
        }

        private func watch(_ files: SimulatedFileSystem, _ search: Search) {
            files.beforeSync = { files in
                for path in files.paths {
                    guard let bytes = files.contents(of: path) else { continue }
                    if path == EncryptedFileTests.path {
                        search.longest.withLock { $0 = max($0, bytes.count) }
                    }
                    for word in Self.words where EncryptedFileTests.contains(bytes, Array(word.utf8)) {
                        search.found.withLock { _ = $0.insert(word) }
                    }
                }
            }
        }

        private func insert(_ table: Table, _ ids: Range<Int>, dataByteCount: Int) throws {
            let unit = Array("Langwert ".utf8)
            let data = Value.data((0..<dataByteCount).map { unit[$0 % unit.count] })
            for id in ids {
                let location = try table.insertRow()
                let key = location.key
                try table.finishInsert(location)
                try table.set(.int(Int64(id)), 0, of: key)
                try table.set(.string("Volltext im Archiv \(id)"), 1, of: key)
                try table.dictionarySet("Schluessel \(id % 7)", .string("x"), 2, of: key)
                try table.set(.string("Beliebig \(id)"), 3, of: key)
                try table.set(.string("Einzig \(id)"), 4, of: key)
                try table.set(data, 5, of: key)
            }
        }

        private func write(_ session: Session, _ body: (Table) throws -> Void) throws {
            try session.beginWrite()
            try body(try #require(session.table(named: "SecretTable")))
            try session.commitWrite()
        }

        @Test(
            "No user data is on the disk at any sync; in a plain file all of it is",
            arguments: [true, false])
        func syncs(isEncrypted: Bool) throws {
            let files = SimulatedFileSystem(seed: 5, reservedByteCount: 256 << 20)
            let search = Search()
            watch(files, search)
            var options = Database.OpenOptions()
            options.encryptionKey = isEncrypted ? EncryptedFileTests.key(1) : nil
            options.spillLimits = .small
            let database = try Database.openAsOtherProcess(
                path: EncryptedFileTests.path, fileSystem: files, options: options)
            let session = try database.makeSession()
            try session.beginWrite()
            try session.addTables([Self.secrets])
            var definition = try #require(session.table(named: "SecretTable")).definition
            definition.uniques.append(
                UniqueDefinition(key: ColumnKey(definition.nextColumnKey), columns: [definition.columns[4].key]))
            definition.nextColumnKey += 1
            try session.reshape([definition])
            try session.commitWrite()

            try write(session) { try insert($0, 0..<600, dataByteCount: 12_000) }
            try write(session) { try insert($0, 600..<660, dataByteCount: 3000) }
            try write(session) { table in
                try table.delete(try (0..<600).map { try table.key(atPosition: $0) })
            }
            for turn in 0..<60 {
                try write(session) { table in
                    try table.set(.int(Int64(turn)), 0, of: try table.key(atPosition: turn))
                }
            }
            files.beforeSync = nil
            #expect(search.found.withLock { $0 } == (isEncrypted ? [] : Self.words))
            // The blocks have moved.
            let byteCount = files.contents(of: EncryptedFileTests.path)?.count ?? .max
            let longest = search.longest.withLock { $0 }
            #expect(longest > 6 << 20 && byteCount < longest / 2)
            let report = IntegrityCheck.run(database)
            #expect(report.isClean, "\(report.findings)")
        }
    }
#endif
