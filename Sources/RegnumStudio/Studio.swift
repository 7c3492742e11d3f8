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
/// Thread: any. Work on the database runs on queues of the studio: one for changes and for what is read at once, and two
/// for requests that may read a whole class.
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
            guard request.method == "GET" || request.method == "HEAD" else {
                throw StudioFailure.method(["GET", "HEAD"])
            }
            guard let file = StudioPage.file(request.path) else {
                throw StudioFailure(404, "noSuchPage", "There is no such page.")
            }
            return StudioResponse(200, type: file.type, .data(Data(file.bytes)))
        }
        return try await answer(try StudioCall(request))
    }

    private func answer(_ call: StudioCall) async throws -> StudioResponse {
        switch call.route {
        case .changes: return try await changes(call)
        case .export: return try await export(call)
        case .data: return try await data(call)
        default: return StudioResponse(200, json: try await json(call))
        }
    }

    /// The answer to a request that is answered with one JSON value.
    private func json(_ call: StudioCall) async throws -> JSONValue {
        switch call.route {
        case .database: try await worker.run { try $0.describe() }
        case .pins: try await worker.run { try $0.pins() }
        case .object: try await worker.run { try $0.view.object(call) }
        case .elements: try await worker.run { try $0.view.elements(call) }
        case .backlinks: try await worker.run { try $0.view.backlinks(call) }
        case .query: try await worker.run { try $0.view.query(call) }
        case .job: try jobs.respond(call)
        case .rows: try await rows(call)
        case .find: try await worker.scan(.scans, call) { try $0.find(call) }
        case .values: try await worker.scan(.scans, call) { try $0.distinctValues(call) }
        case .explain: try await worker.scan(.scans, call) { try $0.explain(call) }
        case .aggregates: try await worker.scan(.scans, call) { try $0.aggregates(call) }
        case .previewDelete: try await worker.scan(.scans, call) { try $0.previewDelete(call) }
        case .editing: try await worker.run(isChange: true) { try $0.setEditing(call) }
        case .change: try await worker.run(isChange: true) { try $0.change(call) }
        case .create: try await worker.run(isChange: true) { try $0.create(call) }
        case .delete: try await worker.run(isChange: true) { try $0.delete(call) }
        case .undo: try await worker.run(isChange: true) { try $0.undo(call) }
        case .importObjects: try await importObjects(call)
        case .changes, .export, .data: preconditionFailure("not answered with one JSON value")
        }
    }

    /// With `commit=1` an import, otherwise a preview of one.
    private func importObjects(_ call: StudioCall) async throws -> JSONValue {
        if call["commit"] == "1" { return try await worker.run(isChange: true) { try $0.importObjects(call) } }
        try await worker.run { try $0.requireEditing() }
        let report = try await worker.scan(.scans, call) { try $0.previewImport(call) }
        return try await worker.run { try $0.answer(report) }
    }

    /// Objects in the order of their creation are found by their positions, without a scan.
    private func rows(_ call: StudioCall) async throws -> JSONValue {
        if (call["query"] ?? "").isEmpty, (call["sort"] ?? "").isEmpty {
            try worker.endOlderScans(call)
            return try await worker.run { try $0.view.rows(call) }
        }
        return try await worker.scan(.rows, call) { try $0.rows(call) }
    }
}
