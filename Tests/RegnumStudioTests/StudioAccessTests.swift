// SPDX-License-Identifier: Apache-2.0
// Who may use a studio, and what a browser may do with its answers.

import Foundation
import RegnumSystem
import Testing

@testable import RegnumStudio

@Suite("Access to a studio") struct StudioAccessTests {
    private let host = ("Host", "localhost:8080")
    private let token = ("X-Regnum-Token", StudioHome.token)

    @Test(
        "Data needs the token",
        arguments: [
            "", "x", StudioHome.token + "x", String(StudioHome.token.dropLast()), StudioHome.token.uppercased(),
        ])
    func wrongToken(_ wrong: String) async throws {
        let client = try StudioHome().client()
        for name in ["database", "rows", "export", "changes", "data", "job", "nothing"] {
            let answer = try await client.send("GET", "/api/" + name, headers: [host, ("X-Regnum-Token", wrong)])
            #expect(answer.status == 401 && answer.reason == "token", "\(name)")
            let none = try await client.send("GET", "/api/" + name, headers: [host])
            #expect(none.status == 401, "\(name)")
        }
        for name in ["editing", "change", "create", "delete", "undo", "import", "job"] {
            let answer = try await client.send(
                "POST", "/api/" + name, body: Data("{}".utf8), headers: [host, ("X-Regnum-Token", wrong)])
            #expect(answer.status == 401, "\(name)")
        }
        #expect(try await client.send("GET", "/api/database", headers: [host, token]).status == 200)
    }

    @Test("A studio without a token leaves access to its server")
    func noToken() async throws {
        let client = try StudioHome().client { $0.token = nil }
        #expect(try await client.send("GET", "/api/database", headers: [host]).status == 200)
    }

    @Test("An empty token lets nobody in")
    func emptyToken() async throws {
        let client = try StudioHome().client { $0.token = "" }
        #expect(try await client.send("GET", "/api/database", headers: [host]).status == 401)
        #expect(try await client.send("GET", "/api/database", headers: [host, ("X-Regnum-Token", "")]).status == 401)
    }

    @Test("Tokens are long and different")
    func tokens() {
        let tokens = (0..<10).map { _ in Studio.makeToken() }
        #expect(Set(tokens).count == 10)
        #expect(tokens.allSatisfy { $0.utf8.count == 64 && $0.allSatisfy(\.isHexDigit) })
    }

    @Test(
        "A foreign name that leads to this machine is refused, for the page too",
        arguments: [
            "evil.example", "evil.example:8080", "127.0.0.1.evil.example:8080", "", "[::2]:80", "localhost.evil",
            "[::1]evil.example", "[::1", "::1", "localhost:80.evil.example", "localhost:8080:evil",
            "[::1]:80@evil.example",
        ])
    func foreignHost(_ name: String) async throws {
        let client = try StudioHome().client()
        for path in ["/", "/main.js", "/api/database"] {
            #expect(try await client.send("GET", path, headers: [("Host", name), token]).status == 421)
            #expect(try await client.send("GET", path, headers: [token]).status == 421)
        }
    }

    @Test(
        "The names of this machine are allowed",
        arguments: ["127.0.0.1", "127.0.0.1:8080", "LOCALHOST:1", "localhost", "[::1]:80", "[::1]"])
    func ownHost(_ name: String) async throws {
        let client = try StudioHome().client()
        #expect(try await client.send("GET", "/api/database", headers: [("Host", name), token]).status == 200)
    }

    @Test("A name of an IPv6 address may be given with or without its brackets", arguments: ["fe80::1", "[FE80::1]"])
    func hostNames(_ name: String) async throws {
        let client = try StudioHome().client { $0.hosts = [name] }
        #expect(try await client.send("GET", "/", headers: [("Host", "[fe80::1]:8080")]).status == 200)
        #expect(try await client.send("GET", "/", headers: [("Host", "localhost")]).status == 421)
    }

