// SPDX-License-Identifier: Apache-2.0
// A store in S3: signatures against Amazon's published examples, and a real service at the address in REGNUM_S3
// (`Scripts/s3` starts one), with the bucket "regnum".

#if S3
    import Foundation
    @testable import RegnumBackup
    import RegnumEngine
    import RegnumSystem
    import Testing

    @Suite struct S3SignatureTests {
        private static let credentials = S3Credentials(
            accessKeyID: "AKIAIOSFODNN7EXAMPLE", secretAccessKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")

        private func signature(_ request: S3Signature) throws -> String {
            // 2013-05-24T00:00:00Z
            let headers = request.signedHeaders(
                Self.credentials, region: "us-east-1", at: Date(timeIntervalSince1970: 1_369_353_600))
            return try #require(headers["authorization"]?.components(separatedBy: "Signature=").last)
        }

        private func request(
            _ method: String, _ path: String, _ query: [String: String] = [:], _ headers: [String: String] = [:],
            _ body: String = ""
        ) -> S3Signature {
            var headers = headers
            headers["host"] = "examplebucket.s3.amazonaws.com"
            return S3Signature(method: method, path: path, query: query, headers: headers, body: Array(body.utf8))
        }

        // https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html
        @Test("Signatures are those of Amazon's examples")
        func examples() throws {
            #expect(
                try signature(request("GET", "/test.txt", [:], ["range": "bytes=0-9"]))
                    == "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41")
            #expect(
                try signature(
                    request(
                        "PUT", "/test$file.text", [:],
                        ["date": "Fri, 24 May 2013 00:00:00 GMT", "x-amz-storage-class": "REDUCED_REDUNDANCY"],
                        "Welcome to Amazon S3."))
                    == "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd")
            #expect(
                try signature(request("GET", "/", ["lifecycle": ""]))
                    == "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543")
            #expect(
                try signature(request("GET", "/", ["max-keys": "2", "prefix": "J"]))
                    == "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7")
        }

        @Test("Names are encoded once, with their slashes")
        func encoding() {
            #expect(request("GET", "/a b/ü/+").encodedPath == "/a%20b/%C3%BC/%2B")
            #expect(request("GET", "/", ["b": "1 2", "a": "/="]).encodedQuery == "a=%2F%3D&b=1%202")
        }

        @Test("Lists that are cut, or are no lists, are errors")
        func lists() throws {
            func page(_ inside: String) throws -> S3ListPage {
                try S3ListPage(xml: Array("<ListBucketResult>\(inside)</ListBucketResult>".utf8))
            }
            let found = try page(
                "<IsTruncated>true</IsTruncated><NextContinuationToken>a&amp;b</NextContinuationToken>"
                    + "<Contents><Key>x/1</Key></Contents><Contents><Key>x%2F+%2By</Key></Contents>")
            #expect(found.keys == ["x/1", "x/ +y"])
            #expect(found.next == "a&b")
            #expect(try page("<IsTruncated>false</IsTruncated>").next == nil)
            #expect(throws: BackupError.self) { try page("<IsTruncated>true</IsTruncated>") }
            #expect(throws: BackupError.self) { try page("<IsTruncated>false</IsTruncated><Contents>") }
            #expect(throws: BackupError.self) { try S3ListPage(xml: []) }
        }
    }

    @Suite(.enabled(if: CurrentProcess.environment("REGNUM_S3") != nil)) struct S3StoreTests {
        private func store(_ prefix: String = UUID().uuidString, bucket: String = "regnum") throws -> S3Store {
            let endpoint = try #require(URL(string: CurrentProcess.environment("REGNUM_S3") ?? ""))
            return S3Store(bucket: bucket, prefix: prefix, endpoint: endpoint) {
                S3Credentials(accessKeyID: "key", secretAccessKey: "secret")
            }
        }

        @Test("Objects are put once, read in whole and in part, listed and deleted")
        func calls() throws {
            let prefix = "a +ü/" + UUID().uuidString
            let store = try store(prefix)
            #expect(try store.list("") == [])
            #expect(try store.get("a/b") == nil)
            #expect(try store.byteCount(of: "a/b") == nil)
            try store.delete("a/b")
            #expect(try store.putIfAbsent("a/b", [1, 2, 3]))
            #expect(try !store.putIfAbsent("a/b", [4]))
            #expect(try store.putIfAbsent("a/c/d", []))
            #expect(try store.putIfAbsent("e", [5]))
            #expect(try store.get("a/b") == [1, 2, 3])
            #expect(try store.get("a/b", range: 1..<3) == [2, 3])
            #expect(try store.get("a/b", range: 2..<9) == [3])
            #expect(try store.get("a/b", range: 7..<9) == [])
            #expect(try store.get("a/b", range: 1..<1) == [])
            #expect(try store.get("a/x", range: 0..<1) == nil)
            #expect(try store.get("a/x", range: 0..<0) == nil)
            #expect(try store.get("a/c/d") == [])
            #expect(try store.byteCount(of: "a/b") == 3)
            #expect(try store.list("a/").sorted() == ["a/b", "a/c/d"])
            #expect(try store.list("").sorted() == ["a/b", "a/c/d", "e"])
            try store.delete("a/b")
            #expect(try store.get("a/b") == nil)
            #expect(try self.store(prefix).list("a/") == ["a/c/d"])
        }

        @Test("Credentials do not show their secrets")
        func secrets() {
            let credentials = S3Credentials(accessKeyID: "key", secretAccessKey: "hidden", sessionToken: "hidden too")
            var text = "\(credentials) \(String(reflecting: credentials))"
            dump(credentials, to: &text)
            #expect(text.contains("key") && !text.contains("hidden"))
        }

        @Test("A list of more than one page is complete")
        func pages() throws {
            let store = try store()
            for number in 0..<1100 { #expect(try store.putIfAbsent("n/\(number)", [1])) }
            #expect(try Set(store.list("n/")).count == 1100)
        }

        @Test("A missing bucket and a service that does not answer are errors, not missing objects")
        func errors() throws {
            let store = try store(bucket: "missing")
            #expect(throws: BackupError.self) { try store.get("a") }
            #expect(throws: BackupError.self) { try store.byteCount(of: "a") }
            #expect(throws: BackupError.self) { try store.putIfAbsent("a", [1]) }
            #expect(throws: BackupError.self) { try store.list("") }
            let closed = S3Store(bucket: "b", endpoint: URL(string: "http://127.0.0.1:9")) {
                S3Credentials(accessKeyID: "key", secretAccessKey: "secret")
            }
            #expect(throws: BackupError.self) { try closed.get("a") }
            let keyless = S3Store(bucket: "b", endpoint: URL(string: "http://127.0.0.1:9")) {
                throw BackupError(.storage, "no keys")
            }
            #expect(throws: BackupError.self) { try keyless.get("a") }
        }

        @Test("A database is backed up, verified, restored and pruned")
        func repository() throws {
            let folder = FileManager.default.temporaryDirectory.appendingPathComponent("regnum-s3-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: folder) }
            let file = folder.appendingPathComponent("a.realm")
            let database = try Database.openAsOtherProcess(path: file.path, fileSystem: PosixFileSystem.shared)
            let session = try database.makeSession()
            try session.beginWrite()
            try session.addTables([NewTable(name: "Row", columns: [NewColumn(name: "text", type: .string)])])
            try session.commitWrite()
            let repository = try BackupRepository(try store(), creating: true)
            for number in 0..<3 {
                try session.beginWrite()
                let table = try #require(session.table(named: "Row"))
                for _ in 0..<500 {
                    let location = try table.insertRow()
                    try table.finishInsert(location)
                    try table.set(.string("text \(number)"), 0, of: location.key)
                }
                try session.commitWrite()
                try repository.backUp(file)
            }
            let backups = try repository.backups()
            #expect(backups.count == 3)
            #expect(try repository.verify().isRestorable)
            for (index, backup) in backups.sorted(by: { $0.version < $1.version }).enumerated() {
                let restored = folder.appendingPathComponent("r\(index).realm")
                try repository.restore(.number(backup.number), to: restored)
                let found = try Database.openAsOtherProcess(
                    path: restored.path, fileSystem: PosixFileSystem.shared
                ).makeSession()
                #expect(found.table(named: "Row")?.count == 500 * (index + 1))
            }
        }
    }
#endif
