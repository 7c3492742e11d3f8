// SPDX-License-Identifier: Apache-2.0
// The elements of a collection in sections, as lists on a screen show them.

public import Foundation
internal import RegnumEngine
internal import RegnumQuery

/// The common interface of `SectionedResults` and its sections.
public protocol RealmSectionedResult: RandomAccessCollection, Equatable, ThreadConfined, CustomStringConvertible
where Index == Int {
    /// The type of the key that determines an element's section.
    associatedtype Key: _Persistable & Hashable
    /// An element of a section.
    associatedtype SectionElement: RealmCollectionValue
    /// For observers.
    var _sections: _SectionsHandle<Key, SectionElement> { get }
}

/// The internals of sectioned results, or of the section with the given key.
public struct _SectionsHandle<Key: _Persistable & Hashable, Element: RealmCollectionValue> {
    let state: SectionsState<Key, Element>
    let section: GroupKey?
}

extension RealmSectionedResult {
    /// The Realm of the elements.
    public var realm: Realm? { _sections.state.results.realm }

    /// True after `Realm.invalidate`.
    public var isInvalidated: Bool { _sections.state.results.isInvalidated }

    /// True if the Realm is frozen.
    public var isFrozen: Bool { _sections.state.results.isFrozen }
}

/// The elements of a collection in sections of equal keys: live, and evaluated lazily.
///
/// ```swift
/// let people = realm.objects(Person.self).sectioned(by: \.initial)
/// for section in people {
///     header(section.key)
///     for person in section { row(person.name) }
/// }
/// ```
///
/// Sections are in the order of their first elements in the sorted collection. Confined to the thread of the Realm. The
/// first access after a change evaluates all sections, O(elements).
public struct SectionedResults<Key: _Persistable & Hashable, SectionElement: RealmCollectionValue> {
    let state: SectionsState<Key, SectionElement>

    init(state: SectionsState<Key, SectionElement>) { self.state = state }

    /// The keys of the sections, in order.
    public var allKeys: [Key] { state.current().keys.map { state.key($0) } }
}

extension SectionedResults: RealmSectionedResult {
    public typealias Index = Int
    public typealias Indices = Range<Int>
    public typealias Element = ResultsSection<Key, SectionElement>

    public var startIndex: Int { 0 }
    public var endIndex: Int { count }

    /// The number of sections.
    public var count: Int { state.current().keys.count }

    /// The section at a position. It is a programmer error if the position is out of bounds.
    public subscript(position: Int) -> ResultsSection<Key, SectionElement> {
        let sections = state.current()
        checkIndex(position, count: sections.keys.count)
        return ResultsSection(state: state, groupKey: sections.keys[position])
    }

    /// The element at an index path of section and item. It is a programmer error if the path is out of bounds, or does
    /// not have two indexes.
    public subscript(indexPath: IndexPath) -> SectionElement {
        guard indexPath.count == 2 else {
            misuse("An index path of sectioned results has a section and an item; \(indexPath) does not.")
        }
        return self[indexPath[0]][indexPath[1]]
    }

    /// Iterates over the current sections.
    public func makeIterator() -> SectionedResultsIterator<Key, SectionElement> {
        SectionedResultsIterator(state, state.current().keys)
    }

    public var _sections: _SectionsHandle<Key, SectionElement> { _SectionsHandle(state: state, section: nil) }

    public func _moved(to home: _RealmHome, mayBeMissing: Bool) -> SectionedResults? {
        state.moved(to: home).map { SectionedResults(state: $0) }
    }

    /// True for copies of one value; two separately created values are not equal.
    public static func == (left: SectionedResults, right: SectionedResults) -> Bool { left.state === right.state }

    /// The sections with their elements.
    public var description: String {
        let lines = isInvalidated ? [] : map { "\t\($0)".replacing("\n", with: "\n\t") }
        return "SectionedResults<\(Key.self), \(SectionElement.self)> (\n" + lines.joined(separator: ",\n") + "\n)"
    }
}

/// One section of `SectionedResults`, live.
///
/// A section is identified by its key: it stays valid when its position changes, and is empty while no element has the
/// key.
public struct ResultsSection<Key: _Persistable & Hashable, SectionElement: RealmCollectionValue> {
    let state: SectionsState<Key, SectionElement>
    let groupKey: GroupKey

