// SPDX-License-Identifier: Apache-2.0
// The base of all model classes: the location of a managed object's row, and the slow paths of its properties. The fast
// paths are in `Persisted.swift`.
//
// An object is unmanaged (`rowContext == nil`), managed, or traced (its reads are recorded, see `KeyPathNames.swift`).
// All fields are `@exclusivity(unchecked)`, so that reading one is a single load; accessors are confined to one thread.

public import RegnumEngine

open class ObjectBase {
    /// The class in its Realm; nil if the object is unmanaged.
    @exclusivity(unchecked) @usableFromInline final var rowContext: UnsafeMutablePointer<ClassContext>?
    /// The columns of the row group that holds the row. Valid while `rowEpoch` equals the session's epoch.
    @exclusivity(unchecked) @usableFromInline final var rowColumns: UnsafeMutablePointer<ColumnView>?
    @exclusivity(unchecked) @usableFromInline final var rowEpoch = Int.min
    @exclusivity(unchecked) @usableFromInline final var rowNumber: Int32 = 0
    /// The number of rollbacks of the Realm before this accessor was created.
    @exclusivity(unchecked) final var rowRollbacks: Int32 = 0
    @exclusivity(unchecked) @usableFromInline final var rowKey = ObjectKey(rawValue: 0)
    /// For a managed object the `RealmCore`, kept alive by `RealmCore.countAccessor`; for a traced object the
    /// `_KeyPathRecorder`, retained.
    @exclusivity(unchecked) final var rowHolder: Unmanaged<AnyObject>?

    /// Creates an unmanaged object with the default values of its class.
    public required init() {}

    deinit {
        guard let rowHolder, let context = rowContext else {
            return DeepRelease.empty(Unmanaged.passUnretained(self).toOpaque(), of: Swift.type(of: self))
        }
        // A traced object. Do not test its kind: that changes on the Realm's thread, and this may be another thread.
        if context.pointee.binding == nil { return rowHolder.release() }
        rowHolder._withUnsafeGuaranteedRef { unsafeDowncast($0, to: RealmCore.self).dropAccessor() }
    }

    // MARK: Class-level declarations

    /// Returns the name of the primary key property; nil if `@Persisted(primaryKey:)` declares it, or if there is none.
    open class func primaryKey() -> String? { nil }
    /// Returns the names of properties to index, in addition to those that declare it themselves.
    open class func indexedProperties() -> [String] { [] }
    /// Returns the names of properties that are not stored.
    open class func ignoredProperties() -> [String] { [] }
    /// Returns the names in the file by names in Swift, for properties whose names differ.
    open class func propertiesMapping() -> [String: String] { [:] }
    /// Returns the names in the file by names in Swift, for properties whose names differ.
    open class func _realmColumnNames() -> [String: String]? { nil }
    /// Returns the name of the class in the file, if it differs from the name in Swift.
    open class func _realmObjectName() -> String? { nil }
    /// Returns true for a class that no Realm stores by default, such as a base class of models.
    open class func _realmIgnoreClass() -> Bool { false }
    /// Returns false for a class that belongs only to Realms that list it explicitly.
    open class func shouldIncludeInDefaultSchema() -> Bool { true }

    /// Returns true for classes of objects that are part of other objects.
    open class func isEmbedded() -> Bool { false }

    /// Returns the name of the class in the file.
    public final class func className() -> String { ClassNames.name(of: self) }

    /// Returns the schema of the class; nil for the library's own base classes.
    public final class func sharedSchema() -> ObjectSchema? {
        isBase ? nil : ObjectSchema(ClassSchema.of(self))
    }

    /// True for the library's own base classes.
    final class var isBase: Bool {
        self == ObjectBase.self || self == Object.self || self == EmbeddedObject.self
            || self == DynamicObject.self
    }

    /// Returns the stored properties, in the order of declaration.
    public final class func _getProperties() -> [Property] { sharedSchema()?.properties ?? [] }

    // MARK: State

    /// True if the object was deleted, its creation was rolled back, or its Realm was invalidated. Always false for an
    /// unmanaged object. Can be read on any thread, but off the Realm's thread it does not detect deletions.
    public final var isInvalidated: Bool {
        guard let context = rowContext, context.pointee.kind != .traced else { return false }
        if context.pointee.kind == .retired { return true }
        return core.isAccessAllowed && !resolve()
    }

    /// The schema of the object's class.
    public final var objectSchema: ObjectSchema { ObjectSchema(classSchema) }

    /// A description of the object and its values, with links followed to depth 5, in the order of the schema. Can be
    /// overridden.
    open var description: String { ObjectDescription.text(of: self) }

    /// The same as `description`. Can be overridden.
    open var debugDescription: String { description }

