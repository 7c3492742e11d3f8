// SPDX-License-Identifier: Apache-2.0
// Divides collections into sections.

internal import RegnumEngine

extension RealmCollection {
    /// The sorted elements in sections of equal keys.
    ///
    /// `keyBlock` is called with each element whenever the sections are evaluated, for frozen collections also on other
    /// threads; it must return the same key for the same element. It is a programmer error if there is no sort
    /// descriptor, if keys are links or collections, or if the collection is unmanaged.
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
    /// The elements in sections of equal values of a property, sorted by the property.
    public func sectioned<Key: _Persistable & Hashable>(
        by keyPath: KeyPath<Element, Key>, ascending: Bool = true
    ) -> SectionedResults<Key, Element> {
        sectioned(by: keyPath, sortDescriptors: [SortDescriptor(keyPath: keyPath, ascending: ascending)])
    }

    /// The elements in sections of equal values of a property. It is a programmer error if the first descriptor does
    /// not sort by that property.
    public func sectioned<Key: _Persistable & Hashable>(
        by keyPath: KeyPath<Element, Key>, sortDescriptors: [SortDescriptor]
    ) -> SectionedResults<Key, Element> {
        sectioned(byPath: _name(for: keyPath), keyPath, sortDescriptors)
    }

    /// The sorted elements in sections for which the block returns the same key.
    public func sectioned<Key: _Persistable & Hashable>(
        by block: @escaping (Element) -> Key, sortDescriptors: [SortDescriptor]
    ) -> SectionedResults<Key, Element> {
        sectioned(sortDescriptors: sortDescriptors, block)
    }
}

extension RealmCollection {
    /// The sorted values of a collection of values, in sections for which the block returns the same key. It is a
    /// programmer error to call this for objects, which have no order of their own: pass sort descriptors.
    public func sectioned<Key: _Persistable & Hashable>(
        by block: @escaping (Element) -> Key, ascending: Bool = true
    ) -> SectionedResults<Key, Element> {
        sectioned(sortDescriptors: [SortDescriptor(keyPath: "self", ascending: ascending)], block)
    }
}

extension RealmCollection where Element: ProjectionObservable {
    /// The projections in sections of equal values of a projected property, sorted by the property.
    public func sectioned<Key: _Persistable & Hashable>(
        by keyPath: KeyPath<Element, Key>, ascending: Bool = true
    ) -> SectionedResults<Key, Element> {
        let name = _name(for: keyPath)
        return sectioned(byPath: name, keyPath, [SortDescriptor(keyPath: name, ascending: ascending)])
    }

    /// Like `sectioned(by:ascending:)`; the first descriptor must sort by the root's property that `keyPath` projects.
    public func sectioned<Key: _Persistable & Hashable>(
        by keyPath: KeyPath<Element, Key>, sortDescriptors: [SortDescriptor]
    ) -> SectionedResults<Key, Element> {
        sectioned(byPath: _name(for: keyPath), keyPath, sortDescriptors)
    }

    /// The sorted projections in sections for which the block returns the same key.
    public func sectioned<Key: _Persistable & Hashable>(
        by block: @escaping (Element) -> Key, sortDescriptors: [SortDescriptor]
    ) -> SectionedResults<Key, Element> {
        sectioned(sortDescriptors: sortDescriptors, block)
    }
}
