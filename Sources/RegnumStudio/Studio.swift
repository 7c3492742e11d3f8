// SPDX-License-Identifier: Apache-2.0
// The studio: a web page to look into a database and to edit it. This file has the way of a request: access, then the
// page or a route, then headers.

internal import Foundation
internal import RegnumInspect
internal import RegnumSystem

/// A web page to look into a database file and to edit it, for any HTTP server. **Unstable**, like `Inspector`.
///
/// ```swift
/// let studio = try Studio(StudioOptions(fileURL: realm.configuration.fileURL!, token: Studio.makeToken()))
/// // In the server: pass each request below a path such as /studio/ on, with the rest of its path.
/// let response = await studio.respond(to: request)
/// ```
///
/// The page's address is `http://host:port/studio/#token=TOKEN`. The studio opens the file as another process would, so
/// a Realm of the same process may be open, and may be written to. Databases in memory have no file. The file is only
/// read until the user switches to editing.
///
/// Thread: any. Work on the database runs on a queue of the studio, one request at a time.
public final class Studio: Sendable {
    let options: StudioOptions
    let access: StudioAccess
    let worker: StudioWorker
    let jobs: StudioJobs

    /// Opens the file to read it. Throws `InspectionError`.
    public init(_ options: StudioOptions) throws {
        self.options = options
        access = StudioAccess(options)
        worker = StudioWorker(try StudioFile(options), timeLimit: options.timeLimit)
        jobs = StudioJobs(options)
    }

    /// A new secret of 256 random bits.
    public static func makeToken() -> String {
        var random = SystemRandomNumberGenerator()
        return (0..<4).map { _ in
            let digits = String(random.next() as UInt64, radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
    }

    /// Answers a request. Never throws: an error is a response too.
    public func respond(to request: StudioRequest) async -> StudioResponse {
        var response: StudioResponse
        do {
            try access.check(request)
            response = try await answer(request)
        } catch { response = StudioFailure(error).response }
        response.headers += StudioAccess.headers
        if request.method == "HEAD" { response.body = .data(Data()) }
        return response
    }

    /// The response to a request that is refused whatever its body is, such as one without the token or with too long a
    /// body; nil if there is no reason to refuse it. A server that asks first holds no body of a stranger in memory.
    /// `request` needs no body: its length is taken from the header field Content-Length.
    public func refusal(of request: StudioRequest) -> StudioResponse? {
        do { try access.check(request) } catch {
            var response = StudioFailure(error).response
            response.headers += StudioAccess.headers
            return response
        }
        return nil
    }

    private func answer(_ request: StudioRequest) async throws -> StudioResponse {
        guard request.path.hasPrefix("/api/") else {
            guard request.method == "GET" || request.method == "HEAD" else { throw StudioFailure.method }
            guard let file = StudioPage.file(request.path) else {
                throw StudioFailure(404, "noSuchPage", "There is no such page.")
            }
            return StudioResponse(200, type: file.type, .data(Data(file.bytes)))
        }
        let call = try StudioCall(request)
        switch call.route {
        case "GET changes": return try await changes(call)
        case "GET export": return try await export(call)
        case "GET data": return try await data(call)
        case "GET job", "POST job": return StudioResponse(200, json: try jobs.respond(call))
        default: break
        }
        guard let route = Self.routes[call.route] else {
            let isKnown = Self.routes.keys.contains { $0.hasSuffix(" " + call.name) }
            throw isKnown ? StudioFailure.method : StudioFailure(404, "noSuchRoute", "There is no such request.")
        }
        let json = try await worker.run(isChange: request.method == "POST") { file in try route(file, call) }
        return StudioResponse(200, json: json)
    }

    typealias Route = @Sendable (StudioFile, StudioCall) throws -> JSONValue

    /// The requests that are answered with one JSON value.
    private static let routes: [String: Route] = [
        "GET database": { file, _ in try file.describe() },
        "GET rows": { try $0.rows($1) },
        "GET object": { try $0.object($1) },
        "GET elements": { try $0.elements($1) },
        "GET backlinks": { try $0.backlinks($1) },
        "GET find": { try $0.find($1) },
        "GET values": { try $0.distinctValues($1) },
        "GET query": { try $0.query($1) },
        "GET explain": { try $0.explain($1) },
        "GET aggregates": { try $0.aggregates($1) },
        "GET pins": { file, _ in try file.pins() },
        "POST editing": { try $0.setEditing($1) },
        "POST change": { try $0.change($1) },
        "POST create": { try $0.create($1) },
        "POST preview-delete": { try $0.previewDelete($1) },
        "POST delete": { try $0.delete($1) },
        "POST undo": { try $0.undo($1) },
        "POST import": { try $0.importObjects($1) },
    ]
}
