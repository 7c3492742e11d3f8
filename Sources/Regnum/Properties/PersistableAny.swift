// SPDX-License-Identifier: Apache-2.0
// `AnyRealmValue` as a stored type: a mixed column. When a value that holds objects or collections is stored, it is
// kept unchanged until its Realm is known (`_RawValue.mixed`, `RealmCore.mixedValue`). When links and collections are
// read, they need the location they were read from (`_RawValue.place`).

internal import Foundation
internal import RegnumEngine

extension AnyRealmValue: _Persistable, RealmCollectionValue, RealmPropertyType {
    public typealias PersistedType = AnyRealmValue
    public typealias _Stored = AnyRealmValue
    public static var _shape: _PropertyShape { _PropertyShape(.any, code: .mixed) }
    public static var _unset: AnyRealmValue { .none }
    public static var _hasFixedSize: Bool { false }

    public static func _load(
        _ column: UnsafeRawPointer, _ row: Int, _ object: ObjectBase, _ offset: Int
    ) -> AnyRealmValue {
        if column.assumingMemoryBound(to: ColumnView.self).pointee.isNull(row) { return .none }
        let number =
            (column - UnsafeRawPointer(object.rowColumns.unsafelyUnwrapped)) / MemoryLayout<ColumnView>.stride
        return PropertyLocation(object, column: number, path: []).mixedProperty
    }

    public static func _store(
        _ value: AnyRealmValue, _ column: UnsafeMutableRawPointer, _ row: Int, _ object: ObjectBase
    ) {
        fatalError("a mixed value is stored through its table")
    }

    public static func _assign(_ value: AnyRealmValue, _ object: ObjectBase, _ column: Int) {
        let binding = object.binding
        let new = binding.core.mixedValue(value) { binding.core.adopt($0, for: .property) }
        engine { () throws(EngineError) in try binding.table.set(new, column, of: object.rowKey) }
    }

    public static func _fromRaw(_ raw: _RawValue) -> AnyRealmValue {
        switch raw.value {
        case .null: return raw.mixed ?? .none
        case .bool(let value): return .bool(value)
        case .int(let value): return .int(Int(value))
        case .float(let value): return .float(value)
        case .double(let value): return .double(value)
        case .string(let value): return .string(value)
        case .data(let value): return .data(Data(value))
        case .date: return .date(Date._fromRaw(raw))
        case .objectID(let low, let high): return .objectId(ObjectId(low: low, high: high))
        case .uuid(let low, let high): return .uuid(UUID(words: (low, high)))
        case .decimal128(let low, let high): return .decimal128(Decimal128(bits: DecimalBits(low: low, high: high)))
        case .link: return .none
        case .typedLink(let table, let key): return raw.place?.object(table, key).map { .object($0) } ?? .none
        case .list:
            let list = List<AnyRealmValue>()
            if let place = raw.place { list.becomeManaged(place) }
            return .list(list)
        case .dictionary:
            let map = Map<String, AnyRealmValue>()
            if let place = raw.place { map.becomeManaged(place) }
            return .dictionary(map)
        }
    }

    public static func _toRaw(_ value: AnyRealmValue) -> _RawValue {
        if let scalar = value.scalar { return _RawValue(scalar) }
        var raw = _RawValue(.null)
        raw.mixed = value
        return raw
    }

    public static var _isBridgedByName: Bool { true }

    /// Returns the value in the form that subscripts return: the value itself, nil for `.none`.
    public static func _dynamic(_ value: AnyRealmValue) -> Any? {
        switch value {
        case .none: nil
        case .int(let value): value
        case .bool(let value): value
        case .float(let value): value
        case .double(let value): value
        case .string(let value): value
        case .data(let value): value
        case .date(let value): value
        case .object(let value): value
        case .objectId(let value): value
        case .decimal128(let value): value
        case .uuid(let value): value
        case .dictionary(let value): value
        case .list(let value): value
        }
    }

    public static func _traced(_ recorder: _KeyPathRecorder) -> AnyRealmValue { .none }

