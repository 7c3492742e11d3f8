// SPDX-License-Identifier: Apache-2.0
// An area on the earth, as stored in predicates. The caller supplies the geometry, because trigonometry needs the C
// library.

package import RegnumEngine

package struct GeoShape: Sendable, Hashable {
    /// The text for error messages: "GeoCircle([0, 0, 0], 10)".
    package let shown: String
    /// The reason it is not a valid area; nil if it is one.
    package let flaw: String?
    /// Boxes that together contain the area; nil if it is the whole earth.
    let bounds: [PlaceBox]?
    /// Returns whether a point, in degrees north and degrees east, lies in the area.
    let contains: @Sendable (_ latitude: Double, _ longitude: Double) -> Bool
    /// Identifies copies of one area, because closures cannot be compared.
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

    /// True only for copies of one area.
    package static func == (a: GeoShape, b: GeoShape) -> Bool { a.identity === b.identity }

    package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(identity)) }
}
