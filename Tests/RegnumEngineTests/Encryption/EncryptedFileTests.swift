// SPDX-License-Identifier: Apache-2.0
// Encrypted files at the engine's level: the bytes on disk, and the effects when they are changed, moved, replayed or
// opened with another key.

#if Encryption
    import RegnumEngine
    import RegnumSimulation
    import RegnumSystem
    import Synchronization
    import Testing

    @Suite struct EncryptedFileTests {
        static let path = "/d/a.realm"
        static let notes = NewTable(
            name: "SecretTable",
            columns: [
                NewColumn(name: "secretColumn", type: .string, isIndexed: true), NewColumn(name: "number", type: .int),
                NewColumn(name: "list", type: .string, collection: .list),
            ])

        static func key(_ byte: UInt8) -> EncryptionKey {
            [UInt8](repeating: byte, count: EncryptionKey.byteCount).withUnsafeBytes { EncryptionKey($0) }
        }

        static func open(
            _ files: SimulatedFileSystem, _ key: EncryptionKey?, isReadOnly: Bool = false
        ) throws -> Database {
            var options = Database.OpenOptions(isReadOnly: isReadOnly)
            options.encryptionKey = key
            return try Database.openAsOtherProcess(path: path, fileSystem: files, options: options)
        }

        static func text(_ i: Int) -> String {
            // Inline, on a shared heap, and in a blob of its own.
            i % 10 == 0 ? String(repeating: "Geheimnis \(i) ", count: 400) : "Geheimnis \(i)"
        }

        /// A new encrypted file after several commits.
        static func make(rows: Int = 300) throws -> SimulatedFileSystem {
            let files = SimulatedFileSystem(seed: 5, reservedByteCount: 256 << 20)
            let session = try open(files, key(1)).makeSession()
            try session.beginWrite()
            try session.addTables([notes])
            try session.commitWrite()
            for part in 0..<3 {
                try session.beginWrite()
                let table = try #require(session.table(named: "SecretTable"))
                for i in stride(from: part, to: rows, by: 3) {
                    let location = try table.insertRow()
                    let key = location.key
                    try table.finishInsert(location)
                    try table.set(.string(text(i)), 0, of: key)
                    try table.set(.int(Int64(i)), 1, of: key)
                    try table.listInsert([.string("Geheimes Glied \(i)")], 2, of: key, at: 0)
                }
                try session.commitWrite()
            }
            return files
        }

        /// All rows by number; throws if anything cannot be read.
        static func read(_ database: Database) throws -> [Int64: [String]] {
            let session = try database.makeSession()
            guard let table = session.table(named: "SecretTable") else { return [:] }
            var rows: [Int64: [String]] = [:]
            try table.forEachGroup { group throws(EngineError) in
                for row in 0..<group.pointee.count {
                    let location = RowLocation(group: group, row: row)
                    guard case .int(let number) = try table.value(1, at: location),
                        case .string(let text) = try table.value(0, at: location)
                    else { continue }
                    rows[number] =
                        [text]
                        + (try table.listValues(2, at: location)).map {
                            if case .string(let word) = $0 { word } else { "" }
                        }
                }
                return true
            }
            return rows
        }

        static func expected(_ count: Int = 300) -> [Int64: [String]] {
            Dictionary(uniqueKeysWithValues: (0..<count).map { (Int64($0), [text($0), "Geheimes Glied \($0)"]) })
        }

        @Test("Written values are read back, from small files and from large ones", arguments: [0, 1, 300, 5000])
        func roundTrip(rows: Int) throws {
            let files = try Self.make(rows: rows)
            let database = try Self.open(files, Self.key(1))
            #expect(try Self.read(database) == Self.expected(rows))
            #expect(IntegrityCheck.run(database).isClean)
            #expect(database.isEncrypted)
        }

        @Test("No part of names and values is in any file in plain text")
        func noPlaintext() throws {
            let files = try Self.make()
            for name in [Self.path, Self.path + ".lock"] {
                let bytes = try #require(files.contents(of: name))
                for word in ["Geheim", "Secret", "secret", "Glied"] {
                    #expect(!Self.contains(bytes, Array(word.utf8)), "\(word) in \(name)")
                }
            }
            // The search must find plain text in a file that is not encrypted.
            let plain = SimulatedFileSystem(seed: 5, reservedByteCount: 64 << 20)
            let session = try Self.open(plain, nil).makeSession()
            try session.beginWrite()
            try session.addTables([Self.notes])
            try session.commitWrite()
            #expect(Self.contains(try #require(plain.contents(of: Self.path)), Array("SecretTable".utf8)))
        }

        private final class Search: Sendable {
            let seen = Mutex<Set<String>>([])
            let found = Mutex<[String]>([])
        }

        @Test("A copy or a compaction contains no plain text while it is being made")
        func noPlaintextInTheMaking() throws {
            let files = try Self.make()
            let search = Search()
            files.beforeSync = { files in
                for path in files.paths where path.hasSuffix(".tmp") || path.hasSuffix(".compacting") {
                    guard let bytes = files.contents(of: path), bytes.count > 100_000 else { continue }
                    search.seen.withLock { _ = $0.insert(path) }
                    for word in ["Geheim", "Secret", "secret", "Glied"]
                    where Self.contains(bytes, Array(word.utf8)) {
                        search.found.withLock { $0.append("\(word) in \(path)") }
                    }
                }
            }
            let copy = Self.path + ".copy"
            do { try Self.open(files, Self.key(1)).makeSession().writeCopy(to: copy, in: files, key: Self.key(2)) }
            var options = Database.OpenOptions()
            options.encryptionKey = Self.key(1)
            #expect(try Database.compact(path: Self.path, fileSystem: files, options: options))
            files.beforeSync = nil
            #expect(search.found.withLock { $0 } == [])
            #expect(search.seen.withLock { $0 } == [copy + ".regnum-0.tmp", Self.path + ".compacting"])
            for (path, key) in [(copy, UInt8(2)), (Self.path, 1)] {
                var options = Database.OpenOptions()
                options.encryptionKey = Self.key(key)
                let database = try Database.openAsOtherProcess(path: path, fileSystem: files, options: options)
                #expect(try Self.read(database) == Self.expected())
            }
        }

        static func contains(_ bytes: [UInt8], _ word: [UInt8]) -> Bool {
            bytes.withUnsafeBytes { buffer in
                guard let base = buffer.baseAddress else { return false }
                var start = 0
                while start + word.count <= buffer.count,
                    let step = Memory.find(word[0], in: base + start, buffer.count - word.count - start + 1)
                {
                    start += step
                    if Memory.compare(base + start, word, word.count) == 0 { return true }
                    start += 1
                }
                return false
            }
        }

        @Test("A wrong key, a missing key and a needless key cause different errors, and the file is not changed")
        func misfits() throws {
            let files = try Self.make()
            let before = files.contents(of: Self.path)
            #expect(throws: EngineError.encryption(path: Self.path, .wrongKey)) { try Self.open(files, Self.key(2)) }
            #expect(throws: EngineError.encryption(path: Self.path, .keyMissing)) { try Self.open(files, nil) }
            #expect(throws: EngineError.encryption(path: Self.path, .wrongKey)) {
                try Self.open(files, Self.key(2), isReadOnly: true)
            }
            #expect(files.contents(of: Self.path) == before)

            let plain = SimulatedFileSystem(seed: 5, reservedByteCount: 64 << 20)
            _ = try Self.open(plain, nil)
            #expect(throws: EngineError.encryption(path: Self.path, .notEncrypted)) {
                try Self.open(plain, Self.key(1))
            }
        }

        @Test("A file that is open in this process is not opened with another key, or without one")
        func otherKeyInUse() throws {
            let files = try Self.make()
            var options = Database.OpenOptions()
            options.encryptionKey = Self.key(1)
            let open = try Database.open(path: Self.path, fileSystem: files, options: options)
            for other in [Self.key(2), nil] {
                options.encryptionKey = other
                #expect(throws: EngineError.encryption(path: Self.path, .otherKeyInUse)) {
                    try Database.open(path: Self.path, fileSystem: files, options: options)
                }
            }
            options.encryptionKey = Self.key(1)
            #expect(try Database.open(path: Self.path, fileSystem: files, options: options) === open)
        }

        @Test("A changed header is refused, even with a valid checksum", arguments: [20, 40, 70])
        func header(byte: Int) throws {
            let files = try Self.make()
            var bytes = try #require(files.contents(of: Self.path))
            for start in [0, FormatLimits.headerCopyByteOffset] {
                bytes[start + byte] ^= 1
                let tag = bytes.withUnsafeBytes {
                    ContentHash(seedLow: 0, seedHigh: 0).tag($0.baseAddress.unsafelyUnwrapped + start, 4080)
                }
                bytes.withUnsafeMutableBytes {
                    $0.storeBytes(of: tag.low, toByteOffset: start + 4080, as: UInt64.self)
                    $0.storeBytes(of: tag.high, toByteOffset: start + 4088, as: UInt64.self)
                }
            }
            files.setContents(of: Self.path, bytes)
            #expect(throws: EngineError.encryption(path: Self.path, .wrongKey)) { try Self.open(files, Self.key(1)) }
        }

        @Test("A flipped bit anywhere causes an error or leaves the answer correct", arguments: RunSeed.list(1...4))
        func bits(seed: RunSeed) throws {
            let files = try Self.make()
            let good = try #require(files.contents(of: Self.path))
            // Damage in the newest commit looks like an interrupted commit: the previous commit counts.
            let allowed = [Self.expected(), Self.expected().filter { $0.key % 3 != 2 }]
            var random = SeededRandom(seed: seed.value)
            var refused = 0
            for _ in 0..<(RunScale.isOptimized ? 1000 : 25) {
                var bytes = good
                bytes[random.below(bytes.count)] ^= 1 << UInt8(random.below(8))
                let copy = SimulatedFileSystem(seed: 1, reservedByteCount: 64 << 20)
                copy.setContents(of: Self.path, bytes)
                do {
                    let rows = try Self.read(try Self.open(copy, Self.key(1)))
                    #expect(allowed.contains(rows))
                } catch is EngineError {
                    refused += 1
                }
            }
            #expect(refused > 0)
        }

        @Test("A block at the position of another block, or an older block at its own position, is refused")
        func movedBlocks() throws {
            let files = try Self.make()
            let old = try #require(files.contents(of: Self.path))
            let session = try Self.open(files, Self.key(1)).makeSession()
            for round in 0..<2 {
                try session.beginWrite()
                let table = try #require(session.table(named: "SecretTable"))
                for i in 1...300 { try table.set(.int(Int64(i + round)), 1, of: ObjectKey(UInt64(i))) }
                try session.commitWrite()
            }
            let now = try #require(files.contents(of: Self.path))
            var right: [Int64: [String]] = [:]
            right = try Self.read(session.database)
            for page in 16..<(old.count / 4096)
            where old[page * 4096..<page * 4096 + 4096] != now[page * 4096..<page * 4096 + 4096] {
                var bytes = now
                bytes.replaceSubrange(page * 4096..<page * 4096 + 4096, with: old[page * 4096..<page * 4096 + 4096])
                try Self.expectRefusalOr(right, bytes)
                bytes = now
                bytes.replaceSubrange(page * 4096..<page * 4096 + 4096, with: now[17 * 4096..<18 * 4096])
                try Self.expectRefusalOr(right, bytes)
            }
        }

        private static func expectRefusalOr(_ right: [Int64: [String]], _ bytes: [UInt8]) throws {
            let copy = SimulatedFileSystem(seed: 1, reservedByteCount: 64 << 20)
            copy.setContents(of: path, bytes)
            // The commit before the newest one may count; it has one row less.
            let before = Dictionary(uniqueKeysWithValues: right.map { ($0.key - 1, $0.value) })
            do {
                let rows = try read(try open(copy, key(1)))
                #expect(rows == right || rows == before)
            } catch is EngineError {}
        }

        /// The slot of the newest commit is the one in `now` that `before` does not have.
        @Test("A valid slot of an earlier commit that is put back is skipped, is refused, or shows that commit")
        func replayedSlots() throws {
            let files = try Self.make()
            let session = try Self.open(files, Self.key(1)).makeSession()
            var states = [try Self.read(session.database)]
            var slots: [[UInt8]] = []
            var before: [UInt8] = []
            var now = try #require(files.contents(of: Self.path))
            for round in 1...12 {
                try session.beginWrite()
                let table = try #require(session.table(named: "SecretTable"))
                for i in 1...300 { try table.set(.int(Int64(i + 1000 * round)), 1, of: ObjectKey(UInt64(i))) }
                try session.commitWrite()
                states.append(try Self.read(session.database))
                before = now
                now = try #require(files.contents(of: Self.path))
                for offset in CommitSlot.byteOffsets {
                    let slot = Array(now[offset..<(offset + 4096)])
                    if !slots.contains(slot) { slots.append(slot) }
                }
            }
            let changed = CommitSlot.byteOffsets.filter { offset in
                now[offset..<(offset + 4096)] != before[offset..<(offset + 4096)]
            }
            try #require(changed.count == 1)
            let newest = changed[0]
            let other = CommitSlot.otherByteOffset(newest)
            var refused = 0
            for slot in slots {
                for places in [[other], [newest], [newest, other]] {
                    var bytes = now
                    for place in places { bytes.replaceSubrange(place..<(place + 4096), with: slot) }
                    let copy = SimulatedFileSystem(seed: 1, reservedByteCount: 64 << 20)
                    copy.setContents(of: Self.path, bytes)
                    do {
                        let rows = try Self.read(try Self.open(copy, Self.key(1)))
                        #expect(states.contains(rows))
                        if places == [other] { #expect(rows == states.last) }
                    } catch is EngineError {
                        refused += 1
                        #expect(places != [other], "the newest commit is intact")
                    }
                }
            }
            // Pages of the first commits have been reused.
            #expect(refused > 0)
        }

        /// The first bytes of non-empty pages, which are the nonces of blocks that begin there, with a digest of the
        /// page.
        private struct Nonces {
            private var seen: [[UInt8]: Int] = [:]
            var count: Int { seen.count }

            mutating func note(_ bytes: [UInt8]) {
                for page in [4, 8] + Array(16..<(bytes.count / 4096)) {
                    let start = page * 4096
                    let nonce = Array(bytes[start..<(start + 12)])
                    if nonce.allSatisfy({ $0 == 0 }) { continue }
                    let digest = bytes[start..<(start + 4096)].hashValue
                    if let before = seen.updateValue(digest, forKey: nonce), before != digest {
                        Issue.record("two contents of page \(page) have one nonce")
                    }
                }
            }
        }

        /// Encrypted files do not spill.
        @Test("No two encryptions use the same nonce: rollbacks, commits of every level, and copies included")
        func nonces() throws {
            let files = SimulatedFileSystem(seed: 9, reservedByteCount: 64 << 20)
            let session = try Self.open(files, Self.key(1)).makeSession()
            try session.beginWrite()
            try session.addTables([Self.notes])
            let row = try #require(session.table(named: "SecretTable")).insertRow()
            let key = row.key
            try #require(session.table(named: "SecretTable")).finishInsert(row)
            try session.commitWrite()
            var nonces = Nonces()
            for i in 0..<(RunScale.isOptimized ? 3000 : 200) {
                try session.beginWrite()
                let table = try #require(session.table(named: "SecretTable"))
                try table.set(.int(Int64(i)), 1, of: key)
                try table.set(.string(Self.text(i)), 0, of: key)
                if i % 37 == 0 {
                    let copy = Self.path + ".copy\(i)"
                    try session.writeCopy(to: copy, in: files, key: Self.key(1))
                    nonces.note(try #require(files.contents(of: copy)))
                    try files.remove(copy)
                }
                switch i % 6 {
                case 0, 3: session.rollbackWrite()
                case 1: try session.commitWrite(.relaxed)
                case 2: try session.commitWrite(.paranoid)
                case 4: try session.commitWriteLater { _ in }
                default: try session.commitWrite()
                }
                nonces.note(try #require(files.contents(of: Self.path)))
            }
            #expect(nonces.count > (RunScale.isOptimized ? 6000 : 400))
        }
    }
#endif
