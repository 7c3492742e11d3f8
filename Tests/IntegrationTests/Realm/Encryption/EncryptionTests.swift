// SPDX-License-Identifier: Apache-2.0
// Encrypted Realms for their users: the key, wrong keys, and what an attacker can read on the disk.

import Foundation
import RealmSwift
import Regnum
import RegnumTestKit
import Testing

class EncryptionRow: Object {
    @Persisted(primaryKey: true) var id = 0
    @Persisted(indexed: true) var name = ""
    @Persisted var data = Data()
    @Persisted var next: EncryptionRow?
    @Persisted var words: List<String>
}

@Suite("Encryption") struct EncryptionTests {
    let folder = TestFolder()

    func configuration(_ key: UInt8?, _ name: String = "a.realm") -> Realm.Configuration {
        Realm.Configuration(
            fileURL: folder.file(name), encryptionKey: key.map { Data(repeating: $0, count: 64) },
            objectTypes: [EncryptionRow.self])
    }

    func make(_ key: UInt8?, rows: Int = 500) throws {
        let realm = try Realm(configuration: configuration(key))
        try realm.write {
            var last: EncryptionRow?
            for i in 0..<rows {
                let row = realm.create(EncryptionRow.self, value: ["id": i, "name": "Vertraulich \(i)"])
                row.next = last
                if i % 50 == 0 {
                    row.words.append(objectsIn: (0..<200).map { "Vertraulich \($0)" })
                    row.data = Data(String(repeating: "Vertraulich ", count: 1000).utf8)
                }
                last = row
            }
        }
        for i in 0..<3 { try realm.write { realm.object(ofType: EncryptionRow.self, forPrimaryKey: i)?.name = "V" } }
    }

    #if Encryption
        @Test("An encrypted Realm can be read and written again with its key")
        func reopened() throws {
            try make(1)
            for round in 0..<3 {
                let realm = try Realm(configuration: configuration(1))
                let rows = realm.objects(EncryptionRow.self)
                #expect(rows.count == 500 + round)
                #expect(rows.filter("name == %@", "Vertraulich 77").count == 1)
                #expect(realm.object(ofType: EncryptionRow.self, forPrimaryKey: 100)?.next?.name == "Vertraulich 99")
                #expect(realm.object(ofType: EncryptionRow.self, forPrimaryKey: 50)?.words.last == "Vertraulich 199")
                #expect(realm.object(ofType: EncryptionRow.self, forPrimaryKey: 450)?.data.count == 12_000)
                try realm.write { _ = realm.create(EncryptionRow.self, value: ["id": 1000 + round]) }
            }
            expectIntegrity(of: configuration(1))
        }

        @Test("No file of the folder contains plaintext that a user wrote")
        func noPlaintext() throws {
            try make(1)
            for name in folder.names {
                let bytes = try Data(contentsOf: folder.file(name))
                for word in ["Vertraulich", "EncryptionRow", "words", "next"] {
                    #expect(bytes.range(of: Data(word.utf8)) == nil, "\(word) in \(name)")
                }
            }
            expectIntegrity(of: configuration(1))
        }

        @Test(
            "A copy is encrypted with the given key, or not at all without one, whatever key the Realm has",
            arguments: [nil, 1] as [UInt8?], [nil, 1, 2] as [UInt8?])
        func rekeyed(from old: UInt8?, to new: UInt8?) throws {
            try make(old)
            let target = configuration(new, "b.realm")
            try {
                let realm = try Realm(configuration: configuration(old))
                try realm.writeCopy(toFile: folder.file("b.realm"), encryptionKey: target.encryptionKey)
                try realm.writeCopy(configuration: configuration(new, "c.realm"))
            }()
            for name in ["b.realm", "c.realm"] {
                let bytes = try Data(contentsOf: folder.file(name))
                #expect((bytes.range(of: Data("Vertraulich".utf8)) == nil) == (new != nil))
                for key in [nil, 1, 2] as [UInt8?] where key != new {
                    let error = #expect(throws: Realm.Error.self) {
                        try Realm(configuration: configuration(key, name))
                    }
                    let reason: Realm.Error.Reason =
                        new == nil ? .notEncrypted : key == nil ? .encryptedWithoutKey : .wrongKey
                    #expect(error?.reason == reason)
                }
                try {
                    let realm = try Realm(configuration: configuration(new, name))
                    #expect(realm.objects(EncryptionRow.self).count == 500)
                    let row = try #require(realm.object(ofType: EncryptionRow.self, forPrimaryKey: 50))
                    #expect(row.words.last == "Vertraulich 199" && row.data.count == 12_000)
                    try realm.write { _ = realm.create(EncryptionRow.self, value: ["id": 1000]) }
                }()
                expectIntegrity(of: configuration(new, name))
            }
            // The copied Realm keeps its key.
            expectIntegrity(of: configuration(old))
        }

        @Test("A wrong key, no key, a key for an unencrypted file, and damage have one code and four reasons")
        func refusals() throws {
            try make(1)
            let start = "Failed to open Realm file at path '\(folder.file("a.realm").path)': "
            func refusal(_ key: UInt8?) -> Realm.Error? {
                #expect(throws: Realm.Error.self) { try Realm(configuration: configuration(key)) }
            }
            let size = try Data(contentsOf: folder.file("a.realm")).count
            let wrong = refusal(2)
            #expect(wrong?.code == .invalidDatabase)
            #expect(wrong?.reason == .wrongKey)
            let told = start + "Realm file decryption failed (Decryption failed: page 0 in file of size \(size)"
            #expect(wrong?.localizedDescription.hasPrefix(told) == true)
            let missing = refusal(nil)
            #expect(missing?.code == .invalidDatabase)
            #expect(missing?.reason == .encryptedWithoutKey)
            #expect(missing?.localizedDescription.hasPrefix(start + "header has invalid mnemonic.") == true)

            // The pages of the first commit, and of both commits that the file refers to.
            let words = "an encrypted block does not match its tag (block at page "
            for pages in [34..<38, 17..<size / 4096] {
                var bytes = try Data(contentsOf: folder.file("a.realm"))
                for page in pages { bytes[page * 4096 + 1000] ^= 1 }
                try bytes.write(to: folder.file("a.realm"))
                let damaged = refusal(1)
                #expect(damaged?.code == .invalidDatabase)
                #expect(damaged?.reason == .damaged)
                let text = damaged?.localizedDescription ?? ""
                #expect(text.hasPrefix(start + words), "\(text)")
                #expect(text.contains(". A part of the file was overwritten: keep a copy of it"), "\(text)")
                #expect(text.contains("`regnum salvage`"), "\(text)")
            }

            try FileManager.default.removeItem(at: folder.file("a.realm"))
            try make(nil)
            let plain = refusal(1)
            #expect(plain?.code == .invalidDatabase)
            #expect(plain?.reason == .notEncrypted)
            #expect(plain?.localizedDescription.hasPrefix(start + "Realm file decryption failed") == true)
        }

        @Test("Opening an open file with another key is a programmer error", arguments: [2, nil] as [UInt8?])
        func otherKey(key: UInt8?) throws {
            try make(1)
            let realm = try Realm(configuration: configuration(1))
            let other = configuration(key)
            let words = try misuseText { _ = try Realm(configuration: other) }
            #expect(words?.contains("already opened with different encryption key") == true)
            #expect(realm.objects(EncryptionRow.self).count == 500)
            expectIntegrity(of: configuration(1))
        }
    #endif
}