    /// Converts any value that can be stored; arrays become lists, and dictionaries with String keys become
    /// dictionaries. Nesting deeper than can be stored is a programmer error.
    public static func _coerced(_ value: Any) -> AnyRealmValue? { coerced(value, 0) }

    private static func coerced(_ value: Any, _ depth: Int) -> AnyRealmValue? {
        guard let value = unwrapped(value) else { return AnyRealmValue.none }
        if let value = value as? AnyRealmValue { return value }
        // Casts of an array or a dictionary to a class convert all elements, at every depth.
        if isInstance(value) { return coerced(instance: value, depth) }
        switch value {
        case let value as any _HasPersistedType: return stored(value, depth)
        case let number as Decimal: return .decimal128(Decimal128(value: number))
        case let text as Substring: return .string(String(text))
        case let number as any BinaryInteger: return Int(exactly: number).map { .int($0) }
        default: return collection(value, depth)
        }
    }

    /// Converts an instance of a class.
    private static func coerced(instance: Any, _ depth: Int) -> AnyRealmValue? {
        switch instance {
        case let object as Object: return .object(object)
        case is ObjectBase: return nil
        case let list as List<AnyRealmValue>: return .list(list)
        case let map as Map<String, AnyRealmValue>: return .dictionary(map)
        case let value as any _HasPersistedType: return stored(value, depth)
        case let number as NSDecimalNumber: return .decimal128(Decimal128(number: number))
        case let number as NSNumber: return self.number(number)
        case let text as NSString: return .string(text as String)
        default: return collection(instance, depth)
        }
    }

    /// Converts a value of a type that can be stored on its own; enums become their raw values.
    private static func stored<T: _HasPersistedType>(_ value: T, _ depth: Int) -> AnyRealmValue? {
        let raw = T._toRaw(value)
        if case .null = raw.value { return collection(value, depth) }
        return _fromRaw(raw)
    }

    private static func number(_ number: NSNumber) -> AnyRealmValue {
        switch UInt8(bitPattern: number.objCType.pointee) {
        case UInt8(ascii: "B"): .bool(number.boolValue)
        case UInt8(ascii: "c") where number.int8Value == 0 || number.int8Value == 1: .bool(number.boolValue)
        case UInt8(ascii: "f"): .float(number.floatValue)
        case UInt8(ascii: "d"): .double(number.doubleValue)
        // As with large numbers in JSON, which become decimals.
        case UInt8(ascii: "Q") where number.uint64Value > UInt64(Int.max): .decimal128(Decimal128(number: number))
        default: .int(number.intValue)
        }
    }

    private static func collection(_ value: Any, _ depth: Int) -> AnyRealmValue? {
        if depth >= MixedCodec.depthLimit, Coercion.entries(value) != nil || Coercion.elements(value) != nil {
            refuseDepth()
        }
        // Values of any type cannot be sets, and a list would be a different value.
        if value is any SetAlgebra || isInstance(value) && (value is NSSet || value is any AnyOwnedSet) { return nil }
        if let entries = Coercion.entries(value) {
            var values: [String: AnyRealmValue] = [:]
            for (key, value) in entries {
                guard let value = coerced(value, depth + 1) else { return nil }
                values[key] = value
            }
            return .fromDictionary(values)
        }
        guard let elements = Coercion.elements(value) else { return nil }
        var values: [AnyRealmValue] = []
        for element in elements {
            guard let value = coerced(element, depth + 1) else { return nil }
            values.append(value)
        }
        return .fromArray(values)
    }

    /// Reports a programmer error: collections are nested more deeply than can be stored.
    @inline(never)
    fileprivate static func refuseDepth() -> Never { misuse(depthMessage) }

    static let depthMessage =
        "Lists and dictionaries can be nested at most \(MixedCodec.depthLimit) levels deep. Is a collection an element "
        + "of itself?"

