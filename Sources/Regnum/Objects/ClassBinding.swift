// SPDX-License-Identifier: Apache-2.0
// A class in one open Realm: its table, the column of each property, and the factory of its accessors. Confined to the
// Realm's thread, like everything owned by a `RealmCore`.

internal import Observation
public import RegnumEngine
internal import RegnumObservation
internal import RegnumSystem

/// The state that all accessors of one class in one Realm point at. It does not move while an accessor exists.
@usableFromInline @frozen
package struct ClassContext {
    @usableFromInline @frozen
    package enum Kind: UInt8 {
        case managed
        /// The object records which properties are read; see `KeyPathNames`.
        case traced
        /// The Realm was invalidated after the accessor was created; the accessor stays invalid.
        case retired
    }

    /// The session's epoch and owner. In a context that is not `managed`, a state whose epoch matches no object.
    @usableFromInline var state: UnsafeMutablePointer<SessionState>
    /// Column number by byte offset of the property's wrapper in the object; -1 if no property is at that offset.
    @usableFromInline var columnNumbers: UnsafePointer<Int16>
    /// The `ClassBinding`; nil for traced objects.
    @usableFromInline var binding: UnsafeMutableRawPointer?
    @usableFromInline var kind: Kind
    /// The session's state, for slow paths; set even if `state` never matches.
    @usableFromInline var session: UnsafeMutablePointer<SessionState>
    /// Byte offset of the primary key's wrapper; -1 if the class has no primary key.
    @usableFromInline var primaryKeyOffset = -1
    /// Owned by the `RealmCore`: the number of stores that bypassed the engine.
    @usableFromInline var stores: UnsafeMutablePointer<UInt64>
    /// Only for managed objects; owned by the `ClassBinding`.
    var recycled: UnsafeMutablePointer<RecycledValues>?
    /// True for an observable class, whose reads are reported to `Observation`. Then `state` never matches.
    var isTracked = false
    /// The column of the first read that looked a row up after `asksForReadColumn` was set; -1 before that read.
    var readColumn = -1
    /// True while an `ObjectCursor` asks which column is read. Never set in a frozen Realm, because several threads
    /// read its objects.
    var asksForReadColumn = false
    /// Only for dynamic objects; owned by the `ClassBinding`.
    var names: UnsafeMutablePointer<InlineNameTable>?

    init(
        stores: UnsafeMutablePointer<UInt64>, state: UnsafeMutablePointer<SessionState>,
        columnNumbers: UnsafePointer<Int16>,
        binding: UnsafeMutableRawPointer?, kind: Kind
    ) {
        self.stores = stores
        self.state = state
        session = state
        self.columnNumbers = columnNumbers
        self.binding = binding
        self.kind = kind
    }

    /// A state whose epoch matches no object, so that every access takes the slow path.
    // unsafe: written once here, then only read.
    nonisolated(unsafe) static let neverState: UnsafeMutablePointer<SessionState> = {
        let memory = UnsafeMutableRawPointer.allocate(
            byteCount: MemoryLayout<SessionState>.stride, alignment: 16)
        Memory.zero(memory, MemoryLayout<SessionState>.stride)
        let state = memory.bindMemory(to: SessionState.self, capacity: 1)
        state.pointee.epoch = -1
        return state
    }()
}