    init(state: SectionsState<Key, SectionElement>, groupKey: GroupKey) {
        self.state = state
        self.groupKey = groupKey
    }

    /// The key that all elements of the section have.
    public var key: Key { state.key(groupKey) }
}

extension ResultsSection: Identifiable {
    /// The key.
    public var id: Key { key }
}

extension ResultsSection: RealmSectionedResult {
    public typealias Index = Int
    public typealias Indices = Range<Int>
    public typealias Element = SectionElement

    public var startIndex: Int { 0 }
    public var endIndex: Int { count }

    /// The number of elements; 0 while no section has the key.
    public var count: Int { withMembers { members, _ in members.count } }

    /// The element at a position. It is a programmer error if the position is out of bounds.
    public subscript(position: Int) -> SectionElement {
        withMembers { members, positions in
            checkIndex(position, count: members.count)
            return state.element(members[position], positions?[position])
        }
    }

    /// Iterates over the elements in their current order.
    public func makeIterator() -> SectionIterator<SectionElement> {
        withMembers { [state] members, positions in
            let elements = members.indices.lazy.map { state.element(members[$0], positions?[$0]) }
            return SectionIterator(elements.makeIterator())
        }
    }

    /// Calls `body` with the current members and, for values, their positions; with no members while no section has the
    /// key.
    private func withMembers<R>(_ body: ([Value], [Int]?) -> R) -> R {
        let sections = state.current()
        guard let place = sections.place(of: groupKey) else { return body([], nil) }
        return body(sections.members[place], place < sections.positions.count ? sections.positions[place] : nil)
    }

    public var _sections: _SectionsHandle<Key, SectionElement> { _SectionsHandle(state: state, section: groupKey) }

    public func _moved(to home: _RealmHome, mayBeMissing: Bool) -> ResultsSection? {
        state.moved(to: home).map { ResultsSection(state: $0, groupKey: groupKey) }
    }

    /// True for the same section of one `SectionedResults`.
    public static func == (left: ResultsSection, right: ResultsSection) -> Bool {
        left.state === right.state && left.groupKey == right.groupKey
    }

    /// The key and the first hundred elements.
    public var description: String {
        var lines = isInvalidated ? [] : prefix(100).map { "\t\($0)".replacing("\n", with: "\n\t") }
        if !isInvalidated, count > 100 { lines.append("\t... \(count - 100) objects skipped.") }
        return "ResultsSection<\(key)> (\n" + lines.joined(separator: ",\n") + "\n)"
    }
}

/// Iterates over the sections as they were when the loop began.
public struct SectionedResultsIterator<Key: _Persistable & Hashable, SectionElement: RealmCollectionValue>:
    IteratorProtocol
{
    private let state: SectionsState<Key, SectionElement>
    private var keys: IndexingIterator<[GroupKey]>

    init(_ state: SectionsState<Key, SectionElement>, _ keys: [GroupKey]) {
        self.state = state
        self.keys = keys.makeIterator()
    }

    /// The next section, or nil at the end.
    public mutating func next() -> ResultsSection<Key, SectionElement>? {
        keys.next().map { ResultsSection(state: state, groupKey: $0) }
    }
}

/// Iterates over the elements of a section as they were when the loop began. The objects themselves are live.
public struct SectionIterator<Element: RealmCollectionValue>: IteratorProtocol {
    private var elements: LazyMapSequence<Range<Int>, Element>.Iterator

    init(_ elements: LazyMapSequence<Range<Int>, Element>.Iterator) { self.elements = elements }

    /// The next element, or nil at the end.
    public mutating func next() -> Element? { elements.next() }
}

#if !canImport(ObjectiveC)
    // On Apple's systems, the UI frameworks define these members.
    extension IndexPath {
        /// Creates the path of an item in a section.
        public init(item: Int, section: Int) { self.init(indexes: [section, item]) }

        /// Same as `init(item:section:)`.
        public init(row: Int, section: Int) { self.init(indexes: [section, row]) }

        /// The position in the section. The path must have two indexes.
        public var item: Int { self[1] }

        /// Same as `item`.
        public var row: Int { self[1] }

        /// The position of the section.
        public var section: Int { self[0] }
    }
#endif
