// SPDX-License-Identifier: Apache-2.0
// Applies edits to the state of an object, by the rules of `Rules/MergeRules.swift`. The hub applies uploaded
// edits; a client applies its own edits, at once and again over each newer state that it receives.

/// The merge of one object: the part of synchronisation that a client and the hub have in common.
///
/// The module has no input and output, no clock and no dependency. It knows numbers of properties and values of bytes,
/// not classes. Its rules are in two files, numbered and in the order of a specification: `MergeRules` (times, life,
/// properties, collections, counters, adopted data) and `ExchangeRules` (uploads, pages, checkpoints, tombstones,
/// resets). Everything else applies them:
///
/// - `HybridClock` gives edits their times, and `clamp(_:of:limit:newest:author:)` limits them at the hub.
/// - `ElementSource` and `PositionSource` name and place the elements of lists.
/// - `apply(_:to:)` applies an `Edit` to an `ObjectState`: at the hub each upload; at a client its own edits, at once
///   and again over each newer state that it receives.
/// - `offer(_:over:now:)` makes the edits that a restored hub lacks and a client has.
///
/// ```swift
/// let merge = Merge(rules: StandardRules())
/// let title = PropertyPath(1)
/// var clock = HybridClock(rules: StandardRules())
/// let stamp = Stamp(clock.next(now: 1_790_000_000_000), Replica(7))
/// var note = ObjectState()
/// merge.apply(Edit(stamp, .create), to: &note)
/// merge.apply(Edit(stamp, .set(title, .bytes(Array("Tea".utf8)), isDefault: false)), to: &note)
/// ```
///
/// An embedded object is merged property by property. In a list or a map it is one value, and so is a value of
/// `AnyRealmValue` with nested lists and dictionaries. Increments count once each, except that a hub that is restored
/// from a backup loses those since.
///
/// The API is declared unstable. A value has no state that changes, so any number of threads may use one.
public struct Merge<Rules: MergeRules>: Sendable {
    public let rules: Rules

    public init(rules: Rules) { self.rules = rules }

    public func isAlive(_ state: ObjectState) -> Bool {
        rules.isAlive(created: state.created, deleted: state.deleted)
    }

    /// Applies an edit. An edit that loses, or that belongs to a deleted object, changes nothing.
    /// - Complexity: logarithmic in the parts of the object, and linear in those after an added one; a delete and the
    ///   assignment of an embedded object are linear in the parts of the object.
    public func apply(_ edit: Edit, to state: inout ObjectState) {
        switch edit.change {
        case .create: create(edit.stamp, &state)
        case .delete: delete(edit.stamp, &state)
        default:
            guard rules.admits(edit.stamp, isAlive: isAlive(state), deleted: state.deleted) else { return }
            if let path = edit.path, !path.inner.isEmpty, !isAdmitted(edit.stamp, inside: path, state) { return }
            change(edit, &state)
        }
    }

    /// The visible elements of a list, in order.
    /// - Complexity: O(*n* log *n*) for the elements of the object.
    public func elements(of path: PropertyPath, in state: ObjectState) -> [(id: ElementID, element: ListElement)] {
        state.elements.entries.filter { $0.key.path == path && !$0.value.isRemoved }
            .map { (id: $0.key.id, element: $0.value) }
            .sorted { rules.precedes(($0.element.position, $0.id), ($1.element.position, $1.id)) }
    }

    // MARK: Life

    private func create(_ stamp: Stamp, _ state: inout ObjectState) {
        if rules.isLater(stamp, than: state.deleted), rules.startsEmpty(wasAlive: isAlive(state)) {
            state.removeContents()
        }
        if rules.isLater(stamp, than: state.created) { state.created = stamp }
    }

    private func delete(_ stamp: Stamp, _ state: inout ObjectState) {
        guard rules.isLater(stamp, than: state.deleted) else { return }
        state.deleted = stamp
        let isAlive = isAlive(state)
        state.removeContents { rules.survives($1, deleted: stamp, isAlive: isAlive) }
        if !rules.survives(state.created, deleted: stamp, isAlive: isAlive) { state.counters = SortedTable() }
    }

    // MARK: Values

    private func isAdmitted(_ stamp: Stamp, inside path: PropertyPath, _ state: ObjectState) -> Bool {
        path.owners.allSatisfy { owner in
            state.registers[owner].map { rules.admits(stamp, owner: $0.stamp) } ?? true
        }
    }

    private func change(_ edit: Edit, _ state: inout ObjectState) {
        let stamp = edit.stamp
        switch edit.change {
        case .create, .delete: break
        case .set(let path, let value, let isDefault):
            set(path, Register(stamp, value, isDefault: isDefault), &state)
        case .setEntry(let path, let key, let value):
            let key = EntryKey(path: path, key: key)
            if let old = state.entries[key], !rules.replacesEntry(stamp, old.stamp) { return }
            state.entries[key] = EntryRegister(stamp: stamp, value: value)
        case .insert(let path, let id, let position, let value):
            insert(ElementKey(path: path, id: id), position, value, stamp, &state)
        case .move(let path, let id, let position):
            move(ElementKey(path: path, id: id), position, stamp, &state)
        case .replace(let path, let id, let value):
            replace(ElementKey(path: path, id: id), value, stamp, &state)
        case .remove(let path, let id):
            let key = ElementKey(path: path, id: id)
            let old = state.elements[key]
            if rules.removes(stamp, value: old?.valueStamp) {
                state.elements[key] = .tombstone(stamp, inserted: old?.inserted ?? stamp)
            }
        case .increment(let path, let amount):
            state.counters[path] = rules.sum(state.counters[path] ?? 0, amount)
        case .assignCounter(let path, let value):
            if rules.assigns(stamp, isCounted: state.counters[path] != nil) { state.counters[path] = value }
        }
    }

    private func set(_ path: PropertyPath, _ new: Register, _ state: inout ObjectState) {
        let old = state.registers[path]
        if let old, !rules.replaces(new, old) { return }
        state.registers[path] = new
        // Only these are values of an embedded object's property.
        guard new.value == .object || new.value == .null else { return }
        state.removeContents { inner, written in
            !inner.isInside(path) || rules.admits(written, owner: new.stamp)
        }
        state.counters.removeAll { $0.key.isInside(path) }
    }

    private func insert(
        _ key: ElementKey, _ position: Position, _ value: MergeValue, _ stamp: Stamp, _ state: inout ObjectState
    ) {
        guard let old = state.elements[key] else {
            state.elements[key] = ListElement(
                inserted: stamp, positionStamp: stamp, position: position, valueStamp: stamp, value: value)
            return
        }
        // Sent again, or adopted by two devices.
        if old.isRemoved { return }
        move(key, position, stamp, &state)
        replace(key, value, stamp, &state)
    }

    private func move(_ key: ElementKey, _ position: Position, _ stamp: Stamp, _ state: inout ObjectState) {
        guard var element = state.elements[key], !element.isRemoved,
            rules.moves(stamp, element.positionStamp)
        else { return }
        element.positionStamp = stamp
        element.position = position
        state.elements[key] = element
    }

    private func replace(_ key: ElementKey, _ value: MergeValue, _ stamp: Stamp, _ state: inout ObjectState) {
        guard var element = state.elements[key], !element.isRemoved,
            rules.replacesElement(stamp, element.valueStamp)
        else { return }
        element.valueStamp = stamp
        element.value = value
        state.elements[key] = element
    }
}
