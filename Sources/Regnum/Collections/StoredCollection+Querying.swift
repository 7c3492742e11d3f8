// SPDX-License-Identifier: Apache-2.0
// Queries on the elements of a managed list or set.

extension _StoredCollection {
    /// The elements of the collection as the input of a query; nil while it is unmanaged.
    public final var _handle: _ResultsHandle {
        _ResultsHandle(
            state: checkedPlace()?.results(Element._shape.target, Self.words, elementName: Self.elementName),
            owned: self as? any AnyOwnedCollection)
    }
}
