// SPDX-License-Identifier: Apache-2.0
// The base of all model classes: where an object's row lies while it is managed, and the slow paths of its
// properties. The fast paths are in `Persisted.swift`.
//
// An object is unmanaged (`rowContext == nil`), managed, or traced (its reads are recorded,
// `KeyPathNames.swift`). All fields are `@exclusivity(unchecked)`, so that reading one is one load; accessors
// are confined to one thread.

public import RegnumEngine

open class ObjectBase {
    /// The class in its Realm; nil where the object is unmanaged.
    @exclusivity(unchecked) @usableFromInline final var rowContext: UnsafeMutablePointer<ClassContext>?
    /// Columns of the group that holds the row. Good while `rowEpoch` is the session's.
    @exclusivity(unchecked) @usableFromInline final var rowColumns: UnsafeMutablePointer<ColumnView>?
    @exclusivity(unchecked) @usableFromInline final var rowEpoch = Int.min
    @exclusivity(unchecked) @usableFromInline final var rowNumber: Int32 = 0
    /// How many roll-backs of the Realm were before this accessor.
    @exclusivity(unchecked) final var rowRollbacks: Int32 = 0
    @exclusivity(unchecked) @usableFromInline final var rowKey = ObjectKey(rawValue: 0)
    /// Managed: the `RealmCore`, kept alive by `RealmCore.countAccessor`. Traced: the `_KeyPathRecorder`, retained.
    @exclusivity(unchecked) final var rowHolder: Unmanaged<AnyObject>?

    /// An unmanaged object with the values its class declares.
    public required init() {}

    deinit {
        guard let rowHolder, let context = rowContext else {
            return DeepRelease.empty(Unmanaged.passUnretained(self).toOpaque(), of: Swift.type(of: self))
        }
        // A traced one. Not by its kind: that changes on the Realm's thread, and this may be another one.
        if context.pointee.binding == nil { return rowHolder.release() }
        rowHolder._withUnsafeGuaranteedRef { unsafeDowncast($0, to: RealmCore.self).dropAccessor() }
    }

    // MARK: What a class tells about itself

    /// The name of the primary key's property; nil where `@Persisted(primaryKey:)` tells, or there is none.
    open class func primaryKey() -> String? { nil }
    /// Names of properties to be indexed besides those that say so themselves.
    open class func indexedProperties() -> [String] { [] }
    /// Names of properties that are not stored.
    open class func ignoredProperties() -> [String] { [] }
    /// Names in the file by names in Swift, where they differ.
    open class func propertiesMapping() -> [String: String] { [:] }
    /// Names in the file by names in Swift, where they differ.
    open class func _realmColumnNames() -> [String: String]? { nil }
    /// The name of the class in the file, where it is not the name in Swift.
    open class func _realmObjectName() -> String? { nil }
    /// True for a class that no Realm stores by default, as a base class of models.
    open class func _realmIgnoreClass() -> Bool { false }
    /// False for a class that belongs only to Realms that list it.
    open class func shouldIncludeInDefaultSchema() -> Bool { true }

    /// True for classes of objects that live within others.
    open class func isEmbedded() -> Bool { false }

    /// The name of the class in the file.
    public final class func className() -> String { ClassNames.name(of: self) }

    /// The schema of the class; nil for the library's own base classes.
    public final class func sharedSchema() -> ObjectSchema? {
        isBase ? nil : ObjectSchema(ClassSchema.of(self))
    }

    /// True for the library's own base classes.
    final class var isBase: Bool {
        self == ObjectBase.self || self == Object.self || self == EmbeddedObject.self
            || self == DynamicObject.self
    }

    /// The stored properties, in the order of declaration.
    public final class func _getProperties() -> [Property] { sharedSchema()?.properties ?? [] }

    // MARK: State

    /// True where the object was deleted, its creation rolled back, or its Realm invalidated. Unmanaged:
    /// false. May be asked on any thread: on another one than the Realm's, deletions are not known.
    public final var isInvalidated: Bool {
        guard let context = rowContext, context.pointee.kind != .traced else { return false }
        if context.pointee.kind == .retired { return true }
        return core.isRightfulCaller && !resolve()
    }

    /// The stored properties.
    public final var objectSchema: ObjectSchema { ObjectSchema(classSchema) }

    /// The object and its values, links to depth 5. The order is the schema's. May be overridden.
    open var description: String { ObjectDescription.text(of: self) }

    /// As `description`. May be overridden.
    open var debugDescription: String { description }

    /// What `==` asks: managed objects of a class with a primary key, and frozen ones, are equal to those of the same row
    /// of the same Realm, others to themselves. A class may override it, together with `hash`.
    open func isEqual(_ object: Any?) -> Bool {
        guard let object = object as? ObjectBase else { return false }
        if self === object { return true }
        return isEqualByRow && ObjectBase.areSameRow(self, object)
    }

    /// Equal for objects that are equal by `isEqual(_:)`.
    open var hash: Int {
        var hasher = Hasher()
        if isEqualByRow { hasher.combine(rowKey) } else { hasher.combine(ObjectIdentifier(self)) }
        return hasher.finalize()
    }

    private final var isEqualByRow: Bool {
        guard let context = rowContext, context.pointee.kind == .managed else { return false }
        return core.isFrozen || binding.schema.primaryKey != nil
    }

    /// True where both are the same object of the same Realm, or the very same unmanaged instance.
    public final func isSameObject(as object: ObjectBase?) -> Bool {
        guard let object else { return false }
        return object === self || ObjectBase.areSameRow(self, object)
    }
}

extension ObjectBase: Hashable, CustomStringConvertible, CustomDebugStringConvertible {
    /// As `isEqual(_:)`.
    public static func == (left: ObjectBase, right: ObjectBase) -> Bool { left === right || left.isEqual(right) }

