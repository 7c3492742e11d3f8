// SPDX-License-Identifier: Apache-2.0
// Requests that wait: a long scan keeps no other request waiting, and ends if nobody waits for it any more.

import Foundation
import Regnum
import RegnumEngine
import RegnumInspect
import RegnumQuery
import RegnumSystem
import Synchronization
import Testing

@testable import RegnumStudio

/// A flag that threads wait for.
private final class Flag: Sendable {
    private let state = Atomic<Bool>(false)

    var isSet: Bool { state.load(ordering: .acquiring) }
    func set() { state.store(true, ordering: .releasing) }

    /// Waits on the thread, for at most four hours.
    func wait() {
        let end = ContinuousClock.now + .seconds(4 * 3600)
        while !isSet, ContinuousClock.now < end { Thread.sleep(forTimeInterval: 0.001) }
    }
}

@Suite("The lanes of a studio") struct StudioLanesTests {
    private static let hours = Duration.seconds(4 * 3600)

    private func call(_ route: String, _ query: [String: String]) throws -> StudioCall {
        try StudioCall(StudioRequest(method: "GET", path: "/api/" + route, query: query.map { ($0.key, $0.value) }))
    }

    private func waitUntilSet(_ flag: Flag) async throws {
        while !flag.isSet { try await Task.sleep(for: .milliseconds(1)) }
    }

    @Test("A request that is given up while it waits is not begun later")
    func givenUp() async throws {
        let lane = StudioLane("test", timeLimit: .milliseconds(50))
        let (isBusy, release, hasRun, isFree) = (Flag(), Flag(), Flag(), Flag())
        lane.later(0) {
            isBusy.set()
            release.wait()
        }
        try await waitUntilSet(isBusy)
        await #expect(throws: StudioFailure.self) { try await lane.run { _ in hasRun.set() } }
        await #expect(throws: StudioFailure.self) { try await lane.run(isChange: true) { _ in hasRun.set() } }
        release.set()
        lane.later(0) { isFree.set() }
        try await waitUntilSet(isFree)
        #expect(!hasRun.isSet)
    }

