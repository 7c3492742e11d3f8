// SPDX-License-Identifier: Apache-2.0
// Damage in a file that is too large to be read completely when it is opened. `Configuration.verify` finds it before
// the program needs the block, and `Realm.onDamage` is called if nothing can be thrown.

import Foundation
import RealmSwift
import RegnumEngine
import RegnumSystem
import RegnumTestKit
import Synchronization
import Testing

/// Created once; the tests damage copies of it.
private final class LargeFile: Sendable {
    static let plain = Result { try LargeFile(key: nil) }
    static let encrypted = Result { try LargeFile(key: Data((0..<64).map { UInt8($0) })) }

    struct Block: Sendable {
        var page: UInt64
        /// Nil in an encrypted file, where the kind of a block is not readable.
        var kind: BlockKind?
    }

    /// A copy of the file.
    struct Copy: Sendable {
        let url: URL
        let key: Data?

        func configuration(_ verify: FileVerification = .onFirstUse) -> Realm.Configuration {
            var configuration = Realm.Configuration(
                fileURL: url, encryptionKey: key, objectTypes: [HostileRow.self, HostilePart.self])
            configuration.verify = verify
            return configuration
        }

        /// Changes a bit of the block; a second call restores it.
        func flip(_ block: Block) throws {
            let file = try FileHandle(forUpdating: url)
            defer { try? file.close() }
            let offset = block.page * 4096 + 100
            try file.seek(toOffset: offset)
            let byte = try #require(try file.read(upToCount: 1)?.first)
            try file.seek(toOffset: offset)
            try file.write(contentsOf: [byte ^ 4])
        }
    }

    let folder = TestFolder()
    let key: Data?
    /// The blocks of the newest version.
    let blocks: [Block]

    private init(key: Data?) throws {
        self.key = key
        let url = folder.file("large.realm")
        let configuration = Realm.Configuration(
            fileURL: url, encryptionKey: key, objectTypes: [HostileRow.self, HostilePart.self])
        try autoreleasepool {
            let realm = try Realm(configuration: configuration)
            try realm.write { Self.fill(realm) }
            // The commit before the newest must not be an intact fallback for a damaged file.
            for id in 0..<2 {
                try realm.write { realm.object(ofType: HostileRow.self, forPrimaryKey: id)?.text = "changed" }
            }
        }
        var options = Database.OpenOptions(isReadOnly: true)
        options.encryptionKey = key?.withUnsafeBytes { EncryptionKey($0) }
        let session = try Database.openAsOtherProcess(
            path: url.path, fileSystem: PosixFileSystem.shared, options: options
        ).makeSession()
        try #require(session.database.versions.newest.highWater > BlockTraversal.pageLimit)
        let pages = try BlockTraversal.pages(session)
        let data = try Data(contentsOf: url)
        blocks = data.withUnsafeBytes { bytes in
            pages.sorted().compactMap { page in
                let at = Int(page) * 4096
                if key != nil { return Block(page: page, kind: nil) }
                guard bytes[at] == 0x52, bytes[at + 1] == 0x42,
                    bytes.loadUnaligned(fromByteOffset: at + 8, as: UInt64.self) == page
                else { return nil }
                return Block(page: page, kind: BlockKind(rawValue: bytes[at + 2]))
            }
        }
    }

    /// Every kind of block, and 17 MiB of data.
    private static func fill(_ realm: Realm) {
        var last: HostileRow?
        for id in 0..<1500 {
            let row = realm.create(HostileRow.self, value: ["id": id, "name": "name \(id)"])
            row.next = last
            last = row
        }
        for id in 0..<17 {
            let row = realm.object(ofType: HostileRow.self, forPrimaryKey: id)
            row?.data = Data(repeating: UInt8(id), count: 1 << 20)
            row?.text = String(repeating: "long ", count: 1000)
        }
        last?.words.append(objectsIn: (0..<20_000).map { "word \($0)" })
    }

