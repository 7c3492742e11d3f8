// SPDX-License-Identifier: Apache-2.0
// The rules of what clients and the hub send to each other. The hub gives each upload that it applies the next version
// of the space. A client asks for the objects whose version is after its cursor, in pages; the last page makes a
// checkpoint, which is applied as a whole. Rules 23 to 28 are the six rules that the first model found.

/// A number of 128 bits: of a space, or of one identity of a client.
public struct SyncID: Hashable, Sendable {
    public var high: UInt64
    public var low: UInt64

    public init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }
}

/// The state that a request was made in, which its answer repeats.
public struct ExchangeState: Hashable, Sendable {
    public var space: SyncID
    public var client: SyncID
    /// Changes when the hub may have lost data that it had acknowledged.
    public var epoch: Int64
    /// The version of the last checkpoint that the client has applied.
    public var base: Int64
    /// The version of the last page that it has received.
    public var cursor: Int64

    public init(space: SyncID, client: SyncID, epoch: Int64, base: Int64, cursor: Int64) {
        self.space = space
        self.client = client
        self.epoch = epoch
        self.base = base
        self.cursor = cursor
    }
}

/// The number of a sealed batch, the hash of its last edit, and that of the last edit before it. The hash of an edit
/// covers it and all edits before it of the same identity.
public struct BatchMark: Hashable, Sendable {
    public var sequence: Int64
    public var previous: UInt64
    public var hash: UInt64

    public init(sequence: Int64, previous: UInt64, hash: UInt64) {
        self.sequence = sequence
        self.previous = previous
        self.hash = hash
    }

    /// Before the first batch.
    public static let start = BatchMark(sequence: 0, previous: 0, hash: 0)
}

public enum UploadVerdict: Hashable, Sendable {
    case apply
    /// It was applied before: acknowledge it again.
    case repeated
    /// Batches before it are missing.
    case gap
    /// The client has to take a new identity: another batch with this number was applied, because two devices use one
    /// identity, or the identity has been replaced.
    case fork
}

/// The decisions of clients and the hub. The default implementations are the rules.
public protocol ExchangeRules: Sendable {
    func verdict(on batch: BatchMark, after recent: [BatchMark], isReplaced: Bool) -> UploadVerdict
    func drops(_ batch: Int64, acknowledged: Int64, byCheckpoint: Bool) -> Bool
    func leavesView(isDelivered: Bool) -> Bool
    func raisesVersion(isApplied: Bool) -> Bool
    func evictionStart(base: Int64, cursor: Int64) -> Int64
    func applies(_ answer: ExchangeState, to current: ExchangeState) -> Bool
    func replaysPending() -> Bool
    func isCheckpoint(hasMore: Bool) -> Bool
    func reports(isDenied: Bool) -> Bool
    func reportedBase(_ base: Int64, ofOldestEdit: Int64?) -> Int64
    func collects(_ tombstone: Int64, bases: Int64, isExpired: Bool) -> Bool
    func skipsDead(version: Int64, base: Int64, firstHead: Int64) -> Bool
    func mustReset(base: Int64, collected: Int64, isStale: Bool) -> Bool
    func offers(_ known: Stamp, over hub: Stamp) -> Bool
    func stampOfOffer(original: Stamp, now: Stamp) -> Stamp
    func offersMissing(base: Int64, collected: Int64) -> Bool
    func isFork(acknowledged: BatchMark, known: [BatchMark]) -> Bool
    func counter(stored: UInt64, opening: UInt32) -> UInt64
    func keepsAfterReset(_ edit: UInt64, applied: [UInt64]) -> Bool
    func firstReplica(next: Replica, epoch: Int64) -> Replica
}

// MARK: The six rules

extension ExchangeRules {
    /// **Rule 23.** The hub applies a batch if it follows the last one of the same identity, by its number and its
    /// hash, so each batch counts once. `recent` are the last batches of it, the newest one at the end. An identity
    /// that was replaced uploads no more.
    public func verdict(on batch: BatchMark, after recent: [BatchMark], isReplaced: Bool) -> UploadVerdict {
        if isReplaced { return .fork }
        let last = recent.last ?? .start
        if batch.sequence == last.sequence + 1 { return batch.previous == last.hash ? .apply : .fork }
        if batch.sequence > last.sequence { return .gap }
        guard let known = recent.first(where: { $0.sequence == batch.sequence }) else { return .repeated }
        return known == batch ? .repeated : .fork
    }

    /// **Rule 24.** A client drops a batch when a checkpoint acknowledges it, not on the answer to the upload: until
    /// then its view needs the edits.
    public func drops(_ batch: Int64, acknowledged: Int64, byCheckpoint: Bool) -> Bool {
        byCheckpoint && batch <= acknowledged
    }

    /// **Rule 25.** An object that an acknowledged batch names, and that the same checkpoint does not deliver, leaves
    /// the view: its create was rejected, or it no longer matches the subscription.
    public func leavesView(isDelivered: Bool) -> Bool { !isDelivered }