/// A class in one Realm. Owned by `RealmCore.bindings`; accessors keep the core alive, and the core keeps the binding
/// alive.
package final class ClassBinding {
    package unowned(unsafe) let core: RealmCore
    /// `core` without reference counting.
    private let uncountedCore: Unmanaged<RealmCore>
    private let isFrozen: Bool
    package let schema: ClassSchema
    package let tableKey: TableKey
    /// Replaced by `RealmCore.reloadTables` when the session's tables change.
    @exclusivity(unchecked) package internal(set) var table: Table { didSet { uncounted = .passUnretained(table) } }
    /// `table` without reference counting, for `withTable`.
    @exclusivity(unchecked) private var uncounted: Unmanaged<Table>
    let context: UnsafeMutablePointer<ClassContext>
    /// The column number of each property, in the order of `schema.properties`; -1 for linking objects.
    package let columns: [Int]
    /// True if the primary key is a plain `Int`.
    let isKeyedByInt: Bool
    private let columnNumbers: UnsafeMutablePointer<Int16>
    private let recycled = UnsafeMutablePointer<RecycledValues>.allocate(capacity: 1)
    /// See `RealmCore.noteRollback`.
    @exclusivity(unchecked) var rollbackFloors = RollbackFloors()
    /// The regions of the key paths that were observed; see `region`.
    var regions: [[String]: Region] = [:]
    /// The property that an `IndexedEquality` searched last, and its column if it can be searched.
    @exclusivity(unchecked) var lastAsked: (member: QueryMember, place: (column: Int, type: ColumnType)?)?
    @exclusivity(unchecked) private var insertPlan: InsertPlan? {
        didSet { uncountedPlan = insertPlan.map { .passUnretained($0) } }
    }
    @exclusivity(unchecked) private var uncountedPlan: Unmanaged<InsertPlan>?

    /// Creates a binding. The table must have a column for each stored property; opening the Realm ensures it.
    init(core: RealmCore, schema: ClassSchema, table: Table) {
        self.core = core
        uncountedCore = .passUnretained(core)
        isFrozen = core.isFrozen
        self.schema = schema
        self.table = table
        uncounted = .passUnretained(table)
        tableKey = table.definition.key
        columns = schema.properties.map { property in
            property.isComputed ? -1 : table.definition.column(named: property.columnName) ?? -1
        }
        isKeyedByInt = schema.primaryKey.map { schema.properties[$0].isInt } ?? false
        columnNumbers = .allocate(capacity: schema.offsetEnd)
        columnNumbers.initialize(repeating: -1, count: schema.offsetEnd)
        for (number, property) in zip(columns, schema.properties) {
            columnNumbers[property.offset] = Int16(truncatingIfNeeded: number)
        }
        context = .allocate(capacity: 1)
        // Frozen objects do not change.
        let isTracked = !core.isFrozen && schema.type is any Observable.Type
        // A read-only file may lack some columns; such a property reads as nil, zero or empty.
        let lacksColumns = zip(columns, schema.properties).contains { $0 < 0 && !$1.isComputed }
        context.initialize(
            to: ClassContext(
                stores: core.stores,
                state: schema.hasIgnoredWrappers || isTracked || lacksColumns
                    ? ClassContext.neverState : core.session.state,
                columnNumbers: columnNumbers, binding: nil, kind: .managed))
        context.pointee.session = core.session.state
        recycled.initialize(to: RecycledValues())
        context.pointee.recycled = recycled
        context.pointee.isTracked = isTracked
        context.pointee.binding = Unmanaged.passUnretained(self).toOpaque()
        if let place = schema.primaryKey {
            context.pointee.primaryKeyOffset = schema.properties[place].offset
        }
        if !schema.plainForms.isEmpty {
            let names = UnsafeMutablePointer<InlineNameTable>.allocate(capacity: 1)
            names.initialize(to: InlineNameTable(schema, columns: columns))
            context.pointee.names = names
        }
    }

    /// Runs `body` with the table without counting a reference; `body` must not change the session's tables.
    @inline(__always)
    func withTable<R>(_ body: (Table) throws(EngineError) -> R) -> R {
        uncounted._withUnsafeGuaranteedRef { table in engine { () throws(EngineError) in try body(table) } }
    }

    /// Runs `body` with the insert plan of the class, created on first use, without counting a reference.
    @inline(__always)
    func withInsertPlan<R>(_ body: (InsertPlan) -> R) -> R {
        if uncountedPlan == nil { insertPlan = InsertPlan(self) }
        return uncountedPlan.unsafelyUnwrapped._withUnsafeGuaranteedRef(body)
    }

    /// Returns whether the columns that the properties were bound to have the same numbers in `definition` and are
    /// unchanged, apart from indexes and delete rules.
    func fits(_ definition: TableDefinition) -> Bool {
        let old = table.definition
        return definition.name == old.name
            && columns.allSatisfy { column in
                if column < 0 { return true }
                guard column < definition.columns.count else { return false }
                var (now, before) = (definition.columns[column], old.columns[column])
                (now.isIndexed, before.isIndexed) = (false, false)
                (now.isContentIndexed, before.isContentIndexed) = (false, false)
                (now.deleteRule, before.deleteRule) = (.nullify, .nullify)
                (now.originRule, before.originRule) = (.nullify, .nullify)
                return now == before
            }
    }

    deinit {
        recycled.pointee.removeAll()
        recycled.deallocate()
        if let names = context.pointee.names {
            names.pointee.deallocate()
            names.deallocate()
        }
        context.deallocate()
        columnNumbers.deallocate()
    }

    /// Creates an accessor of an existing object, if possible without running the user's initialiser. About 35 ns.
    package func makeAccessor(_ key: ObjectKey) -> ObjectBase {
        let object = schema.accessors.make()
        bind(object, key)
        return object
    }

    /// Makes `object` the accessor of a row, which is looked up at the first access.
    package func bind(_ object: ObjectBase, _ key: ObjectKey) {
        precondition(object.rowHolder == nil, "an object that is bound already")
        uncountedCore._withUnsafeGuaranteedRef { $0.countAccessor() }
        object.rowHolder = .fromOpaque(uncountedCore.toOpaque())
        object.rowKey = key
        object.rowEpoch = .min
        object.rowRollbacks = Int32(truncatingIfNeeded: rollbackFloors.count)
        object.rowContext = context
        if schema.hasStoredCollections { bindStoredCollections(of: object) }
        if schema.isEncodable { markWrappers(of: object) }
        // Frozen objects are passed between threads: none of their fields may change after this.
        if isFrozen { _ = object.resolve() }
    }

    /// Binds the stored `let` collections of a bound object.
    private func bindStoredCollections(of object: ObjectBase) {
        for (column, property) in zip(columns, schema.properties) where property.isField {
            property.placeField(in: object, column: column)
        }
    }

    private func markWrappers(of object: ObjectBase) {
        for property in schema.properties where property.storage == .wrapper { property.markManaged(in: object) }
    }

    /// Like `bind(_:_:)`, with the row known: the first access does not look it up.
    package func bind(_ object: ObjectBase, _ key: ObjectKey, at location: RowLocation) {
        bind(object, key)
        object.rowColumns = location.group.columns
        object.rowNumber = Int32(truncatingIfNeeded: location.row)
        object.rowEpoch = context.pointee.session.pointee.epoch
    }

    /// Points an accessor at another row. The caller holds the only reference to it, and `schema.isRecyclable` is true.
    @inline(__always)
    package func rebind(_ object: ObjectBase, _ key: ObjectKey, at location: RowLocation) {
        object.rowKey = key
        object.rowRollbacks = Int32(truncatingIfNeeded: rollbackFloors.count)
        object.rowColumns = location.group.columns
        object.rowNumber = Int32(truncatingIfNeeded: location.row)
        object.rowEpoch = context.pointee.session.pointee.epoch
        if object.hasMadeCollections(at: schema.collectionOffsets) { repointCollections(of: object, at: location) }
    }

    /// Like `rebind(_:_:at:)`, with the row unknown: it is looked up at the first access.
    @inline(__always)
    func rebind(_ object: ObjectBase, _ key: ObjectKey) {
        object.rowKey = key
        object.rowRollbacks = Int32(truncatingIfNeeded: rollbackFloors.count)
        object.rowEpoch = .min
        if object.hasMadeCollections(at: schema.collectionOffsets) { repointCollections(of: object, at: nil) }
        // As in `bind`: otherwise several threads could look the row up at the same time.
        if isFrozen { _ = object.resolve() }
    }

    /// Points the collections that an accessor has created at its new row. A collection that is referenced elsewhere,
    /// or that is unmanaged, is left unchanged and the accessor releases it.
    @inline(never)
    func repointCollections(of object: ObjectBase, at location: RowLocation?) {
        let fields = Unmanaged.passUnretained(object).toOpaque()
        for offset in schema.collectionOffsets {
            let field = (fields + offset).assumingMemoryBound(to: Unmanaged<_ManagedCollection>?.self)
            guard let collection = field.pointee else { continue }
            let isOurs = collection.isHeldOnce
            if isOurs, collection._withUnsafeGuaranteedRef({ $0.isManaged }) {
                collection._withUnsafeGuaranteedRef {
                    $0.repoint(to: object.rowKey, rollbacks: Int(object.rowRollbacks), at: location)
                }
            } else {
                field.pointee = nil
                collection.release()
            }
        }
    }

    /// Returns the object's current row; nil if the object does not exist for this accessor.
    func locate(_ key: ObjectKey, rollbacks: Int) -> RowLocation? {
        guard context.pointee.kind == .managed else { return nil }
        if rollbacks != rollbackFloors.count, rollbackFloors.hasTakenBack(key.rawValue, since: rollbacks) {
            return nil
        }
        return engine { () throws(EngineError) in try table.locate(key) }
    }
}
