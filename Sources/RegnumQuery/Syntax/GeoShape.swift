// SPDX-License-Identifier: Apache-2.0
// An area on the earth, as predicates hold it. The geometry is its maker's, for trigonometry needs a C library.

package import RegnumEngine

package struct GeoShape: Sendable, Hashable {
    /// As messages show it: "GeoCircle([0, 0, 0], 10)".
    package let shown: String
    /// Why it is no area; nil where it is one.
    package let flaw: String?
    /// Boxes that together hold the area; none of them where it is the whole earth.
    let bounds: [PlaceBox]?
    /// Whether a point, degrees north and degrees east, lies in it.
    let contains: @Sendable (_ latitude: Double, _ longitude: Double) -> Bool
    /// What copies of one area have in common: closures cannot be compared.
    private let identity = Identity()
    private final class Identity: Sendable {}

    package init(
        shown: String, flaw: String?, bounds: [PlaceBox]?,
        contains: @escaping @Sendable (_ latitude: Double, _ longitude: Double) -> Bool
    ) {
        self.shown = shown
        self.flaw = flaw
        self.bounds = bounds
        self.contains = contains
    }

    /// True for copies of one area only.
    package static func == (a: GeoShape, b: GeoShape) -> Bool { a.identity === b.identity }

    package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(identity)) }
}
