// SPDX-License-Identifier: Apache-2.0
// Files that are not databases, damaged, or inaccessible: each is refused with RealmSwift's code and message, a
// reason and advice, and stays unchanged byte by byte.

import Foundation
import RealmSwift
import RegnumEngine
import Testing

class BadInputRow: Object {
    @Persisted(primaryKey: true) var id = 0
    @Persisted(indexed: true) var name = ""
    @Persisted var text = ""
    @Persisted var data = Data()
    @Persisted var next: BadInputRow?
    @Persisted var words: List<String>
}

@Suite("Bad input") struct BadInputTests {
    let folder = TestFolder()

    func configuration(_ name: String = "a.realm", readOnly: Bool = false) -> Realm.Configuration {
        Realm.Configuration(fileURL: folder.file(name), readOnly: readOnly, objectTypes: [BadInputRow.self])
    }

    /// Expects that opening fails, and that the file, if there is one, and the folder stay unchanged.
    func refusal(_ name: String = "a.realm", readOnly: Bool = false, line: Int = #line) -> Realm.Error? {
        let before = (folder.names, try? Data(contentsOf: folder.file(name)))
        let location = SourceLocation(fileID: #fileID, filePath: #filePath, line: line, column: 1)
        let error = #expect(throws: Realm.Error.self, sourceLocation: location) {
            try Realm(configuration: configuration(name, readOnly: readOnly))
        }
        #expect(before == (folder.names, try? Data(contentsOf: folder.file(name))), sourceLocation: location)
        return error
    }

    func start(_ name: String = "a.realm") -> String {
        "Failed to open Realm file at path '\(folder.file(name).path)': "
    }

    /// A file with every kind of block; about 700 KB.
    func makeGood(_ name: String = "a.realm", rows: Int = 3000) throws {
        let realm = try Realm(configuration: configuration(name))
        try realm.write {
            var last: BadInputRow?
            for i in 0..<rows {
                let row = realm.create(
                    BadInputRow.self, value: ["id": i, "name": "name \(i)", "text": "text of row \(i)"])
                row.next = last
                if i % 100 == 0 { row.words.append(objectsIn: (0..<30).map { "word \($0)" }) }
                if i % 1000 == 0 { row.data = Data(repeating: UInt8(i / 1000 + 1), count: 9000) }
                last = row
            }
        }
        // The commit before the newest must not be an intact fallback for a damaged file.
        for i in 0..<3 {
            try realm.write { realm.object(ofType: BadInputRow.self, forPrimaryKey: i)?.text = "changed" }
        }
    }

    @Test("A missing folder, a folder, and a path below a file are refused", arguments: [false, true])
    func paths(readOnly: Bool) throws {
        let missing = refusal("no/such/a.realm", readOnly: readOnly)
        #expect(missing?.code == .fileNotFound)
        #expect(missing?.reason == .missingFolder)
        #expect(missing?.localizedDescription.hasPrefix(start("no/such/a.realm") + "No such file or directory") == true)
        #expect(missing?.fileURL == folder.file("no/such/a.realm"))

        let itself = refusal(".", readOnly: readOnly)
        #expect(itself?.code == .fileOperationFailed)
        #expect(itself?.reason == .isAFolder)

        try Data("x".utf8).write(to: folder.file("file"))
        let below = refusal("file/a.realm", readOnly: readOnly)
        #expect(below?.code == .fileOperationFailed)
        #expect(below?.reason == .parentIsNotAFolder)
        let path = folder.file("file/a.realm").path
        let words = readOnly ? start("file/a.realm") : "Failed to open file at path '\(path).lock': "
        #expect(below?.localizedDescription.hasPrefix(words + "parent path is not a directory") == true)
    }

