// SPDX-License-Identifier: Apache-2.0
// The arguments of predicates arrive as `Any`; here they become constants of the query language.

internal import Foundation
internal import RegnumEngine
internal import RegnumQuery

extension Constant {
    /// Any value as a constant. `realm`: the one queried, if it is known; objects of another are marked.
    init(any value: Any?, realm: RealmCore?) {
        guard let value, let value = unwrapped(value) else {
            self = .null
            return
        }
        if isPlain(value), let plain = PredicateArguments.plain(value) {
            self = plain
            return
        }
        if isInstance(value), let constant = PredicateArguments.instance(value, realm) {
            self = constant
            return
        }
        switch value {
        case let collection as any RealmCollectionBase:
            self = .array(PredicateArguments.elements(collection).map { Constant(any: $0, realm: realm) })
        case .object(let object)? as AnyRealmValue?: self = .object(PredicateArguments.object(object, realm))
        case let stored as any _HasPersistedType: self = PredicateArguments.constant(stored)
        case let area as any GeoArea: self = .geo(area.shape)
        case let text as Substring: self = .string(String(text))
        case let number as Decimal: self = PredicateArguments.constant(Decimal128(value: number))
        case let predicate as ParsedPredicate: self = .predicate(predicate.predicate(for: realm))
        default:
            self =
                PredicateArguments.integerConstant(value)
                ?? PredicateArguments.sequenceConstant(value, realm)
                ?? .unsupported(typeName: "\(type(of: value))", description: "\(value)")
        }
    }

    init(_ value: Value, of object: ObjectBase?, realm: RealmCore?) {
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
        case .typedLink, .list, .dictionary:
            self = .unsupported(typeName: "a value of any type", description: "\(value)")
        case .link: self = object.map { .object(PredicateArguments.object($0, realm)) } ?? .null
        }
    }
}

enum PredicateArguments {
    /// Of the types that `isPlain` knows and a constant holds as they are.
    fileprivate static func plain(_ value: Any) -> Constant? {
        switch value {
        case let text as String: .string(text)
        case let number as Int: .int(Int64(number))
        case let number as Double: .double(number)
        case let bit as Bool: .bool(bit)
        default: nil
        }
    }

    static func elements<S: Sequence>(_ sequence: S) -> [Any] { sequence.map { $0 as Any } }

    static func constant<T: _HasPersistedType>(_ value: T) -> Constant {
        let raw = T._toRaw(value)
        if case .object(let object)? = raw.mixed { return .object(self.object(object, nil)) }
        if raw.object != nil {
            // A custom type that is stored as an embedded object; `where` compares it member by member.
            return .unsupported(typeName: "\(T.self)", description: "\(value)")
        }
        if let collection = raw.mixed { return .unsupported(typeName: "AnyRealmValue", description: "\(collection)") }
        return Constant(raw.value, of: raw.object, realm: nil)
    }

    static func object(_ object: ObjectBase, _ realm: RealmCore?) -> ObjectArgument {
        let name = ClassNames.name(of: type(of: object))
        guard let core = object.realm?.core, !object.isInvalidated else {
            return ObjectArgument(
                table: nil, key: .none, className: name, isDeleted: object.isInvalidated)
        }
        return ObjectArgument(
            table: object.binding.tableKey, key: object.rowKey, className: name,
            isOfOtherRealm: realm.map { $0 !== core && $0.settings.place != core.settings.place } ?? false)
    }

    /// Objects, predicates, and Foundation's classes for values.
    fileprivate static func instance(_ value: Any, _ realm: RealmCore?) -> Constant? {
        switch value {
        case let object as ObjectBase: .object(self.object(object, realm))
        case let predicate as NSPredicate: .predicate(predicate.predicate(for: realm))
        case let number as NSDecimalNumber: constant(Decimal128(value: number))
        case let number as NSNumber: constant(of: number)
        case let text as NSString: .string(text as String)
        case let date as NSDate: constant(date as Date)
        case let data as NSData: constant(data as Data)
        case let uuid as NSUUID: constant(uuid as UUID)
        default: nil
        }
    }

    /// Integers of widths that no property has.
    static func integerConstant(_ value: Any) -> Constant? {
        guard let integer = value as? any BinaryInteger else { return nil }
        return Int64(exactly: integer).map { .int($0) } ?? .double(Double(integer))
    }

    static func sequenceConstant(_ value: Any, _ realm: RealmCore?) -> Constant? {
        guard let sequence = value as? any Sequence, !(value is [AnyHashable: Any]) else { return nil }
        return .array(elements(sequence).map { Constant(any: $0, realm: realm) })
    }

    private static func constant(of number: NSNumber) -> Constant {
        switch UInt8(bitPattern: number.objCType.pointee) {
        case UInt8(ascii: "B"): return .bool(number.boolValue)
        // Bool, and Int8, whose 0 and 1 mean the same wherever they are compared.
        case UInt8(ascii: "c") where number.int8Value == 0 || number.int8Value == 1: return .bool(number.boolValue)
        case UInt8(ascii: "f"): return .float(number.floatValue)
        case UInt8(ascii: "d"): return .double(number.doubleValue)
        case UInt8(ascii: "Q") where number.uint64Value > UInt64(Int64.max): return .double(number.doubleValue)
        default: return .int(number.int64Value)
        }
    }
}
