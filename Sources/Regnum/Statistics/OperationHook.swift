// SPDX-License-Identifier: Apache-2.0
// The one place where the product RegnumObservability listens to operations: openings, migrations, write transactions,
// queries, and waits for the writer lock. Without a listener an operation costs one test of a flag.

internal import RegnumEngine
internal import RegnumSystem
internal import Synchronization

/// A kind of operation, with the facts known when it begins.
package enum OperationKind: Sendable {
    case opening
    case migration(from: UInt64, to: UInt64)
    /// A write transaction, from the moment at which it has the writer lock.
    case transaction
    case query
    /// A thread that has been waiting for the writer lock for a moment: since that time of `MonotonicClock`.
    case waiting(since: UInt64)
}

/// How an operation has ended.
package enum OperationOutcome {
    case opened(schemaVersion: UInt64, OpenFile)
    case migrated
    /// The transaction is as durable as it was asked to be.
    case committed
    case rolledBack
    case queried(QueryReport)
    case waited
    case failed(any Error)
}

extension OperationOutcome {
    /// The error of a failed operation as logs and traces may show it. Errors whose messages may contain values of
    /// objects (of duplicates, of deletions that a rule denies, and of migrations that leave the file as it was) are
    /// replaced by their reason, unless `showsValues`.
    package static func shown(_ error: any Error, showsValues: Bool) -> any Error {
        if showsValues { return error }
        if case .refused(let why, _)? = error as? EngineError { return RefusedOperation(reason: why.rawValue) }
        if let error = error as? Realm.Error, reasonsWithValues.contains(error.reason) {
            return RefusedOperation(reason: error.reason.rawValue)
        }
        return error
    }

    private static let reasonsWithValues: Set<Realm.Error.Reason> = [.duplicateValues, .deniedDelete, .migrationFailed]
}

/// An error without its message.
private struct RefusedOperation: Error, CustomStringConvertible {
    let reason: String
    var description: String { "refused: \(reason)" }
}

/// The file or the in-memory Realm of an operation, and the line that opened it.
package struct OperationPlace: Sendable {
    /// The path or the identifier.
    package let name: String
    private let origin: SessionOrigin?
    /// Set for waits.
    package let file: OpenFile?

    /// The line that opened the Realm, as "App/Model.swift:40".
    package var openedAt: String? { origin.map { "\($0.fileID):\($0.line)" } }
}

/// A running operation. `end` is called once, on any thread; never, if its transaction is abandoned by a test kit.
package protocol RunningOperation: AnyObject, Sendable {
    func end(_ outcome: OperationOutcome)
}

/// Receives the operations of the process. Any thread. The caller may hold the writer lock of the file, and during a
/// query of a frozen Realm that Realm's lock: an observer must neither use the Realm of the operation, nor write to its
/// file, nor wait for a thread that does.
package protocol OperationObserver: Sendable {
    /// True if the observer also wants the queries that only look one value up in an index, which take about as long as
    /// it takes to observe them.
    var observesLookups: Bool { get }

    /// Called on the thread that begins the operation. `parent` is the opening or the transaction that it is a part of.
    func begin(
        _ kind: OperationKind, at place: OperationPlace, within parent: (any RunningOperation)?
    ) -> (any RunningOperation)?
}

package enum OperationHook {
    private static let isInstalled = Atomic(false)
    private static let hasLookups = Atomic(false)
    private static let current = Lock<(any OperationObserver)?>(nil)
    /// Not nil while the observer runs on the thread.
    private static let mark = ThreadPointer()

    /// True if operations are observed. One load.
    @inline(__always)
    static var isOn: Bool { isInstalled.load(ordering: .relaxed) }

    /// True if lookups are observed too. One load.
    @inline(__always)
    static var isOnForLookups: Bool { hasLookups.load(ordering: .relaxed) }

    /// Replaces the observer; nil: none. Operations that run by then end at the observer that they began with.
    package static func install(_ observer: (any OperationObserver)?) {
        let lookups = observer?.observesLookups ?? false
        let former = current.withLock { current in
            let former = current
            current = observer
            isInstalled.store(observer != nil, ordering: .relaxed)
            hasLookups.store(lookups, ordering: .relaxed)
            return former
        }
        // Released without the lock: it holds objects of the program.
        withExtendedLifetime(former) {}
    }

    /// Runs `body`, which calls code of the program, such as a log handler. Operations that it begins on this thread
    /// are not observed: a log that is stored in a Realm would report itself without end.
    package static func reporting<R>(_ body: () throws -> R) rethrows -> R {
        let former = mark.value
        mark.value = UnsafeMutableRawPointer(bitPattern: 1)
        defer { mark.value = former }
        return try body()
    }

    @inline(never)
    static func begin(
        _ kind: OperationKind, at place: OperationPlace, within parent: (any RunningOperation)? = nil
    ) -> (any RunningOperation)? {
        guard mark.value == nil, let observer = current.withLock({ $0 }) else { return nil }
        return reporting { observer.begin(kind, at: place, within: parent) }
    }
}

extension OperationPlace {
    init(_ place: Realm.Configuration.Place, _ origin: SessionOrigin?) {
        (name, self.origin, file) = (place.name, origin, nil)
    }

    init(_ database: Database, _ origin: SessionOrigin?) {
        (name, self.origin, file) = (database.path, origin, OpenFile(database))
    }
}

extension RealmCore {
    /// Begins an operation of this Realm if operations are observed; otherwise nil.
    @inline(__always)
    func beginOperation(_ kind: OperationKind) -> (any RunningOperation)? {
        OperationHook.isOn ? makeOperation(kind) : nil
    }

    @inline(never)
    private func makeOperation(_ kind: OperationKind) -> (any RunningOperation)? {
        OperationHook.begin(
            kind, at: OperationPlace(settings.place, session.origin), within: settings.operation)
    }

    /// Begins to observe the write transaction that has just begun.
    func observeTransaction() {
        if OperationHook.isOn { settings.operation = makeOperation(.transaction) }
    }

    /// Returns the observed transaction, which ends; the caller ends it.
    func takeOperation() -> (any RunningOperation)? {
        guard let operation = settings.operation else { return nil }
        settings.operation = nil
        return operation
    }
}
