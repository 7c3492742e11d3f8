// SPDX-License-Identifier: Apache-2.0
// The requests for data: their names, the method of each, and the types of body that they take.

internal import Foundation

extension Studio {
    /// A request for data, at `/api/NAME`.
    enum Route: String, CaseIterable, Sendable {
        case database, rows, object, elements, backlinks, find, values, query, explain, aggregates, pins
        case changes, export, data
        /// GET asks for the state of a job, POST begins it.
        case job
        case editing, change, create, delete, undo
        case previewDelete = "preview-delete"
        case importObjects = "import"

        var methods: [String] {
            switch self {
            case .database, .rows, .object, .elements, .backlinks, .find, .values, .query, .explain, .aggregates,
                .pins, .changes, .export, .data:
                ["GET"]
            case .job: ["GET", "POST"]
            case .editing, .change, .create, .delete, .undo, .previewDelete, .importObjects: ["POST"]
            }
        }

        /// The types of a body, in lower case. A body without a type is taken: a browser that sends one for another page
        /// is recognised by other fields, see StudioAccess.
        var bodyTypes: Set<String> {
            self == .importObjects
                ? [
                    "text/csv", "text/tab-separated-values", "text/plain", "application/json", "application/jsonl",
                    "application/x-ndjson", "application/vnd.ms-excel", "application/octet-stream",
                ] : ["application/json"]
        }

        /// Throws `StudioFailure` if there is no such request, or if its method or the type of its body is another one.
        init(_ request: StudioRequest) throws {
            guard let route = Route(rawValue: String(request.path.dropFirst("/api/".count))) else {
                throw StudioFailure(404, "noSuchRoute", "There is no such request.")
            }
            guard route.methods.contains(request.method) else { throw StudioFailure.method(route.methods) }
            if request.method == "POST", let type = request.headers["content-type"] {
                let name = type.prefix { $0 != ";" }.trimmingCharacters(in: .whitespaces).lowercased()
                guard route.bodyTypes.contains(name) else {
                    throw StudioFailure(
                        415, "contentType",
                        "The body of the request has the type '\(name)'; it has to be one of: "
                            + route.bodyTypes.sorted().joined(separator: ", ") + ".")
                }
            }
            self = route
        }
    }
}