    /// Returns whether two objects are equal; `==` calls it. Managed objects of a class with a primary key, and frozen
    /// objects, are equal to objects of the same row of the same Realm; other objects are equal only to themselves. A
    /// class can override it, together with `hash`.
    open func isEqual(_ object: Any?) -> Bool {
        guard let object = object as? ObjectBase else { return false }
        if self === object { return true }
        return isEqualByRow && ObjectBase.areSameRow(self, object)
    }

    /// A hash value that is equal for objects that `isEqual(_:)` considers equal.
    open var hash: Int {
        var hasher = Hasher()
        if isEqualByRow { hasher.combine(rowKey) } else { hasher.combine(ObjectIdentifier(self)) }
        return hasher.finalize()
    }

    private final var isEqualByRow: Bool {
        guard let context = rowContext, context.pointee.kind == .managed else { return false }
        return core.isFrozen || binding.schema.primaryKey != nil
    }

    /// Returns whether both are the same object of the same Realm, or the same unmanaged instance.
    public final func isSameObject(as object: ObjectBase?) -> Bool {
        guard let object else { return false }
        return object === self || ObjectBase.areSameRow(self, object)
    }
}

extension ObjectBase: Hashable, CustomStringConvertible, CustomDebugStringConvertible {
    /// Returns the result of `isEqual(_:)`.
    public static func == (left: ObjectBase, right: ObjectBase) -> Bool { left === right || left.isEqual(right) }

    public func hash(into hasher: inout Hasher) { hasher.combine(hash) }

    static func areSameRow(_ left: ObjectBase, _ right: ObjectBase) -> Bool {
        guard left.rowKey == right.rowKey, let context = left.rowContext, let other = right.rowContext,
            context.pointee.kind == .managed, other.pointee.kind == .managed
        else { return false }
        // A dynamic object has a different context than an object of the class.
        guard context == other || left.core === right.core && left.binding.tableKey == right.binding.tableKey
        else { return false }
        // The key of a deleted object may have been reused.
        return !left.isInvalidated && !right.isInvalidated
    }
}

// MARK: Managed objects

extension ObjectBase {
    /// The core of a managed or retired object.
    final var core: RealmCore {
        unsafeDowncast(rowHolder.unsafelyUnwrapped.takeUnretainedValue(), to: RealmCore.self)
    }

    /// The binding of a managed or retired object.
    final var binding: ClassBinding {
        Unmanaged<ClassBinding>.fromOpaque(rowContext.unsafelyUnwrapped.pointee.binding.unsafelyUnwrapped)
            .takeUnretainedValue()
    }

    /// The schema of the object's class; for a dynamic object, the schema of its table.
    final var classSchema: ClassSchema {
        guard let context = rowContext, context.pointee.binding != nil else {
            return ClassSchema.of(Swift.type(of: self))
        }
        return binding.schema
    }

    /// True if the Realm of the managed object is confined to this thread.
    @inlinable @inline(__always)
    final var isOfThisThread: Bool {
        rowContext.unsafelyUnwrapped.pointee.session.pointee.owner == currentThreadWord()
    }

    /// Returns whether any of the collections at these offsets has been created.
    @inline(__always)
    final func hasMadeCollections(at offsets: UnsafeBufferPointer<Int>) -> Bool {
        if offsets.isEmpty { return false }
        let fields = Unmanaged.passUnretained(self).toOpaque()
        for offset in offsets where fields.load(fromByteOffset: offset, as: UInt.self) != 0 { return true }
        return false
    }

    final var isTraced: Bool { rowContext?.pointee.kind == .traced }

    /// Looks the row up if it may have moved. Returns false if the object does not exist. The caller has checked the
    /// thread.
    final func resolve() -> Bool {
        let session = rowContext.unsafelyUnwrapped.pointee.session
        if rowEpoch == session.pointee.epoch { return true }
        guard let location = binding.locate(rowKey, rollbacks: Int(rowRollbacks)) else { return false }
        rowRollbacks = Int32(truncatingIfNeeded: binding.rollbackFloors.count)
        rowColumns = location.group.columns
        rowNumber = Int32(truncatingIfNeeded: location.row)
        rowEpoch = session.pointee.epoch
        return true
    }

    /// Returns whether both objects are managed by the same Realm. If so, reports a programmer error unless this object
    /// can be used on this thread.
    @inline(__always)
    final func isOfRealm(of other: ObjectBase) -> Bool {
        guard let context = rowContext, context.pointee.kind == .managed, let others = other.rowContext,
            context.pointee.session == others.pointee.session
        else { return false }
        requireValid()
        return true
    }

