// SPDX-License-Identifier: Apache-2.0
// Who may ask, and what a browser may do with the answers.
//
//   Host      one of the allowed names: a foreign name that leads to this machine (DNS rebinding) is refused
//   Origin    absent, or the address that the request was sent to; likewise Sec-Fetch-Site
//   token     in the header X-Regnum-Token, for all data; the page itself has none and may be loaded without it
//   body      no longer than the limit, as it is and as it is announced
//
// There is no cookie, so a browser never adds a credential by itself.

internal import Foundation

struct StudioAccess: Sendable {
    static let tokenHeader = "x-regnum-token"
    /// The longest body of a request other than an import, in bytes: JSON, which needs many times its length in memory.
    private static let jsonLimit = 64 << 20

    private let token: [UInt8]?
    private let hosts: Set<String>?
    private let bodyLimit: Int

    init(_ options: StudioOptions) {
        token = options.token.map { Array($0.utf8) }
        hosts = options.hosts.map { names in
            // A Host field has brackets around an IPv6 address.
            Set(names.map { $0.contains(":") && !$0.hasPrefix("[") ? "[\($0.lowercased())]" : $0.lowercased() })
        }
        bodyLimit = options.bodyLimit
    }

    /// Sent with each response. Scripts, styles and requests come from and go to the same server only; texts never
    /// become markup (Trusted Types); no other page may show this one in a frame.
    static let headers: [(name: String, value: String)] = [
        (
            "Content-Security-Policy",
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; "
                + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
                + "require-trusted-types-for 'script'; trusted-types 'none'"
        ),
        ("X-Content-Type-Options", "nosniff"), ("X-Frame-Options", "DENY"), ("Referrer-Policy", "no-referrer"),
        ("Cross-Origin-Opener-Policy", "same-origin"), ("Cross-Origin-Resource-Policy", "same-origin"),
        ("Permissions-Policy", "camera=(), geolocation=(), microphone=()"), ("Cache-Control", "no-store"),
    ]

    /// Throws `StudioFailure` if the request is refused.
    func check(_ request: StudioRequest) throws {
        let host = request.headers["host"]?.lowercased()
        if let hosts {
            guard let name = host.flatMap({ Self.name($0) }), hosts.contains(name) else {
                throw StudioFailure(421, "host", "The studio is not served under this name.")
            }
        }
        if let origin = request.headers["origin"]?.lowercased() {
            guard let host, origin == "http://" + host || origin == "https://" + host else {
                throw StudioFailure(403, "origin", "Another page must not use the studio.")
            }
        }
        if let site = request.headers["sec-fetch-site"], request.path.hasPrefix("/api/"),
            site != "same-origin", site != "none"
        {
            throw StudioFailure(403, "origin", "Another page must not use the studio.")
        }
        let limit = request.path == "/api/import" ? bodyLimit : min(bodyLimit, Self.jsonLimit)
        let length = request.headers["content-length"].flatMap { Int($0) } ?? 0
        guard max(length, request.body.count) <= limit else {
            throw StudioFailure(413, "tooLarge", "The request has more than \(limit) bytes.")
        }
        if let token, request.path.hasPrefix("/api/") {
            // An empty token is a mistake, and not a token that every request has.
            guard !token.isEmpty, Self.isEqual(Array((request.headers[Self.tokenHeader] ?? "").utf8), token) else {
                throw StudioFailure(401, "token", "The token is missing or wrong. Open the address that was printed.")
            }
        }
    }

    /// The name in a Host field, without the port; nil if the field has another form. An IPv6 address has brackets.
    private static func name(_ host: String) -> String? {
        let end: String.Index
        if host.hasPrefix("[") {
            guard let bracket = host.firstIndex(of: "]") else { return nil }
            end = host.index(after: bracket)
        } else {
            end = host.firstIndex(of: ":") ?? host.endIndex
        }
        let port = host[end...]
        guard port.isEmpty || port.first == ":" && port.utf8.dropFirst().allSatisfy({ (48...57).contains($0) }) else {
            return nil
        }
        return String(host[..<end])
    }

    /// The time does not depend on the position of the first difference.
    private static func isEqual(_ a: [UInt8], _ b: [UInt8]) -> Bool {
        guard a.count == b.count else { return false }
        var difference: UInt8 = 0
        for (one, other) in zip(a, b) { difference |= one ^ other }
        return difference == 0
    }
}
