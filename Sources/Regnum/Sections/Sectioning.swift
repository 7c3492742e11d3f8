// SPDX-License-Identifier: Apache-2.0
// From collections to sections.

internal import RegnumEngine

extension RealmCollection {
    /// The elements, sorted, in sections of equal keys.
    ///
    /// `keyBlock` is called with each element whenever the sections are evaluated, also on other threads for what is
    /// frozen; the same element must get the same key. Misuse without a descriptor, for links and collections as
    /// keys, and where the collection is unmanaged.
    public func sectioned<Key: _Persistable & Hashable>(
        sortDescriptors: [SortDescriptor], _ keyBlock: @escaping (Element) -> Key
    ) -> SectionedResults<Key, Element> {
        if sortDescriptors.isEmpty {
            misuse("There must be at least one SortDescriptor when using SectionedResults.")
        }
        requireSectionKey(Key.self)
        return SectionedResults(state: SectionsState(sorted(by: sortDescriptors), path: nil, keyBlock))
    }

    private func requireSectionKey<Key: _Persistable>(_ type: Key.Type) {
        if Key._shape.isCollection { refuseCollectionsAsKeys() }
        if Key._shape.target != nil { refuseLinksAsKeys() }
    }

    fileprivate func sectioned<Key: _Persistable & Hashable>(
        byPath name: String, _ keyPath: KeyPath<Element, Key>, _ sortDescriptors: [SortDescriptor]
    ) -> SectionedResults<Key, Element> {
        guard let primary = sortDescriptors.first else {
            misuse("Can not section Results with empty sortDescriptor parameter.")
        }
        requireSectionKey(Key.self)
        guard primary.keyPath == name else {
            misuse(
                "The section key path must match the primary sort descriptor. The sections are by '\(name)', the "
                    + "elements are sorted by '\(primary.keyPath)' first.")
        }
        return SectionedResults(
            state: SectionsState(sorted(by: sortDescriptors), path: name) { $0[keyPath: keyPath] })
    }
}

extension RealmCollection where Element: ObjectBase {
    /// The elements in sections of equal values of the property, ordered by it.
    public func sectioned<Key: _Persistable & Hashable>(
        by keyPath: KeyPath<Element, Key>, ascending: Bool = true
    ) -> SectionedResults<Key, Element> {
        sectioned(by: keyPath, sortDescriptors: [SortDescriptor(keyPath: keyPath, ascending: ascending)])
    }

    /// The elements in sections of equal values of the property, by which the first descriptor must sort; misuse
    /// otherwise.
    public func sectioned<Key: _Persistable & Hashable>(
        by keyPath: KeyPath<Element, Key>, sortDescriptors: [SortDescriptor]
    ) -> SectionedResults<Key, Element> {
        sectioned(byPath: _name(for: keyPath), keyPath, sortDescriptors)
    }

    /// The elements, sorted, in sections of those for which the block gives the same key.
    public func sectioned<Key: _Persistable & Hashable>(
        by block: @escaping (Element) -> Key, sortDescriptors: [SortDescriptor]
    ) -> SectionedResults<Key, Element> {
        sectioned(sortDescriptors: sortDescriptors, block)
    }
}

extension RealmCollection {
    /// The values, in order, in sections of those for which the block gives the same key. Of collections of values;
    /// misuse for objects, which have no order of their own: give sort descriptors.
    public func sectioned<Key: _Persistable & Hashable>(
        by block: @escaping (Element) -> Key, ascending: Bool = true
    ) -> SectionedResults<Key, Element> {
        sectioned(sortDescriptors: [SortDescriptor(keyPath: "self", ascending: ascending)], block)
    }
}

extension RealmCollection where Element: ProjectionObservable {
    /// The projections in sections of equal values of the projected property, ordered by it.
    public func sectioned<Key: _Persistable & Hashable>(
        by keyPath: KeyPath<Element, Key>, ascending: Bool = true
    ) -> SectionedResults<Key, Element> {
        let name = _name(for: keyPath)
        return sectioned(byPath: name, keyPath, [SortDescriptor(keyPath: name, ascending: ascending)])
    }

    /// As `sectioned(by:ascending:)`; the first descriptor must sort by the root's property behind `keyPath`.
    public func sectioned<Key: _Persistable & Hashable>(
        by keyPath: KeyPath<Element, Key>, sortDescriptors: [SortDescriptor]
    ) -> SectionedResults<Key, Element> {
        sectioned(byPath: _name(for: keyPath), keyPath, sortDescriptors)
    }

    /// The projections, sorted, in sections of those for which the block gives the same key.
    public func sectioned<Key: _Persistable & Hashable>(
        by block: @escaping (Element) -> Key, sortDescriptors: [SortDescriptor]
    ) -> SectionedResults<Key, Element> {
        sectioned(sortDescriptors: sortDescriptors, block)
    }
}
