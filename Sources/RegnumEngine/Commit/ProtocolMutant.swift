// SPDX-License-Identifier: Apache-2.0
// Bugs that the commit protocol must not have, each to be switched on by a test that proves that it would be
// found. A checker that has not caught them proves nothing. No mutant is ever set outside of tests.

package enum ProtocolMutant: String, Sendable, CaseIterable {
    /// Recovery takes the newer slot without hashing what its commit wrote.
    case manifestNotChecked
    /// Pages freed by a transaction are given to the same transaction.
    case freedPagesReusedAtOnce
    /// Both commits go to one slot.
    case oneSlot
    /// Recovery looks at the newer slot only.
    case noFallback
    /// A file shorter than its slot says is an error instead of an unfinished commit.
    case growthTrusted
    /// Every other commit is acknowledged without a sync.
    case acknowledgedBeforeSync
    /// The manifest leaves the free log out.
    case freeLogNotInManifest
    /// No nonce in blocks, and rejected slots are left in place: an abandoned commit can come back.
    case ghostCommit
    /// Of the two defences against that, the clearing of rejected slots is left: no image may show anything.
    case nonceRepeated
    /// Where recovery rejects a slot, it also writes the one that counts anew in its place.
    case countingSlotRewritten
    /// The manifest of a slot names the pages of its own commit only, not of those before it that are not durable.
    case ownPagesInManifest
    /// Space that a commit freed is used again before that commit is durable.
    case relaxedSpaceReused
    /// Space is used again that the manifest of the last durable commit names, although it was freed before that one.
    case coveredSpaceReused
    /// A relaxed commit may take the slot of the last durable one.
    case relaxedOverDurable
    /// A reader does not look again at the newest version after it has shown which one it reads.
    case pinNotChecked
    /// Who opens the file looks at a version's blocks without showing that it does.
    case openingNotPinned
    /// Space is given away that versions need which other processes read.
    case othersPinsIgnored
    /// A writer does not learn what other processes have committed since its last commit.
    case othersNotMet
    /// Processes write without the writer's lock.
    case writerNotLocked
    /// Relaxed commits of which a sync has failed in another process are synced again instead of written again.
    case failureNotMet
    /// What a process has left that ended between its slot and its number is not published.
    case unfinishedNotPublished
    /// Nobody looks whether the file is still the one that was opened.
    case overwrittenNotNoticed
    /// A slot counts although the settled slot names another commit of its number, or a newer one.
    case settledSlotIgnored

    /// Those that random images show too rarely, or never: `GhostCommitTests`, `OverwrittenFileTests` and `SettledSlotTests`
    /// arrange them.
    package static let arranged: [ProtocolMutant] = [
        .ghostCommit, .nonceRepeated, .overwrittenNotNoticed, .settledSlotIgnored,
    ]

    /// Bugs among processes: no crash shows them, the interleavings do.
    package static let amongProcesses: [ProtocolMutant] = [
        .pinNotChecked, .openingNotPinned, .othersPinsIgnored, .othersNotMet, .writerNotLocked, .unfinishedNotPublished,
        .failureNotMet,
    ]
}
