// SPDX-License-Identifier: Apache-2.0
// The web page and its requests. Listens on the loopback address only.

import FlyingFox
import Foundation
import Notes
import RegnumStudio

@main
struct Server {
    static let usage = "usage: notes-server [--folder FOLDER] [--port PORT]"
    /// No note is larger than this, its picture in base 64 included.
    static let largestBody = 30_000_000

    let desk = NoteDesk()

    static func main() async throws {
        var folder = URL(fileURLWithPath: "notes")
        var port: UInt16 = 8080
        var arguments = CommandLine.arguments.dropFirst()
        while let option = arguments.popFirst() {
            let value = arguments.popFirst()
            switch (option, value) {
            case ("--folder", let path?): folder = URL(fileURLWithPath: path)
            case ("--port", let number?) where UInt16(number) != nil: port = UInt16(number) ?? port
            default:
                FileHandle.standardError.write(Data((usage + "\n").utf8))
                exit(2)
            }
        }
        let server = Server()
        try await server.desk.open(folder)
        let listener = HTTPServer(address: try .inet(ip4: "127.0.0.1", port: port), timeout: 60)
        await server.addRoutes(to: listener)
        // A secret in the environment: other users could read an argument in the list of processes.
        if let token = ProcessInfo.processInfo.environment["NOTES_STUDIO_TOKEN"], !token.isEmpty {
            await listener.mount(try Studio(StudioOptions(fileURL: NoteDesk.file(in: folder), token: token)))
        }
        let run = Task { try await listener.run() }
        try await listener.waitUntilListening()
        print("http://127.0.0.1:\(port)")
        try await run.value
    }

    func addRoutes(to listener: HTTPServer) async {
        let desk = desk
        await listener.appendRoute("GET /") { _ in
            HTTPResponse(
                statusCode: .ok, headers: [.contentType: "text/html; charset=utf-8"],
                body: Data(PackageResources.index_html))
        }
        await listener.appendRoute("GET /notes") { request in
            await answer { try await .json(desk.list(containing: request.query["search"] ?? "")) }
        }
        await listener.appendRoute("POST /notes") { request in
            await answer { try await .json(["id": desk.add(note(in: request))], .created) }
        }
        await listener.appendRoute("PATCH /notes/:id") { request in
            await answer {
                try await desk.change(request.routeParameters["id"] ?? "", to: note(in: request))
                return HTTPResponse(statusCode: .noContent)
            }
        }
        await listener.appendRoute("POST /undo") { _ in
            await answer { try await .json(["undone": desk.undo()]) }
        }
        await listener.appendRoute("DELETE /notes/:id") { request in
            await answer {
                try await desk.delete(request.routeParameters["id"] ?? "")
                return HTTPResponse(statusCode: .noContent)
            }
        }
        await listener.appendRoute("GET /notes/:id/picture") { request in
            await answer {
                guard let data = try await desk.picture(of: request.routeParameters["id"] ?? "") else {
                    return HTTPResponse(statusCode: .notFound)
                }
                return HTTPResponse(statusCode: .ok, headers: [.contentType: "image/png"], body: data)
            }
        }
        await listener.appendRoute("GET /changes") { request in
            let seen = request.query["after"].flatMap { Int($0) } ?? -1
            return await answer { try await .json(["change": desk.change(after: seen)]) }
        }
    }
}

extension HTTPRequest {
    /// The body; nil if it is larger than `Server.largestBody`, whatever its header says.
    func limitedBody() async throws -> Data? {
        if let length = headers[.contentLength].flatMap({ Int($0) }), length > Server.largestBody { return nil }
        var body = Data()
        for try await part in bodySequence {
            body.append(part)
            if body.count > Server.largestBody { return nil }
        }
        return body
    }
}

/// The note in the body of a request.
private func note(in request: HTTPRequest) async throws -> NewNote {
    guard let body = try await request.limitedBody() else {
        throw BadRequest(words: "The picture is too large.", status: 413)
    }
    do { return try JSONDecoder().decode(NewNote.self, from: body) } catch {
        throw BadRequest(words: "That is no note.")
    }
}

/// Turns errors into messages.
private func answer(_ body: () async throws -> HTTPResponse) async -> HTTPResponse {
    do { return try await body() } catch let error as BadRequest {
        return HTTPResponse(statusCode: HTTPStatusCode(error.status, phrase: ""), body: Data(error.words.utf8))
    } catch RuntimeError.NoSuchNote {
        return HTTPResponse(statusCode: .notFound, body: Data("There is no such note.".utf8))
    } catch {
        return HTTPResponse(statusCode: .internalServerError, body: Data("\(error)".utf8))
    }
}

extension HTTPResponse {
    fileprivate static func json(_ value: some Encodable, _ status: HTTPStatusCode = .ok) throws -> HTTPResponse {
        HTTPResponse(
            statusCode: status, headers: [.contentType: "application/json"], body: try JSONEncoder().encode(value))
    }
}
