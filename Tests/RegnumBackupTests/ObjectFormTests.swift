// SPDX-License-Identifier: Apache-2.0
// Repositories that are compressed, or encrypted with a key of their own.

import Foundation
import RegnumEngine
import RegnumSimulation
import RegnumSystem
import Testing

@testable import RegnumBackup

/// How a repository stores its objects.
enum ObjectForm: CaseIterable, Sendable {
    case plain, compressed, encrypted, both

    static let ownKey = Data((0..<64).map { UInt8($0 * 3) })

    var isCompressed: Bool { self == .compressed || self == .both }
    var key: Data? { self == .encrypted || self == .both ? Self.ownKey : nil }

    /// Those that this build has, without the plain one.
    static let framed = allCases.filter { form in
        form != .plain && (!form.isCompressed || FrameCoder.canCompress) && (form.key == nil || isEncryptionAvailable)
    }

    #if Encryption
        private static let isEncryptionAvailable = true
    #else
        private static let isEncryptionAvailable = false
    #endif
}

@Suite struct ObjectFormTests {
    private func filled(_ form: ObjectForm, _ seed: UInt64, _ store: MemoryStore) throws -> BackupRun {
        let run = try BackupRun(seed: seed)
        let repository = try run.repository(store, form: form)
        for turn in 0..<5 {
            try run.commit(changes: turn == 0 ? 200 : 15)
            try repository.backUp(run.database)
        }
        return run
    }

    private func expectAllRestored(_ run: BackupRun, _ repository: BackupRepository) throws {
        let backups = try repository.backups()
        #expect(backups.count == 5)
        for backup in backups { try run.expectRestored(backup, from: repository) }
    }

    @Test("Each backup is restored, verified and kept by a prune, also after the repository is opened again")
    func restored() throws {
        for form in ObjectForm.framed {
            let store = MemoryStore()
            let run = try filled(form, 3, store)
            let repository = try run.repository(store, form: form)
            #expect(repository.isCompressed == form.isCompressed && repository.isEncrypted == (form.key != nil))
            try expectAllRestored(run, repository)
            #expect(try repository.verify().findings == [])
            run.clock.advance(hours: 2)
            try repository.prune(RetentionPolicy(last: 5))
            try expectAllRestored(run, repository)
        }
    }

    @Test("The bytes that a backup has added are those in the store")
    func sizes() throws {
        for form in ObjectForm.framed {
            let store = MemoryStore()
            let run = try filled(form, 4, store)
            let sum = try run.repository(store, form: form).backups().reduce(0) { $0 + $1.storedByteCount }
            let kept = ["packs/", "maps/", "copies/maps/"].reduce(0) { $0 + store.byteCount(below: $1) }
            // The manifest is counted before it is stored.
            #expect(sum > kept && sum < kept + 5 * 2 * 8192, "\(form)")
        }
    }