    /// Reports a programmer error unless the object can be used on this thread. Managed objects only.
    final func requireValid() {
        // Does not use `core`; see `RealmCore.countAccessor`.
        let context = rowContext.unsafelyUnwrapped
        if context.pointee.kind == .managed {
            let session = context.pointee.session
            if session.pointee.owner != currentThreadWord() { core.check() }
            if rowEpoch == session.pointee.epoch || resolve() { return }
        }
        misuse("Object has been deleted or invalidated.")
    }
}

/// The slow path of getters and setters: checks the object and looks its row up. Returns false if the object is traced.
@usableFromInline @inline(never)
func prepareAccess(_ object: ObjectBase) -> Bool {
    if object.isTraced { return false }
    object.requireValid()
    return true
}

@usableFromInline @inline(never)
func slowGet<Value: _Persistable>(_ object: ObjectBase, _ offset: Int) -> Value {
    guard prepareAccess(object) else { return recordRead(of: object, offset) }
    let context = object.rowContext.unsafelyUnwrapped
    let column = Int(context.pointee.columnNumbers[offset])
    if context.pointee.isTracked { trackRead(of: object, column) }
    if context.pointee.asksForReadColumn {
        context.pointee.asksForReadColumn = false
        context.pointee.readColumn = column
    }
    if column < 0, Value._shape.collection != .linkingObjects { return valueWithoutColumn(of: object, offset) }
    return Value._load(object.rowColumns.unsafelyUnwrapped + column, Int(object.rowNumber), object, offset)
}

/// Returns the value of a property that has no column: an ignored one is read from the object; one that is missing in a
/// read-only file of an older version is nil, zero or empty, whatever its default value is.
private func valueWithoutColumn<Value: _Persistable>(of object: ObjectBase, _ offset: Int) -> Value {
    let isIgnored = object.binding.schema.property(at: offset) == nil
    if isIgnored || Value._shape.collection != .none { return unmanagedGet(object, offset) }
    var stored = Value._unset
    return Value._filled(&stored)
}

@usableFromInline @inline(never)
func slowSet<Value: _Persistable>(_ object: ObjectBase, _ offset: Int, _ value: Value) {
    guard prepareAccess(object) else { return }
    let column = Int(object.rowContext.unsafelyUnwrapped.pointee.columnNumbers[offset])
    if column < 0 {
        if Value._shape.collection == .linkingObjects {
            misuse("Cannot modify read-only property '\(object.binding.schema.label(at: offset))'.")
        }
        // Columns are missing only in read-only files, for which this is a programmer error.
        if object.binding.schema.property(at: offset) != nil { requireModifiable(object) }
        return unmanagedSet(object, offset, value)
    }
    requireModifiable(object)
    if object.rowContext.unsafelyUnwrapped.pointee.primaryKeyOffset == offset {
        refusePrimaryKeyChange(to: value)
    }
    Value._assign(value, object, column)
}

/// Reports an attempt to change the primary key of a managed object, typed or dynamic.
@inline(never)
func refusePrimaryKeyChange(to value: Any) -> Never {
    misuse("Primary key can't be changed to '\(describe(value))' after an object is inserted.")
}

/// As `refusePrimaryKeyChange(to:)`, for a key in a `RealmProperty`: RealmSwift's message names the property there.
@inline(never)
func refusePrimaryKeyChange(of property: String) -> Never {
    misuse("Cannot modify primary key after creation: '\(property)'.")
}

/// Returns the value in the object's own memory.
func unmanagedGet<Value: _Persistable>(_ object: ObjectBase, _ offset: Int) -> Value {
    Value._filled(&storedPointer(object, offset, Value.self).pointee)
}

func unmanagedSet<Value: _Persistable>(_ object: ObjectBase, _ offset: Int, _ value: Value) {
    Value._replace(&storedPointer(object, offset, Value.self).pointee, value)
}

/// Returns a pointer to the storage of the wrapper at `offset`, which is the first field of `Persisted`.
@inlinable @inline(__always)
func storedPointer<Value: _Persistable>(
    _ object: ObjectBase, _ offset: Int, _ type: Value.Type
) -> UnsafeMutablePointer<Value._Stored> {
    (Unmanaged.passUnretained(object).toOpaque() + offset).assumingMemoryBound(to: Value._Stored.self)
}

/// Get and set by byte offset, for callers that know the property from the schema.
func persistedGet<Value: _Persistable>(_ object: ObjectBase, _ offset: Int) -> Value {
    object.rowContext == nil ? unmanagedGet(object, offset) : slowGet(object, offset)
}

func persistedSet<Value: _Persistable>(_ object: ObjectBase, _ offset: Int, _ value: Value) {
    if object.rowContext == nil {
        unmanagedSet(object, offset, value)
    } else {
        slowSet(object, offset, value)
    }
}

/// Returns the text of a value for a message, without `Optional(…)`.
func describe(_ value: Any) -> String {
    guard let value = unwrapped(value) else { return "(null)" }
    return "\(value)"
}
