// SPDX-License-Identifier: Apache-2.0
// The page of RegnumStudio at /studio/index.html, on the database that this server has open.

import FlyingFox
import Foundation
import RegnumStudio

extension HTTPServer {
    /// Passes the requests below /studio/ on.
    func mount(_ studio: Studio) {
        appendRoute("/studio/*") { (request: HTTPRequest) in
            guard let body = try await request.limitedBody() else {
                return HTTPResponse(statusCode: .payloadTooLarge)
            }
            let response = await studio.respond(
                to: StudioRequest(
                    method: request.method.rawValue, path: String(request.path.dropFirst("/studio".count)),
                    query: request.query.map { ($0.name, $0.value) },
                    headers: request.headers.map { ($0.key.rawValue, $0.value) }, body: body))
            var headers = HTTPHeaders()
            for header in response.headers { headers[HTTPHeader(header.name)] = header.value }
            var body = Data()
            switch response.body {
            case .data(let data): body = data
            case .stream(let chunks): for try await chunk in chunks { body.append(chunk) }
            }
            return HTTPResponse(
                statusCode: HTTPStatusCode(response.status, phrase: ""), headers: headers, body: body)
        }
    }
}
