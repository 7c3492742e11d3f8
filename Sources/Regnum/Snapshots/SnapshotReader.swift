// SPDX-License-Identifier: Apache-2.0
// Decodes objects as values of users' types: one after another with the same decoder.

/// Decodes objects of one class, one after another. Confined to one call of `snapshots(as:)`.
@usableFromInline
final class SnapshotReader {
    /// The decoder, owned here: nothing else may retain it between two objects.
    @exclusivity(unchecked) private var decoder: Unmanaged<RowDecoder>?
    /// The number of decoders made: one, unless the type kept a decoder.
    private(set) var decoderCount = 0

    @usableFromInline
    init() {}

    deinit { decoder?.release() }

    /// Decodes an object. It is a programmer error if the object is invalid.
    @inlinable
    func value<Value: Decodable>(_ object: ObjectBase, as type: Value.Type) throws -> Value {
        defer { end() }
        return try Value(from: begin(object))
    }

    /// Returns the decoder for an object, which must stay alive until `end`.
    @usableFromInline
    func begin(_ object: ObjectBase) -> any Decoder {
        guard let context = object.rowContext else { return LiveNode(value: object, path: []) }
        object.requireValid()
        if let decoder, decoder._withUnsafeGuaranteedRef({ $0.context == context }) {
            decoder._withUnsafeGuaranteedRef { $0.move(to: object) }
            return decoder.takeUnretainedValue()
        }
        let made = RowDecoder(object.binding)
        made.move(to: object)
        decoder?.release()
        decoder = .passRetained(made)
        decoderCount += 1
        return made
    }

    /// Ends the decoding of an object.
    @usableFromInline
    func end() {
        guard let decoder, !RowDecoder.isPrivate(decoder) else { return }
        self.decoder = nil
        RowDecoder.dismiss(decoder)
    }
}
