// SPDX-License-Identifier: Apache-2.0
// Realms of actors, and Realms that the library opens, record the line that asked for them. The message of a
// programmer error contains that line, and the thread, task or actor that made the wrong call.

import Dispatch
import Foundation
import RealmSwift
import Testing

class PlacedRow: Object {
    @Persisted(primaryKey: true) var id = 0
}

private func memory() -> Realm.Configuration {
    Realm.Configuration(inMemoryIdentifier: UUID().uuidString, objectTypes: [PlacedRow.self])
}

/// The lines of this file that opened the Realms of this database.
private func lines(_ realm: Realm) -> Set<UInt> {
    Set(realm.pins().compactMap { pin in pin.fileID == #fileID ? pin.line : nil })
}

/// The line of each open Realm, without frozen ones.
private func openingLines(_ realm: Realm) -> [UInt] {
    realm.pins().filter { $0.holder == .realm }.compactMap(\.line)
}

/// Passes a Realm to a wrong thread, for the test.
private struct Parcel: @unchecked Sendable {
    // Sendable: used where it must not be, but not by two threads at once.
    let realm: Realm
    let line: UInt
}

private actor Opener {
    private var realm: Realm?

    func open(_ configuration: Realm.Configuration) async throws -> Parcel {
        let line: UInt = #line + 1
        let opened = try await Realm.open(configuration: configuration)
        realm = opened
        #expect(lines(opened) == [line])
        return Parcel(realm: opened, line: line)
    }

    func make(_ configuration: Realm.Configuration) async throws {
        let line: UInt = #line + 1
        let made = try await Realm(configuration: configuration, actor: self)
        realm = made
        #expect(lines(made) == [line])
    }

    func openWatched(_ configuration: Realm.Configuration) async throws {
        let line: UInt = #line + 1
        let opened = try await Realm.open(configuration: configuration) { _ in }
        realm = opened
        #expect(lines(opened) == [line])
    }

    func count() -> Int { realm?.objects(PlacedRow.self).count ?? -1 }
}

/// Uses a Realm of another actor.
private actor Intruder {
    private var realm: Realm?

    func use(_ parcel: Parcel) async throws -> String? {
        realm = try await Realm.open(configuration: memory())
        return try misuseText { _ = parcel.realm.isEmpty }
    }
}

@Suite("Lines that opened Realms")
struct OpeningSourceLocationTests {
    @Test("A Realm of an actor records the line of its open() or initialiser")
    func actors() async throws {
        let openers = [Opener(), Opener(), Opener()]
        _ = try await openers[0].open(memory())
        try await openers[1].make(memory())
        try await openers[2].openWatched(memory())
        for opener in openers { #expect(await opener.count() == 0) }
    }

    @Test("A Realm of the main actor records its line")
    @MainActor func mainActor() async throws {
        let line: UInt = #line + 1
        let realm = try await Realm(configuration: memory(), downloadBeforeOpen: .never)
        #expect(lines(realm) == [line])
    }

    @Test("A Realm of asyncOpen records its line")
    func asyncOpen() async throws {
        let queue = DispatchQueue(label: "opening")
        let line: UInt = #line + 2
        let found: Set<UInt> = await withCheckedContinuation { continuation in
            Realm.asyncOpen(configuration: memory(), callbackQueue: queue) { result in
                continuation.resume(returning: (try? result.get()).map { lines($0) } ?? [])
            }
        }
        #expect(found == [line])
    }

    @Test("Functions that open Realms can be referenced with RealmSwift's types, without a line")
    func references() async throws {
        let open: (Realm.Configuration, DispatchQueue, @escaping (Result<Realm, any Error>) -> Void) -> AsyncOpenTask =
            Realm.asyncOpen(configuration:callbackQueue:callback:)
        let queue = DispatchQueue(label: "opening")
        let holders: [VersionPin.Holder] = await withCheckedContinuation { continuation in
            _ = open(memory(), queue) { result in
                continuation.resume(returning: (try? result.get()).map { $0.pins().map(\.holder) } ?? [])
            }
        }
        #expect(!holders.isEmpty && holders.allSatisfy { $0 == .library })
        let make: (Realm.Configuration, MainActor, Realm.OpenBehavior) async throws -> Realm =
            Realm.init(configuration:actor:downloadBeforeOpen:)
        _ = make
    }

    @Test("A Realm that the library opens records the line of the first Realm")
    func openedByLibrary() throws {
        let line: UInt = #line + 1
        let realm = try Realm(configuration: memory())
        let row = try realm.write { realm.create(PlacedRow.self) }
        let queue = DispatchQueue(label: "observing")
        let token = realm.objects(PlacedRow.self).observe(on: queue) { _ in }
        queue.sync {}
        #expect(openingLines(realm) == [line, line] && lines(realm) == [line])
        nonisolated(unsafe) let frozen = row.freeze()
        let shared = ThreadSafe(wrappedValue: row)
        onOtherThread {
            let found = (frozen.thaw()?.realm).map { openingLines($0) } ?? []
            #expect(found == [line, line, line])
        }
        onOtherThread {
            let found = (shared.wrappedValue?.realm).map { openingLines($0) } ?? []
            #expect(found == [line, line, line])
        }
        #expect(token.invalidate())
    }

    @Test("The message of a wrong access names the actor and line that opened the Realm, and the caller")
    func words() async throws {
        let opener = Opener()
        let parcel = try await opener.open(memory())
        let home = "It was opened on the actor Opener at \(#fileID):\(parcel.line) and is used on "
        let onQueue: String? = await withCheckedContinuation { continuation in
            DispatchQueue(label: "elsewhere").async {
                continuation.resume(returning: try? misuseText { _ = parcel.realm.isEmpty })
            }
        }
        #expect(onQueue?.contains(home + "thread 0x") == true, "\(onQueue ?? "nil")")
        #expect(onQueue?.contains(" in the queue 'elsewhere'") == true, "\(onQueue ?? "nil")")
        let inTask = try await Task.detached { try misuseText { _ = parcel.realm.isEmpty } }.value
        #expect(inTask?.contains(home + "thread 0x") == true, "\(inTask ?? "nil")")
        #expect(inTask?.contains(" in a task. ") == true && inTask?.contains("queue '") == false, "\(inTask ?? "nil")")
        let onActor = try await Intruder().use(parcel)
        #expect(onActor?.contains(home + "the actor Intruder. ") == true, "\(onActor ?? "nil")")
        #expect(await opener.count() == 0)
    }
}
