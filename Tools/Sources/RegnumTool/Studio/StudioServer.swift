// SPDX-License-Identifier: Apache-2.0
// Serves a studio over HTTP.

import FlyingFox
import FlyingSocks
import Foundation
import RegnumStudio

/// Used on one thread; the server itself runs on others.
final class StudioServer {
    /// No request but an import has a body worth speaking of.
    private static let bodyLimit = 256 << 20
    /// The body of a refused request is read up to this length, so that its connection stays usable.
    private static let drainLimit = 16 << 20
    /// Longer than the studio needs to give up a request, or to wait for a change.
    private static let timeout: TimeInterval = 60

    private let server: HTTPServer
    private let host: String
    private let studio: Studio
    private let outcome = Outcome()
    private var run: Task<Void, Never>?

    init(_ studio: Studio, host: String, port: UInt16) throws {
        self.studio = studio
        self.host = host
        do {
            let configuration =
                host.contains(":")
                ? HTTPServer.Configuration(
                    address: try .inet6(ip6: host, port: port), timeout: Self.timeout, logger: .disabled)
                : HTTPServer.Configuration(
                    address: try .inet(ip4: host == "localhost" ? "127.0.0.1" : host, port: port),
                    timeout: Self.timeout, logger: .disabled)
            server = HTTPServer(config: configuration)
        } catch { throw Refusal("'\(host)' is not an IP address of this machine: name one with --host.") }
    }

    static func isLoopback(_ host: String) -> Bool {
        host == "localhost" || host == "::1" || host.hasPrefix("127.") && host.allSatisfy { $0.isNumber || $0 == "." }
    }

    /// The names that a browser gives the server in its requests.
    static func names(_ host: String) -> [String] { [host.contains(":") ? "[\(host)]" : host] }

    /// A port that is the same for a path each time.
    static func usualPort(_ path: String) -> UInt16 {
        var hash: UInt32 = 2_166_136_261
        for byte in path.utf8 { hash = (hash ^ UInt32(byte)) &* 16_777_619 }
        return 49_152 + UInt16(hash % 16_384)
    }

    /// Begins to serve. Returns the address of the page, without a slash at its end.
    func start() throws -> String {
        let (server, studio, outcome) = (self.server, self.studio, self.outcome)
        let listening = Task { () -> UInt16? in
            do { try await server.waitUntilListening(timeout: StudioServer.timeout) } catch { return nil }
            switch await server.listeningAddress {
            case .ip4(_, let port), .ip6(_, let port): return port
            default: return nil
            }
        }
        run = Task {
            await server.appendRoute("*") { (request: HTTPRequest) in await StudioServer.answer(request, studio) }
            do { try await server.run() } catch {
                outcome.fail(error.localizedDescription)
                listening.cancel()
            }
        }
        guard let port = blocking({ await listening.value }) else {
            throw Refusal("The page cannot be served on '\(host)': \(outcome.message ?? "the address is not free").")
        }
        // A wildcard is an address to listen on, not one to go to.
        let isWildcard = host == "0.0.0.0" || host == "::"
        return "http://\(isWildcard ? "127.0.0.1" : Self.names(host)[0]):\(port)"
    }

    /// Waits a moment. Throws if the server has ended.
    func wait() throws {
        Thread.sleep(forTimeInterval: 0.1)
        if let message = outcome.message { throw Refusal("The server has ended: \(message).") }
    }

    func stop() {
        let server = self.server
        blocking { await server.stop() }
        run?.cancel()
    }

    // MARK: Requests

    private static func answer(_ request: HTTPRequest, _ studio: Studio) async -> HTTPResponse {
        var asked = StudioRequest(
            method: request.method.rawValue, path: request.path, query: request.query.map { ($0.name, $0.value) },
            headers: request.headers.map { ($0.key.rawValue, $0.value) })
        // The body of a stranger is not taken into memory.
        if let refusal = studio.refusal(of: asked) { return answer(refusal, closing: !(await drain(request))) }
        if let body = try? await body(of: request) {
            asked.body = body
            return answer(await studio.respond(to: asked))
        }
        // It has not said how long it is: the answer is that to a request that has.
        asked.headers["content-length"] = "\(Int.max)"
        return answer(await studio.respond(to: asked), closing: true)
    }

