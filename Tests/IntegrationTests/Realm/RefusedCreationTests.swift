// SPDX-License-Identifier: Apache-2.0
// Creating a database if the system refuses: the error says what to do, and no empty file remains.

import Foundation
import RealmSwift
import RegnumSimulation
import RegnumSystem
import Testing

@testable import Regnum

@Suite("Refused creation of files") struct RefusedCreationTests {
    let folder = TestFolder()

    private func configuration(_ url: URL) -> Realm.Configuration {
        Realm.Configuration(fileURL: url, objectTypes: [BadInputRow.self])
    }

    @Test("A file name that is too long for the side files is refused, and the longest valid one is accepted")
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

    @Test("A directory in place of the lock file is refused by name, and no file remains")
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

    /// Fails the first, second, third call until a database can be created.
    @Test("No file remains if its creation fails", arguments: [SystemError.Kind.noSpace, .fileTooLarge, .io])
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
                #expect(
                    try files.status(path) == nil, "a file of \(files.contents(of: path)?.count ?? 0) bytes remains")
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

    @Test("An existing file remains after a refused opening, even if it is empty")
    func emptyFileStays() throws {
        let url = folder.file("a.realm")
        try Data().write(to: url)
        try FileManager.default.createDirectory(
            at: folder.file("a.realm.lock"), withIntermediateDirectories: false)
        #expect(throws: Realm.Error.self) { try Realm(configuration: configuration(url)) }
        #expect(folder.names == ["a.realm", "a.realm.lock"])
    }
}
