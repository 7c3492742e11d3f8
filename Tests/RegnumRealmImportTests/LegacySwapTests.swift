// SPDX-License-Identifier: Apache-2.0
// The replacement of an app's file, on file systems that refuse something.

import Foundation
import RealmSwift
import RegnumRealmFile
@testable import RegnumRealmImport
import RegnumSystem
import Synchronization
import Testing

@Suite("Replacing an app's file") struct LegacySwapTests {
    private func swap(_ scratch: Scratch, _ files: FaultyFileSystem, keepsOriginal: Bool = true) throws -> LegacySwap {
        let url = scratch["default.realm"]
        if try !scratch.names.contains("default.realm") {
            _ = try scratch.fixture("all_types_v24.realm", as: "default.realm")
        }
        return LegacySwap(
            path: url.path, configuration: Realm.Configuration(fileURL: url, schemaVersion: 7, objectTypes: []),
            keepsOriginal: keepsOriginal, progress: nil, report: nil, files: files)
    }

    private func expectImported(_ scratch: Scratch, _ names: [String]) throws {
        let configuration = Realm.Configuration(fileURL: scratch["default.realm"], schemaVersion: 7, objectTypes: [])
        #expect(try Realm(configuration: configuration).dynamicObjects("Deep").count == 1250)
        #expect(try scratch.names == names)
    }

    @Test("A folder that this process may not read, and so cannot sync, does not prevent the import")
    func folderWithoutRights() throws {
        let scratch = try Scratch()
        let files = FaultyFileSystem(failure: .permissionDenied)
        #expect(try swap(scratch, files).run())
        #expect(files.syncedNames == ["default.realm.legacy", "default.realm"])
        try expectImported(scratch, ["default.realm", "default.realm.legacy"])
        let old = scratch["default.realm.legacy"]
        let path = scratch["new.realm"].path
        let source = try RealmFileSource(RealmFile(url: old), path: old.path)
        do {
            let new = try NewFile(beside: path, like: nil, isReplacement: false, key: nil, in: files)
            _ = try NewFileImport(source: source, report: RealmFileImportReport()).run(into: new)
            try new.rename()
        }
        #expect(try scratch.names == ["default.realm", "default.realm.legacy", "new.realm"])
    }

