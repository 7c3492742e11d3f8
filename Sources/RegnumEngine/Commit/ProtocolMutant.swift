// SPDX-License-Identifier: Apache-2.0
// Bugs that the commit protocol must not have. A test seeds each of them to prove that it would be found: a checker
// that has not caught them proves nothing. No mutant is ever set outside of tests.

package enum ProtocolMutant: String, Sendable, CaseIterable {
    /// Recovery takes the newer slot without hashing the pages of its commit.
    case manifestNotChecked
    /// Pages freed by a transaction are reused by the same transaction.
    case freedPagesReusedAtOnce
    /// All commits go to one slot.
    case oneSlot
    /// Recovery considers the newer slot only.
    case noFallback
    /// A file shorter than its slot says is an error rather than an unfinished commit.
    case growthTrusted
    /// Every other commit is acknowledged without a sync.
    case acknowledgedBeforeSync
    /// The manifest omits the free log.
    case freeLogNotInManifest
    /// Blocks have no nonce, and rejected slots are left unchanged: an abandoned commit can come back.
    case ghostCommit
    /// Of the two defences against that, only the clearing of rejected slots works: no crash image may show a wrong
    /// state.
    case nonceRepeated
    /// When recovery rejects a slot, it also rewrites the slot that counts.
    case countingSlotRewritten
    /// A slot's manifest names the pages of its own commit only, not those of earlier commits that are not durable.
    case ownPagesInManifest
    /// Space that a commit freed is reused before that commit is durable.
    case relaxedSpaceReused
    /// Space named by the manifest of the last durable commit is reused, although it was freed before that commit.
    case coveredSpaceReused
    /// A relaxed commit may overwrite the slot of the last durable one.
    case relaxedOverDurable
    /// A reader does not check again that its version is still the newest after pinning it.
    case pinNotChecked
    /// An opening reads a version's blocks without pinning it.
    case openingNotPinned
    /// Space is reused although versions that other processes read still need it.
    case othersPinsIgnored
    /// A writer does not catch up with the newest commit of other processes.
    case othersNotMet
    /// Processes write without the cross-process writer lock.
    case writerNotLocked
    /// Relaxed commits whose sync has failed in another process are synced again rather than rewritten.
    case failureNotMet
    /// The lock file does not show that a process is syncing.
    case syncNotShown
    /// A commit whose process ended between writing its slot and its number is not published.
    case unfinishedNotPublished
    /// No check detects that the file was overwritten while it was open.
    case overwrittenNotNoticed
    /// A slot counts although the clean-shutdown record names another commit with its number, or a newer one.
    case settledSlotIgnored

    /// Mutants that random crash images and interleavings expose too rarely, or never: `GhostCommitTests`,
    /// `OpeningPinTests`, `OverwrittenFileTests`, `CleanShutdownTests` and `DurabilityTests` construct the cases.
    package static let arranged: [ProtocolMutant] = [
        .ghostCommit, .nonceRepeated, .openingNotPinned, .overwrittenNotNoticed, .settledSlotIgnored, .syncNotShown,
    ]

    /// Bugs in the protocol between processes: interleavings expose them, crashes do not.
    package static let amongProcesses: [ProtocolMutant] = [
        .pinNotChecked, .othersPinsIgnored, .othersNotMet, .writerNotLocked, .unfinishedNotPublished, .failureNotMet,
    ]
}
