// SPDX-License-Identifier: Apache-2.0
// Conversion of predicate arguments, which are of type `Any`, to constants of the query language.

internal import Foundation
internal import RegnumEngine
internal import RegnumQuery

extension Constant {
    /// Converts any value to a constant. `realm` is the Realm being queried, if known; objects of another Realm are
    /// marked. `depth` is the number of collections that contain the value.
    init(any value: Any?, realm: RealmCore?, depth: Int = 0) {
        guard let value else {
            self = .null
            return
        }
        if let plain = PredicateArguments.plain(value) {
            self = plain
            return
        }
        guard let value = unwrapped(value) else {
            self = .null
            return
        }
        if depth >= MixedCodec.depthLimit {
            self = .unsupported(
                typeName: "\(type(of: value))",
                description: "a collection nested more than \(MixedCodec.depthLimit) levels deep")
            return
        }
        if let plain = PredicateArguments.plain(value) ?? PredicateArguments.array(value, realm, depth) {
            self = plain
            return
        }
        if isInstance(value), let constant = PredicateArguments.instance(value, realm) {
            self = constant
            return
        }
        switch value {
        case let collection as any RealmCollectionBase:
            self = .array(PredicateArguments.constants(collection, realm, depth))
        case let map as any AnyMap: self = .dictionary(PredicateArguments.members(map, realm, depth))
        case .object(let object)? as AnyRealmValue?: self = .object(PredicateArguments.object(object, realm))
        case .list(let list)? as AnyRealmValue?: self = .array(PredicateArguments.constants(list, realm, depth))
        case .dictionary(let map)? as AnyRealmValue?: self = .dictionary(PredicateArguments.members(map, realm, depth))
        case let stored as any _HasPersistedType: self = PredicateArguments.constant(stored, realm)
        case let area as any GeoArea: self = .geo(area.shape)
        case let text as Substring: self = .string(String(text))
        case let number as Decimal: self = PredicateArguments.constant(Decimal128(value: number), realm)
        case let predicate as ParsedPredicate: self = .predicate(predicate.predicate(for: realm))
        default:
            self =
                PredicateArguments.integerConstant(value)
                ?? PredicateArguments.dictionaryConstant(value, realm, depth)
                ?? PredicateArguments.sequenceConstant(value, realm, depth)
                ?? .unsupported(typeName: "\(type(of: value))", description: "\(value)")
        }
    }

    fileprivate init(_ value: Value) {
        switch value {
        case .null: self = .null
        case .bool(let value): self = .bool(value)
        case .int(let value): self = .int(value)
        case .float(let value): self = .float(value)
        case .double(let value): self = .double(value)
        case .string(let value): self = .string(value)
        case .data(let value): self = .data(value)
        case .date(let value): self = .date(value)
        case .objectID(let low, let high): self = .objectID(low, high)
        case .uuid(let low, let high): self = .uuid(low, high)
        case .decimal128(let low, let high): self = .decimal128(low, high)
        case .link, .typedLink, .list, .dictionary:
            self = .unsupported(typeName: "a value of any type", description: "\(value)")
        }
    }
}

enum PredicateArguments {
    /// Converts a value of a common type, tested by its exact type: a failing cast takes several hundred nanoseconds,
    /// and a set may have many thousands of values.
    fileprivate static func plain(_ value: Any) -> Constant? {
        let type = type(of: value)
        if type == String.self { return (value as? String).map { .string($0) } }
        if type == Int.self { return (value as? Int).map { .int(Int64($0)) } }
        if type == Double.self { return (value as? Double).map { .double($0) } }
        if type == Bool.self { return (value as? Bool).map { .bool($0) } }
        if type == Date.self { return (value as? Date).map { constant($0, nil) } }
        if type == UUID.self { return (value as? UUID).map { constant($0, nil) } }
        if type == ObjectId.self { return (value as? ObjectId).map { constant($0, nil) } }
        if type == Decimal128.self { return (value as? Decimal128).map { constant($0, nil) } }
        return nil
    }

    /// Converts arrays of the types that large sets have: code for any sequence takes longer per value.
    fileprivate static func array(_ value: Any, _ realm: RealmCore?, _ depth: Int) -> Constant? {
        let type = type(of: value)
        if type == [Int].self, let numbers = value as? [Int] { return .array(numbers.map { .int(Int64($0)) }) }
        if type == [String].self, let texts = value as? [String] { return .array(texts.map { .string($0) }) }
        if type == [Any].self, let values = value as? [Any] {
            return .array(values.map { Constant(any: $0, realm: realm, depth: depth + 1) })
        }
        return nil
    }

    static func constants<S: Sequence>(_ sequence: S, _ realm: RealmCore?, _ depth: Int) -> [Constant] {
        var constants: [Constant] = []
        constants.reserveCapacity(sequence.underestimatedCount)
        for element in sequence { constants.append(Constant(any: element, realm: realm, depth: depth + 1)) }
        return constants
    }

