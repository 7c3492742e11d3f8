// SPDX-License-Identifier: Apache-2.0
// Copies of a file that is being written: they show one version, keep the encryption, and exist only when complete.

import RegnumEngine
import RegnumSimulation
import RegnumSystem
import Testing

@Suite struct OnlineBackupTests {
    struct Cancelled: Error {}

    @Test("A backup has the version of its beginning, while commits go on", arguments: RunSeed.list(1...3))
    func whileWriting(seed: RunSeed) throws {
        let run = try BackupRun(seed: seed.value)
        for _ in 0..<20 { try run.commit(changes: 30) }
        let version = try run.database.makeSession().version
        var calls = 0
        var last = FileBackup.Progress(copiedByteCount: 0, byteCount: 0)
        let copied = try FileBackup.write(run.database, to: "/b.realm", in: run.files) { progress in
            calls += 1
            // Equal while the copy is compared.
            #expect(progress.copiedByteCount >= last.copiedByteCount)
            last = progress
            if calls % 5 == 0 { try run.commit(changes: 10) }
        }
        #expect(copied == version)
        #expect(calls > 5)
        #expect(last.copiedByteCount == last.byteCount)
        try run.expectFile("/b.realm", version: version, isWritten: true)
        #expect(IntegrityCheck.run(run.database).isClean)
    }

    @Test("A backup of a file with a history has one version and no history")
    func history() throws {
        let run = try BackupRun(seed: 4, history: HistoryLimits(age: 1 << 50, byteCount: 1 << 30))
        for _ in 0..<30 { try run.commit(changes: 10) }
        try FileBackup.write(run.database, to: "/b.realm", in: run.files)
        try run.expectFile("/b.realm", version: try run.database.makeSession().version, isWritten: true)
    }

    @Test("Something at the path is never replaced")
    func existing() throws {
        let run = try BackupRun(seed: 5)
        try run.files.open("/b.realm", .readWriteCreate).close()
        #expect(throws: EngineError.fileExists(path: "/b.realm")) {
            try FileBackup.write(run.database, to: "/b.realm", in: run.files)
        }
        #expect(try run.files.status("/b.realm")?.byteCount == 0)
    }

    @Test("A cancelled backup leaves nothing")
    func cancelled() throws {
        let run = try BackupRun(seed: 6)
        try run.commit(changes: 200)
        #expect(throws: Cancelled.self) {
            try FileBackup.write(run.database, to: "/b.realm", in: run.files) { progress in
                if progress.copiedByteCount * 2 > progress.byteCount { throw Cancelled() }
            }
        }
        #expect(try run.files.status("/b.realm") == nil)
        #expect(try run.files.status("/b.realm.regnum-0.tmp") == nil)
    }

    @Test("A backup can be cancelled while the copy is compared")
    func cancelledComparison() throws {
        let run = try BackupRun(seed: 10)
        try run.commit(changes: 100)
        var isCopied = false
        #expect(throws: Cancelled.self) {
            try FileBackup.write(run.database, to: "/b.realm", in: run.files) { progress in
                if isCopied { throw Cancelled() }
                isCopied = progress.copiedByteCount == progress.byteCount
            }
        }
        #expect(isCopied)
        #expect(try run.files.status("/b.realm") == nil)
    }

    @Test("A rate is kept, and a backup that waits can be cancelled")
    func rate() throws {
        let run = try BackupRun(seed: 7)
        try run.commit(changes: 300)
        let start = MonotonicClock.now()
        var byteCount = 0
        try FileBackup.write(run.database, to: "/b.realm", in: run.files, rate: 2_000_000) {
            byteCount = $0.copiedByteCount
        }
        let seconds = Double(MonotonicClock.now() - start) / 1e9
        // The copy is read, too.
        #expect(seconds * 2_000_000 >= Double(byteCount) * 1.9)
        var calls = 0
        #expect(throws: Cancelled.self) {
            // One block would take hours.
            try FileBackup.write(run.database, to: "/c.realm", in: run.files, rate: 1) { _ in
                calls += 1
                if calls == 3 { throw Cancelled() }
            }
        }
    }

    #if Encryption
        @Test("A backup of an encrypted file opens with its key only, and shows none of its text")
        func encrypted() throws {
            let run = try BackupRun(seed: 8, key: BackupRun.key(3))
            for _ in 0..<10 { try run.commit(changes: 40) }
            try FileBackup.write(run.database, to: "/b.realm", in: run.files)
            let file = try run.files.open("/b.realm", .readOnly)
            var bytes = [UInt8](repeating: 0, count: try file.byteCount())
            _ = try bytes.withUnsafeMutableBytes { try file.read($0, at: 0) }
            file.close()
            #expect(!bytes.withUnsafeBytes { Self.contains("text 1", $0) })
            #expect(throws: EngineError.self) {
                try Database.openToRead(path: "/b.realm", fileSystem: run.files, encryptionKey: nil)
            }
            #expect(throws: EngineError.self) {
                try Database.openToRead(path: "/b.realm", fileSystem: run.files, encryptionKey: BackupRun.key(4))
            }
            try run.expectFile("/b.realm", version: try run.database.makeSession().version, isWritten: true)
        }

        static func contains(_ text: String, _ bytes: UnsafeRawBufferPointer) -> Bool {
            let wanted = Array(text.utf8)
            var start = 0
            while start + wanted.count <= bytes.count {
                var length = 0
                while length < wanted.count, bytes[start + length] == wanted[length] { length += 1 }
                if length == wanted.count { return true }
                start += 1
            }
            return false
        }
    #endif

    @Test("After a failure of any call there is no file at the path, or the whole one")
    func failures() throws {
        let files = SimulatedFileSystem(seed: 9, reservedByteCount: 64 << 20)
        let database = try Database.openAsOtherProcess(path: "/a.realm", fileSystem: files)
        let session = try database.makeSession()
        try session.beginWrite()
        try session.addTables([BackupRun.rows])
        let table = try #require(session.table(named: "Row"))
        for id in 0..<50 {
            let location = try table.insertRow()
            let key = location.key
            try table.finishInsert(location)
            try table.set(.int(Int64(id)), 0, of: key)
        }
        try session.commitWrite()
        var call = 0
        while true {
            let path = "/b\(call).realm"
            files.failure = SimulatedFailure(call: files.operationCount + call, kind: .io)
            var isDone = false
            do {
                try FileBackup.write(database, to: path, in: files)
                isDone = true
            } catch {}
            let isFailed = files.failure.map { files.operationCount > $0.call } ?? true
            files.failure = nil
            if try files.status(path) != nil {
                let copy = try Database.openAsOtherProcess(path: path, fileSystem: files)
                #expect(IntegrityCheck.run(copy).isClean)
                #expect(try copy.makeSession().table(named: "Row")?.count == 50)
            } else {
                #expect(!isDone)
            }
            if isDone, !isFailed { break }
            call += 1
            try #require(call < 1000)
        }
        #expect(call > 10)
    }
}
