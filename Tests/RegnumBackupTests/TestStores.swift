// SPDX-License-Identifier: Apache-2.0
// Stores for tests: objects in memory; a store that fails, duplicates calls, loses replies, kills its user or lies.

import RegnumBackup
import RegnumSimulation
import Synchronization

/// Objects in memory. Any thread.
final class MemoryStore: BackupStore {
    private let objects = Mutex<[String: [UInt8]]>([:])

    func list(_ prefix: String) throws -> [String] { objects.withLock { $0.keys.filter { $0.hasPrefix(prefix) } } }
    func byteCount(of name: String) throws -> Int? { objects.withLock { $0[name]?.count } }
    func get(_ name: String) throws -> [UInt8]? { objects.withLock { $0[name] } }

    func get(_ name: String, range: Range<Int>) throws -> [UInt8]? {
        objects.withLock { objects in
            objects[name].map { Array($0[range.clamped(to: 0..<$0.count)]) }
        }
    }

    func putIfAbsent(_ name: String, _ bytes: [UInt8]) throws -> Bool {
        objects.withLock { objects in
            if objects[name] != nil { return false }
            objects[name] = bytes
            return true
        }
    }

    func delete(_ name: String) throws { objects.withLock { $0[name] = nil } }

    // MARK: For tests

    var names: [String] { objects.withLock { $0.keys.sorted() } }

    func byteCount(below prefix: String) -> Int {
        objects.withLock { $0.reduce(0) { $0 + ($1.key.hasPrefix(prefix) ? $1.value.count : 0) } }
    }

    /// Inverts one bit of an object.
    func flip(_ name: String, bit: Int) {
        objects.withLock { objects in
            guard let count = objects[name]?.count, count > 0 else { return }
            objects[name]?[bit / 8 % count] ^= 1 << UInt8(bit % 8)
        }
    }

    /// Removes everything, as if the file system of a folder were not mounted. Returns the function that puts it back.
    func unmount() -> () -> Void {
        let all = objects.withLock { objects in
            defer { objects = [:] }
            return objects
        }
        return { self.objects.withLock { $0 = all } }
    }

    /// A store with equal objects.
    func copy() -> MemoryStore {
        let copy = MemoryStore()
        let all = objects.withLock { $0 }
        copy.objects.withLock { $0 = all }
        return copy
    }
}

/// What a `FaultStore` does with a call.
enum StoreFault: CaseIterable, Sendable {
    /// The call has no effect and throws.
    case lost
    /// The call takes effect, and throws: its reply is lost.
    case replyLost
    /// The call is made twice.
    case duplicated
}

struct StoreFailure: Error {}

/// Calls a closure before each object is read, and after each was put. Confined to its test.
final class HookStore: BackupStore, @unchecked Sendable {
    // Sendable: used on one thread.
    let base: any BackupStore
    var beforeGet: (String) throws -> Void = { _ in }
    var afterPut: (String) throws -> Void = { _ in }

    init(_ base: any BackupStore) { self.base = base }

    func list(_ prefix: String) throws -> [String] { try base.list(prefix) }
    func byteCount(of name: String) throws -> Int? { try base.byteCount(of: name) }
    func get(_ name: String) throws -> [UInt8]? {
        try beforeGet(name)
        return try base.get(name)
    }
    func get(_ name: String, range: Range<Int>) throws -> [UInt8]? {
        try beforeGet(name)
        return try base.get(name, range: range)
    }
    func putIfAbsent(_ name: String, _ bytes: [UInt8]) throws -> Bool {
        let isPut = try base.putIfAbsent(name, bytes)
        try afterPut(name)
        return isPut
    }
    func delete(_ name: String) throws { try base.delete(name) }
}

/// Fails at chosen calls. Any thread.
final class FaultStore: BackupStore {
    struct State: Sendable {
        var calls = 0
        /// From this call on, every call throws, and none has an effect: the process was killed, or the store is gone.
        var deathCall = Int.max
        /// True if the call at which the process dies still has its effect.
        var isLastCallDone = false
        var faults: [Int: StoreFault] = [:]
        /// One call in so many has a fault; 0 for none.
        var rate = 0
        /// One list in so many is an earlier one, up to 50 minutes old; 0 for none.
        var staleRate = 0
        var random: SeededRandom
        var oldLists: [String: (names: [String], time: Int64)] = [:]
    }

    let base: any BackupStore
    private let clock: TestClock
    private let state: Mutex<State>

    init(_ base: any BackupStore, seed: UInt64 = 1, clock: TestClock = TestClock()) {
        self.base = base
        self.clock = clock
        state = Mutex(State(random: SeededRandom(seed: seed)))
    }

    var calls: Int { state.withLock { $0.calls } }
    func set(_ body: (inout State) -> Void) { state.withLock { body(&$0) } }

    private func call<R>(_ body: () throws -> R) throws -> R {
        let (fault, isDead, isDone) = state.withLock { state -> (StoreFault?, Bool, Bool) in
            let number = state.calls
            state.calls += 1
            if number >= state.deathCall { return (nil, true, number == state.deathCall && state.isLastCallDone) }
            if let fault = state.faults[number] { return (fault, false, false) }
            if state.rate > 0, state.random.below(state.rate) == 0 {
                return (StoreFault.allCases[state.random.below(3)], false, false)
            }
            return (nil, false, false)
        }
        if isDead {
            if isDone { _ = try body() }
            throw StoreFailure()
        }
        switch fault {
        case .lost?: throw StoreFailure()
        case .replyLost?:
            _ = try body()
            throw StoreFailure()
        case .duplicated?:
            _ = try body()
            return try body()
        case nil: return try body()
        }
    }

    func list(_ prefix: String) throws -> [String] {
        let newest = try call { try base.list(prefix) }
        return state.withLock { state in
            if state.staleRate > 0, state.random.below(state.staleRate) == 0, let old = state.oldLists[prefix],
                clock.now - old.time < 3_000_000_000
            {
                // Some of it twice, in another order.
                return (old.names + old.names.prefix(2)).shuffled(using: &state.random)
            }
            state.oldLists[prefix] = (newest, clock.now)
            return newest
        }
    }

    func byteCount(of name: String) throws -> Int? { try call { try base.byteCount(of: name) } }
    func get(_ name: String) throws -> [UInt8]? { try call { try base.get(name) } }
    func get(_ name: String, range: Range<Int>) throws -> [UInt8]? { try call { try base.get(name, range: range) } }
    func putIfAbsent(_ name: String, _ bytes: [UInt8]) throws -> Bool {
        try call { try base.putIfAbsent(name, bytes) }
    }
    func delete(_ name: String) throws { try call { try base.delete(name) } }
}

/// A time of day that a test sets. Any thread.
final class TestClock: Sendable {
    private let time = Atomic<Int64>(1_700_000_000_000_000)
    var now: Int64 { time.load(ordering: .relaxed) }
    func advance(_ microseconds: Int64) { time.add(microseconds, ordering: .relaxed) }
    func advance(hours: Int) { advance(Int64(hours) * 3_600_000_000) }
}