    fileprivate static func members(
        _ map: any AnyMap, _ realm: RealmCore?, _ depth: Int
    ) -> [EmbeddedArgument.Member] {
        map.anyEntries.map {
            EmbeddedArgument.Member($0.key, Constant(any: $0.value, realm: realm, depth: depth + 1))
        }
    }

    /// Converts a dictionary with String keys.
    fileprivate static func dictionaryConstant(_ value: Any, _ realm: RealmCore?, _ depth: Int) -> Constant? {
        guard let entries = Coercion.entries(value) else { return nil }
        return .dictionary(
            entries.map { EmbeddedArgument.Member($0.key, Constant(any: $0.value, realm: realm, depth: depth + 1)) })
    }

    static func constant<T: _HasPersistedType>(_ value: T, _ realm: RealmCore?) -> Constant {
        let raw = T._toRaw(value)
        if case .object(let object)? = raw.mixed { return .object(self.object(object, realm)) }
        if let object = raw.object {
            return T._shape.isCustom
                ? .embedded(embedded(object, of: value, realm)) : .object(self.object(object, realm))
        }
        return Constant(raw.value)
    }

    /// Converts a custom value that is stored as `object`; each property or element that stores it has an object of its
    /// own.
    private static func embedded<T>(_ object: ObjectBase, of value: T, _ realm: RealmCore?) -> EmbeddedArgument {
        let schema = object.classSchema
        var argument = EmbeddedArgument(
            className: schema.name, typeName: "\(T.self)", shown: "\(value)", members: [])
        for property in schema.properties where !property.isComputed {
            if property.hasTarget || property.isOwnedCollection {
                argument.flaw =
                    "Unsupported property '\(schema.name).\(property.name)' for memberwise equality query: "
                    + (property.isOwnedCollection ? "equality on collections" : "object links")
                    + " is not implemented."
                break
            }
            argument.members.append(
                EmbeddedArgument.Member(property.name, Constant(any: property.get(object), realm: realm)))
        }
        return argument
    }

    /// Returns the information a predicate keeps about an object. If the Realm is not known yet, that includes the
    /// object itself, so that it can be resolved later. Otherwise the object is not kept: results would retain the
    /// objects that their own condition mentions, and the objects' Realm.
    static func object(_ object: ObjectBase, _ realm: RealmCore?) -> ObjectArgument {
        let name = ClassNames.name(of: type(of: object))
        let kept = realm == nil ? object : nil
        guard let core = object.realm?.core, !object.isInvalidated else {
            return ObjectArgument(
                table: nil, key: .none, className: name, isDeleted: object.isInvalidated, object: kept)
        }
        return ObjectArgument(
            table: object.binding.tableKey, key: object.rowKey, className: name,
            isOfOtherRealm: realm.map { $0 !== core && $0.settings.place != core.settings.place } ?? false,
            object: kept)
    }

    /// Converts objects, predicates, and Foundation's value classes.
    fileprivate static func instance(_ value: Any, _ realm: RealmCore?) -> Constant? {
        switch value {
        case let object as ObjectBase: .object(self.object(object, realm))
        case let predicate as NSPredicate: .predicate(predicate.predicate(for: realm))
        case let number as NSDecimalNumber: constant(Decimal128(value: number), realm)
        case let number as NSNumber: constant(of: number)
        case let text as NSString: .string(text as String)
        case let date as NSDate: constant(date as Date, realm)
        case let data as NSData: constant(data as Data, realm)
        case let uuid as NSUUID: constant(uuid as UUID, realm)
        default: nil
        }
    }

    /// Converts integers of widths that no property has.
    static func integerConstant(_ value: Any) -> Constant? {
        guard let integer = value as? any BinaryInteger else { return nil }
        return Int64(exactly: integer).map { .int($0) } ?? .double(Double(integer))
    }

    fileprivate static func sequenceConstant(_ value: Any, _ realm: RealmCore?, _ depth: Int) -> Constant? {
        guard let sequence = value as? any Sequence, !(value is [AnyHashable: Any]) else { return nil }
        return .array(constants(sequence, realm, depth))
    }

    private static func constant(of number: NSNumber) -> Constant {
        switch UInt8(bitPattern: number.objCType.pointee) {
        case UInt8(ascii: "B"): return .bool(number.boolValue)
        // Bool, or Int8 with 0 or 1, which compares the same as a Bool.
        case UInt8(ascii: "c") where number.int8Value == 0 || number.int8Value == 1: return .bool(number.boolValue)
        case UInt8(ascii: "f"): return .float(number.floatValue)
        case UInt8(ascii: "d"): return .double(number.doubleValue)
        case UInt8(ascii: "Q") where number.uint64Value > UInt64(Int64.max): return .double(number.doubleValue)
        default: return .int(number.int64Value)
        }
    }
}
