// SPDX-License-Identifier: Apache-2.0
// Texts as a Realm tells them apart: by their bytes. Swift calls texts equal that differ in theirs (é in one scalar or
// in two), so that unmanaged collections would lose what managed ones keep.

/// A text as a key of a set or dictionary.
struct TextKey: Hashable {
    let text: String

    init(_ text: String) { self.text = text }

    static func == (left: TextKey, right: TextKey) -> Bool { left.text.utf8.elementsEqual(right.text.utf8) }

    func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }

    /// The text that an element is; nil for one of another type.
    @inline(__always)
    static func of<Element>(_ element: Element) -> TextKey? {
        if Element.self == String.self || Element.self == String?.self { return (element as? String).map(TextKey.init) }
        if Element.self == AnyRealmValue.self { return (element as? AnyRealmValue)?.stringValue.map(TextKey.init) }
        return nil
    }

    /// True where a Realm would find the elements equal.
    @inline(__always)
    static func areEqual<Element: Equatable>(_ left: Element, _ right: Element) -> Bool {
        if let left = of(left), let right = of(right) { return left == right }
        return left == right
    }
}
