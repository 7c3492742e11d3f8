// SPDX-License-Identifier: Apache-2.0
// The rules with one mistake. The model must find each of them.

import RegnumMerge

/// A wrong rule; the comment is the rule that it breaks.
enum Mistake: String, CaseIterable, Sendable {
    // 1 to 4: times
    case clockRepeatsTimes, clockIsNotRaised, futureIsNotClamped, clampingLosesOrder, clampingIgnoresWhatWasSeen
    case arrivalWins, earlierWins, equalTimesAreUnordered
    // 5 to 8: life
    case deletedForever, editsOfThePastCount, valuesOutliveDelete, createEmptiesLivingObject
    // 9, 10: properties
    case defaultsAreExplicit, defaultsNeverLose, innerValuesOutliveAssignment
    // 11 to 17: collections
    case lastEntryArrivingWins, laterWriteKeepsRemovedElement, removalOfUnknownIsForgotten, lastMoveArrivingWins
    case earlierElementValueWins, orderByIdentity, positionsInterleave, assignmentKeepsFirstElement
    // 18, 19: counters
    case incrementReplaces, assignmentAdds, adoptionAssignsCounter
    // 20 to 22: adoption and schemas
    case adoptedIsNew, adoptedIsDoubled, unknownPropertiesAreDropped
    // 23 to 28: the six rules
    case batchesCountTwice, gapsAreApplied, brokenChainIsApplied, replacedIdentityUploads
    case batchDroppedOnAnswer, undeliveredStaysInView
    case lostEditKeepsVersion, evictionSincePage, answerOfOldIdentity, answerOfOldCursor, answerOfOtherSpace
    // 29 to 31: checkpoints
    case pendingIsNotReplayed, pagesAppliedSingly, denialIsSilent
    // 32 to 34: tombstones
    case collectedBeforeSeen, bootstrapSkipsAllDead, staleClientContinues
    // 35 to 38: resets
    case nothingIsOffered, offersAreNew, missingIsOffered, forkIsNotNoticed, openingsShareIDs, appliedIsUploadedAgain
    case pendingIsLostByReset, replicasAreReissued
}

/// The rules of the product, except that the order of stamps, which most of them ask for, may be a mistake.
struct ProductRules: MergeRules, ExchangeRules {
    let mistake: Mistake?

    func isLater(_ stamp: Stamp, than other: Stamp) -> Bool {
        let rules = StandardRules()
        return switch mistake {
        case .earlierWins: stamp.time < other.time || rules.isLater(stamp, than: other) && other == .none
        case .equalTimesAreUnordered: stamp.time > other.time
        default: rules.isLater(stamp, than: other)
        }
    }
}

struct TestedRules: MergeRules, ExchangeRules {
    let mistake: Mistake?

    init(_ mistake: Mistake? = nil) { self.mistake = mistake }

    /// The rules of the product, so that an error in one of them is not hidden by a copy here.
    var standard: ProductRules { ProductRules(mistake: mistake) }

    // MARK: Times

    func time(after newest: Timestamp, wallClock: Timestamp) -> Timestamp {
        mistake == .clockRepeatsTimes ? wallClock : standard.time(after: newest, wallClock: wallClock)
    }

    func time(_ newest: Timestamp, raisedBy received: Timestamp) -> Timestamp {
        mistake == .clockIsNotRaised ? newest : standard.time(newest, raisedBy: received)
    }

    func time(
        _ time: Timestamp, clampedTo limit: Timestamp, newest: Timestamp, author: Timestamp
    ) -> Timestamp {
        switch mistake {
        case .futureIsNotClamped: time
        case .clampingLosesOrder: min(time, limit)
        case .clampingIgnoresWhatWasSeen: author == .zero ? min(time, limit) : max(min(time, limit), author.next)
        default: standard.time(time, clampedTo: limit, newest: newest, author: author)
        }
    }

    func isLater(_ stamp: Stamp, than other: Stamp) -> Bool { standard.isLater(stamp, than: other) }

    // MARK: Life

    func isAlive(created: Stamp, deleted: Stamp) -> Bool {
        mistake == .deletedForever && deleted != .none
            ? false : standard.isAlive(created: created, deleted: deleted)
    }

    func admits(_ edit: Stamp, isAlive: Bool, deleted: Stamp) -> Bool {
        mistake == .editsOfThePastCount
            ? isAlive : standard.admits(edit, isAlive: isAlive, deleted: deleted)
    }

