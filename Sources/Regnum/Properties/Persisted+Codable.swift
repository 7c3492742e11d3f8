// SPDX-License-Identifier: Apache-2.0
// `Codable` for model classes: the compiler synthesises the coding of a class that adopts it, property by property.

internal import RegnumEngine

extension Persisted: Decodable where Value: Decodable {
    /// Decodes the value itself, with the decoder's strategies for dates and data. Throws for a null if the type is not
    /// optional.
    public init(from decoder: any Decoder) throws {
        try CodingDepth.check(decoder)
        self.init(wrappedValue: try decoder.singleValueContainer().decode(Value.self))
    }
}

extension Persisted: Encodable where Value: Encodable {
    /// Encodes the value itself. Only for unmanaged objects: throws `EncodingError` for a managed object, whose values
    /// are not stored in the object.
    ///
    /// If a property has a default that is created on first use (Date, UUID or ObjectId) and has not been read yet, a
    /// default is created for the encoding only and not kept by the object. If the object should keep the encoded
    /// value, read the property first or declare a default, as in `var id = UUID()`.
    public func encode(to encoder: any Encoder) throws {
        if flags & Self.managedFlag != 0 {
            throw EncodingError.invalidValue(
                self,
                EncodingError.Context(
                    codingPath: encoder.codingPath,
                    debugDescription: "Only unmanaged Realm objects can be encoded using automatic Codable synthesis. "
                        + "You must explicitly define encode(to:) on your model class to support managed Realm "
                        + "objects."))
        }
        try CodingDepth.check(encoder, self)
        var copy = stored
        var container = encoder.singleValueContainer()
        try container.encode(Value._peek(stored) ?? Value._filled(&copy))
    }
}

/// The limit on the nesting of values in a document: coding uses stack for each level, so a long chain of objects would
/// overflow it. Foundation's JSON decoder has a limit of 512.
enum CodingDepth {
    static let limit = 100

    /// Throws `EncodingError` if the encoder is nested too deeply.
    static func check(_ encoder: any Encoder, _ value: Any) throws {
        let path = encoder.codingPath
        if path.count <= limit { return }
        throw EncodingError.invalidValue(
            value,
            EncodingError.Context(
                codingPath: path,
                debugDescription: "Values are nested more than \(limit) levels deep: a long chain of objects, or one "
                    + "that links to itself."))
    }

    /// Throws `DecodingError` if the decoder is nested too deeply.
    static func check(_ decoder: any Decoder) throws {
        let path = decoder.codingPath
        if path.count <= limit { return }
        throw DecodingError.dataCorrupted(
            DecodingError.Context(
                codingPath: path, debugDescription: "Values are nested more than \(limit) levels deep."))
    }
}

extension KeyedDecodingContainer {
    /// Decodes an optional property, whose key may be missing.
    public func decode<Wrapped: Decodable & _PersistableInsideOptional>(
        _ type: Persisted<Wrapped?>.Type, forKey key: Key
    ) throws -> Persisted<Wrapped?> {
        Persisted(wrappedValue: try decodeIfPresent(Wrapped.self, forKey: key))
    }
}

extension KeyedEncodingContainer {
    /// Encodes nothing: linking objects are not part of an object.
    public mutating func encode<Element: Encodable>(
        _ value: Persisted<LinkingObjects<Element>>, forKey key: Key
    ) throws {}
}

// MARK: Collections

extension RealmCollection where Element: Encodable {
    /// Encodes the elements as an array.
    public func encode(to encoder: any Encoder) throws {
        try CodingDepth.check(encoder, self)
        var container = encoder.unkeyedContainer()
        for element in self { try container.encode(element) }
    }
}

extension Results: Encodable where Element: Encodable {}
extension LinkingObjects: Encodable where Element: Encodable {}
extension AnyRealmCollection: Encodable where Element: Encodable {}

extension RealmProperty: Decodable where Value: Decodable {
    /// Decodes the value itself.
    public convenience init(from decoder: any Decoder) throws {
        self.init()
        value = try Value(from: decoder)
    }
}

extension RealmProperty: Encodable where Value: Encodable {
    /// Encodes the value itself.
    public func encode(to encoder: any Encoder) throws { try value.encode(to: encoder) }
}

extension KeyedDecodingContainer {
    /// Decodes a value whose key may be missing.
    public func decode<Value: RealmPropertyType & Decodable>(
        _ type: RealmProperty<Value>.Type, forKey key: Key
    ) throws -> RealmProperty<Value> {
        try decodeIfPresent(type, forKey: key) ?? RealmProperty()
    }
}
