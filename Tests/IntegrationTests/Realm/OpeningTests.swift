// SPDX-License-Identifier: Apache-2.0
// Opening: the location of the file, the instance that is returned, the settings in which a second opening may
// differ, and the closing of the file.

import Dispatch
import Foundation
import RealmSwift
import Synchronization
import Testing

/// A folder that is removed at the end of the test.
final class TestFolder: Sendable {
    let url: URL
    init() {
        url = FileManager.default.temporaryDirectory.appendingPathComponent("regnum-\(UUID().uuidString)")
        try! FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }
    deinit { try? FileManager.default.removeItem(at: url) }

    func file(_ name: String = "a.realm") -> URL { url.appendingPathComponent(name) }
    var names: [String] { (try? FileManager.default.contentsOfDirectory(atPath: url.path))?.sorted() ?? [] }
}

/// The standard error of an ended process.
func words(_ result: ExitTest.Result?) -> String {
    String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
}

/// Runs `body` on another thread and waits for its end.
func onOtherThread(_ body: @escaping @Sendable () -> Void) {
    let done = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
        body()
        done.signal()
    }
    done.wait()
}

class OpeningItem: Object {
    @Persisted(primaryKey: true) var id = 0
    @Persisted var name = ""
}

class OpeningLinker: Object {
    @Persisted var number = 0
    @Persisted var item: OpeningItem?
}

/// Opens a Realm while another Realm of the file is in a write transaction.
private actor Doorkeeper {
    func openWithinWrite(_ narrow: Realm.Configuration, _ wide: Realm.Configuration) async throws {
        let realm = try await Realm(configuration: narrow, actor: self)
        try openWithinWrite(of: realm, wide)
    }

    private func openWithinWrite(of realm: Realm, _ wide: Realm.Configuration) throws {
        realm.beginWrite()
        let error = #expect(throws: Realm.Error.self) { try Realm(configuration: wide) }
        #expect(error?.code == .alreadyOpen && error?.reason == .inUse)
        realm.cancelWrite()
        #expect(try Realm(configuration: wide).isEmpty)
    }
}

/// Settings that contradict each other or an open Realm, and end the program.
enum OpeningMisuse: String, CaseIterable, Codable, Sendable {
    case noPlace, emptyIdentifier, shortKey, noVersion, readOnlyDeletes, readOnlyCompacts, otherMode, otherVersion
    case queueElsewhere, concurrentQueue, globalQueue, subset

    var gist: String {
        switch self {
        case .noPlace: "A Realm Configuration must specify a path or an in-memory identifier."
        case .emptyIdentifier: "In-memory identifier must not be empty"
        case .shortKey: "Encryption key must be exactly 64 bytes long"
        case .noVersion: "Cannot set schema version to 18446744073709551615 (RLMNotVersioned)"
        case .readOnlyDeletes: "Cannot set `deleteRealmIfMigrationNeeded` when `readOnly` is set."
        case .readOnlyCompacts: "Cannot set `shouldCompactOnLaunch` when `readOnly` is set."
        case .otherMode: "already opened with different read permissions"
        case .otherVersion: "already opened with different schema version"
        case .queueElsewhere: "Realm opened from incorrect dispatch queue."
        case .concurrentQueue: "Invalid queue 'many' ("
        case .globalQueue: "Realms can only be confined to serial queues or the main queue."
        case .subset:
            "Invalid class subset list:\n- 'OpeningLinker.item' links to class 'OpeningItem', which is missing from "
                + "the list of classes managed by the Realm"
        }
    }

    func run() throws {
        let folder = TestFolder()
        var configuration = Realm.Configuration(fileURL: folder.file(), objectTypes: [OpeningItem.self])
        var queue: DispatchQueue?
        switch self {
        case .noPlace: configuration.fileURL = nil
        case .emptyIdentifier: configuration.inMemoryIdentifier = ""
        case .shortKey: configuration.encryptionKey = Data(count: 63)
        case .noVersion: configuration.schemaVersion = .max
        case .readOnlyDeletes:
            configuration.readOnly = true
            configuration.deleteRealmIfMigrationNeeded = true
        case .readOnlyCompacts:
            configuration.readOnly = true
            configuration.shouldCompactOnLaunch = { _, _ in true }
        case .otherMode, .otherVersion:
            let open = try Realm(configuration: configuration)
            if self == .otherMode { configuration.readOnly = true } else { configuration.schemaVersion = 1 }
            try withExtendedLifetime(open) { _ = try Realm(configuration: configuration) }
        case .queueElsewhere: queue = DispatchQueue(label: "one")
        case .concurrentQueue: queue = DispatchQueue(label: "many", attributes: .concurrent)
        case .globalQueue: queue = .global()
        case .subset: configuration.objectTypes = [OpeningLinker.self]
        }
        _ = try Realm(configuration: configuration, queue: queue)
    }
}

