// SPDX-License-Identifier: Apache-2.0
// The change feed of a Realm: the changes since a cursor, once or as an asynchronous sequence.

internal import RegnumEngine
internal import RegnumObservation
internal import RegnumSystem
internal import Synchronization

extension RealmAdditions where Self == Realm {
    /// Names the version that the Realm shows, for `changes(since:)`. A reader that begins with all objects of a frozen
    /// Realm goes on from the cursor of that Realm. In a write transaction it names the version before it.
    public var changeCursor: ChangeCursor {
        let realm: Realm = self
        realm.core.check()
        return ChangeCursor(FeedCursor(realm.core.session))
    }

    /// The changes from the version that `cursor` names to the newest one, as one batch: an object that was inserted
    /// and deleted in between is not in it. Empty if there is no newer version. Needs a `history` that reaches back to
    /// the cursor.
    ///
    /// ```swift
    /// let batch = try realm.changes(since: ChangeCursor(storedText)!)
    /// for id in batch["Order"]?.deleted ?? [] { ... }
    /// storedText = batch.cursor.description
    /// ```
    ///
    /// Store the cursor after the batch has been processed: after a crash in between, the same changes come again.
    ///
    /// Throws `Realm.Error` with the reason `versionNotKept`, `noHistory`, `foreignCursor` or `commitLost` if the
    /// version is not there to compare with: the reader must then begin with all objects. Does not depend on the
    /// version that the Realm shows. Thread: that of the Realm. The cost is that of the changed objects.
    public func changes(since cursor: ChangeCursor) throws -> ChangeBatch {
        let state = try FeedState(self, since: cursor, byCommit: false)
        return try state.nextNow() ?? ChangeBatch(classes: [], cursor: cursor, isSchemaChanged: false)
    }

    /// Like `changes(since:)`, but a batch for each commit that is kept, oldest first, and at most `limit` of them: go
    /// on from the cursor of the last. Commits that changed no object are left out; if the newest commits are such ones,
    /// an empty batch at the end has the cursor of the newest. Each batch is whole: its changes became visible together.
    public func changesByCommit(since cursor: ChangeCursor, atMost limit: Int = 1000) throws -> [ChangeBatch] {
        let state = try FeedState(self, since: cursor, byCommit: true)
        var batches: [ChangeBatch] = []
        // The last one, if it is empty.
        var empty: ChangeBatch?
        while batches.count < limit, let batch = try state.nextNow() {
            empty = batch.isEmpty ? batch : nil
            if !batch.isEmpty { batches.append(batch) }
        }
        // Otherwise the reader's cursor would stay, and would not be kept some day, while nothing has changed.
        if let empty { batches.append(empty) }
        return batches
    }

    /// The changes since a cursor, and then those of later commits, of this process and of others, as they are made.
    /// Nil begins after the newest version, which needs no `history`. Changes of several commits that come while the
    /// loop runs arrive as one batch; with `byCommit` as one for each, as far as the versions are kept. Commits that
    /// changed no object are left out, but after 32 of them an empty batch arrives, so that a stored cursor does not
    /// become older than the history.
    ///
    /// ```swift
    /// for try await batch in try realm.changeFeed(since: stored) {
    ///     try await process(batch)
    ///     try store(batch.cursor)
    /// }
    /// ```
    ///
    /// The sequence may be iterated on any actor, and ends when the task is cancelled. It keeps the file open, and the
    /// version that it has delivered last readable. A read-only Realm learns of no later commits, and neither does its
    /// feed. Throws like `changes(since:)`.
    public func changeFeed(since cursor: ChangeCursor? = nil, byCommit: Bool = false) throws -> ChangeFeed {
        ChangeFeed(state: try FeedState(self, since: cursor, byCommit: byCommit))
    }
}

/// An asynchronous sequence of the changes of a Realm. See `changeFeed(since:byCommit:)`.
///
/// Several iterators share the changes: each batch is delivered to one of them.
public struct ChangeFeed: AsyncSequence, Sendable {
    public typealias Element = ChangeBatch
    let state: FeedState

    public struct AsyncIterator: AsyncIteratorProtocol {
        let state: FeedState
        var commits: AsyncStream<Void>.Iterator

        /// Returns the next changes; nil once the task is cancelled. Throws `Realm.Error` if they cannot be read.
        public mutating func next() async throws -> ChangeBatch? {
            try await next(isolation: nil)
        }

        /// Returns the next changes; nil once the task is cancelled. Throws `Realm.Error` if they cannot be read.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(any Error) -> ChangeBatch? {
            while !Task.isCancelled {
                if let batch = try await state.next() { return batch }
                guard await commits.next(isolation: actor) != nil else { return nil }
            }
            return nil
        }
    }

    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(state: state, commits: state.commits().makeAsyncIterator())
    }
}

/// A reader of changes that any thread may use.
final class FeedState: @unchecked Sendable {
    // Sendable: `reader` is used only with `lock` held; the rest does not change.
    private static let numbers = Atomic(0)
    /// After this number of versions without changes the sequence delivers an empty batch. Not after each: a reader
    /// that commits for each batch would never end.
    private static let emptyLimit: UInt64 = 32

    /// The version that was delivered last; older than that of `reader` if changes were empty.
    private let lock: Lock<UInt64>
    private let reader: FeedReader
    private let database: Database
    private let byCommit: Bool
    private let names: FeedNames
    private let errors: FeedErrors

    init(_ realm: Realm, since cursor: ChangeCursor?, byCommit: Bool) throws {
        let core = realm.core
        core.check()
        database = core.settings.database
        names = FeedNames(core.settings.schema.classes)
        errors = FeedErrors(name: core.settings.place.name, fileURL: core.fileURL)
        self.byCommit = byCommit
        do throws(FeedProblem) {
            reader = try FeedReader(database, since: cursor?.cursor)
        } catch { throw errors.error(error) }
        lock = Lock(reader.cursor.version)
    }

    /// Returns the next changes, which may be empty; nil if there is no newer version.
    func nextNow() throws -> ChangeBatch? { try next(emptyAfter: 0) }

    /// Like `nextNow`, but skips empty changes for some versions. Runs on no actor.
    func next() async throws -> ChangeBatch? { try next(emptyAfter: Self.emptyLimit) }

    private func next(emptyAfter limit: UInt64) throws -> ChangeBatch? {
        do throws(FeedProblem) {
            return try lock.withLock { (delivered: inout UInt64) throws(FeedProblem) -> ChangeBatch? in
                while let changes = try reader.next(in: database, byCommit: byCommit) {
                    let version = changes.cursor.version
                    if changes.isEmpty, version < delivered + limit { continue }
                    delivered = version
                    return names.batch(changes)
                }
                return nil
            }
        } catch { throw errors.error(error) }
    }

    /// An element after each commit; commits that are not waited for are counted as one.
    func commits() -> AsyncStream<Void> {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let number = Self.numbers.add(1, ordering: .relaxed).newValue
        CommitNotifications.addFeed(number, database) { continuation.yield() }
        continuation.onTermination = { [database] _ in CommitNotifications.removeFeed(number, database) }
        return stream
    }
}
