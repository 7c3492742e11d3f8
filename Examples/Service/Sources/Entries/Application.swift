// SPDX-License-Identifier: Apache-2.0
// The application: its routes, its services, and its answers to errors of the database.

import Hummingbird
import Logging
import RealmSwift

/// The application on a store, which it closes when it stops.
package func makeApplication(
    _ store: EntryStore, host: String, port: Int, _ logger: Logging.Logger
) -> some ApplicationProtocol {
    let router = Router(context: BasicRequestContext.self)
    router.add(middleware: DatabaseErrors<BasicRequestContext>())
    addEntryRoutes(of: store, to: router)
    addServiceRoutes(of: store, to: router)
    let configuration = ApplicationConfiguration(address: .hostname(host, port: port), serverName: "entries")
    return Application(router: router, configuration: configuration, services: [store], logger: logger)
}

private func addEntryRoutes(of store: EntryStore, to router: Router<BasicRequestContext>) {
    router.get("entries") { request, _ -> EntryPage in
        try await store.page(before: number("before", in: request), limit: limit(in: request))
    }
    router.post("entries") { request, context -> EditedResponse<EntryValue> in
        let value = try await store.add(request.decode(as: NewEntry.self, context: context))
        return EditedResponse(status: .created, headers: [.location: "/entries/\(value.id)"], response: value)
    }
    router.get("entries/:id") { _, context -> EntryValue in
        try await found(store.entry(context.parameters.require("id", as: Int.self)))
    }
    router.put("entries/:id") { request, context -> EntryValue in
        let id = try context.parameters.require("id", as: Int.self)
        let new = try await request.decode(as: NewEntry.self, context: context)
        return try await found(store.replace(id, by: new))
    }
    router.delete("entries/:id") { _, context -> HTTPResponse.Status in
        let wasThere = try await store.delete(context.parameters.require("id", as: Int.self))
        return wasThere ? .noContent : .notFound
    }
    router.get("search") { request, _ -> [EntryHit] in
        try await store.search(request.uri.queryParameters.get("text") ?? "", limit: limit(in: request))
    }
}

private func addServiceRoutes(of store: EntryStore, to router: Router<BasicRequestContext>) {
    router.get("changes") { request, _ -> Response in
        store.events(for: request, limit: try number("limit", in: request))
    }
    // Neither needs a reader: they answer while all readers are busy.
    router.get("health") { _, _ -> String in "open, \(try store.statistics().fileSize) bytes\n" }
    router.get("metrics") { _, _ -> String in try store.metrics() }
    router.post("backup") { _, _ -> Backup in try await store.backups.make() }
}

/// A number in the query; nil if it is not there.
private func number(_ name: String, in request: Request) throws -> Int? {
    guard let text = request.uri.queryParameters.get(name) else { return nil }
    guard let number = Int(text) else { throw HTTPError(.badRequest, message: "`\(name)` must be a number.") }
    return number
}

private func limit(in request: Request) throws -> Int {
    let limit = try number("limit", in: request) ?? 20
    guard (1...EntryStore.largestPage).contains(limit) else {
        throw HTTPError(.badRequest, message: "`limit` must be between 1 and \(EntryStore.largestPage).")
    }
    return limit
}

private func found(_ value: EntryValue?) throws -> EntryValue {
    guard let value else { throw HTTPError(.notFound, message: "There is no such entry.") }
    return value
}

/// Answers with 503 while the database is overloaded or the service stops, so that clients come back later.
private struct DatabaseErrors<Context: RequestContext>: RouterMiddleware {
    func handle(
        _ request: Request, context: Context, next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        do {
            return try await next(request, context)
        } catch let error as RealmPoolError {
            throw HTTPError(.serviceUnavailable, headers: [.retryAfter: "1"], message: error.description)
        } catch let error as Realm.Error {
            context.logger.error("The database has failed.", metadata: ["error": "\(error)"])
            throw HTTPError(.internalServerError)
        }
    }
}