    @Test("Without the key nothing can be used, and a key that a repository does not have is refused")
    func keys() throws {
        let plain = MemoryStore()
        _ = try BackupRepository(plain, creating: true)
        #if Encryption
            let store = MemoryStore()
            _ = try BackupRepository(store, creating: true, encryptionKey: ObjectForm.ownKey)
            _ = try BackupRepository(store, encryptionKey: ObjectForm.ownKey)
            let other = Data(repeating: 1, count: 64)
            for key in [nil, other, Data(repeating: 1, count: 32)] {
                #expect {
                    _ = try BackupRepository(store, encryptionKey: key)
                } throws: { ($0 as? BackupError)?.code == .wrongKey }
            }
            #expect {
                _ = try BackupRepository(plain, encryptionKey: other)
            } throws: { ($0 as? BackupError)?.code == .wrongKey }
            // A damaged record is not taken for one of another key or format.
            for bit in [8 * 8, 8 * 8 + 3, 8 * 9, 8 * 12, 8 * 20, 8 * 50] {
                let damaged = store.copy()
                damaged.flip("repository", bit: bit)
                _ = try BackupRepository(damaged, encryptionKey: ObjectForm.ownKey)
            }
        #else
            #expect {
                _ = try BackupRepository(MemoryStore(), creating: true, encryptionKey: ObjectForm.ownKey)
            } throws: { ($0 as? BackupError)?.code == .unsupported }
        #endif
    }

    #if !Compression
        @Test("A compressed repository is refused if the package was built without compression")
        func noCompression() throws {
            #expect {
                _ = try BackupRepository(MemoryStore(), creating: true, isCompressed: true)
            } throws: { ($0 as? BackupError)?.code == .unsupported }
        }
    #else
        @Test("A repository with much text is less than half as long if it is compressed")
        func shorter() throws {
            var lengths: [Int] = []
            for form in [ObjectForm.plain, .compressed] {
                let store = MemoryStore()
                _ = try filled(form, 5, store)
                lengths.append(store.byteCount(below: ""))
            }
            #expect(lengths[1] * 2 < lengths[0], "\(lengths)")
        }
    #endif

    #if Encryption
        @Test("Each object of a repository with a key is encrypted, with a salt of its own")
        func secrecy() throws {
            let plain = MemoryStore()
            let store = MemoryStore()
            let run = try BackupRun(seed: 6)
            try run.commit(changes: 300)
            for (store, form) in [(plain, ObjectForm.plain), (store, .encrypted)] {
                try run.repository(store, form: form).backUp(run.database)
                run.clock.advance(hours: 2)
                try run.repository(store, form: form).prune(RetentionPolicy())
            }
            // A name of a class, with its length and the number of its columns.
            let needle: [UInt8] = [3, 0] + Array("Row".utf8) + [4, 0]
            func objects(_ store: MemoryStore) throws -> [(name: String, bytes: [UInt8])] {
                try store.names.map { ($0, try store.get($0) ?? []) }
            }
            let readable = try objects(plain).filter { $0.bytes.firstRange(of: needle) != nil }
            #expect(!readable.isEmpty)
            var salts: Set<[UInt8]> = []
            for (name, bytes) in try objects(store) where name != "repository" && name != "copies/repository" {
                #expect(bytes.starts(with: Array("RGBF".utf8)), "\(name)")
                #expect(bytes.firstRange(of: needle) == nil, "\(name)")
                salts.insert(Array(bytes[16..<48]))
            }
            #expect(salts.count == store.names.count - 2)
        }
    #endif

    @Test("A changed bit is found or changes nothing, and nothing wrong is restored", arguments: RunSeed.list(1...20))
    func flips(seed: RunSeed) throws {
        for form in ObjectForm.framed {
            let store = MemoryStore()
            let run = try filled(form, seed.value % 3, store)
            var random = SeededRandom(seed: seed.value)
            // Entries that are no backups have no copy, and are not needed.
            let entries = Set(try run.repository(store, form: form).backups().map { String($0.number, radix: 16) })
            let names = store.names.filter { name in
                !name.hasPrefix("log/") || entries.contains { name.hasSuffix("0" + $0) }
            }
            let name = names[random.below(names.count)]
            store.flip(name, bit: random.below(1 << 22))
            let repository = try run.repository(store, form: form)
            let result = try repository.verify()
            var lost: [UInt64] = []
            for backup in try repository.backups() {
                do { try run.expectRestored(backup, from: repository) } catch let error as BackupError {
                    #expect(error.code == .damaged)
                    lost.append(backup.number)
                }
            }
            #expect(lost.isEmpty == result.isRestorable, "\(form) \(name)")
            #expect(Set(lost).isSubset(of: Set(result.findings.flatMap(\.lostBackups))))
            #expect(name.hasPrefix("packs/") || lost == [])
        }
    }

    @Test("Damage is healed from a repository of another form")
    func healing() throws {
        for form in ObjectForm.framed {
            let run = try BackupRun(seed: 8)
            let stores = [MemoryStore(), MemoryStore()]
            let forms = [form, .plain]
            for number in 0..<2 {
                try run.commit(changes: number == 0 ? 300 : 1)
                for (store, form) in zip(stores, forms) {
                    try run.repository(store, form: form).backUp(run.database)
                }
            }
            for name in stores[0].names where name.hasPrefix("packs/") { stores[0].flip(name, bit: 8 * 3000) }
            for name in stores[0].names where name.hasPrefix("maps/") { try stores[0].delete(name) }
            let repository = try run.repository(stores[0], form: form)
            let other = try run.repository(stores[1])
            let result = try repository.verify(healing: true, from: [other])
            #expect(!result.findings.isEmpty && result.isRestorable)
            let again = try run.repository(stores[0], form: form)
            for backup in try again.backups() { try run.expectRestored(backup, from: again) }
        }
    }
}

@Suite struct FrameCoderTests {
    private static let sizes = [0, 1, 65_535, 65_536, 65_537, 300_000]

