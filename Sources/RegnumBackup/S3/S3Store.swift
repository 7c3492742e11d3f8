// SPDX-License-Identifier: Apache-2.0
// A store in a bucket of S3, or of a service with its HTTP interface. `putIfAbsent` is a PutObject with the header
// `If-None-Match: *`, which the service must support: the first call of a store checks that.
//
// https://docs.aws.amazon.com/AmazonS3/latest/API: GetObject, HeadObject, PutObject, DeleteObject, ListObjectsV2

#if S3
    internal import AsyncHTTPClient
    public import Foundation
    internal import NIOCore
    internal import NIOHTTP1
    internal import RegnumSystem
    internal import Synchronization

    /// The objects of a repository in a bucket of Amazon S3, or of another service with its interface, such as MinIO or Ceph.
    ///
    /// ```swift
    /// let store = S3Store(bucket: "backups", prefix: "app/", region: "eu-central-1")
    /// let repository = try BackupRepository(store, creating: true)
    /// ```
    ///
    /// Any thread, but not an asynchronous function: calls block until the service has answered. Errors are `BackupError`
    /// with the code `.storage`. Requests are repeated a few times if the service is busy or does not answer. Redirections
    /// are errors: the endpoint and the region must be those of the bucket. The product needs the trait `S3`.
    public final class S3Store: BackupStore {
        private let service: S3Service
        private let prefix: String
        /// True once the service was seen to refuse an object that exists.
        private let isChecked = Mutex(false)

        /// A store of the objects in `bucket` whose names begin with `prefix`. Without an endpoint it is Amazon's in
        /// `region`. With one, such as `https://minio.example.com:9000`, the bucket is the first part of the path.
        /// `credentials` is called for each request: it may return new ones at any time.
        public init(
            bucket: String, prefix: String = "", region: String = "us-east-1", endpoint: URL? = nil,
            credentials: @escaping @Sendable () throws -> S3Credentials = { try .environment() }
        ) {
            self.prefix = prefix.isEmpty || prefix.hasSuffix("/") ? prefix : prefix + "/"
            service = S3Service(bucket: bucket, region: region, endpoint: endpoint, credentials: credentials)
        }

        public func list(_ prefix: String) throws -> [String] {
            var names: [String] = []
            var token: String?
            repeat {
                var query = ["list-type": "2", "encoding-type": "url", "prefix": self.prefix + prefix]
                query["continuation-token"] = token
                let page = try S3ListPage(xml: service.expect(200, .GET, "", query).body)
                for key in page.keys {
                    guard key.hasPrefix(self.prefix) else {
                        throw BackupError(.storage, "The service's list has a name without the prefix: '\(key)'.")
                    }
                    names.append(String(key.dropFirst(self.prefix.count)))
                }
                token = page.next
            } while token != nil
            return names
        }

        public func byteCount(of name: String) throws -> Int? {
            let answer = try service.send(.HEAD, prefix + name)
            if answer.status == 404 {
                // This answer has no body: only a GET says whether the object or something else is missing.
                _ = try get(name, range: 0..<1)
                return nil
            }
            guard answer.status == 200, let count = answer.headers.first(name: "content-length").flatMap({ Int($0) })
            else { throw service.failure(answer, prefix + name) }
            return count
        }

        public func get(_ name: String) throws -> [UInt8]? { try read(prefix + name) }

        private func read(_ name: String) throws -> [UInt8]? {
            let answer = try service.send(.GET, name)
            if answer.isObjectMissing { return nil }
            guard answer.status == 200 else { throw service.failure(answer, name) }
            return answer.body
        }

        public func get(_ name: String, range: Range<Int>) throws -> [UInt8]? {
            // A range of no bytes cannot be expressed.
            if range.isEmpty { return try byteCount(of: name) == nil ? nil : [] }
            let answer = try service.send(
                .GET, prefix + name, headers: ["range": "bytes=\(range.lowerBound)-\(range.upperBound - 1)"])
            switch answer.status {
            case 404 where answer.isObjectMissing: return nil
            case 206: return answer.body
            // Beyond the end of the object.
            case 416: return []
            // The service has ignored the range.
            case 200: return Array(answer.body[range.clamped(to: 0..<answer.body.count)])
            default: throw service.failure(answer, prefix + name)
            }
        }

        public func putIfAbsent(_ name: String, _ bytes: [UInt8]) throws -> Bool {
            try checkOnce()
            return try put(prefix + name, bytes)
        }

        public func delete(_ name: String) throws {
            let answer = try service.send(.DELETE, prefix + name)
            guard [200, 204].contains(answer.status) || answer.isObjectMissing else {
                throw service.failure(answer, prefix + name)
            }
        }

        private func put(_ name: String, _ bytes: [UInt8]) throws -> Bool {
            let answer = try service.send(.PUT, name, headers: ["if-none-match": "*"], body: bytes)
            switch answer.status {
            case 200: return true
            // A repeated request finds what the first one has put.
            case 412: return try answer.isRepeated && read(name) == bytes
            default: throw service.failure(answer, name)
            }
        }

        /// Some services ignore the header, and replace the object: two processes would both believe that they hold the
        /// lease.
        private func checkOnce() throws {
            if isChecked.withLock({ $0 }) { return }
            let name = prefix + "probe/" + String(UInt64.random(in: 0 ... .max), radix: 16)
            let isNew = try put(name, [1])
            let isReplaced = try put(name, [2])
            _ = try? service.send(.DELETE, name)
            guard isNew, !isReplaced else {
                throw BackupError(
                    .storage,
                    "The service at \(service.place) replaces objects that exist: it does not support If-None-Match, "
                        + "so a repository is not safe there.")
            }
            isChecked.withLock { $0 = true }
        }
    }
#endif
