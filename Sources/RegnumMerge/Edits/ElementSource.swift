// SPDX-License-Identifier: Apache-2.0
// Draws the ids and positions of list elements, and makes the edits of lists from them.

/// The ids and positions that one replica gives to list elements, from one opening of the file on. `counter` is stored
/// with the file, in the same commit as the elements.
public struct ElementSource: Sendable {
    public private(set) var counter: UInt64
    public private(set) var replica: Replica
    var positions = PositionSource()

    /// The bits of an id below the number of the opening (rule 36).
    static let openingShift: UInt64 = 44

    /// - Parameters:
    ///   - counter: the stored counter; 0 for a new file.
    ///   - opening: a random number, drawn each time that the file is opened (rule 36).
    public init(replica: Replica, counter: UInt64, opening: UInt32, rules: some ExchangeRules) {
        self.replica = replica
        self.counter = rules.counter(stored: counter, opening: opening)
    }

    /// Continues under another replica number.
    public mutating func register(_ replica: Replica) {
        self.replica = replica
        positions = PositionSource()
    }

    public mutating func next() -> ElementID {
        counter += 1
        return ElementID(replica, counter)
    }
}

extension Merge {
    /// Inserts values before the visible element at `index`, one after the other.
    public func insertion(
        of values: [MergeValue], at index: Int, path: PropertyPath, in state: ObjectState, stamp: Stamp,
        from source: inout ElementSource
    ) -> [Edit] {
        let visible = elements(of: path, in: state)
        var left = index > 0 ? visible[index - 1].element.position : nil
        let right = index < visible.count ? visible[index].element.position : nil
        return values.map { value in
            let id = source.next()
            let position = rules.position(between: left, and: right, name: id, source: &source.positions)
            left = position
            return Edit(stamp, .insert(path, id, position, value))
        }
    }

    /// Moves the visible element at `index` to `target`, its index afterwards.
    public func move(
        from index: Int, to target: Int, path: PropertyPath, in state: ObjectState, stamp: Stamp,
        from source: inout ElementSource
    ) -> Edit {
        var visible = elements(of: path, in: state)
        let moved = visible.remove(at: index)
        let position = rules.position(
            between: target > 0 ? visible[target - 1].element.position : nil,
            and: target < visible.count ? visible[target].element.position : nil, name: source.next(),
            source: &source.positions)
        return Edit(stamp, .move(path, moved.id, position))
    }

    /// Assigns a whole list (rule 17).
    public func assignment(
        of values: [MergeValue], to path: PropertyPath, in state: ObjectState, stamp: Stamp,
        from source: inout ElementSource
    ) -> [Edit] {
        let visible = elements(of: path, in: state)
        let removals = rules.removedByAssignment(visible.map(\.id)).map { Edit(stamp, .remove(path, $0)) }
        return removals
            + insertion(of: values, at: visible.count, path: path, in: state, stamp: stamp, from: &source)
    }

    /// The elements of a list that existed before its file was synchronised (rule 21).
    public func adoption(
        of values: [MergeValue], to path: PropertyPath, stamp: Stamp, from source: inout ElementSource
    ) -> [Edit] {
        values.enumerated().map { index, value in
            let id = rules.adoptedID(at: index, drawn: source.next())
            return Edit(stamp, .insert(path, id, .adopted(at: index), value))
        }
    }
}
