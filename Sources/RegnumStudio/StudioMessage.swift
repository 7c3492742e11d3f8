// SPDX-License-Identifier: Apache-2.0
// Requests and responses, independent of any HTTP library.

public import Foundation
internal import RegnumInspect
internal import RegnumSystem

/// A request to the studio. **Unstable**, like `Inspector`.
public struct StudioRequest: Sendable {
    public var method: String
    /// The path below the address of the page, such as `/` or `/api/rows`.
    public var path: String
    /// The decoded items of the query; of several with one name, the last.
    public var query: [String: String]
    /// The header fields; the names are in lower case.
    public var headers: [String: String]
    public var body: Data

    public init(
        method: String, path: String, query: [(String, String)] = [], headers: [(String, String)] = [],
        body: Data = Data()
    ) {
        self.method = method
        self.path = path
        self.query = Dictionary(query, uniquingKeysWith: { $1 })
        self.headers = Dictionary(headers.map { ($0.lowercased(), $1) }, uniquingKeysWith: { $1 })
        self.body = body
    }
}

/// The response to a request. **Unstable**, like `Inspector`.
public struct StudioResponse: Sendable {
    public enum Body: Sendable {
        case data(Data)
        /// Chunks, made as they are asked for.
        case stream(AsyncThrowingStream<Data, any Error>)
    }

    public var status: Int
    public var headers: [(name: String, value: String)]
    public var body: Body

    init(_ status: Int, type: String, _ body: Body) {
        self.status = status
        headers = [("Content-Type", type)]
        self.body = body
    }

    init(_ status: Int, json: JSONValue) { self.init(status, type: "application/json", .data(Data(json.text.utf8))) }
}
