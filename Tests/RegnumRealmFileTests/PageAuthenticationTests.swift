// SPDX-License-Identifier: Apache-2.0
// SHA-224 and its HMAC: the values of Python's hashlib and hmac, for messages around the ends of blocks.

#if Encryption
    import Testing

    @testable import RegnumRealmFile

    @Suite("Authentication of pages") struct PageAuthenticationTests {
        private func message(_ count: Int) -> [UInt8] { (0..<count).map { UInt8((7 * $0 + 1) % 256) } }

        private func hex(_ bytes: [UInt8]) -> String {
            bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        }

        @Test(
            "SHA-224 of messages of any length",
            arguments: [
                (0, "d14a028c2a3a2bc9476102bb288234c415a2b01f828ea62ac5b3e42f"),
                (3, "d80e722c074b4d4b78c354d78dfb4a72e203ec7381cc62be837fe11b"),
                (55, "4536f7e80b16d78a4bb94614bc8c56efeba723f643ab709b34105e29"),
                (56, "ffa2976feb279be945a932fbc6b08536b606ba124d8f7c0cc4d5ca68"),
                (63, "19ef8289c3413067cc707c4801bc0ee7bb513ae4f2cf4844003807c6"),
                (64, "f7ebe2caa6adf802424414ed9ae3d1887a1f662b56706704edb54027"),
                (65, "db39bc98e785c0b30cd0258994109b7a0c9ca310ed1146d50ece00f8"),
                (119, "6a7b102dfa578255b6a300e46ef416cd17d5785d8c0dce7d062f544f"),
                (120, "5a7f20f94802c97486be443082ce1666690cfa9a9eb2054d84b17ee3"),
                (4096, "cbbc680c1dde47eca65475711c9bb61747a5c7c356c7066d9ccc383c"),
            ])
        func hash(_ count: Int, _ expected: String) {
            let digest = message(count).withUnsafeBytes { SHA224().digest(of: $0) }
            #expect(hex(digest) == expected)
        }

        @Test("The HMAC of a page")
        func page() {
            let authentication = PageAuthentication(key: Array(message(64)[32...]))
            let code = message(4096).withUnsafeBytes { authentication.code(of: $0) }
            #expect(hex(code) == "5f8a750812becc6eaccf3cfae18e455a74b3b4d1b5e11e42d01eec56")
        }
    }
#endif
