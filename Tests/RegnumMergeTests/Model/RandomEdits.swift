// SPDX-License-Identifier: Apache-2.0
// Random edits of one object, as an app makes them, and the checks of what the app sees immediately afterwards.

import RegnumMerge
import RegnumSimulation

/// The weights of the kinds of edits in a schedule. One kind is much more frequent than the others.
enum EditKind: Int, CaseIterable {
    case plain, group, mixed, increment, assignCounter, insert, insertRun, move, replace, remove, assignList
    case setElement, mapEntry, assignEmbedded, inner, removeEmbedded, delete

    static func random(favourite: EditKind, _ random: inout SeededRandom) -> EditKind {
        if random.below(10) < 4 { return favourite }
        // Deletes end most other stories.
        let kind = allCases[random.below(allCases.count)]
        return kind == .delete && random.below(3) > 0 ? .plain : kind
    }
}

/// Elements that were inserted in one go, which must stay together.
struct InsertedRun {
    var space: Int
    var object: Int
    var ids: [ElementID]
}

struct RandomEdits {
    let merge: Merge<TestedRules>
    let knowsNewSchema: Bool
    let stamp: Stamp

    func creation(_ groups: Set<Int64>, _ random: inout SeededRandom) -> [Edit] {
        let group = groups.sorted()[random.below(groups.count)]
        var edits = [Edit(stamp, .create), Edit(stamp, .set(Property.group, .integer(group), isDefault: false))]
        var properties = [Property.plain, Property.other]
        if knowsNewSchema { properties.append(Property.added) }
        for path in properties {
            let isDefault = random.below(2) == 0
            let value = isDefault ? 0 : Int64(1 + random.below(9))
            edits.append(Edit(stamp, .set(path, .integer(value), isDefault: isDefault)))
        }
        return edits
    }

    /// Data from before the synchronisation.
    func adoption(_ groups: Set<Int64>, from source: inout ElementSource, _ random: inout SeededRandom) -> [Edit] {
        let stamp = merge.rules.adoptedStamp(drawn: stamp)
        let group = groups.sorted()[random.below(groups.count)]
        var edits = [Edit(stamp, .create), Edit(stamp, .set(Property.group, .integer(group), isDefault: false))]
        edits.append(Edit(stamp, .set(Property.plain, .integer(Int64(random.below(9))), isDefault: false)))
        let values = (0..<1 + random.below(3)).map { MergeValue.integer(Int64(1000 + $0)) }
        edits += merge.adoption(of: values, to: Property.list, stamp: stamp, from: &source)
        edits.append(Edit(stamp, .setEntry(Property.set, key: .integer(Int64(random.below(4))), value: .null)))
        edits.append(Edit(stamp, .assignCounter(Property.counter, Int64(10 + random.below(3)))))
        return edits
    }

    func edits(
        _ kind: EditKind, of state: ObjectState, groups: Set<Int64>, from source: inout ElementSource,
        _ random: inout SeededRandom
    ) -> [Edit] {
        switch kind {
        case .insert, .insertRun, .move, .replace, .remove, .assignList:
            return listEdits(kind, of: state, from: &source, &random)
        case .assignEmbedded, .inner, .removeEmbedded: return embeddedEdits(kind, &random)
        default: return [Edit(stamp, change(kind, groups, &random))]
        }
    }

    private func number(_ random: inout SeededRandom) -> MergeValue { .integer(Int64(random.below(10))) }

    private func change(_ kind: EditKind, _ groups: Set<Int64>, _ random: inout SeededRandom) -> Edit.Change {
        switch kind {
        case .group: return .set(Property.group, .integer(Int64(random.below(3))), isDefault: false)
        case .mixed: return .set(Property.mixed, .bytes([1, UInt8(random.below(9))]), isDefault: false)
        case .increment: return .increment(Property.counter, Int64(1 + random.below(5)))
        case .assignCounter: return .assignCounter(Property.counter, Int64(random.below(100)))
        case .setElement:
            return .setEntry(Property.set, key: number(&random), value: random.below(5) < 3 ? .null : nil)
        case .mapEntry:
            let value = random.below(4) > 0 ? number(&random) : nil
            return .setEntry(Property.map, key: .bytes([UInt8(random.below(3))]), value: value)
        case .delete: return .delete
        default:
            let properties = [Property.plain, Property.other] + (knowsNewSchema ? [Property.added] : [])
            return .set(properties[random.below(properties.count)], number(&random), isDefault: false)
        }
    }

    private func listEdits(
        _ kind: EditKind, of state: ObjectState, from source: inout ElementSource, _ random: inout SeededRandom
    ) -> [Edit] {
        let visible = merge.elements(of: Property.list, in: state)
        if kind == .assignList || kind == .insertRun || kind == .insert || visible.isEmpty {
            let values = (0..<(kind == .insert ? 1 : 2 + random.below(2))).map { _ in number(&random) }
            if kind == .assignList {
                return merge.assignment(of: values, to: Property.list, in: state, stamp: stamp, from: &source)
            }
            let index = random.below(visible.count + 1)
            return merge.insertion(
                of: values, at: index, path: Property.list, in: state, stamp: stamp, from: &source)
        }
        let index = random.below(visible.count)
        switch kind {
        case .move:
            let target = random.below(visible.count)
            return [
                merge.move(
                    from: index, to: target, path: Property.list, in: state, stamp: stamp, from: &source)
            ]
        case .remove: return [Edit(stamp, .remove(Property.list, visible[index].id))]
        default: return [Edit(stamp, .replace(Property.list, visible[index].id, number(&random)))]
        }
    }

    private func embeddedEdits(_ kind: EditKind, _ random: inout SeededRandom) -> [Edit] {
        let known = Property.inner.filter { Property.isKnown($0, toNewSchema: knowsNewSchema) }
        switch kind {
        case .removeEmbedded: return [Edit(stamp, .set(Property.embedded, .null, isDefault: false))]
        case .inner:
            return [Edit(stamp, .set(known[random.below(known.count)], number(&random), isDefault: false))]
        default:
            let values = known.map { Edit(stamp, .set($0, number(&random), isDefault: false)) }
            return [Edit(stamp, .set(Property.embedded, .object, isDefault: false))] + values
        }
    }

    // MARK: What the app sees

    /// Compares the list before and after edits of it.
    func check(_ kind: EditKind, _ edits: [Edit], before: ObjectState, after: ObjectState) throws(Violation) {
        guard let first = edits.last, first.path == Property.list else { return }
        let old = merge.elements(of: Property.list, in: before).map(\.id)
        let new = merge.elements(of: Property.list, in: after).map(\.id)
        let inserted = edits.compactMap { edit -> ElementID? in
            if case .insert(_, let id, _, _) = edit.change { id } else { nil }
        }
        if kind == .assignList {
            if new != inserted { throw Violation("an assigned list is \(new), not \(inserted)") }
            return
        }
        switch first.change {
        case .insert:
            guard let start = new.firstIndex(of: inserted[0]), new.dropFirst(start).starts(with: inserted),
                new.filter({ !inserted.contains($0) }) == old
            else { throw Violation("inserting \(inserted) into \(old) gives \(new)") }
        case .move(_, let id, _):
            if new.filter({ $0 != id }) != old.filter({ $0 != id }) || new.count != old.count {
                throw Violation("moving \(id) in \(old) gives \(new)")
            }
        default: break
        }
    }
}
