// SPDX-License-Identifier: Apache-2.0
// Reads of the columns by `RowDecoder`: values of each type, nil, links and collections. A function returns nil if the
// property is not of its type or has no value; then the general decoder converts the value, or finds the error.

internal import Foundation
internal import RegnumEngine

extension RowDecoder.Form {
    init(_ property: ClassProperty, _ column: Int) {
        let shape = property.shape
        self = .other
        if shape.collection == .linkingObjects {
            self = .linking
        } else if column < 0 || shape.isProjection || shape.isCustom && shape.target != nil {
            // A column is missing in a read-only file of an older version.
        } else if shape.isCollection {
            // Elements that are nil, enums and values of custom types are converted by the collection.
            if shape.collection == .dictionary || shape.isCustom || shape.isPartial { return }
            switch shape.type {
            case .object: self = .links
            case .int where !shape.isOptional: self = .integers
            case .string where !shape.isOptional: self = .texts
            default: break
            }
        } else {
            let isChecked = property.isPartial && shape.isOptional && !property.isPrimaryKey
            self = Self(shape.type, isChecked: isChecked)
        }
    }

    private init(_ type: PropertyType, isChecked: Bool) {
        self =
            switch type {
            case .int: isChecked ? .checkedInt : .int
            case .string: isChecked ? .checkedString : .string
            case .any, .linkingObjects: .other
            case .object: .link
            default: isChecked ? .other : Self(type)
            }
    }

    private init(_ type: PropertyType) {
        self =
            switch type {
            case .bool: .bool
            case .float: .float
            case .double: .double
            case .data: .data
            case .date: .date
            case .objectId: .objectID
            case .UUID: .uuid
            case .decimal128: .decimal128
            default: .other
            }
    }
}

extension RowDecoder {
    @inline(__always)
    func form(_ slot: Int) -> Form { slots[slot].form }

    /// Returns the column of a property that is read here, and the object's row in it.
    @inline(__always)
    private func view(_ slot: Int) -> (column: UnsafeMutablePointer<ColumnView>, row: Int) {
        let number = Int(slots[slot].column)
        let object = uncounted
        if object._withUnsafeGuaranteedRef({ $0.rowEpoch }) != state.pointee.epoch { prepare(number) }
        return object._withUnsafeGuaranteedRef { ($0.rowColumns.unsafelyUnwrapped + number, Int($0.rowNumber)) }
    }

    /// Loads a value of a type that is stored as it is; nil for null.
    @inline(__always)
    private func load<Value: _Persistable>(_ slot: Int, _ type: Value.Type) -> Value? {
        let (column, row) = view(slot)
        if column.pointee.isNull(row) { return nil }
        return uncounted._withUnsafeGuaranteedRef { Value._load(column, row, $0, 0) }
    }

    @inline(__always)
    func bool(_ slot: Int) -> Bool? { form(slot) == .bool ? load(slot, Bool.self) : nil }

    @inline(__always)
    func integer(_ slot: Int) -> Int64? { form(slot) == .int ? load(slot, Int64.self) : nil }

    @inline(__always)
    func string(_ slot: Int) -> String? { form(slot) == .string ? load(slot, String.self) : nil }

    @inline(__always)
    func double(_ slot: Int) -> Double? {
        switch form(slot) {
        case .double: load(slot, Double.self)
        case .float: load(slot, Float.self).map { Double($0) }
        default: nil
        }
    }

    @inline(__always)
    func float(_ slot: Int) -> Float? {
        switch form(slot) {
        case .float: load(slot, Float.self)
        case .double: load(slot, Double.self).flatMap { Float(inRange: $0) }
        default: nil
        }
    }

    /// Like `integer`, also for a value that the property's type may not be able to represent.
    func storedInteger(_ slot: Int) -> Int64? {
        form(slot) == .int || form(slot) == .checkedInt ? load(slot, Int64.self) : nil
    }

    /// Like `string`, also for a value that the property's type may not be able to represent.
    func storedString(_ slot: Int) -> String? {
        form(slot) == .string || form(slot) == .checkedString ? load(slot, String.self) : nil
    }

    /// Returns whether a property that is read here has no value, or one that its optional type cannot represent.
    func isNil(_ slot: Int) -> Bool {
        switch form(slot) {
        case .missing: return true
        case .other, .links, .linking, .integers, .texts: return false
        case .link: return linkTarget(slot) == .none
        case .checkedInt:
            guard let number = storedInteger(slot), let known = slots[slot].known else { return true }
            return !known.has(number) { property(slot).hasForm(for: .int(number)) }
        case .checkedString:
            guard let text = storedString(slot), let known = slots[slot].known else { return true }
            return !known.has(text) { property(slot).hasForm(for: .string(text)) }
        default:
            let (column, row) = view(slot)
            return column.pointee.isNull(row)
        }
    }

    /// The property of a slot that is not `missing`.
    func property(_ slot: Int) -> ClassProperty { slots[slot].property.unsafelyUnwrapped.takeUnretainedValue() }

