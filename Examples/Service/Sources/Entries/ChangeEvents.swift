// SPDX-License-Identifier: Apache-2.0
// Changes of the entries as server-sent events: one with the name `reset` for a client that has to read the list, and
// one with the name `update` for each change after it.

import AsyncAlgorithms
import Foundation
import Hummingbird
import RealmSwift
import ServiceLifecycle

/// The data of an event: the numbers of the entries. Of a reset they are empty.
struct ChangeEvent: Codable, Sendable, Hashable {
    let version: UInt64
    let added: [Int]
    let changed: [Int]
    let deleted: [Int]

    init(_ change: PoolChange) {
        version = change.version
        switch change {
        case .contents: (added, changed, deleted) = ([], [], [])
        case .update(let update):
            added = Self.ids(update.insertions)
            changed = Self.ids(update.modifications)
            deleted = Self.ids(update.deletions)
        }
    }

    private static func ids(_ objects: [PoolObject]) -> [Int] {
        objects.compactMap { $0.primaryKey?.any as? Int }
    }

    /// The text of the event for a change.
    static func text(of change: PoolChange) throws -> String {
        let name = if case .contents = change { "reset" } else { "update" }
        let data = String(decoding: try JSONEncoder().encode(ChangeEvent(change)), as: UTF8.self)
        return "id: \(change.version)\nevent: \(name)\ndata: \(data)\n\n"
    }
}

extension EntryStore {
    /// Clients receive a comment this often, so that proxies do not close a connection on which nothing changes.
    private static let heartbeat = Duration.seconds(15)

    /// An answer that goes on until the client closes the connection, the service stops, or `limit` events are sent.
    /// All clients share the work of finding changes. One that reads too slowly receives a reset. One that connects
    /// again receives none if nothing has changed since the last event that it has seen.
    func events(for request: Request, limit: Int?) -> Response {
        let changes = pool.changes(contents: false) { realm in realm.objects(Entry.self) }.map { PoolChange?.some($0) }
        // Nil between the changes.
        let beats = AsyncTimerSequence.repeating(every: Self.heartbeat).map { _ in PoolChange?.none }
        let seen = Self.lastVersion(in: request)
        let body = ResponseBody { writer in
            try await request.body.consumeWithCancellationOnInboundClose { _ in
                var sent = 0
                for try await change in merge(changes, beats).cancelOnGracefulShutdown() {
                    guard let change else {
                        // They do not end with the changes.
                        if pool.statistics == nil { break }
                        try await writer.write(ByteBuffer(string: ":\n\n"))
                        continue
                    }
                    if case .contents = change, change.version == seen { continue }
                    try await writer.write(ByteBuffer(string: try ChangeEvent.text(of: change)))
                    sent += 1
                    if let limit, sent >= limit { break }
                }
            }
            try await writer.finish(nil)
        }
        return Response(
            status: .ok, headers: [.contentType: "text/event-stream", .cacheControl: "no-store"], body: body)
    }

    /// The id of the last event that a client has seen before it connects again.
    private static func lastVersion(in request: Request) -> UInt64? {
        request.headers.first { $0.name.canonicalName == "last-event-id" }.flatMap { UInt64($0.value) }
    }
}
