// SPDX-License-Identifier: Apache-2.0
// The rules of the exchange with one mistake.

import RegnumMerge

extension TestedRules {
    func verdict(on batch: BatchMark, after recent: [BatchMark], isReplaced: Bool) -> UploadVerdict {
        let isReplaced = mistake == .replacedIdentityUploads ? false : isReplaced
        var batch = batch
        if mistake == .brokenChainIsApplied { batch.previous = recent.last?.hash ?? 0 }
        let verdict = standard.verdict(on: batch, after: recent, isReplaced: isReplaced)
        switch (mistake, verdict) {
        case (.batchesCountTwice, .repeated), (.gapsAreApplied, .gap): return .apply
        case (.forkIsNotNoticed, .fork): return .repeated
        default: return verdict
        }
    }

    func drops(_ batch: Int64, acknowledged: Int64, byCheckpoint: Bool) -> Bool {
        mistake == .batchDroppedOnAnswer
            ? batch <= acknowledged
            : standard.drops(batch, acknowledged: acknowledged, byCheckpoint: byCheckpoint)
    }

    func leavesView(isDelivered: Bool) -> Bool {
        mistake == .undeliveredStaysInView ? false : standard.leavesView(isDelivered: isDelivered)
    }

    func raisesVersion(isApplied: Bool) -> Bool {
        mistake == .lostEditKeepsVersion ? isApplied : standard.raisesVersion(isApplied: isApplied)
    }

    func evictionStart(base: Int64, cursor: Int64) -> Int64 {
        mistake == .evictionSincePage ? cursor : standard.evictionStart(base: base, cursor: cursor)
    }

    func applies(_ answer: ExchangeState, to current: ExchangeState) -> Bool {
        var answer = answer
        switch mistake {
        case .answerOfOldIdentity: (answer.client, answer.epoch) = (current.client, current.epoch)
        case .answerOfOldCursor: (answer.base, answer.cursor) = (current.base, current.cursor)
        case .answerOfOtherSpace: (answer.space, answer.client) = (current.space, current.client)
        default: break
        }
        return standard.applies(answer, to: current)
    }

    func replaysPending() -> Bool {
        mistake == .pendingIsNotReplayed ? false : standard.replaysPending()
    }

    func isCheckpoint(hasMore: Bool) -> Bool {
        mistake == .pagesAppliedSingly ? true : standard.isCheckpoint(hasMore: hasMore)
    }

    func reports(isDenied: Bool) -> Bool {
        mistake == .denialIsSilent ? !isDenied : standard.reports(isDenied: isDenied)
    }

    func reportedBase(_ base: Int64, ofOldestEdit edit: Int64?) -> Int64 {
        standard.reportedBase(base, ofOldestEdit: edit)
    }

    func collects(_ tombstone: Int64, bases: Int64, isExpired: Bool) -> Bool {
        mistake == .collectedBeforeSeen
            ? isExpired : standard.collects(tombstone, bases: bases, isExpired: isExpired)
    }

    func skipsDead(version: Int64, base: Int64, firstHead: Int64) -> Bool {
        mistake == .bootstrapSkipsAllDead
            ? base == 0 : standard.skipsDead(version: version, base: base, firstHead: firstHead)
    }

    func mustReset(base: Int64, collected: Int64, isStale: Bool) -> Bool {
        mistake == .staleClientContinues
            ? false : standard.mustReset(base: base, collected: collected, isStale: isStale)
    }

    func offers(_ known: Stamp, over hub: Stamp) -> Bool {
        mistake == .nothingIsOffered ? false : standard.offers(known, over: hub)
    }

    func stampOfOffer(original: Stamp, now: Stamp) -> Stamp {
        mistake == .offersAreNew ? now : standard.stampOfOffer(original: original, now: now)
    }

    func offersMissing(base: Int64, collected: Int64) -> Bool {
        mistake == .missingIsOffered ? true : standard.offersMissing(base: base, collected: collected)
    }

    func isFork(acknowledged: BatchMark, known: [BatchMark]) -> Bool {
        mistake == .forkIsNotNoticed ? false : standard.isFork(acknowledged: acknowledged, known: known)
    }

    func counter(stored: UInt64, opening: UInt32) -> UInt64 {
        mistake == .openingsShareIDs ? stored : standard.counter(stored: stored, opening: opening)
    }

    func keepsAfterReset(_ edit: UInt64, applied: [UInt64]) -> Bool {
        switch mistake {
        case .appliedIsUploadedAgain: true
        case .pendingIsLostByReset: false
        default: standard.keepsAfterReset(edit, applied: applied)
        }
    }

    func firstReplica(next: Replica, epoch: Int64) -> Replica {
        mistake == .replicasAreReissued ? next : standard.firstReplica(next: next, epoch: epoch)
    }
}
