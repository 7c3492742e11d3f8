// SPDX-License-Identifier: Apache-2.0
// The errors of opening a Realm: codes, messages and reasons.

import Foundation
import RegnumEngine
import RegnumSystem
import Testing

@testable import Regnum

struct RealmErrorTests {
    @Test(
        "Codes have RealmSwift's numbers",
        arguments: [
            (Realm.Error.Code.fail, 1), (.fileAccess, 2), (.filePermissionDenied, 3), (.fileExists, 4),
            (.fileNotFound, 5),
            (.fileFormatUpgradeRequired, 6), (.incompatibleLockFile, 8), (.addressSpaceExhausted, 9),
            (.schemaMismatch, 10),
            (.alreadyOpen, 12), (.invalidInput, 13), (.outOfDiskSpace, 14), (.incompatibleSession, 15),
            (.unsupportedFileFormatVersion, 16), (.multipleSyncAgents, 17), (.subscriptionFailed, 18),
            (.fileOperationFailed, 19), (.invalidDatabase, 20), (.incompatibleHistories, 21),
            (.noSubscriptionForWrite, 22),
        ])
    func codes(code: Realm.Error.Code, number: Int) {
        #expect(code.rawValue == number)
        let error: any Error = Realm.Error(code)
        #expect((error as NSError).domain == "io.realm")
        #expect((error as NSError).code == number)
    }

    @Test("An error can be thrown, matched by code in a catch, and compared")
    func patterns() {
        func fails() throws { throw Realm.Error(.fileNotFound) }
        do {
            try fails()
            Issue.record("nothing was thrown")
        } catch Realm.Error.filePermissionDenied {
            Issue.record("the wrong code matched")
        } catch Realm.Error.fileNotFound {
        } catch { Issue.record("\(error)") }
        let error: any Error = Realm.Error(.fail)
        #expect((error as? Realm.Error)?.code == .fail)
        #expect(error == (Realm.Error(.fail) as any Error))
        #expect(!(error == (Realm.Error(.fileExists) as any Error)))
        #expect(!(error == (CocoaError(.fileNoSuchFile) as any Error)))
        #expect(Realm.Error.callFailed.localizedDescription == "Call failed")
        #expect((Realm.Error.callFailed as any Error).localizedDescription == "Call failed")
    }

    @Test(
        "Errors of the engine begin with RealmSwift's message and name a remedy",
        arguments: [
            (
                EngineError.notADatabase(path: "/p", why: .wrongMagic), Realm.Error.Code.invalidDatabase,
                Realm.Error.Reason.notARealmFile,
                "Failed to open Realm file at path '/no/such/p': header has invalid mnemonic. "
            ),
            (
                .notADatabase(path: "/p", why: .oldRealmCore), .unsupportedFileFormatVersion, .olderRealmFile,
                "Failed to open Realm file at path '/no/such/p': Database has an unsupported version and cannot be upgraded. It is "
                    + "a Realm Core file"
            ),
            (
                .notADatabase(path: "/p", why: .directory), .fileOperationFailed, .notARegularFile,
                "Failed to open Realm file at path '/no/such/p': Not a regular file. "
            ),
            (
                .unsupported(path: "/p", feature: "time travel"), .unsupportedFileFormatVersion, .newerFormat,
                "Failed to open Realm file at path '/no/such/p': Database has an unsupported version (time travel) and cannot be "
            ),
            (
                corrupted("a block", page: 7, line: 3), .invalidDatabase, .damaged,
                "Failed to open Realm file at path '/no/such/p': a block (block at page 7, check 3). "
            ),
            (
                corrupted("the file is truncated", line: 3), .invalidDatabase, .truncated,
                "Failed to open Realm file at path '/no/such/p': the file is truncated (check 3). "
            ),
            (
                .system(SystemError(.notFound, "open", "/p")), .fileNotFound, .missingFolder,
                "Failed to open Realm file at path '/no/such/p': No such file or directory. The folder '/no/such' does not exist"
            ),
            (
                .system(SystemError(.permissionDenied, "open", "/p")), .filePermissionDenied, .noPermission,
                "Failed to open Realm file at path '/no/such/p': Permission denied. Please use a path where your app has "
                    + "read-write permissions. "
            ),
            (
                .system(SystemError(.notDirectory, "open", "/p")), .fileOperationFailed, .parentIsNotAFolder,
                "Failed to open file at path '/no/such/p.lock': parent path is not a directory. "
            ),
            (
                .system(SystemError(.noSpace, "open", "/p")), .outOfDiskSpace, .noSpace,
                "Failed to open Realm file at path '/no/such/p': No space left on device. "
            ),
            (
                .system(SystemError(.addressSpace, "map", "/p")), .addressSpaceExhausted, .noAddressSpace,
                "Failed to open Realm file at path '/no/such/p': the process has no address space left"
            ),
            (
                .system(SystemError(.tooManyFiles, "open", "/p")), .fileAccess, .tooManyFiles,
                "Failed to open Realm file at path '/no/such/p': Too many open files. "
            ),
            (
                .system(SystemError(.io, "sync", "/p", code: 5)), .fileAccess, .inputOutput,
                "Failed to open Realm file at path '/no/such/p': sync failed (errno 5). "
            ),
            (
                .latched("sync failed"), .fail, .writesStopped,
                "Failed to write Realm file at path '/no/such/p': sync failed. "
            ),
        ])
    func mapping(error: EngineError, code: Realm.Error.Code, reason: Realm.Error.Reason, words: String) {
        let shown = Realm.Error(opening: "/no/such/p", readOnly: false, error)
        #expect(shown.code == code)
        #expect(shown.reason == reason)
        #expect(shown.localizedDescription.hasPrefix(words), "\(shown.localizedDescription)")
        #expect(shown.localizedDescription.count > words.count + 10)
        #expect(shown.fileURL?.path == "/no/such/p")
    }
}
