// SPDX-License-Identifier: Apache-2.0
// Requests to a bucket: signed, sent, and repeated if that is safe.

#if S3
    internal import AsyncHTTPClient
    internal import Foundation
    internal import NIOCore
    internal import NIOHTTP1
    internal import RegnumSystem

    /// An answer of the service.
    struct S3Answer {
        var status: UInt
        var headers: HTTPHeaders
        var body: [UInt8]
        /// True if an earlier attempt may have been carried out.
        var isRepeated = false

        /// `NoSuchKey`, `AccessDenied` and the like, with the service's sentence; nil if there is none.
        var failure: (code: String, message: String)? {
            let fields = S3Fields(body)
            return fields["Code"].first.map { ($0, fields["Message"].first ?? "") }
        }

        /// True if the service says that it has no such object. Another answer with the status 404 may mean that the
        /// bucket is missing, or come from a proxy.
        var isObjectMissing: Bool { status == 404 && failure?.code == "NoSuchKey" }
    }

    /// A bucket. Thread-safe.
    final class S3Service: Sendable {
        /// The base of all addresses: scheme, host and, for an endpoint, the path.
        private let base: String
        private let host: String
        /// The path before the name of an object, not encoded.
        private let root: String
        private let region: String
        private let credentials: @Sendable () throws -> S3Credentials
        /// For errors.
        let place: String

        /// Larger answers are an error.
        private static let longestBody = 1 << 30
        private static let attempts = 4
        /// Never shut down: it belongs to the process. A redirection would send signed headers to another host.
        private static let client: HTTPClient = {
            var configuration = HTTPClient.Configuration(redirectConfiguration: .disallow)
            configuration.connectionPool.idleTimeout = .seconds(5)
            return HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
        }()

        init(
            bucket: String, region: String, endpoint: URL?, credentials: @escaping @Sendable () throws -> S3Credentials
        ) {
            self.region = region
            self.credentials = credentials
            if let endpoint {
                let name = endpoint.host() ?? "localhost"
                host = endpoint.port.map { "\(name):\($0)" } ?? name
                base = "\(endpoint.scheme ?? "https")://\(host)"
                let path = endpoint.path(percentEncoded: false)
                root = (path.hasSuffix("/") ? path : path + "/") + bucket + "/"
                // Without the user's name and password.
                place = "\(base) (bucket \(bucket))"
            } else {
                host = "\(bucket).s3.\(region).amazonaws.com"
                base = "https://\(host)"
                root = "/"
                place = "s3://\(bucket)"
            }
        }

        /// Sends a request for the object `name`; for the bucket if that is empty. Throws if no answer came.
        func send(
            _ method: HTTPMethod, _ name: String, _ query: [String: String] = [:], headers: [String: String] = [:],
            body: [UInt8] = []
        ) throws -> S3Answer {
            let credentials = try credentials()
            var pause: UInt64 = 100_000_000
            for attempt in 1... {
                let isLast = attempt == Self.attempts
                do {
                    var answer = try sendOnce(method, name, query, headers, body, credentials)
                    answer.isRepeated = attempt > 1
                    // 409: another conditional request for the name was in progress.
                    if isLast || !(answer.status >= 500 || [409, 429].contains(answer.status)) { return answer }
                } catch {
                    if isLast { throw BackupError(.storage, "The service at \(place) did not answer: \(error).") }
                }
                CurrentThread.sleep(nanoseconds: pause)
                pause *= 4
            }
            preconditionFailure("more attempts than the last")
        }

        private func sendOnce(
            _ method: HTTPMethod, _ name: String, _ query: [String: String], _ headers: [String: String],
            _ body: [UInt8], _ credentials: S3Credentials
        ) throws -> S3Answer {
            var headers = headers
            headers["host"] = host
            let request = S3Signature(
                method: method.rawValue, path: name.isEmpty ? String(root.dropLast(root == "/" ? 0 : 1)) : root + name,
                query: query, headers: headers, body: body)
            let signed = request.signedHeaders(credentials, region: region, at: Date())
            let address = base + request.encodedPath + (query.isEmpty ? "" : "?" + request.encodedQuery)
            let outgoing = try HTTPClient.Request(
                url: address, method: method, headers: HTTPHeaders(signed.sorted { $0.key < $1.key }.map { ($0, $1) }),
                body: body.isEmpty && method != .PUT ? nil : .bytes(body))
            let answer = try Self.client.execute(
                request: outgoing, delegate: ResponseAccumulator(request: outgoing, maxBodySize: Self.longestBody),
                deadline: .now() + .minutes(30)
            ).wait()
            return S3Answer(
                status: answer.status.code, headers: answer.headers,
                body: answer.body.map { Array($0.readableBytesView) } ?? [])
        }

        func expect(
            _ status: UInt, _ method: HTTPMethod, _ name: String, _ query: [String: String]
        ) throws -> S3Answer {
            let answer = try send(method, name, query)
            guard answer.status == status else { throw failure(answer, name) }
            return answer
        }

        func failure(_ answer: S3Answer, _ name: String) -> BackupError {
            let object = name.isEmpty ? "" : " for '\(name)'"
            let reason =
                answer.failure.map { "\($0.code): \($0.message)" }
                ?? (300..<400 ~= answer.status
                    ? "it is at another address or in another region" : "status \(answer.status)")
            return BackupError(.storage, "The service at \(place) refused a request\(object): \(reason).")
        }
    }
#endif
