// SPDX-License-Identifier: Apache-2.0
// A file is opened with settings that differ from those of an open Realm of the file. Opening throws an error if
// another thread, queue or actor has opened that Realm, and is a programmer error if the caller has.

import Dispatch
import Foundation
import RealmSwift
import RegnumTestKit
import Synchronization
import Testing

class SettingsRow: Object {
    @Persisted(primaryKey: true) var id = 0
}

/// A setting that differs, and the expected message.
enum OtherSetting: String, CaseIterable, Sendable {
    case readOnly, lowerVersion, higherVersion, memoryVersion
    #if Encryption
        case otherKey, noKey, addedKey
    #endif

    /// The configuration that is open, and the other one.
    func configurations(_ folder: TestFolder) -> (open: Realm.Configuration, other: Realm.Configuration) {
        var open = Realm.Configuration(fileURL: folder.file(), schemaVersion: 3, objectTypes: [SettingsRow.self])
        var other = open
        switch self {
        case .readOnly: other.readOnly = true
        case .lowerVersion: other.schemaVersion = 2
        case .higherVersion: other.schemaVersion = 4
        case .memoryVersion:
            open.inMemoryIdentifier = folder.url.lastPathComponent
            other = open
            other.schemaVersion = 4
        #if Encryption
            case .otherKey:
                open.encryptionKey = Data(repeating: 1, count: 64)
                other.encryptionKey = Data(repeating: 2, count: 64)
            case .noKey: open.encryptionKey = Data(repeating: 1, count: 64)
            case .addedKey: other.encryptionKey = Data(repeating: 1, count: 64)
        #endif
        }
        return (open, other)
    }

    var words: String {
        switch self {
        case .readOnly: "already opened with different read permissions"
        case .lowerVersion, .higherVersion, .memoryVersion: "already opened with different schema version"
        #if Encryption
            case .otherKey, .noKey, .addedKey: "already opened with a different encryption key"
        #endif
        }
    }
}

private actor SettingsOpener {
    func error(_ configuration: Realm.Configuration) async -> (any Error)? {
        do {
            _ = try await Realm(configuration: configuration, actor: self)
            return nil
        } catch { return error }
    }
    func errorByOpen(_ configuration: Realm.Configuration) async -> (any Error)? {
        do {
            _ = try await Realm.open(configuration: configuration)
            return nil
        } catch { return error }
    }
}

@Suite struct ConflictingConfigurationTests {
    private func expectRefusal(_ error: (any Error)?, _ setting: OtherSetting, _ place: String) {
        let error = error as? Realm.Error
        #expect(error?.code == .fail && error?.reason == .inUse, "\(place): \(String(describing: error))")
        #expect(error?.localizedDescription.contains(setting.words) == true, "\(place): \(String(describing: error))")
    }

    @Test(
        "Opening throws if another thread, queue or actor has the file open with other settings",
        arguments: OtherSetting.allCases)
    func elsewhere(_ setting: OtherSetting) async throws {
        let folder = TestFolder()
        let (open, other) = setting.configurations(folder)
        // On a queue, so that the same queue has it open, whatever thread runs the test.
        let home = DispatchQueue(label: "home")
        let realm = try home.sync { () -> Held in
            let realm = try Realm(configuration: open, queue: home)
            try realm.write { _ = realm.create(SettingsRow.self, value: ["id": 1]) }
            return Held(realm: realm)
        }
        let ofThread = Mutex<(any Error)?>(nil)
        onOtherThread {
            do { _ = try Realm(configuration: other) } catch { ofThread.withLock { $0 = error } }
        }
        expectRefusal(ofThread.withLock { $0 }, setting, "thread")
        let queue = DispatchQueue(label: "other")
        let ofQueue = queue.sync { () -> (any Error)? in
            do { _ = try Realm(configuration: other, queue: queue) } catch { return error }
            return nil
        }
        expectRefusal(ofQueue, setting, "queue")
        let opener = SettingsOpener()
        expectRefusal(await opener.error(other), setting, "actor")
        expectRefusal(await opener.errorByOpen(other), setting, "open")
        let ofCallback = await withCheckedContinuation { (done: CheckedContinuation<(any Error)?, Never>) in
            _ = Realm.asyncOpen(configuration: other, callbackQueue: queue) { result in
                switch result {
                case .success: done.resume(returning: nil)
                case .failure(let error): done.resume(returning: error)
                }
            }
        }
        expectRefusal(ofCallback, setting, "asyncOpen")
        home.sync { #expect(realm.realm.objects(SettingsRow.self).count == 1) }
    }

    @Test(
        "Opening is a programmer error if the caller has the file open with other settings",
        arguments: OtherSetting.allCases)
    func here(_ setting: OtherSetting) throws {
        let folder = TestFolder()
        let (open, other) = setting.configurations(folder)
        let realm = try Realm(configuration: open)
        let words = try misuseText { _ = try Realm(configuration: other) }
        #expect(words?.contains(setting.words.replacing("with a different", with: "with different")) == true)
        withExtendedLifetime(realm) {}
    }

    @Test("Opening an open file under another path with other settings throws")
    func otherPath() throws {
        let folder = TestFolder()
        let configuration = Realm.Configuration(fileURL: folder.file(), objectTypes: [SettingsRow.self])
        let realm = try Realm(configuration: configuration)
        let link = folder.file("link.realm")
        try FileManager.default.createSymbolicLink(at: link, withDestinationURL: folder.file())
        var other = configuration
        other.fileURL = link
        other.readOnly = true
        let error = #expect(throws: Realm.Error.self) { try Realm(configuration: other) }
        #expect(error?.localizedDescription.contains("already opened with different read permissions") == true)
        withExtendedLifetime(realm) {}
    }

    @Test("Other settings are accepted after the Realm is closed")
    func closed() throws {
        let folder = TestFolder()
        let (open, other) = OtherSetting.higherVersion.configurations(folder)
        try autoreleasepool { _ = try Realm(configuration: open) }
        #expect(try Realm(configuration: other).configuration.schemaVersion == 4)
    }
}

private struct Held: @unchecked Sendable {
    // Sendable: used on its queue only.
    let realm: Realm
}