    /// **Rule 26.** The hub gives the new version to each object that an upload names, even if the edit lost or was
    /// denied, so that its author receives it.
    public func raisesVersion(isApplied: Bool) -> Bool { true }

    /// **Rule 27.** An object is evicted if it matched the subscription at some time since the client's last
    /// checkpoint, not since its last page.
    public func evictionStart(base: Int64, cursor: Int64) -> Int64 { base }

    /// **Rule 28.** An answer applies only to the state that it was requested in: the same space, identity, epoch, base
    /// and cursor.
    public func applies(_ answer: ExchangeState, to current: ExchangeState) -> Bool { answer == current }
}

// MARK: Checkpoints

extension ExchangeRules {
    /// **Rule 29.** An object that is delivered replaces the client's, and the client's edits that are not acknowledged
    /// are applied to it again.
    public func replaysPending() -> Bool { true }

    /// **Rule 30.** Pages are applied when the last one has arrived, so a view is always a version of the space and the
    /// client's own edits.
    public func isCheckpoint(hasMore: Bool) -> Bool { !hasMore }

    /// **Rule 31.** An edit that the hub denies, or whose object it does not have, is reported to its author. Nothing
    /// that a user entered disappears silently.
    public func reports(isDenied: Bool) -> Bool { true }
}

// MARK: Tombstones

extension ExchangeRules {
    /// **Rule 32.** The hub forgets a deleted object when its retention time is over and each client that was seen
    /// within it has the delete. `bases` is the least base that these clients have reported. It does not apply the
    /// uploads of other clients: they have to begin again first (rule 34).
    public func collects(_ tombstone: Int64, bases: Int64, isExpired: Bool) -> Bool {
        isExpired && tombstone <= bases
    }

    /// A client reports the base at which it made the oldest edit that waits, 0 for an offer: that edit may revive what
    /// was deleted later.
    public func reportedBase(_ base: Int64, ofOldestEdit edit: Int64?) -> Int64 { min(base, edit ?? base) }

    /// **Rule 33.** A client without a base does not receive objects that were dead when its first page was made, but
    /// it receives those that died since, which an earlier page may have contained.
    public func skipsDead(version: Int64, base: Int64, firstHead: Int64) -> Bool {
        base == 0 && version <= firstHead
    }

    /// **Rule 34.** A client whose base is before a forgotten delete begins again with a new identity, and keeps what
    /// it has not uploaded. So does one that was not counted when a delete was forgotten, because the last base that it
    /// had reported was before it (`isStale`).
    public func mustReset(base: Int64, collected: Int64, isStale: Bool) -> Bool {
        isStale || (base != 0 && base < collected)
    }
}

// MARK: Resets

extension ExchangeRules {
    /// **Rule 35.** After a reset a client offers each write that is later than the hub's write of the same part, ...
    public func offers(_ known: Stamp, over hub: Stamp) -> Bool {
        known.time == hub.time ? known.replica > hub.replica : known.time > hub.time
    }

    /// ... with the original stamps, so that old data does not overwrite newer edits.
    public func stampOfOffer(original: Stamp, now: Stamp) -> Stamp { original }

    /// It does not offer an object that the hub has not delivered since, if its delete may have been forgotten. `base`
    /// is the last version that the client and the hub had in common before everything that waits to be offered. A
    /// reset drops offers that wait, and makes them again. An object that is deleted and forgotten while an offer of it
    /// waits can still come back, in rare orders of events.
    public func offersMissing(base: Int64, collected: Int64) -> Bool { base >= collected }

    /// **Rule 36.** A client whose identity was used by a copy of its file takes a new one. It notices when the hub
    /// acknowledges a batch that is not its own. `known` are the batches that it has sealed and that wait, and the last
    /// one that was acknowledged before.
    public func isFork(acknowledged: BatchMark, known: [BatchMark]) -> Bool { !known.contains(acknowledged) }

    /// Each opening of a file begins with other ids, because a copy of the file may have used those that follow: they
    /// have the number of the opening in the upper 20 bits, then 24 bits of the random `opening`. The number alone
    /// would not do for copies; the random bits alone would repeat after some thousands of openings.
    public func counter(stored: UInt64, opening: UInt32) -> UInt64 {
        (stored >> ElementSource.openingShift + 1) << ElementSource.openingShift | UInt64(opening & 0xFF_FFFF) << 20
    }

    /// **Rule 37.** A new identity replaces the old one, and uploads the pending edits of it that the hub has not
    /// applied. `applied` are the hashes of the last edits that it has; the hub keeps as many as a device can have
    /// waiting. A device that is restored from a backup from before its last change of identity can upload an edit a
    /// second time, which shows only if it is an increment.
    public func keepsAfterReset(_ edit: UInt64, applied: [UInt64]) -> Bool { !applied.contains(edit) }

    /// **Rule 38.** A restored hub does not know the replica numbers that it issued after the backup. It begins each
    /// epoch with numbers that no earlier one can have reached.
    public func firstReplica(next: Replica, epoch: Int64) -> Replica {
        max(next, Replica(UInt32(truncatingIfNeeded: epoch) << 20))
    }
}
