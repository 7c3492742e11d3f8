// SPDX-License-Identifier: Apache-2.0
// The versions that the processes pin: how a process publishes its own in its slot, and how a writer reads those of the
// others. The header of `LockFile.swift` has the layout of a slot and the order of the steps; read-only processes pin
// with byte locks instead (`LockFile+ReadOnlyProcesses.swift`).

import RegnumSystem

extension LockFile {
    /// Publishes a version as pinned by this process. `pins` are all versions it pins, with or without this one: if
    /// there is no free word, every version from the oldest on is kept.
    func pin(_ number: UInt64, among pins: some Collection<UInt64>) {
        guard slot >= 0, isMapped else { return }
        show(number, among: pins)
    }

    func show(_ number: UInt64, among pins: some Collection<UInt64>) {
        for word in 1...Self.pinsPerSlot {
            guard let found = pinWord(slot, word).checked else {
                showAll(pins, number)
                return
            }
            if found == 0 {
                pinWord(slot, word).value = number
                return
            }
        }
        pinWord(slot, 0).value = min(number, pins.min() ?? number)
    }

    /// Rewrites all words of the slot after damage.
    func showAll(_ pins: some Collection<UInt64>, _ number: UInt64) {
        let all = Set(pins).union([number]).sorted()
        pinWord(slot, 0).value = all[0]
        for word in 1...Self.pinsPerSlot { pinWord(slot, word).value = word <= all.count ? all[word - 1] : 0 }
        pinWord(slot, Self.processWord).value = UInt64(CurrentProcess.id)
        pinWord(slot, 0).value = all.count > Self.pinsPerSlot ? all[Self.pinsPerSlot] : 0
        writeFailed()
    }

    /// `remaining` are the versions that this process still pins.
    func unpin(_ number: UInt64, remaining: some Collection<UInt64>) {
        guard slot >= 0, isMapped else { return }
        for word in 1...Self.pinsPerSlot where pinWord(slot, word).checked == number {
            pinWord(slot, word).value = 0
            break
        }
        guard pinWord(slot, 0).checked != 0 else { return }
        var shown: Set<UInt64> = []
        for word in 1...Self.pinsPerSlot { shown.insert(pinWord(slot, word).value) }
        let hidden = remaining.filter { !shown.contains($0) }
        pinWord(slot, 0).value = hidden.min() ?? 0
    }

    // MARK: Pins of other processes

    /// The pins of another process that has the file open.
    struct OtherPins {
        var process: UInt64
        /// Ascending; there may be more above `floor`.
        var pins: [UInt64]
        /// The oldest pin if not all are listed: every version from it on is kept. 0 if the slot was damaged.
        var floor: UInt64?
        var failed = Failed()
    }

    /// Returns the pins of other processes. Clears the slots of processes that have ended. Requires the writer lock if
    /// space is freed because of the result; for information, may be called at any time.
    func pinsOfOthers() throws(EngineError) -> [OtherPins] {
        let readers = try pinsOfReaders()
        return try pinsOfMembers() + (readers.map { [$0] } ?? [])
    }

    private func pinsOfMembers() throws(EngineError) -> [OtherPins] {
        guard isMapped else { return try hasOthers() ? [OtherPins(process: 0, pins: [], floor: 0)] : [] }
        // Read all words before the first system call: the file may be truncated while such a call runs.
        typealias Shown = (slot: Int, process: UInt64, words: [UInt64?], failed: Failed)
        let shown = (0..<slotsInUse).compactMap { i -> Shown? in
            if i == slot { return nil }
            let words = (0...Self.pinsPerSlot).map { pinWord(i, $0).checked }
            guard isSyncing(i) || words.contains(where: { $0 != 0 }) else { return nil }
            return (i, pinWord(i, Self.processWord).value, words, shownFailed(of: i))
        }
        var others: [OtherPins] = []
        do {
            for (i, process, words, failed) in shown {
                if try clearSlotIfDead(i) { continue }
                guard words.contains(where: { $0 != 0 }) else { continue }
                let isDamaged = words.contains { $0 == nil }
                others.append(
                    OtherPins(
                        process: process, pins: words.dropFirst().compactMap { $0 }.filter { $0 != 0 }.sorted(),
                        floor: isDamaged ? 0 : words[0] == 0 ? nil : words[0], failed: failed))
            }
        } catch { throw .system(error) }
        return others
    }
}