    @Test("Another page is refused")
    func otherOrigins() async throws {
        let client = try StudioHome().client()
        func status(_ headers: (String, String)...) async throws -> Int {
            try await client.send("GET", "/api/database", headers: [host, token] + headers).status
        }
        #expect(try await status(("Origin", "http://localhost:8080")) == 200)
        #expect(try await status(("Origin", "https://localhost:8080")) == 200)
        #expect(try await status(("Origin", "http://localhost:9090")) == 403)
        #expect(try await status(("Origin", "http://evil.example")) == 403)
        #expect(try await status(("Origin", "null")) == 403)
        #expect(try await status(("Sec-Fetch-Site", "same-origin")) == 200)
        #expect(try await status(("Sec-Fetch-Site", "cross-site")) == 403)
        #expect(try await status(("Sec-Fetch-Site", "same-site")) == 403)
    }

    @Test("A body beyond the limit is refused")
    func longBody() async throws {
        let client = try StudioHome().client { $0.bodyLimit = 100 }
        let answer = try await client.send("POST", "/api/import", body: Data(count: 101))
        #expect(answer.status == 413)
    }

    @Test("A request is refused before its body is read")
    func beforeTheBody() throws {
        let studio = try StudioHome().client { $0.bodyLimit = 1 << 30 }.studio
        func status(_ path: String, _ headers: (String, String)...) -> Int? {
            studio.refusal(of: StudioRequest(method: "POST", path: path, headers: [host] + headers))?.status
        }
        #expect(status("/api/import") == 401)
        #expect(status("/api/import", token) == nil)
        #expect(status("/api/import", token, ("Origin", "http://evil.example")) == 403)
        #expect(status("/api/import", token, ("Content-Length", "\(1 << 30)")) == nil)
        #expect(status("/api/import", token, ("Content-Length", "\(1 << 30 + 1)")) == 413)
        // JSON takes many times its length in memory.
        #expect(status("/api/change", token, ("Content-Length", "\(1 << 30)")) == 413)
        #expect(status("/api/change", token, ("Content-Length", "1000")) == nil)
        let refusal = studio.refusal(of: StudioRequest(method: "POST", path: "/api/import"))
        #expect(refusal?.headers.contains { $0.name == "Content-Security-Policy" } == true)
    }

    @Test("Each answer restricts the browser", arguments: ["/", "/main.js", "/nothing", "/api/database", "/api/rows"])
    func headers(_ path: String) async throws {
        let answer = try await StudioHome().client().send("GET", path)
        let policy = answer.headers["Content-Security-Policy"] ?? ""
        #expect(policy.contains("default-src 'none'") && policy.contains("script-src 'self';"))
        #expect(policy.contains("require-trusted-types-for 'script'") && policy.contains("frame-ancestors 'none'"))
        #expect(!policy.contains("unsafe"))
        #expect(answer.headers["X-Content-Type-Options"] == "nosniff")
        #expect(answer.headers["Cache-Control"] == "no-store")
        #expect(answer.headers["Access-Control-Allow-Origin"] == nil)
        #expect(answer.headers["Set-Cookie"] == nil)
    }

    @Test("A refusal is JSON with the headers of each answer", arguments: [400, 401, 403, 404, 405, 413, 415, 421])
    func refusals(_ status: Int) async throws {
        let client = try StudioHome().client { $0.bodyLimit = 100 }
        let json = Data("{}".utf8)
        func send(_ path: String, _ body: Data, _ headers: (String, String)...) async throws -> StudioClient.Answer {
            try await client.send("POST", "/api/" + path, body: body, headers: [host, token] + headers)
        }
        let answer =
            switch status {
            case 400: try await send("editing", json)
            case 401: try await client.send("POST", "/api/editing", body: json, headers: [host])
            case 403: try await send("undo", json)
            case 404: try await send("nothing", Data("no JSON".utf8))
            case 405: try await send("rows", Data("no JSON".utf8))
            case 413: try await send("import", Data(count: 101))
            case 415: try await send("editing", json, ("Content-Type", "text/plain;charset=UTF-8"))
            default: try await client.send("GET", "/", headers: [("Host", "evil.example")])
            }
        #expect(answer.status == status && answer.headers["Content-Type"] == "application/json", "\(answer.text)")
        #expect(answer.reason != nil && answer.json["error"]?["message"]?.string?.isEmpty == false)
        for name in ["Content-Security-Policy", "X-Content-Type-Options", "Cache-Control", "X-Frame-Options"] {
            #expect(answer.headers[name] != nil, "\(name)")
        }
    }