    /// The value of a property for the general decoder.
    func node(_ slot: Int, _ key: some CodingKey) throws -> LiveNode {
        if form(slot) == .missing {
            throw DecodingError.keyNotFound(
                key,
                DecodingError.Context(codingPath: codingPath, debugDescription: "There is no '\(key.stringValue)'."))
        }
        return LiveNode(property(slot), of: current, path: codingPath + [key])
    }

    // MARK: Values of any type

    /// Decodes a property. `key` is the key that asks for it.
    func value<Value: Decodable, Key: CodingKey>(
        _ type: Value.Type, _ slot: Int, _ key: @autoclosure () -> Key
    ) throws -> Value {
        switch form(slot) {
        case .other, .missing: return try node(slot, key()).decode(type)
        // These types are passed through, not decoded.
        case .date where type == Date.self:
            if let value = load(slot, Date.self) { return unsafeBitCast(value, to: Value.self) }
        case .data where type == Data.self:
            if let value = load(slot, Data.self) { return unsafeBitCast(value, to: Value.self) }
        case .uuid where type == UUID.self:
            if let value = load(slot, UUID.self) { return unsafeBitCast(value, to: Value.self) }
        case .objectID where type == ObjectId.self:
            if let value = load(slot, ObjectId.self) { return unsafeBitCast(value, to: Value.self) }
        case .decimal128 where type == Decimal128.self:
            if let value = load(slot, Decimal128.self) { return unsafeBitCast(value, to: Value.self) }
        case .integers where type == [Int].self:
            if let values = plainElements(slot, Int.self) { return unsafeBitCast(values, to: Value.self) }
        case .texts where type == [String].self:
            if let values = plainElements(slot, String.self) { return unsafeBitCast(values, to: Value.self) }
        case .link:
            let target = linkTarget(slot)
            if target != .none { return try linked(type, slot, target, in: linkBinding(slot), key()) }
        default: break
        }
        if isNil(slot) || slots[slot].isCustom || type == URL.self || type == Decimal.self {
            return try node(slot, key()).decode(type)
        }
        try checkDepth(depth + 1) { codingPath + [key()] }
        return try Value(from: RowField(decoder: self, slot: slot))
    }

    /// Throws if values are nested too deeply.
    @inline(__always)
    private func checkDepth(_ count: Int, _ path: () -> [any CodingKey]) throws {
        if count <= LiveNode.depthLimit { return }
        throw DecodingError.dataCorrupted(
            DecodingError.Context(codingPath: path(), debugDescription: LiveNode.depthMessage))
    }

    // MARK: Links

    /// Returns the key of the object that a link leads to.
    func linkTarget(_ slot: Int) -> ObjectKey {
        let (column, row) = view(slot)
        return ObjectKey(rawValue: UInt64(bitPattern: column.pointee.integer(row)))
    }

    /// Returns the class that the links of a property lead to.
    private func linkBinding(_ slot: Int) -> ClassBinding {
        let property = property(slot)
        guard property.storage != .column, let target = property.shape.target else {
            return binding.core.dynamicTarget(of: binding, Int(slots[slot].column))
        }
        return binding.core.binding(for: target)
    }

    /// Decodes an object that a property links to. `index` is its index in a list, `key` the key of the property.
    func linked<Value: Decodable, Key: CodingKey>(
        _ type: Value.Type, _ slot: Int, _ target: ObjectKey, in binding: @autoclosure () -> ClassBinding,
        index: Int = -1, _ key: @autoclosure () -> Key
    ) throws -> Value {
        let depth = depth + (index < 0 ? 1 : 2)
        try checkDepth(depth) { codingPath + [key()] }
        let child: Unmanaged<RowDecoder>
        if let known = slots[slot].child {
            child = known
        } else {
            child = .passRetained(RowDecoder(binding(), parent: self, key: key(), depth: depth))
            slots[slot].child = child
        }
        child._withUnsafeGuaranteedRef { $0.move(to: target, index: index) }
        defer { settle(child, slot) }
        return try Value(from: child.takeUnretainedValue())
    }

    /// Ends the use of a child for an object.
    private func settle(_ child: Unmanaged<RowDecoder>, _ slot: Int) {
        if Self.isPrivate(child) { return }
        slots[slot].child = nil
        Self.dismiss(child)
    }

    // MARK: Collections

    /// Returns the objects that a property of the form `links` or `linking` leads to; their class is nil if a read-only
    /// file lacks it.
    func targets(_ slot: Int) -> (keys: [ObjectKey], binding: ClassBinding?) {
        let object = current
        if form(slot) == .linking {
            let links = property(slot).get(object) as? any TraceableLinks
            guard let results = links?.handle.results else { return ([], nil) }
            return (results.currentKeys(), results.binding)
        }
        let place = collection(slot)
        return (place.targetKeys(place.check(.list)), linkBinding(slot))
    }

    private func plainElements<Element: _HasPersistedType>(_ slot: Int, _ type: Element.Type) -> [Element]? {
        let place = collection(slot)
        return binding.table.plainElements(of: place.column, at: place.check(.list), as: type)
    }

    private func collection(_ slot: Int) -> PropertyLocation {
        let number = Int(slots[slot].column)
        prepare(number)
        return PropertyLocation(current, column: number)
    }
}
