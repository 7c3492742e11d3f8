// SPDX-License-Identifier: Apache-2.0
// Coding of model classes: a class that adopts `Codable` gets its code from the compiler, property by property.

internal import RegnumEngine

extension Persisted: Decodable where Value: Decodable {
    /// The value itself, as the decoder's strategies for dates and data say. A null where the type is not optional is
    /// refused.
    public init(from decoder: any Decoder) throws {
        try CodingDepth.check(decoder)
        self.init(wrappedValue: try decoder.singleValueContainer().decode(Value.self))
    }
}

extension Persisted: Encodable where Value: Encodable {
    /// The value itself. Only of unmanaged objects: the values of managed ones are not in the object. Throws
    /// `EncodingError` for them.
    ///
    /// A default that is made on first use, of a Date, a UUID or an ObjectId, is made for the encoding alone where the
    /// property has not been read yet: the object does not keep it. Read the property first, or give it a default, as
    /// in `var id = UUID()`, where the object is to go on with what was encoded.
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

/// How deep values may lie in one another in a document: coding them needs the stack for each level, so that a long chain
/// of objects would overflow it. Foundation's JSON decoder has a limit of 512.
enum CodingDepth {
    static let limit = 100

    /// Throws `EncodingError` where the encoder is too deep.
    static func check(_ encoder: any Encoder, _ value: Any) throws {
        let path = encoder.codingPath
        if path.count <= limit { return }
        throw EncodingError.invalidValue(
            value,
            EncodingError.Context(
                codingPath: path,
                debugDescription: "Values lie in one another more than \(limit) deep: a long chain of objects, or one "
                    + "that links to itself."))
    }

    /// Throws `DecodingError` where the decoder is too deep.
    static func check(_ decoder: any Decoder) throws {
        let path = decoder.codingPath
        if path.count <= limit { return }
        throw DecodingError.dataCorrupted(
            DecodingError.Context(
                codingPath: path, debugDescription: "Values lie in one another more than \(limit) deep."))
    }
}

extension KeyedDecodingContainer {
    /// A property that is optional may be missing.
    public func decode<Wrapped: Decodable & _PersistableInsideOptional>(
        _ type: Persisted<Wrapped?>.Type, forKey key: Key
    ) throws -> Persisted<Wrapped?> {
        Persisted(wrappedValue: try decodeIfPresent(Wrapped.self, forKey: key))
    }
}

extension KeyedEncodingContainer {
    /// Linking objects are not part of an object.
    public mutating func encode<Element: Encodable>(
        _ value: Persisted<LinkingObjects<Element>>, forKey key: Key
    ) throws {}
}

// MARK: Collections

extension RealmCollection where Element: Encodable {
    /// The elements as an array.
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
    /// The value itself.
    public convenience init(from decoder: any Decoder) throws {
        self.init()
        value = try Value(from: decoder)
    }
}

extension RealmProperty: Encodable where Value: Encodable {
    /// The value itself.
    public func encode(to encoder: any Encoder) throws { try value.encode(to: encoder) }
}

extension KeyedDecodingContainer {
    /// A value that may be missing.
    public func decode<Value: RealmPropertyType & Decodable>(
        _ type: RealmProperty<Value>.Type, forKey key: Key
    ) throws -> RealmProperty<Value> {
        try decodeIfPresent(type, forKey: key) ?? RealmProperty()
    }
}