    @Test("Each request has its method and its types of body", arguments: Studio.Route.allCases)
    func routes(_ route: Studio.Route) async throws {
        let client = try StudioHome().client()
        let path = "/api/" + route.rawValue
        for method in ["GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS"] where !route.methods.contains(method) {
            let answer = try await client.send(method, path)
            #expect(answer.status == 405, "\(method)")
            #expect(answer.headers["Allow"] == route.methods.joined(separator: ", "))
        }
        guard route.methods.contains("POST") else { return }
        for (type, isTaken) in [
            ("application/json", true), ("Application/JSON; charset=utf-8", true),
            ("text/csv", route == .importObjects),
            ("application/x-www-form-urlencoded", false), ("multipart/form-data; boundary=x", false), ("", false),
        ] {
            let answer = try await client.send(
                "POST", path, body: Data("[]".utf8), headers: [host, token, ("Content-Type", type)])
            #expect((answer.status != 415) == isTaken, "\(type): \(answer.text)")
        }
    }

    @Test("Only the page's own files and requests are there")
    func paths() async throws {
        let client = try StudioHome().client()
        for path in ["/x", "/../Package.swift", "/main.js/", "//main.js", "/.js", "/style.css.js", "/people.realm"] {
            #expect(try await client.send("GET", path).status == 404, "\(path)")
        }
        #expect(try await client.send("POST", "/").status == 405)
        #expect(try await client.send("POST", "/api/rows", body: Data("{}".utf8)).status == 405)
        #expect(try await client.send("GET", "/api/delete").status == 405)
        #expect(try await client.send("DELETE", "/api/rows").status == 405)
        #expect(try await client.get("nothing").status == 404)
        #expect(try await client.send("POST", "/api/change", body: Data("{".utf8)).reason == "notJSON")
        let head = try await client.send("HEAD", "/")
        #expect(head.status == 200 && head.body.isEmpty)
    }

    @Test("The page loads only files that are served, and makes no text to markup")
    func page() async throws {
        let client = try StudioHome().client()
        let html = try await client.send("GET", "/")
        #expect(html.status == 200 && html.headers["Content-Type"] == "text/html; charset=utf-8")
        #expect(html.text.matches(of: #/<script(?![^>]*\ssrc=)/#).isEmpty)
        #expect(html.text.matches(of: #/\sstyle=|\son\w+=|javascript:/#).isEmpty)
        #expect(try await client.send("GET", "/style.css").headers["Content-Type"] == "text/css; charset=utf-8")
        #expect(try await client.send("GET", "/icon.svg").headers["Content-Type"] == "image/svg+xml")
        var known: Set<String> = []
        var pending = ["main.js"]
        while let name = pending.popLast() {
            if !known.insert(name).inserted { continue }
            let script = try await client.send("GET", "/" + name)
            #expect(script.status == 200, "\(name)")
            #expect(script.headers["Content-Type"] == "text/javascript; charset=utf-8", "\(name)")
            pending += script.text.matches(of: #/from "\.\/(\w+\.js)"/#).map { String($0.1) }
            let sinks = #/innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function/#
            #expect(script.text.matches(of: sinks).isEmpty, "\(name)")
            #expect(script.text.matches(of: #/https?:\/\/(?!www\.w3\.org)/#).isEmpty, "\(name)")
        }
        #expect(known.count == 18)
    }
}
