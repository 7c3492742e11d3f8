// SPDX-License-Identifier: Apache-2.0
// Mutating methods of `Map`. A managed map can be changed only in a write transaction; unmanaged objects are added to
// its Realm.

internal import RegnumEngine

/// Reports a programmer error if the key cannot be stored.
func checkKey(_ key: String) {
    if let problem = keyProblem(key) { misuse(problem) }
    checkLength("Key", key.utf8.count, ByteLimits.string)
}

/// Returns why the key cannot be stored; nil if it can. Does not check the length of the key.
func keyProblem(_ key: String) -> String? {
    if key.utf8.first == UInt8(ascii: "$") { return "Dictionary::insert: key must not start with '$': '\(key)'." }
    if key.utf8.contains(UInt8(ascii: ".")) { return "Dictionary::insert: key must not contain '.': '\(key)'." }
    return nil
}

extension Map {
    /// Sets the value of a key. If the old value is an embedded object, it is deleted. In a managed map, a key that
    /// starts with "$" or contains "." is a programmer error.
    public func updateValue(_ value: Value, forKey key: Key) {
        if let known, known.isWriting, let value = plainEngineValue(value) {
            let name = key._mapKey
            checkKey(name)
            return known.withTable { table throws(EngineError) in
                try table.dictionarySet(name, value, known.column, of: known.key)
            }
        }
        guard let place = writablePlace() else {
            requireClass(of: CollectionOfOne(value), .dictionary)
            entries[TextKey(key._mapKey)] = value
            return
        }
        checkKey(key._mapKey)
        set(place.engineValue(value, .dictionary), key._mapKey, place)
    }

    private func set(_ value: RegnumEngine.Value, _ key: String, _ place: PropertyLocation) {
        place.setEntry(key, value)
    }

    /// Sets all pairs. If a key occurs more than once, the last pair wins.
    func insert(_ pairs: [(Key, Value)]) {
        guard let place = writablePlace() else {
            for (key, value) in pairs { updateValue(value, forKey: key) }
            return
        }
        // Convert all pairs first, so that an invalid one leaves the map unchanged.
        let stored = pairs.map { key, value in
            checkKey(key._mapKey)
            return (key: key._mapKey, value: place.engineValue(value, .dictionary))
        }
        for (key, value) in stored { set(value, key, place) }
    }

    /// Removes the entry of a key, if there is one. An object stays in its Realm; an embedded object is deleted.
    public func removeObject(for key: Key) {
        guard let place = writablePlace() else {
            entries[TextKey(key._mapKey)] = nil
            return
        }
        checkKey(key._mapKey)
        place.removeEntry(key._mapKey)
    }

    /// Removes all entries. Objects stay in their Realm; embedded objects are deleted.
    public func removeAll() {
        guard let place = writablePlace() else {
            entries = [:]
            return
        }
        place.removeAllEntries()
    }

    /// Merges the pairs into the map. `combine` resolves duplicate keys; it is passed the current and the new value.
    public func merge<S: Sequence>(
        _ keysAndValues: S, uniquingKeysWith combine: (Value, Value) throws -> Value
    ) rethrows where S.Element == (key: Key, value: Value) {
        for (key, value) in Array(keysAndValues) {
            updateValue(try self[key].map { try combine($0, value) } ?? value, forKey: key)
        }
    }

    /// Merges the entries of another map into this one. `combine` resolves duplicate keys; it is passed the current and
    /// the new value.
    public func merge(
        _ dictionary: Map<Key, Value>, uniquingKeysWith combine: (Value, Value) throws -> Value
    ) rethrows {
        try merge(dictionary.pairs, uniquingKeysWith: combine)
    }

    /// Merges the entries of a dictionary into the map. `combine` resolves duplicate keys; it is passed the current and
    /// the new value.
    public func merge(
        _ dictionary: [Key: Value], uniquingKeysWith combine: (Value, Value) throws -> Value
    ) rethrows {
        try merge(dictionary.map { (key: $0.key, value: $0.value) }, uniquingKeysWith: combine)
    }
}

extension Map: Codable where Key: Codable, Value: Codable {
    /// Decodes the map from a keyed container whose names are the keys.
    public convenience init(from decoder: any Decoder) throws {
        self.init()
        try CodingDepth.check(decoder)
        let container = try decoder.container(keyedBy: MapCodingKey.self)
        for key in container.allKeys {
            entries[TextKey(key.stringValue)] = try container.decode(Value.self, forKey: key)
        }
    }

    /// Encodes the map as a keyed container whose names are the keys.
    public func encode(to encoder: any Encoder) throws {
        try CodingDepth.check(encoder, self)
        var container = encoder.container(keyedBy: MapCodingKey.self)
        for (key, value) in pairs { try container.encode(value, forKey: MapCodingKey(stringValue: key._mapKey)) }
    }
}

/// A map key as a coding key.
private struct MapCodingKey: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }
    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { return nil }
}
