// SPDX-License-Identifier: Apache-2.0
// The service over its routes: entries, pages, searches, events, backups, metrics, refusals, and its end.

import Foundation
import Hummingbird
import HummingbirdTesting
import Logging
import RealmSwift
import Testing

@testable import Entries

@Suite("The service") struct ServiceTests {
    /// Runs `body` with a client of a service on an empty folder, and stops the service.
    private func withService(
        _ setup: TestingSetup = .router,
        _ body: @escaping @Sendable (any TestClientProtocol, EntryStore) async throws -> Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: folder) }
        let store = try await EntryStore(folder: folder)
        var logger = Logging.Logger(label: "test")
        logger.logLevel = .error
        let application = makeApplication(store, host: "127.0.0.1", port: 0, logger)
        try await application.test(setup) { client in try await body(client, store) }
        await #expect(throws: RealmPoolError.closed) { try await store.entry(1) }
    }

    @Test("Entries are added, read, replaced and deleted")
    func entries() async throws {
        try await withService { client, _ in
            let added = try await client.send(.post, "/entries", #"{"title": "First", "text": "a", "tags": ["sea"]}"#)
            #expect(added.status == .created)
            let first = try added.decoded(EntryValue.self)
            #expect(first.title == "First" && first.tags == ["sea"])
            let address = "/entries/\(first.id)"
            #expect(added.headers[.location] == address)
            let read = try await client.send(.get, address).decoded(EntryValue.self)
            #expect(read == first)
            let replaced = try await client.send(.put, address, #"{"title": "Second"}"#).decoded(EntryValue.self)
            #expect(replaced.id == first.id && replaced.title == "Second" && replaced.tags.isEmpty)
            var answers: [HTTPResponse.Status] = []
            for method in [HTTPRequest.Method.delete, .get, .delete, .put] {
                answers.append(try await client.send(method, address, #"{"title": "Third"}"#).status)
            }
            #expect(answers == [.noContent, .notFound, .notFound, .notFound])
        }
    }

    @Test("Pages contain each entry once, also if entries are added and deleted in between")
    func pages() async throws {
        try await withService { client, store in
            for number in 1...5 {
                _ = try await store.add(NewEntry(title: "\(number)", text: nil, tags: nil))
            }
            let first = try await client.send(.get, "/entries?limit=2").decoded(EntryPage.self)
            #expect(first.entries.map(\.title) == ["5", "4"])
            let last = try #require(first.next)
            _ = try await store.add(NewEntry(title: "6", text: nil, tags: nil))
            let wasThere = try await store.delete(last)
            #expect(wasThere)
            let second = try await client.send(.get, "/entries?limit=2&before=\(last)").decoded(EntryPage.self)
            #expect(second.entries.map(\.title) == ["3", "2"])
            let next = try #require(second.next)
            let third = try await client.send(.get, "/entries?limit=2&before=\(next)").decoded(EntryPage.self)
            #expect(third.entries.map(\.title) == ["1"] && third.next == nil)
        }
    }

    @Test("A search finds words and phrases, with excerpts")
    func search() async throws {
        try await withService { client, store in
            for text in ["A storm over the north sea", "A calm sea", "Snow in the north"] {
                _ = try await store.add(NewEntry(title: "Weather", text: text, tags: nil))
            }
            let hits = try await client.send(.get, "/search?text=%22north%20sea%22").decoded([EntryHit].self)
            #expect(hits.map(\.excerpt) == ["A storm over the [north] [sea]"])
            let others = try await client.send(.get, "/search?text=sea%20-storm").decoded([EntryHit].self)
            #expect(others.map(\.entry.text) == ["A calm sea"])
        }
    }

    @Test("Clients receive a reset and then the changes as events")
    func events() async throws {
        try await withService(.ahc()) { client, store in
            let writer = Task {
                while !Task.isCancelled {
                    _ = try await store.add(NewEntry(title: "News", text: nil, tags: nil))
                    try await Task.sleep(for: .milliseconds(5))
                }
            }
            let response = try await client.send(.get, "/changes?limit=3")
            writer.cancel()
            _ = await writer.result
            #expect(response.headers[.contentType] == "text/event-stream")
            let lines = String(buffer: response.body).split(separator: "\n")
            #expect(lines.filter { $0.hasPrefix("event: ") } == ["event: reset", "event: update", "event: update"])
            let events = try lines.filter { $0.hasPrefix("data: ") }.map { line in
                try JSONDecoder().decode(ChangeEvent.self, from: Data(line.dropFirst(6).utf8))
            }
            try #require(events.count == 3)
            #expect(events[0].added.isEmpty && !events[1].added.isEmpty && !events[2].added.isEmpty)
            #expect(events[0].version < events[1].version && events[1].version < events[2].version)
        }
    }

    @Test("A client that connects again receives a reset only if it has missed changes")
    func reconnection() async throws {
        try await withService(.ahc()) { client, store in
            let first = try await client.send(.get, "/changes?limit=1")
            let lines = String(buffer: first.body).split(separator: "\n")
            #expect(lines.contains("event: reset"))
            let seen = try #require(lines.first { $0.hasPrefix("id: ") }?.dropFirst(4))
            let writer = Task {
                while !Task.isCancelled {
                    try await Task.sleep(for: .milliseconds(50))
                    _ = try await store.add(NewEntry(title: "News", text: nil, tags: nil))
                }
            }
            // Until the client has connected before the first write.
            var isUpdate = false
            var version = String(seen)
            while !isUpdate {
                let again = try await client.send(.get, "/changes?limit=1", lastEvent: version)
                let lines = String(buffer: again.body).split(separator: "\n")
                isUpdate = lines.contains("event: update")
                version = String(try #require(lines.first { $0.hasPrefix("id: ") }?.dropFirst(4)))
            }
            writer.cancel()
            _ = await writer.result
            let later = try await client.send(.get, "/changes?limit=1", lastEvent: "0")
            #expect(String(buffer: later.body).contains("event: reset"))
        }
    }

    @Test("A backup is a database with all entries")
    func backup() async throws {
        try await withService { client, store in
            _ = try await store.add(NewEntry(title: "Kept", text: nil, tags: ["a", "b"]))
            let backup = try await client.send(.post, "/backup").decoded(Backup.self)
            let file = store.backups.folder.appendingPathComponent(backup.file)
            let titles = try Self.titles(in: file)
            #expect(titles == ["Kept"] && backup.bytes > 0)
            // Only the newest copies are kept.
            var names: [String] = []
            for _ in 0..<BackupFolder.kept {
                names.append(try await client.send(.post, "/backup").decoded(Backup.self).file)
            }
            let copies = try await store.backups.copies().map(\.lastPathComponent)
            #expect(copies == names)
        }
    }

    private static func titles(in file: URL) throws -> [String] {
        let configuration = Realm.Configuration(fileURL: file, readOnly: true, objectTypes: [Entry.self])
        return try Realm(configuration: configuration).objects(Entry.self).map(\.title)
    }

    @Test("Health and metrics; while the database is closed, clients are asked to come back")
    func monitoring() async throws {
        try await withService { client, store in
            _ = try await store.add(NewEntry(title: "One", text: nil, tags: nil))
            let health = try await client.send(.get, "/health")
            #expect(health.status == .ok)
            let metrics = try await client.send(.get, "/metrics")
            let lines = String(buffer: metrics.body).split(separator: "\n")
            #expect(lines.contains { $0.hasPrefix("entries_commits_total ") })
            #expect(lines.contains("entries_calls_completed_total{call=\"write\"} 1.0"))
            await store.pool.close()
            let closed = try await client.send(.get, "/health")
            #expect(closed.status == .serviceUnavailable && closed.headers[.retryAfter] == "1")
        }
    }

    // Both once waited for a reader, and failed when monitoring needed them most.
    @Test("Health and metrics answer while all readers are busy")
    func monitoringWhileBusy() async throws {
        try await withService { client, store in
            let end = DispatchSemaphore(value: 0)
            let readers = RealmPool.defaultReaderCount
            let reads = (0..<readers).map { _ in Task { try await store.pool.read { _ -> Void in end.wait() } } }
            while store.pool.metrics.reads.running < readers { try await Task.sleep(for: .milliseconds(10)) }
            let answers = [try await client.send(.get, "/health"), try await client.send(.get, "/metrics")]
            #expect(answers.map(\.status) == [.ok, .ok])
            for _ in reads { end.signal() }
            for read in reads { try await read.value }
        }
    }

    @Test("Requests that cannot be fulfilled are refused")
    func refusals() async throws {
        try await withService { client, _ in
            let refused = [
                try await client.send(.post, "/entries", #"{"title": " "}"#).status,
                try await client.send(.post, "/entries", #"{"text": "no title"}"#).status,
                try await client.send(.post, "/entries", "nonsense").status,
                try await client.send(.get, "/entries/one").status,
                try await client.send(.get, "/entries?limit=0").status,
                try await client.send(.get, "/entries?limit=101").status,
                try await client.send(.get, "/entries?before=x").status,
            ]
            #expect(refused.allSatisfy { $0 == .badRequest }, "\(refused)")
        }
    }
}

extension TestClientProtocol {
    fileprivate func send(
        _ method: HTTPRequest.Method, _ uri: String, _ json: String? = nil, lastEvent: String? = nil
    ) async throws -> TestResponse {
        var headers = HTTPFields()
        if let lastEvent { headers[.init("Last-Event-ID")!] = lastEvent }
        return try await executeRequest(
            uri: uri, method: method, headers: headers, body: json.map { ByteBuffer(string: $0) })
    }
}

extension TestResponse {
    fileprivate func decoded<Value: Decodable>(_ type: Value.Type) throws -> Value {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .iso8601
        return try decoder.decode(type, from: Data(String(buffer: body).utf8))
    }
}
