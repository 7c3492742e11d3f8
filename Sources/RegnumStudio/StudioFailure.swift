// SPDX-License-Identifier: Apache-2.0
// Errors as responses: a status, a reason for the page, and a message for people.

internal import Foundation
internal import RegnumInspect
internal import RegnumQuery
internal import RegnumSystem

struct StudioFailure: Error {
    var status: Int
    var reason: String
    var message: String
    /// For a query: the UTF-8 offset of the error, and the tokens that would have been valid there.
    var position: Int?
    var expected: [String] = []
    /// For a method: those that are allowed.
    var allowed: [String] = []

    init(_ status: Int, _ reason: String, _ message: String) {
        self.status = status
        self.reason = reason
        self.message = message
    }

    static let superseded = StudioFailure(
        409, "superseded", "The request was given up, as its page has made a newer one.")

    static func method(_ allowed: [String]) -> StudioFailure {
        var failure = StudioFailure(405, "method", "The request has another method.")
        failure.allowed = allowed
        return failure
    }

    static let timeout = StudioFailure(
        503, "timeout", "The request takes too long and was given up. Narrow the query, or use the command regnum.")

    static func argument(_ name: String, _ expected: String) -> StudioFailure {
        StudioFailure(400, "argument", "The argument '\(name)' has to be \(expected).")
    }

    init(_ query: QueryError) {
        self.init(400, "query", query.message)
        position = query.position
        expected = query.expected
    }

    init(_ error: any Error) {
        switch error {
        case let failure as StudioFailure: self = failure
        case let query as QueryError: self.init(query)
        case let refused as RefusedObject: self.init(422, "refused", "Nothing was stored: \(refused.description).")
        case let conflict as ChangeConflict: self.init(409, "conflict", conflict.description)
        case let head as ObjectImport.HeadProblem: self.init(422, "refused", head.description)
        case let error as InspectionError:
            let status =
                switch error.reason {
                case .unspecified: 400
                case .refusedByRule, .overLimit: 422
                case .noPermission: 403
                case .busy, .noSpace, .stopped: 503
                default: 500
                }
            self.init(status, error.query == nil ? error.reason.rawValue : "query", error.description)
            position = error.position
        default: self.init(500, "unknown", error.localizedDescription)
        }
    }

    var response: StudioResponse {
        var members: [JSONMember] = [
            .init(key: "reason", value: .string(reason)), .init(key: "message", value: .string(message)),
        ]
        if let position { members.append(.init(key: "position", value: .int(position))) }
        if !expected.isEmpty { members.append(.init(key: "expected", value: .array(expected.map { .string($0) }))) }
        var response = StudioResponse(status, json: ["error": .object(members)])
        if !allowed.isEmpty { response.headers.append(("Allow", allowed.joined(separator: ", "))) }
        return response
    }
}