    /// The value for the engine; nil for objects and collections.
    var scalar: Value? {
        switch self {
        case .none: .null
        case .int(let value): .int(Int64(value))
        case .bool(let value): .bool(value)
        case .float(let value): .float(value)
        case .double(let value): .double(value)
        case .string(let value): String._toRaw(value).value
        case .data(let value): Data._toRaw(value).value
        case .date(let value): Date._toRaw(value).value
        case .objectId(let value): ObjectId._toRaw(value).value
        case .decimal128(let value): Decimal128._toRaw(value).value
        case .uuid(let value): UUID._toRaw(value).value
        case .object, .dictionary, .list: nil
        }
    }
}

extension AnyRealmValue: _Indexable, MinMaxType, AddableType, SortableType, _QueryNumeric {}

extension AnyRealmValue {
    /// Calls `body` with each object that the value is or contains, in order. Objects nested more deeply than can be
    /// stored are skipped.
    func forEachObject(_ depth: Int = 0, _ body: (Object) -> Void) {
        switch self {
        case .object(let object): body(object)
        case .list(let list) where depth < MixedCodec.depthLimit:
            for element in list { element.forEachObject(depth + 1, body) }
        case .dictionary(let map) where depth < MixedCodec.depthLimit:
            for pair in map.pairs { pair.value.forEachObject(depth + 1, body) }
        default: break
        }
    }

    /// Returns whether the value's collections are nested no more deeply than can be stored.
    func isStorable(_ depth: Int = 0) -> Bool {
        switch self {
        case .object: depth < MixedCodec.depthLimit
        case .list(let list): depth < MixedCodec.depthLimit && list.allSatisfy { $0.isStorable(depth + 1) }
        case .dictionary(let map):
            depth < MixedCodec.depthLimit && map.pairs.allSatisfy { $0.value.isStorable(depth + 1) }
        default: true
        }
    }

    /// Reports a programmer error for a value that a set cannot hold.
    func requireSetElement() {
        switch self {
        case .list, .dictionary: misuse("Sets cannot hold lists or dictionaries.")
        default: break
        }
    }
}

extension RealmCore {
    /// Converts a mixed value for the engine. `key` returns the key of an object, which it adds if the object is
    /// unmanaged. `depth` is the number of collections that will contain the value. Nesting deeper than 100 and keys
    /// that cannot be stored are programmer errors.
    func mixedValue(_ value: AnyRealmValue, depth: Int = 0, _ key: (ObjectBase) -> ObjectKey) -> Value {
        if let scalar = value.scalar { return scalar }
        if depth >= MixedCodec.depthLimit { AnyRealmValue.refuseDepth() }
        switch value {
        case .object(let object):
            let found = key(object)
            // When searching for a value, its object may belong to no Realm and therefore have no table.
            return found == .none ? .null : .typedLink(object.binding.tableKey, found)
        case .list(let list):
            return .list(list.map { mixedValue($0, depth: depth + 1, key) })
        case .dictionary(let map):
            var entries = map.pairs.map { pair in
                checkKey(pair.key)
                return DictionaryEntry(key: pair.key, value: mixedValue(pair.value, depth: depth + 1, key))
            }
            entries.sort { MixedOrder.compare($0.key, $1.key) < 0 }
            return .dictionary(entries)
        default: return .null
        }
    }

    /// Like `mixedValue`, for searching; nil if the value contains an object that is not in this Realm.
    func soughtMixedValue(_ value: AnyRealmValue) -> Value? {
        var isHere = true
        let found = mixedValue(value) { object in
            guard object.rowContext != nil, object.core === self else {
                isHere = false
                return .none
            }
            object.requireValid()
            return object.rowKey
        }
        return isHere ? found : nil
    }

}

extension PropertyLocation {
    /// Returns the object that a link of a mixed value points to: typed if the Realm knows its class, otherwise
    /// dynamic. Objects read from a dynamic object are dynamic, as with its other links.
    fileprivate func object(_ table: TableKey, _ key: ObjectKey) -> Object? {
        let isDynamic = binding.schema.type == DynamicObject.self
        let known = isDynamic ? nil : core.binding(forTable: table)
        let target = known ?? core.session.table(table).map { core.dynamicBinding($0) }
        return target?.makeAccessor(key) as? Object
    }
}
