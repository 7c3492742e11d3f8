// SPDX-License-Identifier: Apache-2.0
// A real realm on a simulated disk that fails on demand, for testing the error paths of code that writes.

internal import Foundation
public import Regnum
internal import RegnumSimulation
internal import RegnumSystem
internal import Synchronization

/// A realm whose disk fails on demand, with the same errors as a real disk.
///
/// ```swift
/// let faulty = try FaultyRealm(Dog.self)
/// let repository = Repository(realm: faulty.realm)
/// faulty.fail(.diskFull)
/// #expect(throws: Realm.Error.outOfDiskSpace) { try repository.save(Dog()) }
/// faulty.heal()
/// try repository.save(Dog())
/// ```
///
/// Confined to the thread that created it.
public final class FaultyRealm {
    private let disk: SimulatedRealmDisk
    /// The realm.
    public let realm: Realm

    /// Creates an empty realm for these classes, or for all classes of the program if none is given. Throws
    /// `Realm.Error`.
    public init(_ types: ObjectBase.Type...) throws {
        disk = SimulatedRealmDisk(nil, seed: 1)
        realm = try Realm(configuration: disk.configuration(types))
    }

    /// A way in which writes fail.
    public enum Failure: Sendable {
        /// There is no space left. Commits throw `Realm.Error` with the code `.outOfDiskSpace`.
        case diskFull
        /// The disk fails. Commits throw `Realm.Error` with the code `.fileAccess`.
        case ioError
    }

    /// Makes every write to the disk fail, until `heal()`.
    public func fail(_ failure: Failure) {
        disk.files.failure = SimulatedFailure(
            call: disk.files.operationCount(of: "write"), kind: failure == .diskFull ? .noSpace : .io,
            isPersistent: true, operation: "write")
    }

    /// Makes the disk work again. Objects are as after the last successful commit.
    public func heal() { disk.files.failure = nil }
}

/// Opens a realm, or throws on demand, for code that gets its realm from a closure or a protocol of its own.
/// `extension FailingProvider: RealmSource {}` makes it a substitute for the program's own source.
///
/// ```swift
/// let provider = FailingProvider(Realm.Error(.fileAccess), failing: [0])
/// let store = Store(open: provider.realm)
/// ```
public struct FailingProvider: Sendable {
    private let error: any Error
    private let failing: Set<Int>?
    private let configuration: Realm.Configuration
    private let calls = CallCounter()

    /// Creates a provider.
    ///
    /// - Parameters:
    ///   - error: The error to throw.
    ///   - failing: The calls that fail, from 0; nil for all.
    ///   - configuration: The realm that the other calls open.
    public init(
        _ error: any Error = Realm.Error(.fail), failing: Set<Int>? = nil,
        configuration: Realm.Configuration = .defaultConfiguration
    ) {
        self.error = error
        self.failing = failing
        self.configuration = configuration
    }

    /// The number of calls so far.
    public var callCount: Int { calls.count }

    /// Opens a realm on the calling thread, or throws the error.
    @Sendable public func realm() throws -> Realm {
        let call = calls.next()
        if failing?.contains(call) ?? true { throw error }
        return try Realm(configuration: configuration)
    }
}

private final class CallCounter: Sendable {
    private let calls = Atomic(0)

    var count: Int { calls.load(ordering: .relaxed) }
    func next() -> Int { calls.add(1, ordering: .relaxed).oldValue }
}