    @Test("The time limit stops a scan, and the lane is free again")
    func timeLimit() async throws {
        let lane = StudioLane("test", timeLimit: .milliseconds(50))
        let (hasBegun, isStopped) = (Flag(), Flag())
        // A busy machine may give it up before it has begun.
        while !hasBegun.isSet {
            let failure = await #expect(throws: StudioFailure.self) {
                try await lane.run { stop in
                    hasBegun.set()
                    while !stop.isStopped { Thread.sleep(forTimeInterval: 0.001) }
                    isStopped.set()
                }
            }
            #expect(failure?.reason == "timeout")
        }
        try await waitUntilSet(isStopped)
    }

    @Test("The end of a change is waited for beyond the time limit")
    func change() async throws {
        let lane = StudioLane("test", timeLimit: .milliseconds(20))
        var answers: [Bool] = []
        while answers.isEmpty {
            // A busy machine may give it up before it has begun.
            let answer = try? await lane.run(isChange: true) { stop in
                Thread.sleep(forTimeInterval: 0.1)
                return stop.isStopped
            }
            if let answer { answers.append(answer) }
        }
        #expect(answers == [false])
    }

    @Test("A task that is cancelled stops its scan")
    func cancellation() async throws {
        let lane = StudioLane("test", timeLimit: Self.hours)
        let (hasBegun, isStopped) = (Flag(), Flag())
        let task = Task {
            try await lane.run { stop in
                hasBegun.set()
                while !stop.isStopped { Thread.sleep(forTimeInterval: 0.001) }
                isStopped.set()
            }
        }
        try await waitUntilSet(hasBegun)
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        try await waitUntilSet(isStopped)
        let cancelled = Task {
            while !Task.isCancelled { await Task.yield() }
            try await lane.run { _ in }
        }
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
    }

    @Test("A newer request of a page stops the older ones, and an older one that comes late is refused")
    func newerRequests() async throws {
        let lane = StudioLane("test", timeLimit: Self.hours)
        let turns = PageTurns()
        func turn(_ page: String, _ number: Int, _ route: String = "rows") throws -> PageTurn? {
            try PageTurn(try call(route, ["page": page, "turn": "\(number)"]), turns)
        }
        let (hasBegun, isStopped) = (Flag(), Flag())
        let first = try turn("a", 1)
        let older = Task {
            try await lane.run(first) { stop in
                hasBegun.set()
                while !stop.isStopped { Thread.sleep(forTimeInterval: 0.001) }
                isStopped.set()
            }
        }
        try await waitUntilSet(hasBegun)
        // Neither another page nor another kind of request ends it.
        try turn("b", 9)?.take {}.leave()
        try turn("a", 9, "explain")?.take {}.leave()
        try turn("a", 1)?.take {}.leave()
        #expect(!isStopped.isSet)
        let answer = try await lane.run(try turn("a", 2)) { _ in 7 }
        #expect(answer == 7)
        let failure = await #expect(throws: StudioFailure.self) { try await older.value }
        #expect(failure?.reason == "superseded" && isStopped.isSet)
        let late = try turn("a", 1)
        await #expect(throws: StudioFailure.self) { try await lane.run(late) { _ in } }
        #expect(try PageTurn(try call("rows", [:]), turns) == nil)
        #expect(throws: StudioFailure.self) { try turn(String(repeating: "x", count: 65), 1) }
    }

    @Test("Other requests are answered while scans run")
    func otherRequests() async throws {
        let home = try StudioHome()
        let client = try home.client()
        let (release, rowsBegun, scansBegun) = (Flag(), Flag(), Flag())
        let worker = client.studio.worker
        let scans = [
            Task {
                try await worker.scan(.rows) { _ in
                    rowsBegun.set()
                    release.wait()
                }
            },
            Task {
                try await worker.scan(.scans) { _ in
                    scansBegun.set()
                    release.wait()
                }
            },
        ]
        try await waitUntilSet(rowsBegun)
        try await waitUntilSet(scansBegun)
        defer { release.set() }
        let requests: [(String, [String: String])] = [
            ("database", [:]), ("pins", [:]), ("changes", ["wait": "0"]), ("rows", ["class": "StudioPerson"]),
            ("object", ["class": "StudioPerson", "key": "1"]),
            ("query", ["class": "StudioPerson", "query": "age > 3"]),
        ]
        for (name, query) in requests {
            let answer = try await client.get(name, query)
            #expect(answer.status == 200, "\(name)")
        }
        try await client.switchToEditing()
        let change = #"{"class": "StudioPerson", "key": 1, "values": {"age": "5"}}"#
        #expect(try await client.post("change", change).status == 200)
        release.set()
        for scan in scans { try await scan.value }
    }

    @Test("Scans read the version that is shown, also after another process has committed", arguments: [false, true])
    func versions(_ isEditing: Bool) throws {
        let home = try StudioHome()
        let file = try StudioFile(StudioOptions(fileURL: home.url, token: nil))
        try file.setEditing(isEditing)
        let rows = try file.scanView(.rows)
        #expect(rows.session.version == file.session.version && rows !== file.view)
        try home.write { $0.add(StudioDog(value: ["name": "New"])) }
        let scans = try file.scanView(.scans)
        #expect(scans.session.version == rows.session.version && scans.session !== rows.session)
        let count = try scans.list("StudioDog", "name != ''").count
        #expect(count == 2)
        let again = try file.scanView(.rows)
        #expect(again === rows)
        try file.refresh()
        let newer = try file.scanView(.rows)
        #expect(newer.session.version == file.session.version && newer.session.version > rows.session.version)
        let newCount = try newer.list("StudioDog", "name != ''").count
        #expect(newCount == 3)
    }

    @Test("A stop ends filters, sorts and aggregates of a session, and nothing is kept of them")
    func stops() throws {
        let home = try StudioHome(people: 3_000)
        let inspector = try Inspector(fileURL: home.url, isReadOnly: true)
        let session = try inspector.makeSession()
        let view = StudioView(StudioOptions(fileURL: home.url, token: nil), inspector, session)
        let stop = ScanStop()
        stop.stop()
        let texts = [
            "age > 20", "age > 20 SORT(age ASC)", "SORT(home.city DESC)", "name BEGINSWITH 'Person' SORT(age ASC)",
        ]
        for text in texts {
            let error = #expect(throws: InspectionError.self, "\(text)") {
                try view.scanning(stop) { _ = try view.list("StudioPerson", text) }
            }
            #expect(error?.reason == .stopped)
            let status = error.map { StudioFailure($0).status }
            #expect(status == 503)
        }
        let table = try view.table("StudioPerson")
        let age = try #require(table.definition.column(named: "age"))
        for text in ["", "age > 20", "age > 20 SORT(age ASC) LIMIT(5)"] {
            let query = try inspector.query(text, table, session)
            session.scanStop = stop
            #expect(throws: EngineError.stopped) { try query.aggregate(.sum, age) }
            session.scanStop = nil
        }
        // The same session goes on without the stop.
        let found = try view.list("StudioPerson", "age > 20").count
        #expect(found == 2_998)
        let others = try view.scanning(ScanStop()) { try view.list("StudioPerson", "age > 30").count }
        #expect(others == 2_997)
    }

    @Test("Rows with equal sort keys come in the order of their objects, over all windows, in both directions")
    func equalKeys() async throws {
        let home = try StudioHome(people: 2_500)
        try home.write { realm in
            for person in realm.objects(StudioPerson.self) {
                person.age = person.id % 3
                person.name = "Name \(person.id % 3)"
            }
        }
        let client = try home.client()
        // `name` has an index, `age` has none; the first 1,000 rows are found in another way than the rest.
        for (sort, descending) in [("age", ""), ("age", "1"), ("name", ""), ("name", "1"), ("best.name", "")] {
            var keys: [Int] = []
            while keys.count < 2_500 {
                let query = ["class": "StudioPerson", "sort": sort, "descending": descending, "limit": "500"]
                let json = try await client.get("rows", query.merging(["offset": "\(keys.count)"]) { $1 }).json
                let part = json["rows"]?.array.compactMap { $0.array.first?.int } ?? []
                try #require(!part.isEmpty)
                keys += part
            }
            let sign = sort == "best.name" ? 0 : descending.isEmpty ? 1 : -1
            let wanted = (1...2_500).sorted { (a: Int, b: Int) -> Bool in
                a % 3 == b % 3 || sign == 0 ? a < b : (a % 3) * sign < (b % 3) * sign
            }
            #expect(keys == wanted, "\(sort) \(descending)")
        }
    }
}