    func lastBlock(_ kind: BlockKind) throws -> Block { try #require(blocks.last { $0.kind == kind }) }

    /// A copy in which a bit of the block is changed.
    func copy(damaging block: Block? = nil) throws -> Copy {
        let copy = Copy(url: folder.file("\(UUID().uuidString).realm"), key: key)
        try FileManager.default.copyItem(at: folder.file("large.realm"), to: copy.url)
        if let block { try copy.flip(block) }
        return copy
    }
}

/// The errors that the handler got for one file.
private final class Damages: Sendable {
    private let errors = Mutex<[Realm.Error]>([])
    private let threads = Mutex<Set<UInt>>([])

    init(of url: URL, _ then: @escaping @Sendable () -> Void = {}) {
        Realm.onDamage = { [weak self] error in
            guard let self, error.fileURL?.path == url.path else { return }
            errors.withLock { $0.append(error) }
            threads.withLock { _ = $0.insert(CurrentThread.id) }
            then()
        }
    }

    var all: [Realm.Error] { errors.withLock { $0 } }
    var callers: Set<UInt> { threads.withLock { $0 } }

    func first() -> Realm.Error? {
        for _ in 0..<14_400_000 {
            if let error = all.first { return error }
            CurrentThread.sleep(nanoseconds: 1_000_000)
        }
        return nil
    }
}

@Suite("Verification of large files", .serialized) struct VerificationTests {
    private let file: LargeFile

    init() throws { file = try LargeFile.plain.get() }

    private func block(_ kind: BlockKind) throws -> LargeFile.Block { try file.lastBlock(kind) }

    @Test(
        "Verification at opening throws for damage in every kind of block, without calling the handler",
        arguments: [
            BlockKind.catalog, .schema, .groupNode, .rowGroup, .blob, .indexLeaf, .indexBranch, .elementNode,
        ])
    func everyKind(_ kind: BlockKind) throws {
        let block = try block(kind)
        let copy = try file.copy(damaging: block)
        let damages = Damages(of: copy.url)
        defer { Realm.onDamage = nil }
        let error = #expect(throws: Realm.Error.self) { try Realm(configuration: copy.configuration(.atOpening)) }
        #expect(error?.code == .invalidDatabase && error?.reason == .damaged, "\(error as Any)")
        #expect(error?.localizedDescription.contains("block at page \(block.page)") == true, "\(error as Any)")
        #expect(damages.all.isEmpty)
        try copy.flip(block)
        #expect(try Realm(configuration: copy.configuration(.atOpening)).objects(HostileRow.self).count == 1500)
    }

    @Test("A file is verified once in a process, even if a Realm is already open")
    func once() throws {
        let blob = try block(.blob)
        let copy = try file.copy(damaging: blob)
        let realm = try Realm(configuration: copy.configuration())
        #expect(throws: Realm.Error.self) { try Realm(configuration: copy.configuration(.atOpening)) }
        // The damage is known, so the file is not read again.
        #expect(throws: Realm.Error.self) { try Realm(configuration: copy.configuration(.inBackground)) }
        #expect(realm.objects(HostileRow.self).count == 1500)
        try realm.write { realm.object(ofType: HostileRow.self, forPrimaryKey: 1400)?.text = "written" }

        let other = try file.copy()
        let whole = try Realm(configuration: other.configuration(.atOpening))
        try other.flip(blob)
        #expect(try Realm(configuration: other.configuration(.atOpening)) == whole)
    }

    @Test("Reading damaged data calls the handler on the same thread, and then ends the program")
    func beforeTheEnd() throws {
        let group = try block(.rowGroup)
        let copy = try file.copy(damaging: group)
        let realm = try Realm(configuration: copy.configuration())
        let damages = Damages(of: copy.url)
        defer { Realm.onDamage = nil }
        for calls in 1...2 {
            let message = catchMisuse { for row in realm.objects(HostileRow.self) { _ = row.name } }
            #expect(message?.contains("block at page \(group.page)") == true, "\(message as Any)")
            #expect(damages.all.count == calls)
            #expect(damages.all.last?.localizedDescription == message)
        }
        #expect(damages.all.first?.code == .invalidDatabase && damages.all.first?.reason == .damaged)
        #expect(damages.callers == [CurrentThread.id])
    }