    func survives(_ written: Stamp, deleted: Stamp, isAlive: Bool) -> Bool {
        mistake == .valuesOutliveDelete
            ? isAlive : standard.survives(written, deleted: deleted, isAlive: isAlive)
    }

    func startsEmpty(wasAlive: Bool) -> Bool {
        mistake == .createEmptiesLivingObject ? true : standard.startsEmpty(wasAlive: wasAlive)
    }

    // MARK: Values

    func replaces(_ new: Register, _ old: Register) -> Bool {
        switch mistake {
        case .arrivalWins: true
        case .defaultsAreExplicit: isLater(new.stamp, than: old.stamp)
        case .defaultsNeverLose: old.isDefault ? false : isLater(new.stamp, than: old.stamp)
        default: standard.replaces(new, old)
        }
    }

    func admits(_ inner: Stamp, owner: Stamp) -> Bool {
        mistake == .innerValuesOutliveAssignment ? true : standard.admits(inner, owner: owner)
    }

    func replacesEntry(_ new: Stamp, _ old: Stamp) -> Bool {
        mistake == .lastEntryArrivingWins ? true : standard.replacesEntry(new, old)
    }

    func removes(_ removal: Stamp, value: Stamp?) -> Bool {
        switch mistake {
        case .laterWriteKeepsRemovedElement: value.map { isLater(removal, than: $0) } ?? true
        case .removalOfUnknownIsForgotten: value != nil
        default: standard.removes(removal, value: value)
        }
    }

    func moves(_ new: Stamp, _ old: Stamp) -> Bool {
        mistake == .lastMoveArrivingWins ? true : standard.moves(new, old)
    }

    func replacesElement(_ new: Stamp, _ old: Stamp) -> Bool {
        mistake == .earlierElementValueWins ? !isLater(new, than: old) : standard.replacesElement(new, old)
    }

    func precedes(_ left: (Position, ElementID), _ right: (Position, ElementID)) -> Bool {
        mistake == .orderByIdentity ? left.1 < right.1 : standard.precedes(left, right)
    }

    func position(
        between left: Position?, and right: Position?, name: ElementID, source: inout PositionSource
    ) -> Position {
        if mistake == .positionsInterleave { return fraction(between: left?.bytes, and: right?.bytes, name) }
        return standard.position(between: left, and: right, name: name, source: &source)
    }

    /// A number between the two, with the author's name after it: the usual fractional index, which interleaves.
    private func fraction(between left: [UInt8]?, and right: [UInt8]?, _ name: ElementID) -> Position {
        func depth(_ bytes: [UInt8], _ index: Int) -> Int { index < bytes.count ? Int(bytes[index]) : 0 }
        var bytes: [UInt8] = []
        var isBounded = right != nil
        for index in 0..<64 {
            let low = depth(left ?? [], index)
            let high = isBounded ? depth(right ?? [], index) : 256
            if high - low > 1 {
                bytes.append(UInt8(low + 1 + (high - low - 1) / 8))
                break
            }
            bytes.append(UInt8(low))
            if high > low { isBounded = false }
        }
        bytes.append(UInt8(truncatingIfNeeded: name.replica.number))
        return Position(bytes: bytes + [UInt8(truncatingIfNeeded: name.counter)])
    }

    func removedByAssignment(_ visible: [ElementID]) -> ArraySlice<ElementID> {
        mistake == .assignmentKeepsFirstElement ? visible.dropFirst() : standard.removedByAssignment(visible)
    }

    func sum(_ counter: Int64, _ increment: Int64) -> Int64 {
        mistake == .incrementReplaces ? increment : standard.sum(counter, increment)
    }

    func assigns(_ edit: Stamp, isCounted: Bool) -> Bool {
        switch mistake {
        case .assignmentAdds: !isCounted
        case .adoptionAssignsCounter: true
        default: standard.assigns(edit, isCounted: isCounted)
        }
    }

    func adoptedStamp(drawn: Stamp) -> Stamp {
        mistake == .adoptedIsNew ? drawn : standard.adoptedStamp(drawn: drawn)
    }

    func adoptedID(at index: Int, drawn: ElementID) -> ElementID {
        mistake == .adoptedIsDoubled ? drawn : standard.adoptedID(at: index, drawn: drawn)
    }

    func keeps(isKnown: Bool) -> Bool {
        mistake == .unknownPropertiesAreDropped ? isKnown : standard.keeps(isKnown: isKnown)
    }
}