    @Test("A device and a pipe are refused without waiting for the other end of the pipe")
    func devices() throws {
        #expect(mkfifo(folder.file("pipe").path, 0o600) == 0)
        for url in [folder.file("pipe"), URL(fileURLWithPath: "/dev/null")] {
            let error = #expect(throws: Realm.Error.self) {
                try Realm(configuration: .init(fileURL: url, objectTypes: [BadInputRow.self]))
            }
            #expect(error?.code == .fileOperationFailed)
            #expect(error?.reason == .notARegularFile)
        }
    }

    @Test("A read-only file must exist and not be empty")
    func readOnlyMissing() throws {
        let missing = refusal(readOnly: true)
        #expect(missing?.code == .fileNotFound)
        #expect(missing?.reason == .missingFile)
        #expect(missing?.localizedDescription.hasPrefix(start() + "No such file or directory") == true)
        try Data().write(to: folder.file())
        let empty = refusal(readOnly: true)
        #expect(empty?.code == .invalidDatabase)
        #expect(empty?.reason == .emptyFile)
        let realm = try Realm(configuration: configuration())
        #expect(realm.isEmpty, "an empty file is a new database")
    }

    @Test("A file in a folder without write permission is refused")
    func permission() async throws {
        // Runs in another user's process, because root may write everywhere.
        await #expect(processExitsWith: .success) {
            let folder = TestFolder()
            let closed = folder.file("closed")
            try FileManager.default.createDirectory(at: closed, withIntermediateDirectories: true)
            try Data().write(to: closed.appendingPathComponent("b.realm"))
            #expect(chmod(closed.appendingPathComponent("b.realm").path, 0o400) == 0)
            #expect(chmod(folder.url.path, 0o755) == 0)
            #expect(chmod(closed.path, 0o555) == 0)
            if getuid() == 0 { #expect(setgid(65534) == 0 && setuid(65534) == 0) }
            for name in ["a.realm", "b.realm"] {
                let url = closed.appendingPathComponent(name)
                let error = #expect(throws: Realm.Error.self) {
                    try Realm(configuration: .init(fileURL: url, objectTypes: [BadInputRow.self]))
                }
                #expect(error?.code == .filePermissionDenied)
                #expect(error?.reason == .noPermission)
                #expect(
                    error?.localizedDescription.hasPrefix(
                        "Failed to open Realm file at path '\(url.path)': Permission denied. "
                            + "Please use a path where your app has read-write permissions.") == true)
            }
        }
    }

    @Test(
        "Files of other formats are refused",
        arguments: [
            ([1], Realm.Error.Reason.tooSmall, "file is non-empty but too small (1 bytes) to be a valid Realm."),
            (
                [UInt8](repeating: 65, count: 23), .tooSmall,
                "file is non-empty but too small (23 bytes) to be a valid Realm."
            ),
            (Array("#!/bin/sh\necho 'a script is no database'\n".utf8), .notARealmFile, "header has invalid mnemonic."),
            ([UInt8](repeating: 65, count: 100_000), .notARealmFile, "header has invalid mnemonic."),
            (
                Array("SQLite format 3\0".utf8) + [UInt8](repeating: 0, count: 8176), .notARealmFile,
                "header has invalid mnemonic."
            ),
            // Zeros first, as in a disk image: it must not be taken for an unfinished database.
            (
                [UInt8](repeating: 0, count: 40_000) + [UInt8](repeating: 7, count: 131_072 - 40_000), .notARealmFile,
                "header has invalid mnemonic."
            ),
            (
                [UInt8](repeating: 0, count: 30_000) + [UInt8](repeating: 7, count: 65_536 - 30_000), .notARealmFile,
                "header has invalid mnemonic."
            ),
        ] as [([UInt8], Realm.Error.Reason, String)])
    func otherFiles(bytes: [UInt8], reason: Realm.Error.Reason, words: String) throws {
        try Data(bytes).write(to: folder.file())
        for readOnly in [false, true] {
            let error = refusal(readOnly: readOnly)
            #expect(error?.code == .invalidDatabase)
            #expect(error?.reason == reason)
            let shown = error?.localizedDescription ?? ""
            #expect(shown.hasPrefix(start() + words + " "), "\(shown)")
        }
        #expect(folder.names == ["a.realm"], "a lock file was created beside a file of another format")
    }

    @Test(
        "A Realm Core file is refused by name, and its lock file stays unchanged", arguments: [24, 64, 4096, 1 << 20])
    func realmCore(byteCount: Int) throws {
        var bytes = [UInt8](repeating: 0, count: byteCount)
        bytes[0] = 24
        bytes.replaceSubrange(16..<24, with: [0x54, 0x2D, 0x44, 0x42, 24, 23, 0, 0])
        try Data(bytes).write(to: folder.file())
        try Data([1, 2, 3]).write(to: folder.file("a.realm.lock"))
        for readOnly in [false, true] {
            let error = refusal(readOnly: readOnly)
            #expect(error?.code == .unsupportedFileFormatVersion)
            #expect(error?.reason == .olderRealmFile)
            #expect(
                error?.localizedDescription.hasPrefix(
                    start() + "Database has an unsupported version (24) and cannot be upgraded.") == true)
            #expect(error?.localizedDescription.contains("Realm Core") == true)
        }
        #expect(try Data(contentsOf: folder.file("a.realm.lock")) == Data([1, 2, 3]))
    }

    @Test("A truncated file is refused or opens at an earlier complete commit")
    func truncated() throws {
        try makeGood("good.realm")
        let good = try Data(contentsOf: folder.file("good.realm"))
        for count in [100, 4096, 40_000, 65_535, 65_536, 70_000, good.count / 4, good.count / 2] {
            try good.prefix(count).write(to: folder.file())
            try? FileManager.default.removeItem(at: folder.file("a.realm.lock"))
            do {
                let realm = try Realm(configuration: configuration())
                #expect([0, 3000].contains(realm.objects(BadInputRow.self).count), "cut at \(count)")
            } catch let error as Realm.Error {
                #expect(error.code == .invalidDatabase)
                #expect([.truncated, .tooSmall, .damaged].contains(error.reason))
                if (4096...good.count / 2).contains(count) {
                    #expect(error.reason == .truncated, "cut at \(count): \(error)")
                }
                #expect(try Data(contentsOf: folder.file()) == good.prefix(count))
            }
        }
    }

    @Test("A damaged header is read from its copy; if both are damaged the file is refused")
    func header() throws {
        try makeGood("good.realm", rows: 10)
        var bytes = try Data(contentsOf: folder.file("good.realm"))
        bytes[20] ^= 0xff
        try bytes.write(to: folder.file())
        do { #expect(try Realm(configuration: configuration()).objects(BadInputRow.self).count == 10) }
        bytes[49_152 + 20] ^= 0xff
        try bytes.write(to: folder.file("b.realm"))
        let error = refusal("b.realm")
        #expect(error?.code == .invalidDatabase)
        #expect(error?.reason == .damaged)
        #expect(error?.localizedDescription.hasPrefix(start("b.realm")) == true)
    }

    @Test("A changed byte in any page of a small file is detected when it is opened, or affects no data")
    func damagedPages() throws {
        try makeGood("good.realm")
        let good = try Data(contentsOf: folder.file("good.realm"))
        #expect(good.count < 16 << 20)
        var refused = 0
        for page in stride(from: 16, to: good.count >> 12, by: 1) {
            var bytes = good
            bytes[page << 12 + 1000 + page % 7] ^= 0x10
            try bytes.write(to: folder.file("\(page).realm"))
            do {
                let realm = try Realm(configuration: configuration("\(page).realm"))
                let rows = realm.objects(BadInputRow.self)
                let count = rows.count
                let sum = rows.reduce(0) { $0 + $1.id + ($1.name == "name \($1.id)" ? 0 : 1) }
                #expect(count == 3000 && sum == 2999 * 1500, "page \(page)")
            } catch let error as Realm.Error {
                refused += 1
                #expect(error.code == .invalidDatabase)
                #expect(error.reason == .damaged)
                #expect(try Data(contentsOf: folder.file("\(page).realm")) == bytes, "page \(page)")
            }
            try FileManager.default.removeItem(at: folder.file("\(page).realm"))
        }
        #expect(refused > 20, "\(refused) of \(good.count >> 12) pages")
    }

    @Test("A file of a newer format is refused")
    func newerFormat() throws {
        try makeGood("good.realm", rows: 1)
        var bytes = try Data(contentsOf: folder.file("good.realm"))
        for place in [0, 49_152] { Self.stampFormatTwo(&bytes, at: place) }
        try bytes.write(to: folder.file())
        for readOnly in [false, true] {
            let error = refusal(readOnly: readOnly)
            #expect(error?.code == .unsupportedFileFormatVersion)
            #expect(error?.reason == .newerFormat)
            #expect(
                error?.localizedDescription.hasPrefix(
                    start() + "Database has an unsupported version (file format 2) and cannot be upgraded.") == true)
        }
    }

    /// Sets the header's format to version 2, with a valid checksum.
    private static func stampFormatTwo(_ bytes: inout Data, at place: Int) {
        bytes[place + 8] = 2
        bytes[place + 12] = 2
        var header = [UInt8](bytes[place..<place + 4096])
        header.withUnsafeMutableBytes { header in
            guard let base = header.baseAddress else { return }
            let tag = ContentHash(seedLow: 0, seedHigh: 0).tag(base, 4080)
            header.storeBytes(of: tag.low, toByteOffset: 4080, as: UInt64.self)
            header.storeBytes(of: tag.high, toByteOffset: 4088, as: UInt64.self)
        }
        bytes.replaceSubrange(place..<place + 4096, with: header)
    }

    @Test("Damage found in a call that cannot throw ends the program with a clear message")
    func lateDamage() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let tests = BadInputTests()
            let data = Data(repeating: 7, count: 1 << 20)
            // A file larger than 16 MiB is not read completely when it is opened.
            do {
                let realm = try Realm(configuration: tests.configuration())
                try realm.write {
                    for i in 0..<24 { realm.create(BadInputRow.self, value: ["id": i, "data": data]) }
                }
                for i in 0..<3 { try realm.write { realm.create(BadInputRow.self, value: ["id": 100 + i]) } }
            }
            let handle = try FileHandle(forUpdating: tests.folder.file())
            try handle.seek(toOffset: 12 << 20)
            try handle.write(contentsOf: Data([1, 2, 3]))
            try handle.close()
            let realm = try Realm(configuration: tests.configuration())
            for row in realm.objects(BadInputRow.self) where row.id < 100 { precondition(row.data == data) }
        }
        for part in [
            "The Realm file '/", "/a.realm' could not be read: a block does not match its checksum (block at page ",
            "restore it from a backup, or save what can be read with `regnum salvage`",
        ] {
            #expect(words(result).contains(part))
        }
    }
}
