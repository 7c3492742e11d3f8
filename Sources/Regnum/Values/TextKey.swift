// SPDX-License-Identifier: Apache-2.0
// Comparison of strings by their bytes, as in a Realm. Swift treats strings as equal if they differ only in
// normalisation (é as one scalar or as two), so unmanaged collections would lose elements that managed ones keep.

/// A string as a key of a set or dictionary.
struct TextKey: Hashable {
    let text: String

    init(_ text: String) { self.text = text }

    static func == (left: TextKey, right: TextKey) -> Bool { left.text.utf8.elementsEqual(right.text.utf8) }

    func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }

    /// Returns the key of an element that is a string; nil for any other element.
    @inline(__always)
    static func of<Element>(_ element: Element) -> TextKey? {
        if Element.self == String.self || Element.self == String?.self { return (element as? String).map(TextKey.init) }
        if Element.self == AnyRealmValue.self { return (element as? AnyRealmValue)?.stringValue.map(TextKey.init) }
        return nil
    }

    /// Returns whether a Realm would treat the elements as equal.
    @inline(__always)
    static func areEqual<Element: Equatable>(_ left: Element, _ right: Element) -> Bool {
        if let left = of(left), let right = of(right) { return left == right }
        return left == right
    }
}