    public func hash(into hasher: inout Hasher) { hasher.combine(hash) }

    static func areSameRow(_ left: ObjectBase, _ right: ObjectBase) -> Bool {
        guard left.rowKey == right.rowKey, let context = left.rowContext, let other = right.rowContext,
            context.pointee.kind == .managed, other.pointee.kind == .managed
        else { return false }
        // A dynamic object has another context than one of the class.
        guard context == other || left.core === right.core && left.binding.tableKey == right.binding.tableKey
        else { return false }
        // The key of an object that is gone may be that of another one by now.
        return !left.isInvalidated && !right.isInvalidated
    }
}

// MARK: Managed objects

extension ObjectBase {
    /// Of a managed or retired object.
    final var core: RealmCore {
        unsafeDowncast(rowHolder.unsafelyUnwrapped.takeUnretainedValue(), to: RealmCore.self)
    }

    /// Of a managed or retired object.
    final var binding: ClassBinding {
        Unmanaged<ClassBinding>.fromOpaque(rowContext.unsafelyUnwrapped.pointee.binding.unsafelyUnwrapped)
            .takeUnretainedValue()
    }

    /// What is known of the object's class; of a dynamic object that of its table.
    final var classSchema: ClassSchema {
        guard let context = rowContext, context.pointee.binding != nil else {
            return ClassSchema.of(Swift.type(of: self))
        }
        return binding.schema
    }

    /// True where the Realm of the managed object is confined to this thread.
    @inlinable @inline(__always)
    final var isOfThisThread: Bool {
        rowContext.unsafelyUnwrapped.pointee.session.pointee.owner == currentThreadWord()
    }

    /// True where one of the collections at these offsets was made.
    @inline(__always)
    final func hasMadeCollections(at offsets: UnsafeBufferPointer<Int>) -> Bool {
        if offsets.isEmpty { return false }
        let fields = Unmanaged.passUnretained(self).toOpaque()
        for offset in offsets where fields.load(fromByteOffset: offset, as: UInt.self) != 0 { return true }
        return false
    }

    final var isTraced: Bool { rowContext?.pointee.kind == .traced }

    /// Looks the row up where it may have moved. False where it is gone. The caller has checked the thread.
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

    /// True where both objects are managed by one Realm; then misuse unless this one can be used on this thread.
    @inline(__always)
    final func isOfRealm(of other: ObjectBase) -> Bool {
        guard let context = rowContext, context.pointee.kind == .managed, let others = other.rowContext,
            context.pointee.session == others.pointee.session
        else { return false }
        requireValid()
        return true
    }

    /// Misuse unless the object can be used on this thread. Managed objects only.
    final func requireValid() {
        // Not through `core`: see `RealmCore.countAccessor`.
        let context = rowContext.unsafelyUnwrapped
        if context.pointee.kind == .managed {
            let session = context.pointee.session
            if session.pointee.owner != currentThreadWord() { core.check() }
            if rowEpoch == session.pointee.epoch || resolve() { return }
        }
        misuse("Object has been deleted or invalidated.")
    }
}

/// What a getter or setter does where its fast path does not hold: checks, and looks the row up. False where
/// the object is traced.
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
    if column < 0, Value._shape.collection != .linkingObjects { return unmanagedGet(object, offset) }
    return Value._load(object.rowColumns.unsafelyUnwrapped + column, Int(object.rowNumber), object, offset)
}

@usableFromInline @inline(never)
func slowSet<Value: _Persistable>(_ object: ObjectBase, _ offset: Int, _ value: Value) {
    guard prepareAccess(object) else { return }
    let column = Int(object.rowContext.unsafelyUnwrapped.pointee.columnNumbers[offset])
    if column < 0 {
        if Value._shape.collection != .linkingObjects { return unmanagedSet(object, offset, value) }
        misuse("Cannot modify read-only property '\(object.binding.schema.label(at: offset))'.")
    }
    requireModifiable(object)
    if object.rowContext.unsafelyUnwrapped.pointee.primaryKeyOffset == offset {
        misuse("Primary key can't be changed to '\(describe(value))' after an object is inserted.")
    }
    Value._assign(value, object, column)
}

/// Misuse unless the object's Realm is in a write.
@inline(__always)
func requireModifiable(_ object: ObjectBase) {
    if object.rowContext.unsafelyUnwrapped.pointee.session.pointee.isWriting { return }
    refuseModification(object)
}

@inline(never)
private func refuseModification(_ object: ObjectBase) {
    object.core.requireWrite(
        "Cannot modify managed objects outside of a write transaction. Put the change into `realm.write { }`."
    )
}

/// The value in the object's own memory.
func unmanagedGet<Value: _Persistable>(_ object: ObjectBase, _ offset: Int) -> Value {
    Value._filled(&storedPointer(object, offset, Value.self).pointee)
}

func unmanagedSet<Value: _Persistable>(_ object: ObjectBase, _ offset: Int, _ value: Value) {
    Value._replace(&storedPointer(object, offset, Value.self).pointee, value)
}

/// What the wrapper at `offset` holds: the first field of `Persisted`.
@inlinable @inline(__always)
func storedPointer<Value: _Persistable>(
    _ object: ObjectBase, _ offset: Int, _ type: Value.Type
) -> UnsafeMutablePointer<Value._Stored> {
    (Unmanaged.passUnretained(object).toOpaque() + offset).assumingMemoryBound(to: Value._Stored.self)
}

/// Get and set by offset, for those who know the property from the schema.
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

/// A value in a message: without the word Optional.
func describe(_ value: Any) -> String {
    guard let value = unwrapped(value) else { return "(null)" }
    return "\(value)"
}