    @Test("Damage that the handler itself reads ends the program, and the next damage is reported again")
    func withinTheHandler() throws {
        let copy = try file.copy(damaging: try block(.rowGroup))
        nonisolated(unsafe) let realm = try Realm(configuration: copy.configuration())
        let damages = Damages(of: copy.url) { for row in realm.objects(HostileRow.self) { _ = row.name } }
        defer { Realm.onDamage = nil }
        for calls in 1...2 {
            let message = catchMisuse { for row in realm.objects(HostileRow.self) { _ = row.name } }
            #expect(message != nil)
            #expect(damages.all.count == calls)
        }
    }

    #if os(Linux)
        @Test("The handler may end the program")
        func endsTheProgram() async throws {
            await #expect(processExitsWith: .exitCode(70)) {
                let file = try LargeFile.plain.get()
                let copy = try file.copy(damaging: file.lastBlock(.rowGroup))
                Realm.onDamage = { _ in exit(70) }
                let realm = try Realm(configuration: copy.configuration())
                for row in realm.objects(HostileRow.self) { _ = row.name }
            }
        }
    #endif

    @Test("Verification in the background reports damage to the handler, and the program continues")
    func background() throws {
        let blob = try block(.blob)
        let copy = try file.copy(damaging: blob)
        let damages = Damages(of: copy.url)
        defer { Realm.onDamage = nil }
        let realm = try Realm(configuration: copy.configuration(.inBackground))
        let error = damages.first()
        #expect(error?.reason == .damaged, "\(error as Any)")
        #expect(error?.localizedDescription.contains("block at page \(blob.page)") == true, "\(error as Any)")
        #expect(!damages.callers.contains(CurrentThread.id))
        #expect(realm.objects(HostileRow.self).count == 1500)
        try realm.write { realm.object(ofType: HostileRow.self, forPrimaryKey: 1400)?.text = "written" }
        #expect(throws: Realm.Error.self) { try Realm(configuration: copy.configuration(.atOpening)) }
        #expect(damages.all.count == 1)
    }

    @Test("Verification in the background ends with the Realm, and is not counted as an active version")
    func backgroundEnds() throws {
        // The deletion waits a second for the verification, which may need longer to end on a busy machine: then again.
        var isDeleted = false
        for _ in 0..<20 where !isDeleted { isDeleted = try deletesDuringVerification() }
        #expect(isDeleted)
    }

    private func deletesDuringVerification() throws -> Bool {
        var configuration = try file.copy().configuration(.inBackground)
        configuration.maximumNumberOfActiveVersions = 2
        try autoreleasepool {
            let realm = try Realm(configuration: configuration)
            for id in 0..<20 {
                try realm.write { realm.object(ofType: HostileRow.self, forPrimaryKey: id)?.text = "written" }
            }
        }
        do { return try Realm.deleteFiles(for: configuration) } catch Realm.Error.alreadyOpen { return false }
    }

    @Test("An encrypted file is verified", .enabled(if: BlockCipher.isAvailable))
    func encrypted() throws {
        let file = try LargeFile.encrypted.get()
        for block in [file.blocks[file.blocks.count / 3], file.blocks[file.blocks.count / 2]] {
            let copy = try file.copy(damaging: block)
            let error = #expect(throws: Realm.Error.self) {
                try Realm(configuration: copy.configuration(.atOpening))
            }
            #expect(error?.reason == .damaged, "\(error as Any)")
            try copy.flip(block)
            #expect(try Realm(configuration: copy.configuration(.atOpening)).objects(HostileRow.self).count == 1500)
        }
    }

    @Test("An in-memory Realm can be opened with any verification")
    func inMemory() throws {
        for verify in [FileVerification.atOpening, .inBackground, .onFirstUse] {
            var configuration = Realm.Configuration(
                inMemoryIdentifier: UUID().uuidString, objectTypes: [HostileRow.self, HostilePart.self])
            #expect(configuration.verify == .onFirstUse)
            configuration.verify = verify
            #expect(try Realm(configuration: configuration).isEmpty)
        }
    }
}
