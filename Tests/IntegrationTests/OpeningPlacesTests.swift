// SPDX-License-Identifier: Apache-2.0
// Realms that are opened for an actor, or elsewhere first, know the line that has asked for them; misuse tells that
// line, and who it is that misuses.

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

/// The lines of this file that have opened the Realms of this database.
private func lines(_ realm: Realm) -> Set<UInt> {
    Set(realm.pins().compactMap { pin in pin.fileID == #fileID ? pin.line : nil })
}

/// Of each Realm that is open, not of what was frozen of them.
private func openingLines(_ realm: Realm) -> [UInt] {
    realm.pins().filter { $0.holder == .realm }.compactMap(\.line)
}

/// Wrongly handed on, which is what is tested.
private struct Parcel: @unchecked Sendable {
    // Sendable: used where it must not be, by one at a time.
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

/// Uses a Realm that is another actor's.
private actor Intruder {
    private var realm: Realm?

    func use(_ parcel: Parcel) async throws -> String? {
        realm = try await Realm.open(configuration: memory())
        return try misuseText { _ = parcel.realm.isEmpty }
    }
}

@Suite("Where Realms were opened")
struct OpeningPlacesTests {
    @Test("for actors: by open, with and without progress, and by the initialiser")
    func actors() async throws {
        let openers = [Opener(), Opener(), Opener()]
        _ = try await openers[0].open(memory())
        try await openers[1].make(memory())
        try await openers[2].openWatched(memory())
        for opener in openers { #expect(await opener.count() == 0) }
    }

    @Test("for the main actor")
    @MainActor func mainActor() async throws {
        let line: UInt = #line + 1
        let realm = try await Realm(configuration: memory(), downloadBeforeOpen: .never)
        #expect(lines(realm) == [line])
    }

    @Test("for the queue of asyncOpen")
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

    @Test("references to functions have RealmSwift's types, and no place")
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

    @Test("Realms that the library opens, to observe on a queue, to thaw, for ThreadSafe, have the line of the first")
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

    @Test("misuse tells the actor and the line that have opened, and the queue, the task or the actor that uses it")
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