    private func coders() throws -> [FrameCoder] {
        try ObjectForm.framed.compactMap { form in
            try RepositoryRecord(time: 0, isCompressed: form.isCompressed, encryptionKey: form.key).coder
        }
    }

    /// Text, random bytes, or both in turn.
    private func content(_ byteCount: Int, _ kind: Int) -> [UInt8] {
        var random = SeededRandom(seed: UInt64(byteCount + kind))
        return (0..<byteCount).map { place in
            let isRandom = kind == 1 || (kind == 2 && place / 50_000 % 2 == 1)
            return isRandom ? UInt8(random.below(256)) : UInt8(97 + place % 7)
        }
    }

    @Test("An object and each part of it read as they were put", arguments: 0..<3)
    func roundTrip(kind: Int) throws {
        for coder in try coders() {
            for size in Self.sizes {
                let base = MemoryStore()
                let store = ObjectStore(base, coder)
                let bytes = content(size, kind)
                #expect(try store.putIfAbsent("packs/a", bytes))
                #expect(try !store.putIfAbsent("packs/a", bytes))
                #expect(try store.get("packs/a") == bytes)
                #expect(try base.get("packs/a") != bytes)
                for range in [0..<0, 0..<1, 65_000..<66_000, 10..<size + 10, size..<size + 1, 0..<size]
                where range.lowerBound <= size {
                    let part = try #require(try store.get("packs/a", range: range))
                    #expect(part == Array(bytes[range.clamped(to: 0..<size)]), "\(size) \(range)")
                }
                #expect(try store.get("packs/b") == nil)
                #expect(try store.get("packs/b", range: 0..<9) == nil)
            }
        }
    }

    @Test("Changed, cut and lengthened objects have another content or the same, whole and in parts")
    func damage() throws {
        let bytes = content(150_000, 2)
        for coder in try coders() {
            let stored = coder.encoded("log/a", bytes)
            var random = SeededRandom(seed: 9)
            for turn in 0..<600 {
                var damaged = stored
                switch turn % 6 {
                case 0: damaged = Array(stored.prefix(random.below(stored.count)))
                case 1: damaged += [1, 2, 3]
                case 2: damaged[random.below(100)] ^= 1 << UInt8(random.below(8))
                case 3: for place in 4..<16 + 4 * 3 { damaged[place] = UInt8(random.below(256)) }
                default: damaged[random.below(damaged.count)] ^= 1 << UInt8(random.below(8))
                }
                let base = MemoryStore()
                _ = try base.putIfAbsent("log/a", damaged)
                let found = try ObjectStore(base, coder).get("log/a")
                let part = try ObjectStore(base, coder).get("log/a", range: 60_000..<70_000)
                #expect(turn % 6 != 1 || found == bytes)
                // What is not damaged is as it was put: a frame never has the content of another one.
                let (whole, piece) = try (#require(found), #require(part))
                for (frame, start) in stride(from: 0, to: whole.count, by: 65_536).enumerated() where turn % 6 > 3 {
                    let end = min(start + 65_536, whole.count, bytes.count)
                    let isSame = whole[start..<end] == bytes[start..<end]
                    let isZero = whole[start..<end].allSatisfy { $0 == 0 }
                    #expect(coder.key == nil && !coder.isCompressed || isSame || isZero, "frame \(frame)")
                }
                #expect(piece.count <= 10_000)
            }
        }
    }

    #if Encryption
        @Test("An encrypted object under another name, or of another repository, has none of its content")
        func otherPlaces() throws {
            let bytes = content(150_000, 0)
            let coders = try [0, 1].compactMap { _ in
                try RepositoryRecord(time: 0, isCompressed: false, encryptionKey: ObjectForm.ownKey).coder
            }
            let base = MemoryStore()
            let stored = coders[0].encoded("packs/a", bytes)
            _ = try base.putIfAbsent("packs/a", stored)
            _ = try base.putIfAbsent("packs/b", stored)
            #expect(try ObjectStore(base, coders[0]).get("packs/a") == bytes)
            for (coder, name) in [(coders[0], "packs/b"), (coders[1], "packs/a")] {
                let found = try #require(try ObjectStore(base, coder).get(name))
                #expect(found.allSatisfy { $0 == 0 })
            }
            // Two puts of the same content differ, and frames cannot change places.
            let again = coders[0].encoded("packs/a", bytes)
            #expect(again != stored)
        }
    #endif
}