@Suite("Opening") struct OpeningTests {
    let folder = TestFolder()

    func configuration(_ name: String = "a.realm", version: UInt64 = 0) -> Realm.Configuration {
        Realm.Configuration(
            fileURL: folder.file(name), schemaVersion: version, objectTypes: [OpeningItem.self, OpeningLinker.self])
    }

    @Test("Settings that contradict each other or an open Realm end the program", arguments: OpeningMisuse.allCases)
    func misuse(_ misuse: OpeningMisuse) async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [misuse] in
            try misuse.run()
        }
        #expect(words(result).contains(misuse.gist), "\(words(result))")
    }

    @Test("Opening a path twice on a thread returns equal Realms; other paths and threads have others")
    func equality() throws {
        let one = try Realm(configuration: configuration())
        #expect(try Realm(configuration: configuration()) == one)
        #expect(try Realm(configuration: configuration("b.realm")) != one)
        nonisolated(unsafe) let shared = one
        let configuration = configuration()
        onOtherThread { #expect(try! Realm(configuration: configuration) != shared) }
    }

    @Test("Different spellings of a path open the same Realm", arguments: ["x/..", ".", "", "./x/..", "x/y/../.."])
    func detours(detour: String) throws {
        let one = try Realm(configuration: configuration())
        var other = configuration()
        other.fileURL = URL(fileURLWithPath: folder.url.path + "/" + detour + "/a.realm")
        #expect(try Realm(configuration: other) == one)
    }

    @Test("The file is closed when its last Realm, object, results or list is released")
    func closing() throws {
        let configuration = configuration()
        var realm: Realm? = try Realm(configuration: configuration)
        var object: OpeningItem? = try realm?.write { realm?.create(OpeningItem.self, value: ["id": 1]) }
        var results: Results<OpeningItem>? = realm?.objects(OpeningItem.self)
        func refused() {
            let error = #expect(throws: Realm.Error.self) { try Realm.deleteFiles(for: configuration) }
            #expect(error?.code == .alreadyOpen)
            let path = folder.file().path
            #expect(
                error?.localizedDescription.hasPrefix(
                    "Cannot delete files of an open Realm: '\(path)' is still in use.") == true)
            #expect(FileManager.default.fileExists(atPath: path))
        }
        refused()
        realm = nil
        refused()
        object = nil
        refused()
        #expect(results?.count == 1)
        results = nil
        _ = (realm, object, results)
        #expect(try Realm.deleteFiles(for: configuration))
        #expect(folder.names == ["a.realm.lock"], "only the lock file must remain")
        #expect(!Realm.fileExists(for: configuration))
        #expect(try Realm(configuration: configuration).isEmpty)
    }

    // Waiting here would never end.
    @Test("Opening with new classes is refused inside a write of the thread, and waits for a write of another thread")
    func withinWrite() throws {
        let folder = TestFolder()
        let narrow = Realm.Configuration(fileURL: folder.file(), objectTypes: [OpeningItem.self])
        let wide = Realm.Configuration(fileURL: folder.file(), objectTypes: [OpeningItem.self, OpeningLinker.self])
        let realm = try Realm(configuration: narrow)
        realm.beginWrite()
        realm.create(OpeningItem.self, value: ["id": 1])
        let error = #expect(throws: Realm.Error.self) { try Realm(configuration: wide) }
        #expect(error?.code == .alreadyOpen && error?.reason == .inUse)
        #expect(error?.localizedDescription.contains("would wait forever") == true)
        let found = Mutex(-1)
        let done = DispatchSemaphore(value: 0)
        // On a busy machine the write may last longer than an opening waits by default.
        var patient = wide
        patient.busyTimeout = 14_400
        Thread.detachNewThread { [patient] in
            let count = (try? Realm(configuration: patient))?.objects(OpeningItem.self).count
            found.withLock { $0 = count ?? -2 }
            done.signal()
        }
        #expect(done.wait(timeout: .now() + .milliseconds(100)) == .timedOut)
        try realm.commitWrite()
        done.wait()
        #expect(found.withLock { $0 } == 1)
    }

    @Test("Opening with new classes is refused inside a write of the queue")
    func withinWriteOfQueue() throws {
        let folder = TestFolder()
        let narrow = Realm.Configuration(fileURL: folder.file(), objectTypes: [OpeningItem.self])
        let wide = Realm.Configuration(fileURL: folder.file(), objectTypes: [OpeningItem.self, OpeningLinker.self])
        let queue = DispatchQueue(label: "within a write")
        try queue.sync {
            let realm = try Realm(configuration: narrow, queue: queue)
            realm.beginWrite()
            #expect(throws: Realm.Error.self) { try Realm(configuration: wide, queue: queue) }
            #expect(throws: Realm.Error.self) { try Realm(configuration: wide) }
            realm.cancelWrite()
            #expect(try Realm(configuration: wide, queue: queue).isEmpty)
        }
    }

    @Test("Opening with new classes is refused inside a write of the actor")
    func withinWriteOfActor() async throws {
        let folder = TestFolder()
        let narrow = Realm.Configuration(fileURL: folder.file(), objectTypes: [OpeningItem.self])
        let wide = Realm.Configuration(fileURL: folder.file(), objectTypes: [OpeningItem.self, OpeningLinker.self])
        try await Doorkeeper().openWithinWrite(narrow, wide)
    }

    @Test("A file that is open under another path cannot be deleted")
    func closingByAnotherPath() throws {
        let realm = try Realm(configuration: configuration())
        let link = folder.file("link")
        try FileManager.default.createSymbolicLink(at: link, withDestinationURL: folder.url)
        var other = configuration()
        other.fileURL = link.appendingPathComponent("a.realm")
        let error = #expect(throws: Realm.Error.self) { try Realm.deleteFiles(for: other) }
        #expect(error?.code == .alreadyOpen)
        #expect(realm.isEmpty)
    }

    @Test("A file may have a relative URL and a name beyond ASCII")
    func names() throws {
        let name = "Räucher käse 日本 %20 #1.realm"
        do {
            let realm = try Realm(configuration: configuration(name))
            try realm.write { realm.create(OpeningItem.self, value: ["id": 1]) }
        }
        #expect(folder.names.contains(name))
        #expect(try Realm(configuration: configuration(name)).objects(OpeningItem.self).count == 1)
    }

    @Test("init(fileURL:) uses the default configuration except for the file")
    func initWithURL() throws {
        let realm = try Realm(fileURL: folder.file("c.realm"))
        #expect(realm.configuration.fileURL == folder.file("c.realm"))
        #expect(realm.configuration.inMemoryIdentifier == nil)
        #expect(folder.names.contains("c.realm"))
    }

    @Test("The configuration of a Realm has the current schema version, which never decreases")
    func schemaVersion() throws {
        #expect(try Realm(configuration: configuration(version: 10)).configuration.schemaVersion == 10)
        let before = try Data(contentsOf: folder.file())
        let error = #expect(throws: Realm.Error.self) { try Realm(configuration: configuration(version: 5)) }
        #expect(error?.code == .fail)
        #expect(error?.reason == .newerSchemaVersion)
        #expect(
            error?.localizedDescription.hasPrefix(
                "Provided schema version 5 is less than last set version 10.") == true)
        #expect(try Data(contentsOf: folder.file()) == before)
        #expect(try Realm(configuration: configuration(version: 11)).configuration.schemaVersion == 11)
    }

    @Test("A seed file is copied only if the file does not exist yet")
    func seed() throws {
        do {
            let seed = try Realm(configuration: configuration("seed.realm"))
            try seed.write { seed.create(OpeningItem.self, value: ["id": 1]) }
        }
        var configuration = configuration()
        configuration.seedFilePath = folder.file("seed.realm")
        do {
            let realm = try Realm(configuration: configuration)
            #expect(realm.objects(OpeningItem.self).count == 1)
            try realm.write { realm.create(OpeningItem.self, value: ["id": 2]) }
        }
        #expect(try Realm(configuration: configuration).objects(OpeningItem.self).count == 2)
        configuration.fileURL = folder.file("b.realm")
        configuration.seedFilePath = folder.file("none.realm")
        let missing = #expect(throws: Realm.Error.self) { try Realm(configuration: configuration) }
        #expect(missing?.code == .fileNotFound)
        #expect(!FileManager.default.fileExists(atPath: folder.file("b.realm").path))
    }

    @Test("A seed file is copied even for a read-only Realm")
    func readOnlySeed() throws {
        do {
            let seed = try Realm(configuration: configuration("seed.realm"))
            try seed.write { seed.create(OpeningItem.self, value: ["id": 1]) }
        }
        var configuration = configuration()
        configuration.readOnly = true
        configuration.seedFilePath = folder.file("seed.realm")
        #expect(try Realm(configuration: configuration).objects(OpeningItem.self).count == 1)
        #expect(folder.names.contains("a.realm"))
        try FileManager.default.removeItem(at: folder.file("seed.realm"))
        #expect(
            try Realm(configuration: configuration).objects(OpeningItem.self).count == 1,
            "the seed must not be copied again")
        configuration.fileURL = folder.file("b.realm")
        let missing = #expect(throws: Realm.Error.self) { try Realm(configuration: configuration) }
        #expect(missing?.code == .fileNotFound && missing?.fileURL == folder.file("seed.realm"))
    }

    @Test("The default file is in XDG_DATA_HOME in a folder with the program's name, which is created")
    func defaultFile() async {
        await #expect(processExitsWith: .success) {
            let data = TestFolder()
            setenv("XDG_DATA_HOME", data.url.path, 1)
            let url = Realm.Configuration.defaultConfiguration.fileURL
            let program = ProcessInfo.processInfo.processName
            #expect(url?.path == data.url.path + "/\(program)/default.realm")
            #expect(!FileManager.default.fileExists(atPath: data.url.path + "/" + program))
            let realm = try Realm()
            try realm.write { realm.create(OpeningItem.self, value: ["id": 1]) }
            #expect(FileManager.default.fileExists(atPath: url?.path ?? ""))
        }
        await #expect(processExitsWith: .success) {
            let home = TestFolder()
            unsetenv("XDG_DATA_HOME")
            setenv("HOME", home.url.path, 1)
            let program = ProcessInfo.processInfo.processName
            _ = try Realm()
            #expect(
                FileManager.default.fileExists(
                    atPath: home.url.path + "/.local/share/\(program)/default.realm"))
        }
    }

    @Test("If the default folder cannot be created, the error names both environment variables")
    func noDefaultFile() async {
        await #expect(processExitsWith: .success) {
            let folder = TestFolder()
            try Data([1]).write(to: folder.file("file"))
            setenv("XDG_DATA_HOME", folder.file("file").path + "/below", 1)
            let error = #expect(throws: Realm.Error.self) { try Realm() }
            #expect(error?.reason == .noDefaultFolder)
            #expect(error?.localizedDescription.contains("XDG_DATA_HOME") == true)
            #expect(error?.localizedDescription.contains("HOME, ") == true)
        }
    }

    @Test("A configuration compares location, key, mode and version, and its description lists its settings")
    func configurations() {
        let url = URL(fileURLWithPath: "/tmp/x.realm")
        let one = Realm.Configuration(fileURL: url, schemaVersion: 3)
        var other = one
        other.objectTypes = [OpeningItem.self]
        #expect(one == other)
        other.readOnly = true
        #expect(one != other)
        #expect(one != Realm.Configuration(inMemoryIdentifier: "x", schemaVersion: 3))
        #expect(one.description.hasPrefix("Realm.Configuration {\n\tfileURL = file:///tmp/x.realm;\n"))
        for line in ["inMemoryIdentifier = (null)", "schemaVersion = 3", "readOnly = 0", "customSchema = (null)"] {
            #expect(one.description.contains("\t\(line);\n"))
        }
    }

    private static let contradictory = [
        MisuseCase("Cannot set `deleteRealmIfMigrationNeeded` when `readOnly` is set.") {
            _ = try Realm(configuration: Realm.Configuration(readOnly: true, deleteRealmIfMigrationNeeded: true))
        },
        MisuseCase("Cannot set `shouldCompactOnLaunch` when `readOnly` is set.") {
            _ = try Realm(
                configuration: Realm.Configuration(readOnly: true, shouldCompactOnLaunch: { _, _ in true }))
        },
        MisuseCase("A Realm Configuration must specify a path or an in-memory identifier.") {
            _ = try Realm(configuration: Realm.Configuration(fileURL: nil))
        },
        MisuseCase("In-memory identifier must not be empty") {
            _ = try Realm(configuration: Realm.Configuration(inMemoryIdentifier: ""))
        },
        MisuseCase("Encryption key must be exactly 64 bytes long") {
            _ = try Realm(configuration: Realm.Configuration(encryptionKey: Data(count: 3)))
        },
    ]

    @Test("Settings that contradict each other are refused", arguments: contradictory)
    func contradictions(_ misuse: MisuseCase) throws {
        #expect(try misuse.message().contains(misuse.words))
    }
}
