// SPDX-License-Identifier: Apache-2.0
// Makes the edits that a hub lacks: it was restored from a backup, or the client was away for a long time. A client
// uploads them after a reset.

extension Merge where Rules: ExchangeRules {
    /// The edits by which `known`, the state that a client had, wins over `hub`, with the stamps of the original
    /// writes. Increments of counters that the hub has lost are not among them: a counter has no record of its
    /// increments.
    /// - Parameter now: a new stamp, which the rules do not use.
    /// - Complexity: linear in the parts of both states, and for each part that the hub does not have, in those after
    ///   it.
    public func offer(_ known: ObjectState, over hub: ObjectState, now: Stamp) -> [Edit] {
        var edits: [Edit] = []
        var state = hub
        func offer(_ stamp: Stamp, _ change: Edit.Change) {
            let edit = Edit(rules.stampOfOffer(original: stamp, now: now), change)
            edits.append(edit)
            apply(edit, to: &state)
        }
        if rules.offers(known.deleted, over: hub.deleted) { offer(known.deleted, .delete) }
        if rules.offers(known.created, over: hub.created), rules.offers(known.created, over: state.deleted) {
            offer(known.created, .create)
        }
        guard isAlive(known), isAlive(state) else { return edits }
        for entry in known.registers.entries {
            let (path, own) = (entry.key, entry.value)
            if let other = state.registers[path], !rules.replaces(own, other) { continue }
            offer(own.stamp, .set(path, own.value, isDefault: own.isDefault))
        }
        for entry in known.entries.entries {
            if let other = state.entries[entry.key], !rules.offers(entry.value.stamp, over: other.stamp) { continue }
            offer(entry.value.stamp, .setEntry(entry.key.path, key: entry.key.key, value: entry.value.value))
        }
        for entry in known.elements.entries {
            offerElement(entry.key, entry.value, over: state.elements[entry.key], offer)
        }
        return edits
    }

    private func offerElement(
        _ key: ElementKey, _ own: ListElement, over other: ListElement?, _ offer: (Stamp, Edit.Change) -> Void
    ) {
        if other?.isRemoved == true { return }
        if own.isRemoved { return offer(own.valueStamp, .remove(key.path, key.id)) }
        if other == nil { offer(own.inserted, .insert(key.path, key.id, own.position, own.value)) }
        if rules.offers(own.positionStamp, over: other?.positionStamp ?? own.inserted) {
            offer(own.positionStamp, .move(key.path, key.id, own.position))
        }
        if rules.offers(own.valueStamp, over: other?.valueStamp ?? own.inserted) {
            offer(own.valueStamp, .replace(key.path, key.id, own.value))
        }
    }
}