    /// Reads the body of a request and drops it. Returns false if it is longer than the limit: the rest of it would be
    /// taken for the next request.
    private static func drain(_ request: HTTPRequest) async -> Bool {
        if let length = request.headers[.contentLength].flatMap({ Int($0) }), length > drainLimit { return false }
        var count = 0
        do {
            for try await part in request.bodySequence {
                count += part.count
                if count > drainLimit { return false }
            }
        } catch { return false }
        return true
    }

    /// The response; with `closing` the connection is closed after it.
    private static func answer(_ response: StudioResponse, closing: Bool = false) -> HTTPResponse {
        var headers = HTTPHeaders()
        for header in response.headers { headers[HTTPHeader(header.name)] = header.value }
        let status = HTTPStatusCode(response.status, phrase: "")
        switch response.body {
        case .data(let data) where closing:
            headers[.connection] = "close"
            return HTTPResponse(
                statusCode: status, headers: headers,
                body: HTTPBodySequence(from: ChunkSequence(chunks: .ending(after: data)), count: data.count))
        case .data(let data): return HTTPResponse(statusCode: status, headers: headers, body: data)
        case .stream(let chunks):
            return HTTPResponse(
                statusCode: status, headers: headers,
                body: HTTPBodySequence(from: ChunkSequence(chunks: chunks), suggestedBufferSize: 1 << 16))
        }
    }

    /// The body, if it is within the limit; nil if it is longer.
    private static func body(of request: HTTPRequest) async throws -> Data? {
        if let length = request.headers[.contentLength].flatMap({ Int($0) }), length > bodyLimit { return nil }
        var body = Data()
        for try await part in request.bodySequence {
            body.append(part)
            if body.count > bodyLimit { return nil }
        }
        return body
    }
}

/// The end of the server, if it has ended.
private final class Outcome: @unchecked Sendable {
    // Sendable: the lock guards the text.
    private let lock = NSLock()
    private var text: String?

    var message: String? { lock.withLock { text } }
    func fail(_ message: String) { lock.withLock { text = message } }
}

/// Waits on the thread of the command for asynchronous work, which runs on other threads.
@discardableResult
private func blocking<R: Sendable>(_ body: @escaping @Sendable () async -> R) -> R {
    let box = ResultBox<R>()
    let done = DispatchSemaphore(value: 0)
    Task {
        box.value = await body()
        done.signal()
    }
    done.wait()
    guard let value = box.value else { preconditionFailure("the work has ended without a result") }
    return value
}

private final class ResultBox<R>: @unchecked Sendable {
    // Sendable: written before the semaphore is signalled, read after it.
    var value: R?
}

extension AsyncThrowingStream<Data, any Error> {
    /// The error after the last byte, at which the server closes the connection.
    private struct End: Error {}

    fileprivate static func ending(after data: Data) -> Self {
        let (stream, chunks) = Self.makeStream()
        if !data.isEmpty { chunks.yield(data) }
        chunks.finish(throwing: End())
        return stream
    }
}

/// Chunks as the server sends them.
private struct ChunkSequence: AsyncBufferedSequence {
    typealias Element = UInt8

    let chunks: AsyncThrowingStream<Data, any Error>

    func makeAsyncIterator() -> Iterator { Iterator(chunks: chunks.makeAsyncIterator()) }

    struct Iterator: AsyncBufferedIteratorProtocol {
        typealias Element = UInt8

        var chunks: AsyncThrowingStream<Data, any Error>.Iterator
        private var rest = Data()

        init(chunks: AsyncThrowingStream<Data, any Error>.Iterator) { self.chunks = chunks }

        mutating func next() async throws -> UInt8? { try await nextBuffer(suggested: 1)?.first }

        mutating func nextBuffer(suggested count: Int) async throws -> Data? {
            while rest.isEmpty {
                guard let chunk = try await chunks.next() else { return nil }
                rest = chunk
            }
            let part = rest.prefix(count)
            rest = rest.dropFirst(count)
            return part
        }
    }
}
