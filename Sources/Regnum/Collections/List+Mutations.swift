// SPDX-License-Identifier: Apache-2.0
// Mutating methods of `List`. A managed list can be changed only in a write transaction; unmanaged objects are added to
// its Realm.

public import Foundation
internal import RegnumEngine

extension List {
    /// Appends an element.
    public func append(_ object: Element) {
        if let known, known.isWriting, let value = plainEngineValue(object) {
            return known.withTable { table throws(EngineError) in
                try table.listAppend(value, known.column, of: known.key)
            }
        }
        guard let place = writablePlace() else { return insert([object], at: nil) }
        let count = count
        place.insert([place.engineValue(object, Self.words)], at: count)
    }

    /// Appends the elements of a sequence.
    public func append<S: Sequence>(objectsIn objects: S) where S.Element == Element {
        insert(Array(objects), at: nil)
    }

    /// Inserts an element before the one at `index`, or at the end if `index` equals `count`.
    public func insert(_ object: Element, at index: Int) { insert([object], at: index) }

    /// Inserts elements before the one at `index`, or at the end if `index` equals `count`.
    public func insert<C: Collection>(contentsOf newElements: C, at index: Int) where C.Element == Element {
        insert(Array(newElements), at: index)
    }

    private func insert(_ elements: [Element], at index: Int?) {
        guard let place = writablePlace() else {
            if let index { checkInsertion(index, items.count) }
            requireClass(of: elements, .list)
            items.insert(contentsOf: elements, at: index ?? items.count)
            return
        }
        let count = count
        if let index { checkInsertion(index, count) }
        let values = elements.map { place.engineValue($0, Self.words) }
        if values.isEmpty { return }
        place.insert(values, at: index ?? count)
    }

    private func checkInsertion(_ index: Int, _ count: Int) {
        if index < 0 { misuse("Cannot pass a negative value for 'index'.") }
        if index > count { misuse("Index \(index) is out of bounds (must be less than \(count + 1)).") }
    }

    /// Replaces the element at `index`. If the old element is an embedded object, it is deleted.
    public func replace(index: Int, object: Element) {
        guard let place = writablePlace() else {
            checkIndex(index, count: items.count)
            requireClass(of: CollectionOfOne(object), .list)
            items[index] = object
            return
        }
        checkIndex(index, count: count)
        place.set(place.engineValue(object, Self.words), at: index)
    }

    /// Removes the element at `index`. An object stays in its Realm; an embedded object is deleted.
    public func remove(at index: Int) {
        let place = writablePlace()
        checkIndex(index, count: count)
        remove(index..<index + 1, place)
    }

    /// Removes the first `number` elements.
    public func removeFirst(_ number: Int = 1) {
        let place = writablePlace()
        checkRemoval(number)
        remove(0..<number, place)
    }

    /// Removes the last `number` elements.
    public func removeLast(_ number: Int = 1) {
        let place = writablePlace()
        let count = checkRemoval(number)
        remove(count - number..<count, place)
    }

    @discardableResult
    private func checkRemoval(_ number: Int) -> Int {
        let count = count
        if number > count {
            misuse(
                "It is not possible to remove more objects (\(number)) from a list than it already "
                    + "contains (\(count))."
            )
        }
        if number < 0 { misuse("Cannot remove a negative number of objects (\(number)) from a list.") }
        return count
    }

    private func remove(_ range: Range<Int>, _ place: PropertyLocation?) {
        guard let place else {
            items.removeSubrange(range)
            return
        }
        if range.isEmpty { return }
        place.remove(range)
    }

    /// Removes all elements. Objects stay in their Realm; embedded objects are deleted.
    public func removeAll() {
        let place = writablePlace()
        remove(0..<count, place)
    }

    /// Removes the elements in the range.
    public func removeSubrange<R: RangeExpression>(_ bounds: R) where R.Bound == Int {
        let place = writablePlace()
        remove(checked(bounds.relative(to: self)), place)
    }

    private func checked(_ range: Range<Int>) -> Range<Int> {
        let count = count
        if range.lowerBound < 0 { refuseIndex(range.lowerBound, count) }
        if range.upperBound > count { refuseIndex(range.upperBound, count) }
        return range
    }

    /// Removes the elements at the given positions.
    public func remove(atOffsets offsets: IndexSet) {
        let place = writablePlace()
        let count = count
        if let last = offsets.last, last >= count { refuseIndex(last, count) }
        for range in offsets.rangeView.reversed() { remove(range, place) }
    }

    /// Moves the element at `from` to index `to`; the elements between them shift by one.
    public func move(from: Int, to: Int) {
        let place = writablePlace()
        let count = count
        checkIndex(from, count: count)
        checkIndex(to, count: count)
        if from == to { return }
        guard let place else {
            items.insert(items.remove(at: from), at: to)
            return
        }
        place.move(from: from, to: to)
    }

    /// Moves the elements at the given positions in front of the element that is at `destination` before the move.
    public func move(fromOffsets offsets: IndexSet, toOffset destination: Int) {
        _ = writablePlace()
        let count = count
        if let last = offsets.last, last >= count { refuseIndex(last, count) }
        checkInsertion(destination, count)
        var target = destination
        var taken = 0
        for offset in offsets {
            if offset < destination {
                move(from: offset - taken, to: destination - 1)
                taken += 1
            } else {
                move(from: offset, to: target)
                target += 1
            }
        }
    }

    /// Exchanges two elements.
    public func swapAt(_ index1: Int, _ index2: Int) {
        let place = writablePlace()
        let count = count
        checkIndex(index1, count: count)
        checkIndex(index2, count: count)
        if index1 == index2 { return }
        guard let place else {
            items.swapAt(index1, index2)
            return
        }
        let low = Swift.min(index1, index2)
        let high = Swift.max(index1, index2)
        place.move(from: low, to: high)
        if high - low > 1 { place.move(from: high - 1, to: low) }
    }

    /// Replaces the elements in a range with any number of new elements.
    public func replaceSubrange<C: Collection, R: RangeExpression>(_ subrange: R, with newElements: C)
    where C.Element == Element, R.Bound == Int {
        let place = writablePlace()
        let range = checked(subrange.relative(to: self))
        let elements = Array(newElements)
        place?.requireNoOwners(elements, .list)
        remove(range, place)
        insert(elements, at: range.lowerBound)
    }
}

extension List: Codable where Element: Codable {
    /// Decodes the list from an array.
    public convenience init(from decoder: any Decoder) throws {
        self.init()
        try CodingDepth.check(decoder)
        var container = try decoder.unkeyedContainer()
        while !container.isAtEnd { items.append(try container.decode(Element.self)) }
    }

    /// Encodes the list as an array.
    public func encode(to encoder: any Encoder) throws {
        try CodingDepth.check(encoder, self)
        var container = encoder.unkeyedContainer()
        for element in self { try container.encode(element) }
    }
}
