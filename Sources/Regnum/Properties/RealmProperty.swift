// SPDX-License-Identifier: Apache-2.0
// `let age = RealmProperty<Int?>()`: an optional value in a stored `let`, as in RealmSwift before `@Persisted`.

internal import RegnumEngine

/// A type that can be the value of a `RealmProperty`.
public protocol RealmPropertyType: _HasPersistedType {}

extension Optional: RealmPropertyType where Wrapped: RealmOptionalType {}

/// A type that can be the value of an optional `RealmProperty`.
public protocol RealmOptionalType: _PersistableInsideOptional {}
extension Int: RealmOptionalType {}
extension Int8: RealmOptionalType {}
extension Int16: RealmOptionalType {}
extension Int32: RealmOptionalType {}
extension Int64: RealmOptionalType {}
extension Bool: RealmOptionalType {}
extension Float: RealmOptionalType {}
extension Double: RealmOptionalType {}
extension ObjectId: RealmOptionalType {}

/// A box that holds the value of a stored `let` property of a model class.
public final class RealmProperty<Value: RealmPropertyType> {
    private var unmanaged: Value
    private var owner: PropertyLocation?
    private var traced: (recorder: _KeyPathRecorder, name: String, depth: Int)?

    /// Creates a box that holds nil.
    public init() { unmanaged = Value._fromRaw(_RawValue(.null)) }

    /// Creates a box that holds `value`.
    public init(_ value: Value) { unmanaged = value }

    /// The value. In a managed object it can be set only in a write transaction.
    public var value: Value {
        get {
            guard let owner else {
                recordField()
                return unmanaged
            }
            return owner.element(stored(owner), as: Value.self)
        }
        set {
            guard let owner else {
                unmanaged = newValue
                return
            }
            store(Value._toRaw(newValue), owner)
        }
    }

    /// Returns the value stored in the file.
    private func stored(_ owner: PropertyLocation) -> RegnumEngine.Value {
        let location = owner.requireLocation()
        return engine { () throws(EngineError) in try owner.binding.table.value(owner.column, at: location) }
    }

    private func store(_ raw: _RawValue, _ owner: PropertyLocation) {
        _ = owner.requireLocation()
        owner.core.requireWrite("Cannot modify managed RealmProperty outside of a write transaction.")
        if owner.binding.table.definition.primaryKey == owner.column {
            let name = owner.binding.schema.primaryKey.map { owner.binding.schema.properties[$0].name } ?? ""
            refusePrimaryKeyChange(of: "\(owner.binding.schema.name).\(name)")
        }
        let value = raw.mixed.map { owner.core.mixedValue($0) { owner.core.adopt($0, for: .property) } } ?? raw.value
        engine { () throws(EngineError) in
            try owner.binding.table.set(value, owner.column, of: owner.key)
        }
    }
}

extension RealmProperty: Equatable where Value: Equatable {
    public static func == (left: RealmProperty, right: RealmProperty) -> Bool { left.value == right.value }
}

extension RealmProperty: CustomStringConvertible {
    public var description: String { describe(value) }
}

/// A type-erased `RealmProperty`, for code that knows the property from the schema.
protocol AnyRealmProperty: AnyObject {
    init()
    static var shape: _PropertyShape { get }
    /// The type of the value.
    static var valueType: any _HasPersistedType.Type { get }
    func becomeManaged(_ place: PropertyLocation)
    /// Records reads of the value under `name`.
    func trace(_ recorder: _KeyPathRecorder, as name: String)
    var rawValue: _RawValue { get }
    /// The value it held before it became managed.
    var unmanagedValue: _RawValue { get }
    var dynamicValue: Any? { get }
    /// Sets the value. Returns false if it does not fit.
    func setDynamic(_ value: Any) -> Bool
}

extension RealmProperty: AnyRealmProperty, TracedField {
    static var shape: _PropertyShape { Value._shape }
    static var valueType: any _HasPersistedType.Type { Value.self }
    func becomeManaged(_ place: PropertyLocation) {
        owner = place
        if Value._shape.type == .any { owner?.path = [] }
    }
    func trace(_ recorder: _KeyPathRecorder, as name: String) {
        traced = (recorder, name, recorder.names.count)
    }
    func recordField() {
        if let traced { traced.recorder.record(traced.name, depth: traced.depth) }
    }
    var rawValue: _RawValue { Value._toRaw(value) }
    var unmanagedValue: _RawValue { Value._toRaw(unmanaged) }
    var dynamicValue: Any? {
        guard let owner, Value._shape.isPartial else { return Value._dynamic(value) }
        return Value._shown(_RawValue(stored(owner)))
    }
    func setDynamic(_ value: Any) -> Bool {
        if let value = coerced(value, as: Value.self) {
            self.value = value
            return true
        }
        // Only a file can hold a value that the type cannot represent.
        guard let owner, let raw = Value._storable(value) else { return false }
        store(raw, owner)
        return true
    }
}

/// A property of a managed object, identified by row and column instead of by an accessor, so that collections and
/// boxes outlive the accessor they were read from.
struct PropertyLocation {
    let core: RealmCore
    // The core owns it.
    unowned(unsafe) let binding: ClassBinding
    private(set) var key: ObjectKey
    private(set) var rollbacks: Int
    let column: Int
    /// The path to a collection in a mixed value: steps from the value of the column, or from its elements. Nil for the
    /// collection that the column itself stores.
    var path: [NestedStep]?

    init(_ object: ObjectBase, column: Int, path: [NestedStep]? = nil) {
        core = object.core
        binding = object.binding
        key = object.rowKey
        rollbacks = Int(object.rowRollbacks)
        self.column = column
        self.path = path
    }

    init(core: RealmCore, binding: ClassBinding, key: ObjectKey, column: Int, path: [NestedStep]? = nil) {
        self.path = path
        self.core = core
        self.binding = binding
        self.key = key
        rollbacks = binding.rollbackFloors.count
        self.column = column
    }

    /// Returns the same location in another Realm of the file; nil if the object does not exist there, unless
    /// `mayBeMissing` is true.
    func moved(to core: RealmCore, mayBeMissing: Bool) -> PropertyLocation? {
        guard let target = core.counterpart(of: binding) else { return nil }
        var place = PropertyLocation(core: core, binding: target, key: key, column: column)
        place.path = path
        return mayBeMissing || place.locate() != nil ? place : nil
    }

    /// Moves the location to the same property of another object of the class.
    mutating func repoint(to key: ObjectKey, rollbacks: Int) {
        self.key = key
        self.rollbacks = rollbacks
    }

    /// Returns the object's row; nil if the object does not exist. The caller has checked the thread.
    func locate() -> RowLocation? { binding.locate(key, rollbacks: rollbacks) }

    /// Returns the class that the links of the column point to; for dynamic objects, its table.
    func target(_ type: ObjectBase.Type) -> ClassBinding {
        type == DynamicObject.self ? core.dynamicTarget(of: binding, column) : core.binding(for: type)
    }

    /// Like `target`; nil if a read-only file has no table for the class.
    func fetchableTarget(_ type: ObjectBase.Type) -> ClassBinding? {
        type == DynamicObject.self ? core.dynamicTarget(of: binding, column) : core.fetchable(type)
    }

    func requireLocation() -> RowLocation {
        core.check()
        guard let location = locate() else { misuse("Object has been deleted or invalidated.") }
        return location
    }
}

/// The name of `RealmProperty` before RealmSwift 10.
@available(*, deprecated, message: "write RealmProperty<Value?>, or @Persisted var with an optional type")
public typealias RealmOptional<Value: RealmOptionalType> = RealmProperty<Value?>