    @Test("An export whose name cannot be synced does not remove the temporary file of a later export")
    func failedExport() throws {
        let scratch = try Scratch()
        let old = try scratch.fixture("all_types_v24.realm", as: "old.realm")
        let temporary: URL
        do {
            let export = try OutputFile(
                at: scratch["out.json"].path, like: old.path, in: FaultyFileSystem(failure: .io))
            try export.write(Data("{}".utf8))
            temporary = scratch[try #require(try scratch.names.first { $0.hasSuffix(".tmp") })]
            #expect(throws: SystemError.self) { try export.finish() }
            // Another export claims the free name before this one is released.
            try Data("later".utf8).write(to: temporary)
            withExtendedLifetime(export) {}
        }
        #expect(try scratch.names.sorted() == ["old.realm", temporary.lastPathComponent].sorted())
    }

    @Test("A failed sync after the swap is not reported as a failed swap")
    func failedSync() throws {
        let scratch = try Scratch()
        #expect(try swap(scratch, FaultyFileSystem(failure: .io), keepsOriginal: false).run())
        try expectImported(scratch, ["default.realm"])
    }

    @Test("An error of the sync of the kept original, or of a new file's name, is an error without a new file")
    func failedSyncOfOriginal() throws {
        let scratch = try Scratch()
        #expect(throws: Realm.Error.self) { try swap(scratch, FaultyFileSystem(failure: .io)).run() }
        #expect(try RealmFile(url: scratch["default.realm"]).formatVersion == 24)
        // The second name is there now, and is synced again.
        #expect(try scratch.names == ["default.realm", "default.realm.legacy"])
        #expect(throws: Realm.Error.self) { try swap(scratch, FaultyFileSystem(failure: .io)).run() }
        let files = FaultyFileSystem()
        #expect(try swap(scratch, files).run())
        #expect(files.syncedNames == ["default.realm.legacy", "default.realm"])
        try expectImported(scratch, ["default.realm", "default.realm.legacy"])

        let old = scratch["default.realm.legacy"]
        let new = try NewFile(
            beside: scratch["new.realm"].path, like: nil, isReplacement: false, key: nil,
            in: FaultyFileSystem(failure: .io))
        let source = try RealmFileSource(RealmFile(url: old), path: old.path)
        _ = try NewFileImport(source: source, report: RealmFileImportReport()).run(into: new)
        #expect(throws: SystemError.self) { try new.rename() }
        #expect(try !scratch.names.contains("new.realm"))
    }

    // Without hard links, each killed import once added another copy.
    @Test("A copy of the original that a killed import has left is kept, and not made again")
    func copiedOriginal() throws {
        let scratch = try Scratch()
        let swap = try swap(scratch, FaultyFileSystem())
        try FileManager.default.copyItem(at: scratch["default.realm"], to: scratch["default.realm.legacy"])
        #expect(try swap.run())
        try expectImported(scratch, ["default.realm", "default.realm.legacy"])
    }

    @Test("A file that a process has open with Realm is not imported")
    func openInRealm() throws {
        let scratch = try Scratch()
        let swap = try swap(scratch, FaultyFileSystem())
        let before = try Data(contentsOf: scratch["default.realm"])
        let lock = scratch["default.realm.lock"]
        try Data("realm-core".utf8).write(to: lock)
        // A process of Realm holds a shared lock of the whole file.
        let other = open(lock.path, O_RDWR)
        try #require(other >= 0 && flock(other, LOCK_SH) == 0)
        #expect { try swap.run() } throws: { ($0 as? Realm.Error)?.reason == .busy }
        #expect(try Data(contentsOf: scratch["default.realm"]) == before)
        #expect(try scratch.names == ["default.realm"])
        #expect(FileManager.default.fileExists(atPath: lock.path))
        close(other)
        #expect(try swap.run())
        try expectImported(scratch, ["default.realm", "default.realm.legacy"])
    }

    @Test("A file that is written to during the import is not replaced", arguments: [true, false])
    func writtenMeanwhile(changesHeader: Bool) throws {
        let scratch = try Scratch()
        var swap = try swap(scratch, FaultyFileSystem(), keepsOriginal: false)
        let url = scratch["default.realm"]
        let calls = Mutex(0)
        swap = LegacySwap(
            path: swap.path, configuration: swap.configuration, keepsOriginal: false, progress: nil,
            report: { _ in
                guard
                    calls.withLock({
                        $0 += 1; return $0
                    }) == 1
                else { return }
                let handle = try FileHandle(forWritingTo: url)
                // The import has read the header, and does not read it again.
                if changesHeader {
                    try handle.write(contentsOf: Data([0xff]))
                } else {
                    try handle.seekToEnd()
                    try handle.write(contentsOf: Data(count: 8))
                }
                try handle.close()
            })
        #expect { try swap.run() } throws: { ($0 as? Realm.Error)?.reason == .busy }
        #expect(try scratch.names == ["default.realm"])
        let start = try Data(contentsOf: url).prefix(24)
        #expect(start[16..<20] == Data("T-DB".utf8))
    }

    @Test("A process that waits for another one's import polls a few hundred times per second, and ends in time")
    func waiting() throws {
        let scratch = try Scratch()
        let files = FaultyFileSystem()
        var swap = try swap(scratch, files)
        let other = try PosixFileSystem.shared.open(swap.path, .readWrite)
        defer { other.close() }
        #expect(try other.tryLock(byte: LegacySwap.lockedByte))
        var configuration = swap.configuration
        configuration.busyTimeout = 0.3
        swap = LegacySwap(
            path: swap.path, configuration: configuration, keepsOriginal: true, progress: nil, report: nil, files: files
        )
        #expect { try swap.run() } throws: { ($0 as? Realm.Error)?.reason == .busy }
        // Pauses of 1, 2, 4 and then 5 ms are 62 attempts in 0.3 s; pauses of 50 µs would be thousands.
        #expect((1...80).contains(files.lockAttempts), "\(files.lockAttempts)")
    }
}
