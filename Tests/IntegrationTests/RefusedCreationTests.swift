// SPDX-License-Identifier: Apache-2.0
// Making a database where the system refuses: the error says what to do, and no empty file stays.

import Foundation
import RealmSwift
import RegnumSimulation
import RegnumSystem
import Testing

@testable import Regnum

@Suite("Making a file is refused") struct RefusedCreationTests {
    let folder = TestFolder()

    private func configuration(_ url: URL) -> Realm.Configuration {
        Realm.Configuration(fileURL: url, objectTypes: [BadInputRow.self])
    }

    @Test("a name that leaves no room for the files beside it is refused, and the longest that does is not")
    func names() throws {
        for count in [230, 250, 255, 256, 300] {
            let url = folder.file(String(repeating: "n", count: count))
            let error = #expect(throws: Realm.Error.self) { try Realm(configuration: configuration(url)) }
            #expect(error?.reason == .nameTooLong, "\(error as Any)")
            #expect(error?.localizedDescription.contains("a file name of at most 229 bytes") == true)
            #expect(folder.names == [])
        }
        let url = folder.file(String(repeating: "n", count: 229))
        let realm = try Realm(configuration: configuration(url))
        try realm.write { realm.create(BadInputRow.self, value: ["id": 1]) }
        #expect(realm.objects(BadInputRow.self).count == 1)
    }

    @Test("a directory in place of the lock file is named, and no file stays")
    func lockDirectory() throws {
        let lock = folder.file("a.realm.lock")
        try FileManager.default.createDirectory(at: lock, withIntermediateDirectories: false)
        try Data().write(to: lock.appendingPathComponent("mine"))
        let error = #expect(throws: Realm.Error.self) {
            try Realm(configuration: configuration(folder.file("a.realm")))
        }
        #expect(error?.reason == .isAFolder)
        #expect(error?.localizedDescription.contains("'\(lock.path)' is a directory") == true, "\(error as Any)")
        #expect(error?.localizedDescription.contains("fileURL must name a file") == false)
        #expect(folder.names == ["a.realm.lock"])
    }

    /// Fails the first, second, third call until a database can be made.
    @Test("no file stays where it could not be made", arguments: [SystemError.Kind.noSpace, .fileTooLarge, .io])
    func nothingStays(_ kind: SystemError.Kind) throws {
        let files = SimulatedFileSystem(seed: 1, reservedByteCount: 8 << 20)
        let path = "/full/\(UUID().uuidString).realm"
        var configuration = configuration(URL(fileURLWithPath: path))
        configuration.extras.fileSystem = files
        var call = 0
        var refusals = 0
        while true {
            let start = files.operationCount(of: "allocate")
            files.failure = SimulatedFailure(call: start + call, kind: kind, isPersistent: true, operation: "allocate")
            do {
                _ = try Realm(configuration: configuration)
                break
            } catch let error as Realm.Error {
                refusals += 1
                #expect(try files.status(path) == nil, "a file of \(files.contents(of: path)?.count ?? 0) bytes stays")
                #expect(error.reason != .isAFolder)
            }
            call += 1
            if call > 50 { break }
        }
        files.failure = nil
        #expect(refusals > 0)
        #expect(try files.status(path) != nil)
        #expect(try Realm(configuration: configuration).isEmpty)
    }

    @Test("a file that was there before stays, though it is empty")
    func emptyFileStays() throws {
        let url = folder.file("a.realm")
        try Data().write(to: url)
        try FileManager.default.createDirectory(
            at: folder.file("a.realm.lock"), withIntermediateDirectories: false)
        #expect(throws: Realm.Error.self) { try Realm(configuration: configuration(url)) }
        #expect(folder.names == ["a.realm", "a.realm.lock"])
    }
}
