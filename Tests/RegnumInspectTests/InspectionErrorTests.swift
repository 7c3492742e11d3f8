// SPDX-License-Identifier: Apache-2.0
// The errors for files that cannot be inspected: a reason for programs, and a sentence for the user.

import Foundation
import RegnumEngine
import RegnumInspect
import Testing

@Suite("Files that cannot be inspected")
struct InspectionErrorTests {
    private func refusal(_ url: URL, _ key: Data? = nil) -> InspectionError? {
        #expect(throws: InspectionError.self) { try Inspector(fileURL: url, isReadOnly: true, encryptionKey: key) }
    }

    private func expect(_ error: InspectionError?, _ reason: InspectionError.Reason, _ words: String) {
        #expect(error?.reason == reason, "\(error as Any)")
        let text = error?.description ?? ""
        #expect(text.contains(words) && text.hasSuffix("."), "\(text)")
        for spelled in ["path:", "why:", "Regnum", "notADatabase", "corrupted(", "encryption("] {
            #expect(!text.replacing("a Regnum database", with: "").contains(spelled), "\(text)")
        }
    }

    @Test("Missing, foreign and damaged files are reported with different reasons")
    func plain() throws {
        try BlockFile.withFolder { folder in
            let url = folder.appendingPathComponent("a.realm")
            expect(refusal(url), .missingFile, "no such file or directory")
            expect(refusal(folder), .notARegularFile, "it is a folder")
            try Data().write(to: url)
            expect(refusal(url), .tooSmall, "too short to be a Regnum database")
            try Data(repeating: 65, count: 200_000).write(to: url)
            expect(refusal(url), .notARealmFile, "it is not a Regnum database, or its beginning was overwritten")
            try FileManager.default.removeItem(at: url)
            try BlockFile.make(url, nil)
            let good = try Data(contentsOf: url)
            try good.prefix(16 * 4096).write(to: url)
            expect(refusal(url), .truncated, "the file ends before its content does")
            var bytes = good
            // After the commit slots.
            for page in 6..<bytes.count / 4096 { bytes[page * 4096 + 2000] ^= 0xff }
            try bytes.write(to: url)
            expect(refusal(url), .damaged, "does not match its checksum")
        }
    }

    @Test("Wrong, missing and needless keys are reported with different reasons", .enabled(if: BlockCipher.isAvailable))
    func keys() throws {
        try BlockFile.withFolder { folder in
            let secret = folder.appendingPathComponent("secret.realm")
            try BlockFile.make(secret, BlockFile.key)
            expect(refusal(secret), .encryptedWithoutKey, "it is encrypted, and no key was given")
            expect(refusal(secret, Data(count: 64)), .wrongKey, "it is encrypted with another key")
            let plain = folder.appendingPathComponent("plain.realm")
            try BlockFile.make(plain, nil)
            expect(refusal(plain, BlockFile.key), .notEncrypted, "a key was given, but it is not encrypted")
        }
    }

    @Test("Requests that an inspector cannot fulfil cause an error")
    func requests() throws {
        try BlockFile.withFolder { folder in
            let url = folder.appendingPathComponent("a.realm")
            try BlockFile.make(url, nil)
            let inspector = try Inspector(fileURL: url, isReadOnly: true)
            expect(
                #expect(throws: InspectionError.self) { try inspector.count("No") }, .unspecified, "has no class 'No'")
            expect(
                #expect(throws: InspectionError.self) { try inspector.salvage(to: url.path) }, .fileExists,
                "it already exists")
        }
    }
}
