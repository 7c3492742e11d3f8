// SPDX-License-Identifier: Apache-2.0
// The arguments of a request for data, checked as they are read.

internal import Foundation
internal import RegnumInspect
internal import RegnumSystem

struct StudioCall: Sendable {
    let route: Studio.Route
    let isPost: Bool
    let body: Data
    private let query: [String: String]
    private let json: JSONValue?

    /// Throws `StudioFailure` if there is no such request, or if the body should be JSON and is not.
    init(_ request: StudioRequest) throws {
        route = try Studio.Route(request)
        isPost = request.method == "POST"
        query = request.query
        body = request.body
        guard isPost, route != .importObjects else {
            json = nil
            return
        }
        do throws(JSONParser.Problem) { json = try JSONParser.parse([UInt8](request.body)) } catch {
            throw StudioFailure(400, "notJSON", "The body of the request is not JSON: \(error.message).")
        }
    }

    /// An argument of the query, or a string of the body.
    subscript(name: String) -> String? {
        if case .string(let text)? = json?[name] { return text }
        return query[name]
    }

    /// A member of the body.
    func member(_ name: String) -> JSONValue? { json?[name] }

    func text(_ name: String) throws -> String {
        guard let text = self[name] else { throw StudioFailure.argument(name, "a text") }
        return text
    }

    /// A number within the range; values outside are clamped to it.
    func number(_ name: String, _ range: ClosedRange<Int>, default standard: Int) throws -> Int {
        guard let text = self[name] else { return standard }
        guard let number = Int(text) else { throw StudioFailure.argument(name, "a number") }
        return min(max(number, range.lowerBound), range.upperBound)
    }

    /// The number of an object.
    func key(_ name: String = "key") throws -> UInt64 {
        if case .number(let text)? = json?[name], let key = UInt64(text) { return key }
        guard let text = self[name], let key = UInt64(text) else {
            throw StudioFailure.argument(name, "the number of an object")
        }
        return key
    }

    /// The numbers of objects, at most 10,000.
    func keys() throws -> [UInt64] {
        guard case .array(let values)? = json?["keys"], values.count <= 10_000 else {
            throw StudioFailure.argument("keys", "the numbers of at most 10,000 objects")
        }
        return try values.map { value in
            guard case .number(let text) = value, let key = UInt64(text) else {
                throw StudioFailure.argument("keys", "the numbers of objects")
            }
            return key
        }
    }
}
