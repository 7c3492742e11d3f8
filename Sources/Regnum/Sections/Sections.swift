// SPDX-License-Identifier: Apache-2.0
// The state of `SectionedResults` and `ResultsSection`: the sorted results, the function that returns an element's
// section key, and the sections last evaluated. Like results, sections are evaluated when first needed, and again when
// the Realm has changed.

internal import RegnumEngine
internal import RegnumQuery

/// The sections at one moment. Objects are represented by links.
struct Sections {
    /// In the order of first appearance among the sorted elements.
    var keys: [GroupKey] = []
    /// The elements of each section, in order.
    var members: [[Value]] = []
    /// For values: the position of each member among the sorted elements. Empty for objects.
    private(set) var positions: [[Int]] = []
    /// For objects: the section and row of each sorted element. Empty for values.
    private(set) var places: [Place] = []
    private var numbers: [GroupKey: Int] = [:]

    /// The section of an element, and its row in the section.
    struct Place {
        let section: Int32
        let row: Int32
    }

    /// The position of the section with that key; nil if there is none.
    func place(of key: GroupKey) -> Int? { numbers[key] }

    /// The object at a position among the sorted elements, and the key of its section. Not for values.
    subscript(position: Int) -> (member: Value, key: GroupKey) {
        let place = places[position]
        let section = Int(place.section)
        return (members[section][Int(place.row)], keys[section])
    }

    mutating func append(_ member: Value, to key: GroupKey, from position: Int? = nil) {
        let section: Int
        // Elements of a section are mostly consecutive.
        if let last = keys.last, last == key {
            section = members.count - 1
            members[section].append(member)
        } else if let number = numbers[key] {
            section = number
            members[number].append(member)
        } else {
            section = keys.count
            numbers[key] = section
            keys.append(key)
            members.append([member])
        }
        if let position {
            if section == positions.count { positions.append([position]) } else { positions[section].append(position) }
        } else {
            let row = members[section].count - 1
            places.append(
                Place(section: Int32(truncatingIfNeeded: section), row: Int32(truncatingIfNeeded: row)))
        }
    }
}

/// Confined like its results.
final class SectionsState<Key: _Persistable & Hashable, Element: RealmCollectionValue> {
    let results: Results<Element>
    /// The key path that determines the sections; nil for a block, which may read anything.
    let path: String?
    private let sectionKey: (Element) -> Key
    private var cache: (stamp: UInt64, sections: Sections)?

    init(_ results: Results<Element>, path: String?, _ sectionKey: @escaping (Element) -> Key) {
        self.results = results
        self.path = path
        self.sectionKey = sectionKey
    }

    /// The same sections in another Realm of the file.
    func moved(to home: _RealmHome) -> SectionsState? {
        results._moved(to: home, mayBeMissing: true).map { SectionsState($0, path: path, sectionKey) }
    }

    /// The current sections. O(elements), once per change.
    func current() -> Sections {
        let state = results.state
        state.check()
        return state.realm.alone {
            let now = state.realm.changeCount
            if let cache, cache.stamp == now { return cache.sections }
            let sections = evaluate(state)
            cache = (now, sections)
            return sections
        }
    }

    /// Called by an observer that has already computed the current sections, so that they are not evaluated again.
    func know(_ sections: Sections) { cache = (results.state.realm.changeCount, sections) }

    /// The key of the section that an object belongs to now.
    func key(of member: Value) -> GroupKey { groupKey(sectionKey(element(member, nil))) }

    private func evaluate(_ state: ResultsState) -> Sections {
        var sections = Sections()
        var next = results.makeIterator()
        func take(_ member: Value, _ position: Int? = nil) -> Bool {
            guard let element = next.next() else { return false }
            sections.append(member, to: groupKey(sectionKey(element)), from: position)
            return true
        }
        if state.isOfValues {
            for (position, value) in state.currentValues().enumerated() where !take(value, position) { break }
        } else {
            for key in state.allKeys() where !take(.link(key)) { break }
        }
        return sections
    }

    private func groupKey(_ key: Key) -> GroupKey {
        let raw = Key._toRaw(key)
        if raw.object != nil { refuseLinksAsKeys() }
        switch raw.mixed {
        case .object: refuseLinksAsKeys()
        case .list, .dictionary: refuseCollectionsAsKeys()
        default: break
        }
        switch raw.value {
        case .link, .typedLink: refuseLinksAsKeys()
        case .list, .dictionary: refuseCollectionsAsKeys()
        default: return GroupKey(raw.value)
        }
    }

    func key(_ key: GroupKey) -> Key { Key._fromRaw(_RawValue(key.value)) }

    /// The element for a member. `position` is for values: the position among the sorted elements when `member` was
    /// evaluated.
    func element(_ member: Value, _ position: Int?) -> Element {
        let state = results.state
        if let position { return state.valueElement(member, from: position, as: Element.self) }
        var raw = _RawValue(member)
        raw.binding = state.binding
        return Element._fromRaw(raw)
    }
}

func refuseLinksAsKeys() -> Never {
    misuse("Links are not supported as section keys. Use a property of the linked object instead.")
}

func refuseCollectionsAsKeys() -> Never {
    misuse("Collections are not supported as section keys. Use a value that is not a collection.")
}
